"""Tests of linear combinations of released coefficients: post-processing, free of budget."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles
from dpreg.base.later import pd
from dpreg.estimation.inference.law import TailLaw, check_alpha
from dpreg.results.summary import Shown, Summary, table_of

# Eigenvalues of a covariance below this share of the largest count as 0.
_SINGULAR = 1e-12
_BOUND = (
    "the method releases no covariances between coefficients: standard errors of combinations "
    "are upper bounds that hold for all correlations"
)
_BONFERRONI = (
    "the method releases no covariances between coefficients: the p-value is Bonferroni's, which "
    "holds for all correlations"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contrasts(Shown):
    """Linear combinations of coefficients, each tested by itself.

    Attributes
    ----------
    labels : tuple of str, length q
    effect : ndarray, shape (q,)
        The combinations.
    sd : ndarray, shape (q,)
        Their standard errors, sampling and privacy noise together.
    null : ndarray, shape (q,)
        What each is tested to be.
    law : TailLaw
        Of (effect - null) / sd.
    notes : tuple of str
    """

    labels: tuple[str, ...]
    effect: Doubles
    sd: Doubles
    null: Doubles
    law: TailLaw
    notes: tuple[str, ...] = ()

    @property
    def tvalue(self) -> Doubles:
        """(effect - null) / sd."""
        return self._columns()["z"]

    @property
    def statistic(self) -> Doubles:
        """`tvalue`, as statsmodels names it too."""
        return self.tvalue

    @property
    def pvalue(self) -> Doubles:
        """Two-sided, one for each row."""
        return self._columns()["P>|z|"]

    def conf_int(self, alpha: float = 0.05) -> Doubles:
        """Intervals that cover each combination with probability 1 - `alpha`, shape (q, 2)."""
        found = self._columns(alpha)
        return np.column_stack([found["lower"], found["upper"]])

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """One row for each combination: coef, std err, z, P>|z|, lower, upper."""
        table = {"coef": self.effect, "std err": self.sd, **self._columns(alpha)}
        return pd.DataFrame(table, index=pd.Index(self.labels, name="contrast"))

    def _columns(self, alpha: float = 0.05) -> dict[str, Doubles]:
        return wald_columns(self.effect, self.sd, self.law, check_alpha(alpha), self.null)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return the table, printable as text, HTML and LaTeX."""
        null = [f"{value:g}" for value in self.null]
        table = table_of(self.summary_frame(alpha), alpha, "Test for Constraints", null)
        return Summary((table,), tuple(f"Note: {note}." for note in self.notes))


@dataclass(frozen=True, slots=True)
class WaldTest:
    """A joint test of several combinations.

    Attributes
    ----------
    statistic : float
        With ``"bonferroni"`` the largest ratio of a combination to its standard error.
    pvalue : float
    df_num : int
        How many combinations.
    distribution : {"chi2", "F", "bonferroni"}
    notes : tuple of str
    """

    statistic: float
    pvalue: float
    df_num: int
    distribution: str
    notes: tuple[str, ...] = ()

    @property
    def fvalue(self) -> float:
        """The statistic of an F test."""
        return self.statistic if self.distribution == "F" else self.statistic / self.df_num

    @property
    def df_denom(self) -> float:
        """Infinite: the number of records is not a number of degrees of freedom here."""
        return float("inf")

    def summary(self) -> str:
        """Return one line, and notes below it."""
        name = {"chi2": "Wald test (chi2)", "F": "F test"}.get(
            self.distribution, "Bonferroni test (largest |z|)"
        )
        line = (
            f"<{name}: statistic={self.statistic:.6g}, p-value={self.pvalue:.4g}, "
            f"df_num={self.df_num}>"
        )
        notes = (textwrap.fill(f"Note: {n}.", 78, subsequent_indent="  ") for n in self.notes)
        return "\n".join([line, *notes])

    def __repr__(self) -> str:
        return self.summary()


