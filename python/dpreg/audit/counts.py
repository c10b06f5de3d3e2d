"""Grey-box audit of `dp_test`: how far one unit moves its count, in the scale of its noise."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from dpreg import _core
from dpreg.audit._finding import Effort, each_case
from dpreg.calls.block_test import dp_test

_EPSILON, _BLOCKS = 1.0, 7


def _even(rows: pd.DataFrame) -> float:
    """A p-value that any row more turns over."""
    return float(len(rows) % 2)


def _noisy(rows: pd.DataFrame) -> float:
    raise ValueError(f"{len(rows)} rows")


def _drawing(rows: pd.DataFrame) -> float:
    """Draws as many numbers as there are rows; what is drawn after them depends on it."""
    last = np.random.random(len(rows) + 1)[-1]  # noqa: NPY002
    return float(last + random.random()) / 2


def _world(rng: np.random.Generator, run: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table of persons, and the same with one more of an odd or even number of rows."""
    persons = int(rng.integers(0, 12))
    base = pd.DataFrame({"person": rng.integers(0, max(persons, 1), 3 * persons)})
    more = pd.DataFrame({"person": np.full(1 + run % 5, persons)})
    return base, pd.concat([base, more], ignore_index=True)


def _count(table: pd.DataFrame, homes: Any, statistic: Any, unit: str | None) -> tuple[int, float]:
    """Count with constant noise 0, units in the blocks of `homes`; return its epsilon too."""
    seen: list[float] = []

    def silent(epsilon: float, bits: Any, size: int) -> Any:
        seen.append(epsilon)
        return np.zeros(size, dtype=np.int64)

    def assigned(units: int, blocks: int, bits: Any) -> _core.Assignment:
        order = np.argsort(homes[:units], kind="stable")
        ends = np.searchsorted(homes[:units][order], np.arange(blocks + 1))
        return _core.fixed_assignment(order.tolist(), ends.tolist())

    with (
        patch.object(_core, "assign_independently", assigned),
        patch.object(_core, "discrete_laplace", silent),
    ):
        found = dp_test(statistic, table, _EPSILON, blocks=_BLOCKS, unit=unit, rng=1)
    return found.count, math.fsum(seen)


def counted_pair(rng: np.random.Generator, run: int = 0) -> tuple[float, str]:
    """Return the largest loss of one pair of tables, and where it is.

    All other units stay in the blocks they had; whatever a unit holds, one block may turn over.
    """
    worst, remark = 0.0, ""
    base, more = _world(rng, run)
    for statistic in (_even, _noisy, _drawing):
        for unit in ("person", None):
            # Without a unit each row is one: one row more.
            having = more if unit else more.iloc[: len(base) + 1]
            homes = rng.integers(0, _BLOCKS, len(more) + 1)
            without, _ = _count(base, homes, statistic, unit)
            found, epsilon = _count(having, homes, statistic, unit)
            lost = abs(found - without) * epsilon
            if lost > worst:
                worst, remark = lost, f"{len(base)} rows, unit {unit}"
    return worst, remark


@each_case("block test", "dp_test", "grey box", _EPSILON)
def block_test(effort: Effort) -> Iterator[tuple[float, str]]:
    rng = np.random.default_rng(effort.seed)
    for run in range(effort.runs(400, least=40)):
        yield counted_pair(rng, run)
