"""Small random tables, and a unit more of any rows at all."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dpreg.audit.recordings import AS_DRAWN, Luck
from dpreg.audit.replay_calls import LEVELS, STRATA, Generator, PublicCall, one_of
from dpreg.audit.worlds import Tables
from dpreg.base.errors import ArgumentError
from dpreg.calls.lm import dp_lm

_NUMBERS = ("a", "b", "t", "w", "y")
_SIZES = (0, 1, 2, 5, 12, 20, 20, 30, 30, 40, 60)
# In such a share of tables, of so many rows, two columns are 0 in most: pairs of columns, their
# product among them, are counted then.
MOSTLY_ZERO, _ROWS_TO_COUNT = 0.1, 150
# Cells that no statistician would write, and those that arithmetic finds hardest.
_ODD = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e308, 5e-324, -1e-310, 2.0**62, 0.0, -0.0)
# Shares of levels, of which the last have no row in most tables.
_RARE = np.array([0.5**k for k in range(len(LEVELS["r"]))])
_RARE /= _RARE.sum()
_ODD_LEVELS = ("zzz", "", None, "U", "u ", "\x00")


@dataclass(frozen=True)
class Case:
    """A call, a table, and a unit that comes or goes."""

    call: PublicCall
    # table, unit: `unit` has the rows of one unit that is not in `table`.
    table: pd.DataFrame
    unit: pd.DataFrame
    place: int  # Row of `table` that the unit comes before.
    other: pd.DataFrame  # Any other rows: with the same released numbers the result is the same.
    goes: bool = False  # The first fit is of all rows, the second one without the unit.
    luck: Luck = AS_DRAWN  # Which noise is drawn.

    @property
    def pair(self) -> Tables:
        """Both tables, in the order in which they are fitted."""
        parts = [self.table.iloc[: self.place], self.unit, self.table.iloc[self.place :]]
        having = _frame(
            {n: np.concatenate([part[n] for part in parts]) for n in self.table.columns}
        )
        return (having, self.table) if self.goes else (self.table, having)


def random_case(rng: Generator, call: PublicCall, mostly_zero: float = MOSTLY_ZERO) -> Case:
    """Draw tables for a call; columns are mostly 0 with a probability."""
    rows = int(rng.choice(_SIZES))
    if getattr(call.options.get("method"), "name", "") == "tukey":
        rows = int(rng.choice((0, 20, 200, 400)))
    by = rng.spawn(1)[0]
    rare = bool(by.random() < mostly_zero)
    rows = max(rows, _ROWS_TO_COUNT) if rare else rows
    table = _table(rng, call, rows)
    if rare:
        table["a"], table["b"] = _mostly_zero(by, rows)
    if call.options.get("start", "") is None:  # of a fit; of intervals it is a time
        call = _started(call, table if rng.random() < 0.5 else _table(rng, call, 60))
    size = int(rng.integers(1, 7)) if call.unit else 1
    unit = _unit(rng, call, table, size)
    # Where units or rows are drawn, those in both tables are numbered alike, so it comes last.
    anywhere = call.unit is None and not call.draws_units
    place = int(rng.integers(rows + 1)) if anywhere else rows
    luck = Luck(int(rng.choice((1, 1, 1, 10, 1000, 100_000))), int(rng.choice((1, 1, 1, 0, 4))))
    goes = bool(rng.random() < 0.5)
    return Case(call, table, unit, place, _table(rng, call, int(rng.choice(_SIZES))), goes, luck)


def _started(call: PublicCall, table: pd.DataFrame) -> PublicCall:
    """Start from a fit of this table: the start is public here, and the same for all tables."""
    options = {k: v for k, v in call.options.items() if k not in ("family", "link", "start")}
    start = None
    with contextlib.suppress(ArgumentError), contextlib.redirect_stderr(io.StringIO()):
        fit = dp_lm(call.formula, table, 500.0, 1e-2, **options, rng=7)
        start = getattr(fit, "start", None)
    return replace(call, options={**call.options, "start": start})


def _table(rng: Generator, call: PublicCall, rows: int) -> pd.DataFrame:
    a, b = _column(rng, rows), _column(rng, rows)
    if rng.random() < 0.15:
        b = a * rng.choice((1.0, -3.0)) + 1e-9 * rng.standard_normal(rows)
    t = np.exp(rng.normal(0, one_of(rng, (0.1, 1.0, 3.0)), rows))
    w = rng.choice((1.0, 2.0, 0.25), rows) * one_of(rng, (1.0, 1e-3, 1e6))
    persons = max(1, rows // int(rng.integers(1, 6)))
    who = rng.integers(0, persons, rows)
    columns: dict[str, Any] = {
        "a": a, "b": b, "t": t, "w": w, "y": _response(rng, call, a, b),
        "c": rng.choice(LEVELS["c"], rows).astype(object),
        "p": rng.choice(LEVELS["p"], rows).astype(object),
        "r": rng.spawn(1)[0].choice(LEVELS["r"], rows, p=_RARE).astype(object),
        "s": rng.choice(STRATA, rows).astype(object),
        "who": np.array([f"person {k}" for k in who], dtype=object),
    }  # fmt: skip
    table = _frame(columns)
    if rng.random() < 0.2:
        # Odd rows on both sides.
        for _ in range(min(rows, 3)):
            table.loc[int(rng.integers(rows)), one_of(rng, _NUMBERS)] = one_of(rng, _ODD)
    return table


def _mostly_zero(rng: Generator, rows: int) -> np.ndarray:
    """Return two columns: 3 rows of 50 have both, a row of 50 one alone; or a third of that."""
    share = one_of(rng, (0.02, 0.02, 0.007))
    has = (rng.random((2, rows)) < share) | (rng.random(rows) < 3 * share)
    return np.where(has, one_of(rng, (1.0, 3.0, -2.0)) * rng.choice((1.0, 1.25), (2, rows)), 0.0)


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Return columns of doubles and of objects: of what type a column is says nothing of cells."""
    kinds: dict[str, Any] = {name: "f8" if name in _NUMBERS else object for name in columns}
    arrays = {name: np.asarray(values, kinds[name]) for name, values in columns.items()}
    return pd.DataFrame({n: pd.Series(array, dtype=kinds[n]) for n, array in arrays.items()})


