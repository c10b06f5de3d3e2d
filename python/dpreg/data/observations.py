"""Complete rows as numbers, and sums over them."""

from __future__ import annotations

import itertools
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.base.arrays import Doubles, Flags, Sums
from dpreg.base.errors import ArgumentError, Words, leave_out, unusable
from dpreg.base.options import is_number
from dpreg.base.passes import passed
from dpreg.data.spool import Spool, why_no_file
from dpreg.privacy.sealed import Counts, Sealed

# A statistic seals its sums, since `Design.total` returns them.
_Sealed = Sealed[Any] | tuple[Sealed[Any], ...]
Made_co = TypeVar("Made_co", covariant=True, bound=_Sealed)
Made = TypeVar("Made", bound=_Sealed)
Block = TypeVar("Block")
Result = TypeVar("Result")

_LEAST_MEMORY = 1e6


class Statistic(Protocol[Made_co]):
    """A sum over rows, with its sensitivity.  Public, and can be pickled."""

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return the contribution of a block of rows.

        Contributions are exact integers, each row by itself, so the total does not depend on the
        order of rows or on how they are divided into blocks.
        """

    def seal(self, sums: Sums) -> Made_co:
        """Return the total as one or several `ExactSums`, which state its sensitivity."""


@dataclass(frozen=True, slots=True)
class RowCount:
    """The number of rows, as a `Statistic`."""

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of one number."""
        return np.array([len(y)], dtype=np.int64)

    def seal(self, sums: Sums) -> Counts:
        return Counts(sums)


class Totals(Protocol):
    """Anything that can compute sums over rows."""

    def total(self, statistic: Statistic[Made]) -> Made:
        """Add up the contributions of blocks of rows."""


class Observations(Totals, Protocol):
    """Rows of regressors and a response.  Private; used in this package only.

    count: the number of rows.
    local: rows are in this process, so results made from them can be stored.

    memory: bytes that such results may take before they go to a temporary file.
    """

    @property
    def count(self) -> int: ...
    @property
    def local(self) -> bool: ...
    @property
    def memory(self) -> float: ...

    def arrays(self) -> tuple[Doubles, Doubles]:
        """Return regressors without the intercept, and response, in memory."""

    def blocks(self) -> Iterator[tuple[Doubles, Doubles]]:
        """Read all rows, block by block."""

    def where(self, chosen: Flags) -> Observations:
        """Return these rows only."""

    def columns(self, kept: list[int]) -> Observations:
        """Return these regressors only."""


def of_blocks(blocks: Iterable[Block], of: Callable[[Block], Result]) -> Iterator[Result]:
    """Yield the result for each block, in order.

    The first block uses all processors; each later one uses one, since sharing small blocks costs
    more than it gains.

    of: called in other threads.
    """
    rest, workers = iter(blocks), os.cpu_count() or 1
    for first in itertools.islice(rest, 1):
        yield of(first)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers, initializer=_core.use_threads, initargs=(1,)) as pool:
        for block in rest:
            try:
                waiting.append(pool.submit(of, block))
            except RuntimeError:  # no thread is available
                waiting.append(Future())
                waiting[-1].set_result(of(block))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def sum_of_parts(
    parts: Iterable[Callable[[], Iterable[Block]]], of: Callable[[Block], Sums]
) -> Sums:
    """As `sum_of_blocks`; each thread reads the blocks that it adds up, a few at a time."""
    return sum_of_blocks(parts, lambda part: _sum(map(of, part())))


def sum_of_blocks(blocks: Iterable[Block], of: Callable[[Block], Sums]) -> Sums:
    """Add up the contributions of blocks, of which there is at least one.

    They are exact integers, so the sum does not depend on the order of blocks or on threads.
    """
    return _sum(of_blocks(blocks, of))


def _sum(parts: Iterator[Sums]) -> Sums:
    total = next(parts)
    for sums in parts:
        total += sums
    return total


class ByBlock:
    """Methods of `Observations` for rows that are best read block by block."""

    __slots__ = ()

    def arrays(self: Observations) -> tuple[Doubles, Doubles]:
        X, y = zip(*self.blocks(), strict=True)
        return _stacked(list(X), np.empty((0, 0))), _stacked(list(y), np.empty(0))

    def where(self: Observations, chosen: Flags) -> Observations:
        collector, start = Collector(self.memory), 0
        for X, y in self.blocks():
            here = chosen[start : start + len(y)]
            collector.append(X[here], y[here])
            start += len(y)
        return collector.observations(0)

    def columns(self: Observations, kept: list[int]) -> Observations:
        collector = Collector(self.memory)
        for X, y in self.blocks():
            collector.append(np.ascontiguousarray(X[:, kept]), y)
        return collector.observations(len(kept))


