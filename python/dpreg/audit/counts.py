"""Grey-box audits of counts: how far one unit moves them, in the scale of their noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from dpreg import _core
from dpreg.audit._finding import Check, Effort, Finding
from dpreg.calls.block_test import dp_test
from dpreg.data.design import Design, Terms
from dpreg.data.units import Units
from dpreg.estimation.releases.exits import ExitCounts, noisy_exits
from dpreg.privacy.sealed import opened

_EPSILON = 1.0


def _silent(seen: list[float]) -> Callable[..., Any]:
    """Return noise of 0, which notes its epsilon."""

    def noise(epsilon: float, bits: Any, size: int) -> Any:
        seen.append(epsilon)
        return np.zeros(size, dtype=np.int64)

    return noise


# Of `dp_test`.
_BLOCKS = 7


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

    def assigned(units: int, blocks: int, bits: Any) -> _core.Assignment:
        order = np.argsort(homes[:units], kind="stable")
        ends = np.searchsorted(homes[:units][order], np.arange(blocks + 1))
        return _core.fixed_assignment(order.tolist(), ends.tolist())

    with (
        patch.object(_core, "assign_independently", assigned),
        patch.object(_core, "discrete_laplace", _silent(seen)),
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


def block_test(effort: Effort) -> Finding:
    """Pairs, up to the first that loses more than is claimed."""
    rng = np.random.default_rng(effort.seed)
    found = Finding("dp_test", "grey box", _EPSILON, 0.0)
    for run in range(effort.runs(400, least=40)):
        found = found.after(*counted_pair(rng, run))
        if not found.holds:
            break
    return found


# Of `dp_curve`.
_ROWS = 3
_EDGES = np.array([0.0, 1.0, 2.0, 4.0])
_TIMES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0, -1.0)
_TERMS = Terms("I(stop)", ("I(start)", "I(event)", "arm[T.b]"), intercept=True)


def _rows(rng: np.random.Generator, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return rows with times on and off the edges, some of which cannot be."""
    start, stop = rng.choice(_TIMES, (2, n))
    event, arm = rng.choice([0.0, 1.0, 2.0], n), rng.choice([0.0, 1.0, 0.5, 2.0], n)
    return np.column_stack([start, event, arm, stop])


def _worlds(rng: np.random.Generator, runs: int) -> Iterator[tuple[Design, Design]]:
    """Return designs, and the same with a person of one to six rows more, or with one row more."""
    for run in range(runs):
        size, more = int(rng.integers(0, 9)), 1 + run % 6
        table = _rows(rng, size + more)
        labels = np.append(rng.integers(0, 4, size), np.full(more, 9))
        by_unit = [(size, labels[:size]), (size + more, labels)]
        yield tuple(_design(table[:n], Units.from_labels(of)) for n, of in by_unit)  # type: ignore[misc]
        yield _design(table[:size], None), _design(table[: size + 1], None)


def _design(table: np.ndarray[Any, np.dtype[np.float64]], units: Units | None) -> Design:
    return Design.of(table[:, :3], table[:, 3], _TERMS, units)


def _keys(bits: Any, size: int) -> Any:
    """Return the same keys for the same rows, those of a person more being the last."""
    return np.modf(np.arange(1, size + 1) * 0.6180339887498949)[0]


def _tables(design: Design, *, entry: bool) -> list[tuple[Any, float]]:
    """Return each table without noise, and its epsilon for a change by 1."""
    seen: list[float] = []

    used = design if entry else design.keep([1, 2])
    statistic = ExitCounts(_EDGES, 2, np.ones(1), entry)
    with (
        patch.object(_core, "discrete_laplace", _silent(seen)),
        patch.object(_core, "uniform_open", _keys),
    ):
        found = noisy_exits(used, statistic, _ROWS, _EPSILON, _core.TestBits(1))
    tables = [found.exits] if found.entries is None else [found.exits, found.entries]
    return list(zip(tables, seen, strict=True))


def _exits(effort: Effort) -> Finding:
    """Whatever a unit holds, the tables move by no more than their noise pays for."""
    rng = np.random.default_rng(effort.seed)
    found = Finding("dp_curve", "grey box", _EPSILON, 0.0)
    runs = effort.runs(400)
    for without, having in _worlds(rng, runs):
        for entry in (False, True):
            both = (_tables(design, entry=entry) for design in (without, having))
            pairs = zip(*both, strict=True)
            lost = math.fsum(float(np.abs(a - b).sum()) * each for (a, each), (b, _) in pairs)
            found = found.after(lost, f"{opened(without.records).unit_count} units, entry {entry}")
    return replace(found, runs=runs)


CHECKS = (Check("block test", block_test), Check("exits", _exits))
