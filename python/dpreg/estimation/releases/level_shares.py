"""Shares of rows of the levels of factors, from noisy counts."""

from __future__ import annotations

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.data.level_tables import LevelTable
from dpreg.estimation.releases.accountant import GaussianReleases, Noisy
from dpreg.privacy.sealed import ExactSums

# Share of the squared mu for numbers of rows of levels, which give the centres of indicators; their
# scale is the largest standard deviation of an indicator, as rows of rare levels would otherwise be
# large.  Centred at the middle of their bounds, all rows were large: errors of levels of four
# factors of 20,000 wages were 119 times those of least squares, and are 1.4 times with this and
# `newton/levels.py`.
_LEVELS = 0.02
# Share for a second count, if a level has fewer rows than this many standard deviations of noise.
# Without it a level of 100 of 5,000 or 20,000 rows seemed empty in .18 to .38 of fits, and no
# coefficient of its factor had a standard error if it was the reference.  It is used in small
# studies too: without, .53 of the coefficients of 108 such fits had no error instead of .48.
LEVELS_AGAIN, _CLEAR = 0.03, 5.0
# Least count.
_LEAST_COUNT = 0.5


def level_shares(
    exact: ExactSums, tables: tuple[LevelTable, ...], noise: GaussianReleases, most: float
) -> tuple[Doubles, Doubles]:
    """Release numbers of rows of each level, twice if some have few.

    most: largest share of the squared mu for the second count.
    Returns shares: of the rows, shape (k,), of the columns of all tables.
    and precision: shape (k,): inverse standard deviations of their noise.

    Privacy
    -------
    guarantee : as the releases that are added to `noise`
    proof : column_scaling.md
    """
    label = "number of rows of each level"
    counts, deviation = noise.release(label, exact, noise.share(_LEVELS))
    few = counts.min() < _CLEAR * deviation
    if few and most >= LEVELS_AGAIN:
        again = noise.release(f"{label}, again", exact, noise.share(LEVELS_AGAIN))
        counts, deviation = Noisy(counts, deviation).averaged(again)
    ends = np.cumsum([len(table.places) + 1 for table in tables])
    cells = [np.maximum(of, _LEAST_COUNT) for of in np.split(counts, ends[:-1])]
    rows = float(np.mean([of.sum() for of in cells]))
    shares = [of[:-1] / of.sum() @ table.has for of, table in zip(cells, tables, strict=True)]
    added = np.concatenate([table.added for table in tables])
    return np.concatenate(shares), rows / deviation / np.sqrt(added)
