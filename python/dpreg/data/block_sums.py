"""What is made of blocks of rows, several blocks at a time."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from dpreg import _core
from dpreg.base.arrays import Sums

Block = TypeVar("Block")
Result = TypeVar("Result")


def of_blocks(blocks: Iterable[Block], of: Callable[[Block], Result]) -> Iterator[Result]:
    """Yield what is made of each block, in their order.

    The first has all processors to itself, and of others each has one: that they share a block
    costs more than they gain, as blocks are small.

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
            except RuntimeError:  # no thread is to be had
                waiting.append(Future())
                waiting[-1].set_result(of(block))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def sum_of_parts(
    parts: Iterable[Callable[[], Iterable[Block]]], of: Callable[[Block], Sums]
) -> Sums:
    """As `sum_of_blocks`, of blocks that are read where they are added up, a few at a time."""
    return sum_of_blocks(parts, lambda part: _sum(map(of, part())))


def sum_of_blocks(blocks: Iterable[Block], of: Callable[[Block], Sums]) -> Sums:
    """Add up what blocks add, of which there is one at least.

    Exact integers, so that neither the order of the blocks nor what is done at the same time can be
    seen in the sum.
    """
    return _sum(of_blocks(blocks, of))


def _sum(parts: Iterator[Sums]) -> Sums:
    total = next(parts)
    for sums in parts:
        total += sums
    return total
