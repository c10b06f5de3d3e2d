"""Pairs of neighbours: a small table, and the same table with one row more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

# Without a row, and with it: the last one.
Tables = tuple[pd.DataFrame, pd.DataFrame]


def regression(rows: int, seed: int = 1) -> pd.DataFrame:
    """Return rows of ``y = 1 + a - b + noise``."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, rows))
    return pd.DataFrame({"a": a, "b": b, "y": 1 + a - b + 0.1 * rng.standard_normal(rows)})


def hostile_pairs(rows: int = 60) -> dict[str, Tables]:
    """Tables whose last row is as odd as a row can be; and tables of 0 and 1 rows."""
    base = regression(rows)
    constant = pd.DataFrame(dict.fromkeys(base.columns, np.ones(rows)))
    corner, huge = {"a": 1.0, "b": 1.0, "y": 1.0}, {"a": 1e300, "b": -1e300, "y": 1e300}
    return {
        "an extreme row": joined(base, {"a": 3.0, "b": -3.0, "y": -8.0}),
        "a corner of the bounds": joined(base, corner),
        "a huge row": joined(base, huge),
        "a row of zeros": joined(base, {"a": 0.0, "b": 0.0, "y": 0.0}),
        "a tiny row": joined(base, {"a": 5e-324, "b": 1e-310, "y": -5e-324}),
        "a missing cell": joined(base, {"a": np.nan, "b": 0.0, "y": 1.0}),
        "an infinite cell": joined(base, {"a": np.inf, "b": 0.0, "y": 1.0}),
        "the only row that differs": joined(constant, huge),
        "no row and one": joined(base.iloc[:0], corner),
    }


def joined(known: Any, canary: dict[str, Any]) -> Tables:
    """Return a table of known rows, and the same with the canary for its last row."""
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
