"""From a pair of tables that fails to the smallest one found that still does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from dpreg.audit.recordings import AS_DRAWN
from dpreg.audit.replay_tables import Case


def shrunk(
    case: Case, why: str, leak_of: Callable[[Case], str | None], seconds: float = 30.0
) -> tuple[Case, str]:
    """Remove rows, options and digits for as long as the case fails.

    why: what it fails with.
    leak_of: what a case fails with; None if it does not.
    seconds: how long to try.
    """
    end, smaller = time.monotonic() + seconds, _smaller(case)
    while (one := next(smaller, None)) is not None and time.monotonic() <= end:
        said = leak_of(one)
        if said is not None and _kind(said) == _kind(why):
            case, why, smaller = one, said, _smaller(one)
    return case, why


def _kind(why: str) -> str:
    """What failed, without its numbers: another failure is not followed."""
    return re.sub(r"[-+]?\d[-+\d.e]*", "", why.rpartition(": ")[2])


def _smaller(case: Case) -> Iterator[Case]:
    """Simpler cases, those that differ the most first."""
    if case.luck != AS_DRAWN:
        yield replace(case, luck=AS_DRAWN)
    rows = len(case.table)
    size = rows
    while size:
        for begin in range(0, rows, size):
            kept = case.table.drop(index=range(begin, min(begin + size, rows)))
            place = min(case.place, len(kept)) if case.place < rows else len(kept)
            yield replace(case, table=kept.reset_index(drop=True), place=place)
        size //= 2
    half = len(case.other) // 2
    for kept in (case.other.iloc[:0], case.other.iloc[half:], case.other.iloc[:half]):
        if len(kept) < len(case.other):
            yield replace(case, other=kept.reset_index(drop=True))
    for k in range(len(case.unit) if len(case.unit) > 1 else 0):
        yield replace(case, unit=case.unit.drop(index=k).reset_index(drop=True))
    call = case.call
    for simple in (replace(call, stratum=None), replace(call, container="pandas")):
        if simple != call:
            yield replace(case, call=simple)
    for name in call.options:
        if name not in ("levels", "k"):
            options = {other: value for other, value in call.options.items() if other != name}
            yield replace(case, call=replace(call, options=options))
    yield from _simpler_cells(case)


def _simpler_cells(case: Case) -> Iterator[Case]:
    """Numbers of fewer digits, a column at a time."""
    for part in ("table", "unit"):
        frame = getattr(case, part)
        for name in frame.columns:
            if frame[name].dtype != np.float64:
                continue
            values = frame[name].to_numpy()
            for simple in (np.zeros(len(values)), np.ones(len(values)), _rounded(values)):
                order = [_digits(simple), _digits(values)]
                if order[0] < order[1]:
                    yield replace(case, **{part: frame.assign(**{name: simple})})


def _rounded(values: np.ndarray) -> np.ndarray:
    return np.array([float(f"{value:.1g}") for value in values], dtype=np.float64)


def _digits(values: np.ndarray) -> int:
    """How much there is to write: 0 is the least, then 1."""
    return sum(0 if v == 0 else 1 if v == 1 else 1 + len(repr(float(v))) for v in values)
