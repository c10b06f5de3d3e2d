"""Noisy number of blocks of units with a small p-value."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Integers
from dpreg.estimation.releases.doors import noisy_counts
from dpreg.privacy.certificate import Part
from dpreg.privacy.sealed import Counts


def blocks_of(labels: Integers, blocks: int, bits: _core.BitSource) -> Iterator[Integers]:
    """Assign each unit to a random block, independently, and yield the rows of each block.

    labels: shape (n,): the unit of each row, from 0; -1: the row is left out.
    """
    units = int(labels.max(initial=-1)) + 1
    drawn = _core.assign_independently(units, blocks, bits)
    members, offsets = np.asarray(drawn.members), np.asarray(drawn.offsets).astype(np.int64)
    block = np.full(units + 1, -1)
    block[members] = np.repeat(np.arange(blocks), np.diff(offsets))
    of_rows = block[labels]
    order = np.argsort(of_rows, kind="stable")
    ends = np.searchsorted(of_rows[order], np.arange(blocks + 1))
    for begin, end in itertools.pairwise(ends):
        yield order[begin:end]


def noisy_count(
    p_values: Callable[[Integers, int], float],
    labels: Integers,
    blocks: int,
    threshold: float,
    epsilon: float,
    bits: _core.BitSource,
) -> tuple[int, float, Part]:
    """Release the number of blocks whose p-value is at most `threshold`.

    Returns it, and a uniform number between 0 and 1.

    p_values: function of the rows of a block and a seed in [0, 2**32); NaN counts as large.
    labels, blocks, bits: as for `blocks_of`.

    Privacy
    -------
    guarantee : (epsilon, 0)-DP
    neighbours : add or remove one unit
    proof : block_counts.md
    """
    small = 0
    for rows in blocks_of(labels, blocks, bits):
        p = p_values(rows, int(_core.uniform_open(bits, 1)[0] * 2**32))
        small += bool(p <= threshold)
    label = f"blocks of {blocks} with a p-value of at most {threshold:g}"
    counts = Counts(np.array([small]), of_units=True)
    (count,), part = noisy_counts(label, counts, epsilon, bits)
    return int(count), float(_core.uniform_open(bits, 1)[0]), part