def wald_columns(
    effect: Doubles, error: Doubles, law: TailLaw, alpha: float, null: Doubles | float = 0.0
) -> dict[str, Doubles]:
    """Return z, its p-value and the limits of level 1 - `alpha`; NaN where there is no error.

    null: what each effect is tested to be.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio, margin = (effect - null) / error, law.critical_value(alpha) * error
    p_values = np.where(np.isnan(ratio), np.nan, law.p_values(np.nan_to_num(ratio)))
    return {"z": ratio, "P>|z|": p_values, "lower": effect - margin, "upper": effect + margin}


def coefficient_columns(
    coef: Doubles, error: Doubles, sampling: Doubles, law: TailLaw, alpha: float
) -> dict[str, Doubles]:
    """Return estimates, their errors and the parts of these, and what `wald_columns` does."""
    with np.errstate(invalid="ignore", over="ignore"):
        privacy = np.sqrt(np.maximum(error**2 - sampling**2, 0.0))
    parts = {"coef": coef, "std err": error, "sampling": sampling, "privacy": privacy}
    return {**parts, **wald_columns(coef, error, law, alpha)}


def combination_errors(
    matrix: Doubles, covariance: Doubles, *, related: bool
) -> tuple[Doubles, tuple[str, ...]]:
    """Return standard errors of `matrix` @ estimate, and what is to be said about them.

    covariance: known where `matrix` is not 0.
    related: False: nothing is known of the covariances of coefficients.  By the triangle inequality
        the standard error of a sum is at most the sum of the standard errors.
    """
    if not related:
        error = np.sqrt(np.nan_to_num(np.diag(covariance)))
        several = ((matrix != 0).sum(axis=1) > 1).any()
        return np.abs(matrix) @ error, (_BOUND,) * bool(several)
    known = np.where(np.isnan(covariance), 0.0, covariance)
    variance = np.einsum("qc,cd,qd->q", matrix, known, matrix)
    return np.sqrt(np.maximum(variance, 0.0)), ()


def errors_where_known(matrix: Doubles, covariance: Doubles, *, related: bool = True) -> Doubles:
    """Return standard errors of `matrix` @ estimate; NaN for what needs an unknown variance."""
    errors, _ = combination_errors(matrix, covariance, related=related)
    unknown = np.isnan(np.diag(covariance))
    return np.where((matrix[:, unknown] != 0).any(axis=1), np.nan, errors)


def joint_test(
    gap: Doubles, matrix: Doubles, covariance: Doubles, law: TailLaw, *, use_f: bool, related: bool
) -> WaldTest | None:
    """Test that all of `gap` is noise, `gap` being a combination less what it should be.

    Where `law` is not normal, the probability is that of the ratio of one estimate to its standard
    error that is as rare for the normal law: exact for one row, an approximation for more.
    Returns None if the combinations are not independent of one another.
    """
    rows = len(gap)
    if np.linalg.matrix_rank(matrix) < rows:
        return None
    if related:
        known = np.where(np.isnan(covariance), 0.0, covariance)
        among = matrix @ known @ matrix.T
    else:
        error, _ = combination_errors(matrix, covariance, related=False)
        if rows > 1:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.nan_to_num(np.abs(gap) / error)
            p = min(1.0, rows * float(law.p_values(ratio).min()))
            return WaldTest(float(ratio.max()), p, rows, "bonferroni", (_BONFERRONI,))
        among = np.diag(error**2)
    # In units of the standard errors: coefficients may be of very different size.
    error = np.sqrt(np.maximum(np.diag(among), 0.0))
    if not (error > 0).all():
        return None
    values, vectors = np.linalg.eigh(among / np.outer(error, error))
    if values[0] < _SINGULAR * values[-1]:
        return None
    statistic = float((((gap / error) @ vectors) ** 2 / values).sum())
    p = joint_p_value(statistic, rows, law)
    return WaldTest(statistic / rows if use_f else statistic, p, rows, "F" if use_f else "chi2")


def joint_p_value(statistic: float, df: int, law: TailLaw) -> float:
    """Return the probability of a chi-squared statistic, with the tails of `law`."""
    rarity = float(special.chdtrc(df, statistic))
    if not law.tail:
        return rarity
    ratio = -special.ndtri(max(rarity, 1e-300) / 2)
    return float(law.p_values(np.array([ratio]))[0])


def covariances_known(covariance: Doubles, names: tuple[str, ...]) -> bool:
    """Return whether covariances of coefficients were released, and not only their variances.

    Without them those of slopes are 0; a covariance with noise is never exactly 0.
    """
    known = np.flatnonzero(~np.isnan(np.diag(covariance)))
    if np.isnan(covariance[np.ix_(known, known)]).any():
        return False
    slopes = [j for j in known if names[j] != "Intercept"]
    among = covariance[np.ix_(slopes, slopes)]
    return len(slopes) < 2 or bool((among - np.diag(np.diag(among))).any())
