"""Tables of black-box audits, without the canary and with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Tables", "joined", "one_column", "weighted"]

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
