"""What compares the groups of a private life table: a test, and a concordance."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogRank:
    """The log-rank test that all groups have one hazard.

    Attributes
    ----------
    statistic : float
        NaN: too few are at risk for a test at this eps.
    df : int
    pvalue : float
    """

    statistic: float
    df: int
    pvalue: float

    def __str__(self) -> str:
        """Return one line."""
        told = f"chi2 = {self.statistic:.4g} on {self.df} df, p-value {self.pvalue:.4g}"
        return f"Log-rank test: {told}."


@dataclass(frozen=True, slots=True)
class Concordance:
    """The share of pairs whose order of events is that of the groups; 0.5: by chance.

    Attributes
    ----------
    estimate, std_error, lower, upper : float
        NaN: too few pairs at this eps.
    """

    estimate: float
    std_error: float
    lower: float
    upper: float
