"""A private treatment effect: what was released, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.later import Axes, pd
from dpreg.base.text import drawn
from dpreg.estimation.inference.law import NORMAL, check_alpha
from dpreg.privacy.certificate import Certificate
from dpreg.results.contrasts import coefficient_columns
from dpreg.results.document import Saved
from dpreg.results.summary import Summary, cell, laid_out, limit_headers, said_below

# Of the means: the effect, and each of them.
_SHOWN = np.array([[-1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
_SHOWN_NOTES = 4


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many rows have an estimated probability of treatment at a limit.

    Attributes
    ----------
    rows : float
        With noise, so it may be negative.
    std_err : float
        Standard deviation of the noise.
    units : float
        Noisy number of all rows.
    low, high : float
        The limits, to which probabilities were moved.
    """

    rows: float
    std_err: float
    units: float
    low: float
    high: float

    @property
    def share(self) -> float:
        """Share of all rows, in [0, 1]."""
        return min(max(self.rows / self.units, 0.0), 1.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DPEffect(Saved):
    """A private average treatment effect.  Holds released numbers; nothing here costs budget.

    Attributes
    ----------
    formula, treatment, response : str
    arms : tuple of str
        Without and with the treatment.
    method : {"aipw", "regression", "difference"}
    family : {"gaussian", "binomial"}
    covariates : tuple of str
    means : ndarray, shape (2,)
        Mean outcome of all rows without and with the treatment.
    covariance, sampling : ndarray, shape (2, 2)
        Of `means`: with the noise, and sampling error alone; NaN where not estimable.
    units, treated : float
        Private estimates of the number of rows, and of those that were treated.
    overlap : Overlap or None
        None: the probability of treatment was not estimated.
    propensity : ndarray, float or None
        Coefficients of the logistic model of the treatment, the intercept first; or the known
        probability.
    privacy : Certificate
    notes : tuple of str

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> rng = np.random.default_rng(1)
    >>> d = {"age": rng.random(20_000), "arm": rng.integers(0, 2, 20_000).astype(float)}
    >>> d["y"] = d["age"] + d["arm"] + rng.normal(size=20_000)
    >>> found = dpreg.dp_effect("y ~ age", d, 1.0, treatment="arm", propensity=0.5)
    >>> low, high = found.conf_int()
    >>> bool(low < high)
    True
    >>> found.plot().get_xlabel()
    'mean of y, with 95% intervals'
    """

    formula: str
    treatment: str
    response: str
    arms: tuple[str, str]
    method: str
    family: str
    covariates: tuple[str, ...]
    means: Doubles
    covariance: Doubles
    sampling: Doubles
    units: float
    treated: float
    overlap: Overlap | None
    propensity: Doubles | float | None
    privacy: Certificate
    notes: tuple[str, ...] = ()

    _document = ("this is not a treatment effect", "dpreg_effect", 1)
    _blank = True

    @property
    def nobs(self) -> float:
        """Private estimate of the number of rows."""
        return self.units

    @property
    def effect(self) -> float:
        """Average treatment effect: the second mean minus the first; a difference of risks."""
        return float(_SHOWN[0] @ self.means)

    @property
    def se(self) -> float:
        """Standard error of the effect: sampling error and privacy noise; NaN: not estimable."""
        return float(self._columns(0.05)["std err"][0])

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that the effect is 0."""
        return float(self._columns(0.05)["P>|z|"][0])

    def conf_int(self, alpha: float = 0.05) -> tuple[float, float]:
        """Return the limits of the effect, which hold with probability 1 - `alpha`."""
        found = self._columns(alpha)
        return float(found["lower"][0]), float(found["upper"][0])

    def tidy(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the effect and the mean outcome of each arm, with intervals.

        Returns
        -------
        DataFrame
            Columns coef, std err, sampling, privacy, z, P>|z|, lower and upper, as of
            `DPResults.tidy`.
        """
        found = self._columns(alpha)
        return pd.DataFrame(found, index=pd.Index(self._labels(), name="term"))

    def _labels(self) -> tuple[str, ...]:
        return ("effect", *(f"mean[{self.treatment}={arm}]" for arm in self.arms))

    def _covariance(self) -> Doubles:
        """Return the covariance of the rows of `tidy`."""
        return np.asarray(_SHOWN @ self.covariance @ _SHOWN.T)

    def _columns(self, alpha: float) -> dict[str, Doubles]:
        """Return the columns of `tidy`."""
        alpha = check_alpha(alpha)
        error, sampling = (
            np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", _SHOWN, of, _SHOWN), 0.0))
            for of in (self.covariance, self.sampling)
        )
        return coefficient_columns(_SHOWN @ self.means, error, sampling, NORMAL, alpha)

    def plot(self, ax: Axes | None = None, alpha: float = 0.05) -> Axes:
        """Draw the mean of each arm and the effect, with intervals; needs matplotlib."""
        return drawn("coefficients.plot_effect", self, ax, alpha)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return the table, printable as text, HTML and LaTeX."""
        return Summary((_laid_out(self, alpha),), tuple(below(self)))

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        shapes = [data[name].shape for name in ("means", "covariance", "sampling")]
        if shapes != [(2,), (2, 2), (2, 2)] or len(data["arms"]) != 2:
            raise ValueError("means, covariance, sampling and arms are of two arms")


def _laid_out(found: DPEffect, alpha: float) -> Any:
    """Lay out effect and means."""
    forms = {"coef": ".4g", "std err": ".4g", "z": ".3f", "P>|z|": ".3f"}
    columns = found._columns(alpha)
    wanted = {**forms, "lower": ".4g", "upper": ".4g"}.items()
    cells = [[cell(columns[name][i], form) for name, form in wanted] for i in range(len(_SHOWN))]
    title = f"Private effect of {found.treatment} on {found.response}"
    return laid_out(cells, [*forms, *limit_headers(alpha)], list(found._labels()), title)


def below(found: DPEffect) -> list[str]:
    """Return what is said below the table."""
    kind = " (difference of risks)" if found.family == "binomial" else ""
    lines = [
        f"Average treatment effect{kind} by {found.method}; intervals combine sampling error and "
        f"privacy noise.  Rows: about {found.units:,.0f}, of which {found.treated:,.0f} treated."
    ]
    if found.overlap is not None:
        of = found.overlap
        lines.append(
            f"Overlap: about {max(of.rows, 0.0):,.0f} rows (std err {of.std_err:,.0f}) have a "
            f"probability of treatment outside {of.low:g} to {of.high:g}, and are "
            "clipped to these limits."
        )
    return [*lines, *said_below(found.privacy, found.notes[:_SHOWN_NOTES])]