@dataclass(frozen=True, slots=True, repr=False)
class InMemory:
    """One block; see `Observations`."""

    X: Doubles  # Shape (n, d).
    y: Doubles  # Shape (n,).
    memory: float = field(default_factory=lambda: default_memory())
    local: bool = True

    @property
    def count(self) -> int:
        return len(self.y)

    def arrays(self) -> tuple[Doubles, Doubles]:
        return self.X, self.y

    def blocks(self) -> Iterator[tuple[Doubles, Doubles]]:
        yield self.X, self.y

    def total(self, statistic: Statistic[Made]) -> Made:
        sums = statistic(self.X, self.y)
        passed()
        return statistic.seal(sums)

    def where(self, chosen: Flags) -> InMemory:
        return InMemory(self.X[chosen], self.y[chosen], self.memory)

    def columns(self, kept: list[int]) -> InMemory:
        return InMemory(np.ascontiguousarray(self.X[:, kept]), self.y, self.memory)


@dataclass(frozen=True, slots=True, repr=False)
class _Spooled(ByBlock):
    """Blocks in a temporary file."""

    spool: Spool[tuple[Doubles, Doubles]]
    count: int
    memory: float
    local: bool = True

    def blocks(self) -> Iterator[tuple[Doubles, Doubles]]:
        yield from self.spool

    def total(self, statistic: Statistic[Made]) -> Made:
        # There is at least one block: no rows would have fitted in memory.
        sums = sum_of_parts(self.spool.parts(), lambda block: statistic(*block))
        passed()
        return statistic.seal(sums)


class Collector:
    """Collects rows block by block.

    memory: bytes; half for the rows, half for results made from them.
    """

    def __init__(self, memory: float) -> None:
        self._spool: Spool[tuple[Doubles, Doubles]] = Spool(memory / 2)
        self._count = 0
        self._memory = memory

    def append(self, X: Doubles, y: Doubles) -> None:
        """Add rows."""
        self._count += len(y)
        self._spool.append((X, y), X.nbytes + y.nbytes)

    def observations(self, columns: int) -> Observations:
        """Return all rows; `columns` is their width if there was no block."""
        held = self._spool.held
        if held is None:
            return _Spooled(self._spool, self._count, self._memory)
        y = _stacked([block[1] for block in held], np.empty(0))
        blocks = [block[0] for block in held]
        held.clear()
        return InMemory(_stacked(blocks, np.empty((0, columns))), y, self._memory)


def _stacked(blocks: list[NDArray[Any]], none: NDArray[Any]) -> NDArray[Any]:
    """Concatenate blocks, freeing each once it is copied; `none` if there are no blocks."""
    if len(blocks) < 2:
        return blocks[0] if blocks else none
    whole = np.empty((sum(map(len, blocks)), *blocks[0].shape[1:]), dtype=none.dtype)
    end = len(whole)
    while blocks:
        block = blocks.pop()
        whole[end - len(block) : end] = block
        end -= len(block)
    return whole


def check_memory(memory: float | None) -> float:
    """Return how many bytes rows may take; by default that of `default_memory`.

    Raises ArgumentError if it is not a valid number, or if a temporary file cannot be opened, which
        is checked before the charge, whether rows will need one or not.
    """
    if memory is None:
        return default_memory()
    if not is_number(memory) or not memory >= _LEAST_MEMORY:
        raise unusable("memory", "a number of bytes, 2e9 for example, and at least 1e6", memory)
    reason = why_no_file()
    if reason is not None:
        problem = f"needs a temporary file for further rows, and none can be opened ({reason})"
        raise ArgumentError("memory", problem, "set TMPDIR to another folder", leave_out("memory"))
    return float(memory)


def memory_to_hold(memory: float | None, holder: Words, columns: int) -> float:
    """Return an infinite limit, since `holder` needs all rows in memory."""
    if memory is None:
        return math.inf
    size = 8 * (columns + 1)
    pieces = holder if isinstance(holder, tuple) else (holder,)
    holds = f" holds all rows in memory, at least {size} bytes each, whatever this limit is"
    held = f"{holds}; it allows {memory / size:,.0f} rows"
    raise ArgumentError("memory", (*pieces, held), leave_out("memory"))


def default_memory() -> float:
    """Return a quarter of the memory of this machine, in bytes.

    Without a temporary file there is no limit.
    """
    if why_no_file() is not None:
        return math.inf
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 4
    except (AttributeError, OSError, ValueError):  # no POSIX
        return 2.0**31