def _column(rng: Generator, rows: int) -> np.ndarray:
    kind = int(rng.integers(7))
    scale = 10.0 ** int(rng.integers(-4, 5)) if rng.random() < 0.5 else 1.0
    values: np.ndarray = (
        rng.standard_normal(rows), rng.uniform(-1, 1, rows), rng.integers(0, 4, rows),
        rng.integers(0, 2, rows), np.ones(rows), rng.standard_cauchy(rows),
        rng.standard_normal(rows) + 300,
    )[kind] * scale  # fmt: skip
    return np.asarray(values, dtype=np.float64)


def _response(rng: Generator, call: PublicCall, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    def standard(x: np.ndarray) -> np.ndarray:
        centred = x - np.median(x) if len(x) else x
        return np.asarray(centred / (np.abs(centred).mean() + 1e-300) if len(x) else x)

    with np.errstate(all="ignore"):
        signal = np.clip(standard(a) - 0.5 * standard(b), -4, 4)
    rows, family = len(a), call.family
    if family.name == "binomial":
        return np.asarray(rng.random(rows) < family.mean(signal), dtype=np.float64)
    if family.name == "poisson":
        return rng.poisson(np.exp(0.7 * signal)).astype(np.float64)
    if family.link == "log":
        mean = rng.gamma(2.0, np.exp(0.7 * signal) / 2)
        return np.asarray(rng.poisson(mean) if family.events else mean, dtype=np.float64)
    noise = rng.standard_normal(rows) if rng.random() < 0.7 else rng.standard_cauchy(rows)
    y = signal + noise * one_of(rng, (0.0, 0.1, 1.0))
    if call.formula.startswith("log"):
        return np.asarray(np.exp(y))
    return np.asarray(y * one_of(rng, (1.0, 1.0, 1e4)) + one_of(rng, (0.0, 0.0, 50.0)))


def _unit(rng: Generator, call: PublicCall, table: pd.DataFrame, size: int) -> pd.DataFrame:
    """Rows of one unit: plain, extreme in all columns, or odd in some; all alike, or not."""
    kind = rng.random()
    alike = rng.random() < 0.6
    first = _row(rng, call, table, kind)
    rows = [first if alike else _row(rng, call, table, kind) for _ in range(size)]
    who = "someone else" if rng.random() < 0.95 else None
    return _frame({n: [who if n == "who" else row[n] for row in rows] for n in table.columns})


def _row(rng: Generator, call: PublicCall, table: pd.DataFrame, kind: float) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name in _NUMBERS:
        column = table[name].to_numpy()
        finite = column[np.isfinite(column)]
        plain = float(one_of(rng, finite)) if len(finite) else 1.0
        largest = float(np.abs(finite).max(initial=1.0))
        extreme = largest * one_of(rng, (-1.0, 1.0)) * one_of(rng, (1.0, 2.0, 10.0, 1e3, 1e9))
        if name in "tw":
            extreme = abs(extreme)
        odd = kind >= 0.8 and rng.random() < 0.4
        row[name] = one_of(rng, _ODD) if odd else plain if kind < 0.15 else extreme
    if call.family.name == "binomial" and rng.random() < 0.5:
        row["y"] = float(rng.integers(0, 2))
    corner = call.options.get("bounds")
    if corner and rng.random() < 0.3:
        for name in set(corner) & set(_NUMBERS):
            row[name] = one_of(rng, corner[name])
    for name, levels in (*LEVELS.items(), ("s", STRATA)):
        by = rng.spawn(1)[0] if name == "r" else rng
        row[name] = one_of(by, _ODD_LEVELS if by.random() < 0.05 else levels)
    return row


def without_unused(case: Case) -> list[str]:
    """Return the columns that the call does not name."""
    said = "".join(c if c.isalnum() else " " for c in str(case.call)).split()
    needed = {*said, *({"s"} if case.call.stratum is not None else ())}
    return [name for name in case.table.columns if name not in needed]
