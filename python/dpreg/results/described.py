"""Names that users and statsmodels look for in a fit, and why some are missing."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any


# Without slots: with them Python 3.11 raises a TypeError when an unknown attribute is set.
@dataclass(frozen=True)
class DescribedModel:
    """The names in a model, for `summary_col` of statsmodels.  No records are kept."""

    # The response; of a fit from a seed it says that the fit is not private, because it is the only
    # text that `summary_col` prints.
    endog_names: str
    exog_names: list[str]  # The coefficients.

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
        ("resid", "residuals", "fittedvalues", "fitted", "fitted_values", "resid_pearson",
         "resid_deviance", "resid_response", "wresid", "get_influence"),
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
    **dict.fromkeys(("vcov", "cov", "covariance_matrix"), "write cov_params()"),
    **dict.fromkeys(
        ("odds_ratio", "odds_ratios", "hazard_ratio", "hazard_ratios"), "write tidy(exp=True)"
    ),
    "get_prediction": "write predict(data, interval='confidence')",
    **dict.fromkeys(("predict_proba", "probabilities", "predict_prob"), "write predict(data)"),
    "score": f"{_RESIDUALS.partition(',')[0]}; fit_stats=True in the call pays for rsquared",
    **dict.fromkeys(("to_latex", "as_latex"), "write summary().as_latex()"),
    **dict.fromkeys(("to_html", "as_html"), "write summary().as_html()"),
    "confint": "write conf_int()",
    "summary2": "write summary()",
    "n": "write nobs, a private estimate",
    "df_resid": _COUNT,
    "pred_table": "it counts records; diagnostics=True in the call pays for plot_calibration()",
    **dict.fromkeys(("exp", "odds"), "write tidy(exp=True) or summary(exp=True)"),
    **dict.fromkeys(
        ("margeff", "margins", "get_margeff"),
        "write marginal_effects(data), over rows that need no protection",
    ),
}  # fmt: skip


# By a name that users look for: what the result needs to have, and what to say then.
_ABSENT = {
    **{name: ("params", said) for name, said in _REASONS.items()},
    **dict.fromkeys(("save", "dump"), ("to_json", "write Path(name).write_text(fit.to_json())")),
    "compare": ("conf_int", "write dpreg.compare([fit, other])"),
    **dict.fromkeys(("to_csv", "to_frame", "as_frame"), ("tidy", "write tidy(), a data frame")),
    **dict.fromkeys(("ate", "estimate"), ("effect", "write effect")),
    **dict.fromkeys(
        ("att", "atet"),
        ("effect", "effect is the average over all rows, not over the treated rows"),
    ),
    **dict.fromkeys(
        ("concordance_index", "concordance_index_", "concordance"),
        ("predict_survival", "dp_curve() releases it: write dp_curve(...).concordance()"),
    ),
    **dict.fromkeys(
        ("predict_survival_function", "predict_cumulative_hazard", "survfit"),
        ("predict_survival", "write predict_survival(data)"),
    ),
    **dict.fromkeys(
        ("survival_function_", "survival_function", "surv_prob", "surv"),
        ("rmst", "write tidy(), which has the curves"),
    ),
    **dict.fromkeys(
        ("median", "median_survival", "median_survival_time_"), ("quantile", "write quantile(0.5)")
    ),
    "predict": ("lm", "write lm(formula).predict(data)"),
    **dict.fromkeys(("fit", "ols", "params"), ("lm", "write lm(formula)")),
}
# Of a result with one effect, whose other names are elsewhere those of coefficients.
_OF_EFFECT = dict.fromkeys(
    ("params", "coef", "coef_", "pvalues", "tvalues", "cov_params", "vcov"), "write tidy(), a table"
) | {"bse": "write se"}
# How alike two names are of which one is meant for the other.
_ALIKE = 0.8


def why_absent(name: str, kind: type) -> str:
    """Return the message for an attribute that a result of this kind does not have."""
    known = [word for word in dir(kind) if not word.startswith("_")]
    needed, said = _ABSENT.get(name, ("", ""))
    if "effect" in known and name in _OF_EFFECT:
        needed, said = "effect", _OF_EFFECT[name]
    if needed in known:
        return f"there is no {name!r}: {said}"
    meant = [] if name.startswith("_") else difflib.get_close_matches(name, known, 1, _ALIKE)
    advice = f"; perhaps {meant[0]!r} was meant" if meant else ""
    return f"{kind.__name__!r} object has no attribute {name!r}{advice}"
