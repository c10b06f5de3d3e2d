"""The printed form of survival curves: tables by group, means and the test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpreg.results.summary import Summary, cell, laid_out, limit_headers, said_below

if TYPE_CHECKING:
    import pandas as pd

    from dpreg.results.curve import DPCurve

# Rows of a group that are shown.
_SHOWN_ROWS = 12


def curve_summary(curve: DPCurve, alpha: float, *, simultaneous: bool) -> Summary:
    """Return the curves, means and the test: see `DPCurve.summary`."""
    table = curve.tidy(alpha, simultaneous=simultaneous)
    kind = "simultaneous" if simultaneous else "pointwise"
    shown = []
    for label in curve.groups:
        title = "Private Survival" + (f", {label}" if len(curve.groups) > 1 else "")
        shown.append(_laid_out(table[table["group"] == label], alpha, title))
    return Summary(tuple(shown), _below(curve, kind, alpha))


def _below(curve: DPCurve, kind: str, alpha: float) -> tuple[str, ...]:
    lines = [
        f"Limits of level {1 - alpha:g} are {kind}, and combine sampling error and privacy "
        "noise; n/a: too few at risk at this eps."
    ]
    if len(curve.groups) > 1:
        test = curve.logrank()
        lines.append(
            f"Log-rank test: chi2 = {test.statistic:.4g} on {test.df} df, "
            f"p-value {test.pvalue:.4g}."
        )
    means = curve.rmst(alpha=alpha)
    for label, mean in means.iterrows():
        if not math.isnan(mean["rmst"]):
            of = f" of {label}" if len(curve.groups) > 1 else ""
            lines.append(
                f"Restricted mean{of} up to {curve.edges[-1]:g}: {mean['rmst']:.4g} "
                f"({mean['lower']:.4g} to {mean['upper']:.4g})."
            )
    return (*lines, *said_below(curve.privacy, curve.notes))


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
