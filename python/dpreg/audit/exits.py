"""Grey-box audit of `dp_curve`: how far one unit moves its tables, in the scale of their noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpreg import _core
from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit._patch import replaced
from dpreg.data.design import Design, Terms
from dpreg.data.units import Units
from dpreg.estimation.releases.exits import ExitCounts, noisy_exits
from dpreg.privacy.sealed import opened

_EPSILON, _ROWS = 1.0, 3
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

    def silent(epsilon: float, bits: Any, size: int) -> Any:
        seen.append(epsilon)
        return np.zeros(size, dtype=np.int64)

    used = design if entry else design.keep([1, 2])
    statistic = ExitCounts(_EDGES, 2, np.ones(1), entry)
    with replaced(_core, "discrete_laplace", silent), replaced(_core, "uniform_open", _keys):
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


CHECKS = (Check("exits", _exits),)
