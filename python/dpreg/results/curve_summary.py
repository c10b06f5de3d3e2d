"""Summaries of the curves of a life table: a test, a concordance, and the printed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpreg.base.later import pd
from dpreg.results.summary import Summary, cell, laid_out, limit_headers

# Rows of a group that are shown.
_SHOWN_ROWS = 12


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
    """The share of pairs whose order of events is that of the groups; 0.5 by chance.

    Attributes
    ----------
    estimate, std_error, lower, upper : float
        NaN: too few pairs at this eps.
    """

    estimate: float
    std_error: float
    lower: float
    upper: float


def curve_summary(table: pd.DataFrame, lines: Sequence[str], alpha: float) -> Summary:
    """Return the curves that `DPCurve.tidy` gives, and lines below."""
    labels, shown = list(table["group"].unique()), []
    for label in labels:
        title = "Private Survival" + (f", {label}" if len(labels) > 1 else "")
        shown.append(_laid_out(table[table["group"] == label], alpha, title))
    return Summary(tuple(shown), tuple(lines))


def lines_below(means: pd.DataFrame, end: float, alpha: float, limits: str) -> list[str]:
    """Return what limits are, and means up to the end, as of `DPCurve.rmst`."""
    lines = [
        f"Limits of level {1 - alpha:g} are {limits}, and combine sampling error and privacy "
        "noise; n/a: too few at risk at this eps."
    ]
    for label, mean in means.iterrows():
        if not math.isnan(mean["rmst"]):
            of = f" of {label}" if len(means) > 1 else ""
            lines.append(
                f"Restricted mean{of} up to {end:g}: {mean['rmst']:.4g} "
                f"({mean['lower']:.4g} to {mean['upper']:.4g})."
            )
    return lines


def _laid_out(table: pd.DataFrame, alpha: float, title: str) -> Any:
    """Lay out some rows of one group."""
    step = math.ceil(len(table) / _SHOWN_ROWS)
    rows = table.iloc[step - 1 :: step]
    counts, others = ["at_risk", "events", "censored"], ["survival", "std err", "lower", "upper"]
    cells = [
        [
            *(f"{value:,.0f}" for value in row[counts]),
            *(cell(value, ".4f") for value in row[others]),
        ]
        for _, row in rows.iterrows()
    ]
    headers = ["at risk", "events", "censored", "survival", "std err", *limit_headers(alpha)]
    stubs = [f"{time:g}" for time in rows["time"]]
    return laid_out(cells, headers, stubs, title)
