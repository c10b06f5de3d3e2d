"""Correlations from released second moments, with their errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.results.models import Models
from dpreg.results.summary import Summary, laid_out, privacy_note

# Wider matrices are left to `corr`.
_MOST_SHOWN = 8


def correlations(moments: Models) -> tuple[Doubles, Doubles]:
    """Return correlations of all columns, and their standard errors.

    A correlation is a'G b for vectors a and b of columns that are centred and of length 1, and
    noise N moves it by a'N b - r (a'N a + b'N b) / 2; sampling error is that of an
    elliptical law, (1 - r^2) sqrt(kurtosis / n).
    """
    joint, s = moments.joint, moments.deviation
    one = moments.basis[:, 0]
    square = float(joint.product(one, one))
    size = len(moments.names)
    values, errors = np.full((2, size, size), np.nan)
    unit = {}
    for place, j in enumerate(moments.used):
        vector = moments.basis[:, 1 + place]
        vector = vector - one * float(joint.product(one, vector)) / square
        length = math.sqrt(max(float(joint.product(vector, vector)), s * float(vector @ vector)))
        unit[int(j)] = vector / length
    for i, a in unit.items():
        for j, b in unit.items():
            r = 1.0 if i == j else float(np.clip(joint.product(a, b), -1, 1))
            values[i, j] = r
            across, aa, bb = float(a @ b), float(a @ a), float(b @ b)
            moved = (
                (aa * bb + across**2) / 2
                - r * across * (aa + bb)
                + r**2 / 4 * (aa**2 + bb**2 + 2 * across**2)
            )
            errors[i, j] = math.sqrt(
                max(s**2 * moved, 0.0) * (i != j)
                + moments.kurtosis * (1 - r**2) ** 2 / moments.units
            )
    return values, errors


def summarize_moments(moments: Models) -> Summary:
    """Lay out means, deviations, and correlations if there are few."""
    few = len(moments.names) <= _MOST_SHOWN
    corr, errors = correlations(moments)
    shown = list(range(len(moments.names))) if few else []
    headers = ["mean", "std dev", *(f"({j + 1})" for j in shown)]
    cells, stubs = [], []
    for j, name in enumerate(moments.names):
        place = moments.place(name)
        found = place is not None
        pair = (moments.centre[place], moments.scale[place]) if found else (math.nan, math.nan)
        row: list[Any] = [_number(float(value), "{:.5g}") for value in pair]
        row += [_number(float(corr[j, i]), "{:.3f}") if i <= j else "" for i in shown]
        cells.append(row)
        stubs.append(f"({j + 1}) {name}")
    title = f"Private Moments of {moments.units:,.0f} Rows (private)"
    table = laid_out(cells, headers, stubs, title)
    largest = np.nanmax(np.where(np.eye(len(errors)), np.nan, errors), initial=0.0)
    notes = [privacy_note(moments.privacy)]
    if few and len(moments.used) > 1:
        notes.append(f"Standard errors of correlations are at most {largest:.2g}.")
    notes += [
        "Note: .lm('y ~ a + b'), .iv, .anova, .rsquared, .compare, .subsets, .vif and .corr cost "
        "nothing more; intervals of a model that was chosen by them are too narrow, as after "
        "every selection.",
        *(f"Note: {note}." for note in moments.notes),
    ]
    return Summary((table,), tuple(notes))


def _number(value: float, form: str) -> str:
    return "n/a" if math.isnan(value) else form.format(value)
