"""Pairs of neighbours: a small table, and the same table with one row more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tables that differ in one row."""

    label: str
    # without, having: `having` is `without` and, last, one row more.
    without: pd.DataFrame
    having: pd.DataFrame


def regression(rows: int, seed: int = 1) -> pd.DataFrame:
    """Return rows of ``y = 1 + a - b + noise``."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, rows))
    return pd.DataFrame({"a": a, "b": b, "y": 1 + a - b + 0.1 * rng.standard_normal(rows)})


def hostile_pairs(rows: int = 60) -> tuple[Pair, ...]:
    """Pairs whose last row is as odd as a row can be; and tables of 0 and 1 rows."""
    base = regression(rows)
    corner = {"a": 1.0, "b": 1.0, "y": 1.0}
    odd = {
        "an extreme row": {"a": 3.0, "b": -3.0, "y": -8.0},
        "a corner of the bounds": corner,
        "a huge row": {"a": 1e300, "b": -1e300, "y": 1e300},
        "a row of zeros": {"a": 0.0, "b": 0.0, "y": 0.0},
        "a tiny row": {"a": 5e-324, "b": 1e-310, "y": -5e-324},
        "a missing cell": {"a": np.nan, "b": 0.0, "y": 1.0},
        "an infinite cell": {"a": np.inf, "b": 0.0, "y": 1.0},
    }
    pairs = [Pair(label, base, _with_row(base, row)) for label, row in odd.items()]
    constant = pd.DataFrame({"a": np.ones(rows), "b": np.ones(rows), "y": np.ones(rows)})
    pairs.append(
        Pair("the only row that differs", constant, _with_row(constant, odd["a huge row"]))
    )
    pairs.append(Pair("no row and one", base.iloc[:0], _with_row(base.iloc[:0], corner)))
    return tuple(pairs)


def _with_row(table: pd.DataFrame, row: dict[str, float]) -> pd.DataFrame:
    return pd.DataFrame({name: np.append(table[name], row[name]) for name in table.columns})


Tables = tuple[pd.DataFrame, pd.DataFrame]


def joined(known: dict[str, Any], canary: dict[str, Any]) -> Tables:
    """Return a table, and the same with the canary for its last row."""
    without = pd.DataFrame(known)
    return without, pd.concat([without, pd.DataFrame([canary])], ignore_index=True)


def one_column(values: Any, canary: float) -> Tables:
    """Return tables of a column y."""
    return joined({"y": np.asarray(values, dtype=np.float64)}, {"y": float(canary)})


def weighted(tables: Tables, each: float) -> Tables:
    """Give the canary a weight of 1, and all other rows another."""
    without, having = (table.assign(w=each) for table in tables)
    having.loc[len(without), "w"] = 1.0
    return without, having
