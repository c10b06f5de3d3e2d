"""How many rows units have, where the bound that the user gives is far more."""

from __future__ import annotations

import itertools

import numpy as np

from dpreg.base.arrays import Integers
from dpreg.base.text import counted
from dpreg.data.design import Design
from dpreg.data.sampling import unit_sizes
from dpreg.estimation.releases.accountant import GaussianReleases

# Units with more rows are significant where there are so many deviations of the noise of them.
_SEEN = 2.5


def most_rows_seen(design: Design, noise: GaussianReleases, mu: float) -> int:
    """Return a number of rows that no significant number of units exceeds.

    design: private: a unit has at most `noise.rows` rows.
    Returns `noise.rows` where no units are significant at all.
    """
    starts = _starts(noise.rows)
    counts, deviation = noise.release("units by number of rows", unit_sizes(design, starts), mu)
    beyond = np.cumsum(counts[::-1])[::-1]
    seen = beyond > _SEEN * deviation * np.sqrt(np.arange(len(starts), 0, -1))
    if not seen.any():
        return noise.rows
    ends = np.append(starts[1:] - 1, noise.rows)
    return int(ends[np.flatnonzero(seen)[-1]])


def about_rows_used(unit: str | None, used: int, allowed: int) -> tuple[str, ...]:
    """Say how many rows of each unit were used, of which so many were allowed.

    unit: its column; None: each row is a unit.
    """
    if unit is None:
        return ()
    why = "few have more, by noisy counts"
    if used == allowed:
        why = "a larger max_rows= costs little where few have so many"
    verb = "is" if used == 1 else "are"
    return (f"of each {unit!r} at most {counted(used, 'row')} {verb} used; {why}",)


def _starts(most: int) -> Integers:
    """Return 1, 2, 3, 4, 6, 8, 12, ... up to `most`: half octaves."""
    halves = itertools.chain([1], *([2**k, 3 * 2 ** (k - 1)] for k in range(1, most.bit_length())))
    return np.array([start for start in halves if start <= most])
