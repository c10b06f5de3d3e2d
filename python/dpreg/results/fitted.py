"""The released numbers of a fit, and why what others have is not among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpreg.base.arrays import Doubles
from dpreg.base.families import GAUSSIAN, Family
from dpreg.estimation.inference.estimand import Estimand
from dpreg.estimation.inference.law import NORMAL, TailLaw
from dpreg.estimation.inference.residuals import Diagnostics, FitStats
from dpreg.estimation.inference.start import Start
from dpreg.privacy.certificate import Certificate


# Without slots: with them Python 3.11 raises a TypeError when an unknown attribute is set.
@dataclass(frozen=True, eq=False)
class Fitted:
    """Fields of `DPResults`, which describes them."""

    formula: str
    response: str
    names: tuple[str, ...]
    method: str
    estimates: Doubles
    covariance: Doubles | None
    sampling: Doubles | None
    units: float
    privacy: Certificate
    schema: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    law: TailLaw = NORMAL
    notes: tuple[str, ...] = ()
    selected: tuple[str, ...] | None = None
    limits: Doubles | None = None
    no_errors: str = ""
    family: Family = GAUSSIAN
    stats: FitStats | None = None
    diagnostics: Diagnostics | None = None
    clipping: Doubles | None = None
    estimand: Estimand | None = None
    start: Start | None = None


# Without slots: with them Python 3.11 raises a TypeError when an unknown attribute is set.
@dataclass(frozen=True)
class DescribedModel:
    """The names in a model, for `statsmodels.iolib.summary2.summary_col`.  No records are kept.

    Attributes
    ----------
    endog_names : str
        The response; of a fit from a seed it says that the fit is not private, because it is the
        only text that `summary_col` prints.
    exog_names : list of str
        The coefficients.
    """

    endog_names: str
    exog_names: list[str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"there is no 'model.{name}': the records are not kept")


_A_NUMBER_A_RECORD = "it has one value per record, and these are private"
_RESIDUALS = "it is a function of the private residuals, and no method releases it"
_PAID = "it is a separate release, which fit_stats=True in the call pays for"
_COUNT = "it counts records, which is private; nobs is a noisy count that was paid for"
_REASONS = {
    **dict.fromkeys(
        ("resid", "fittedvalues", "resid_pearson", "resid_deviance", "resid_response", "wresid",
         "get_influence", "get_prediction"),
        f"{_A_NUMBER_A_RECORD}; use predict(data) for data that need no protection",
    ),
    **dict.fromkeys(
        ("rsquared_adj", "ssr", "ess", "centered_tss", "uncentered_tss",
         "mse_resid", "mse_model", "mse_total", "fvalue", "f_pvalue", "llf", "aic", "bic",
         "deviance", "null_deviance", "pearson_chi2", "prsquared", "pseudo_rsquared"),
        _RESIDUALS,
    ),
    **dict.fromkeys(("rsquared", "scale"), _PAID),
    **dict.fromkeys(("coef", "coef_", "coefficients", "beta"), "write params"),
    **dict.fromkeys(("se", "std_err", "std_errors", "stderr"), "write bse"),
    **dict.fromkeys(("vcov", "covariance_matrix"), "write cov_params()"),
    **dict.fromkeys(("to_latex", "as_latex"), "write summary().as_latex()"),
    **dict.fromkeys(("to_html", "as_html"), "write summary().as_html()"),
    "confint": "write conf_int()",
    "summary2": "write summary()",
    "n": "write nobs, a private estimate",
    "df_resid": _COUNT,
    "pred_table": "it counts records; diagnostics=True in the call pays for plot_calibration()",
    "get_margeff": "write marginal_effects(data), over rows that need no protection",
}  # fmt: skip


def why_absent(name: str) -> str:
    """Return the message for an attribute that `DPResults` does not have."""
    if name in _REASONS:
        return f"there is no {name!r}: {_REASONS[name]}"
    return f"'DPResults' object has no attribute {name!r}"
