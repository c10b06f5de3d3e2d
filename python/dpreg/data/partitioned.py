"""Rows that stay in the partitions of an engine, which adds up their contributions.

A task is a public instruction applied to a partition.  It returns sums over the rows of that
partition, a function of these two alone, so a task that is killed and repeated, or run twice,
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpreg.base.arrays import Doubles, Sums
from dpreg.base.passes import passed
from dpreg.data.formula import FormulaSpec
from dpreg.data.observations import ByBlock, Collector, Made, Observations, RowCount, Statistic
from dpreg.data.source import RowSource, quietly


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Computes the contribution of a partition to a sum.  Public, and can be pickled."""

    spec: FormulaSpec
    statistic: Statistic[Any]

    def __call__(self, source: RowSource) -> Sums:
        """Add up the rows of one partition."""
        nothing = np.empty((0, self.spec.width)), np.empty(0)
        sums = self.statistic(*nothing)
        for X, y in _rows(self.spec, source):
            sums += self.statistic(X, y)
        return sums


def _rows(spec: FormulaSpec, source: RowSource) -> Iterator[tuple[Doubles, Doubles]]:
    for batch in source.batches(spec.needed(response=True)):
        rows = spec.rows(batch, response=True)
        assert rows.y is not None
        yield rows.X, rows.y


@runtime_checkable
class PartitionedSource(RowSource, Protocol):
    """A source whose engine can add up the contributions of its partitions.

    Its batches pass through this process, one partition after another.
    """

    def total(self, task: Task) -> Sums:
        """Run a task on each partition and add up the results."""


@dataclass(frozen=True, slots=True, repr=False)
class PartitionedRows(ByBlock):
    """Complete rows that stay with an engine; see `Observations`.

    If they are brought to this process they are read once: an engine need not return them in the
    same order again, and halves of different records must not be combined.
    """

    spec: FormulaSpec
    source: PartitionedSource
    memory: float
    local: bool = False
    _brought: list[Observations] = field(default_factory=list, repr=False)

    @property
    def count(self) -> int:
        return self._brought[0].count if self._brought else int(self._total(RowCount())[0])

    def total(self, statistic: Statistic[Made]) -> Made:
        if self._brought:
            return self._brought[0].total(statistic)
        return statistic.seal(self._total(statistic))

    def _total(self, statistic: Statistic[Any]) -> Sums:
        sums: Sums = quietly(self.source.total, Task(self.spec, statistic))
        passed()
        return sums

    def blocks(self) -> Iterator[tuple[Doubles, Doubles]]:
        if not self._brought:
            collector = Collector(self.memory)
            for X, y in _rows(self.spec, self.source):
                collector.append(X, y)
            self._brought.append(collector.observations(self.spec.width))
            passed()
        yield from self._brought[0].blocks()
