"""Scales of columns, for the tests of how they are found."""

from __future__ import annotations

import numpy as np

from dpreg import _core
from dpreg.data.observations import InMemory
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_scaling import column_scales


def scales_of(X, y, *, epsilon=1.0, seed=1, bounds=None, rows=1, wide=(), **options):
    noise = GaussianReleases(epsilon, 1e-6, _core.TestBits(seed), rows=rows)
    bounds = np.full((X.shape[1] + 1, 2), np.nan) if bounds is None else bounds
    wide = np.array(wide, dtype=int)
    return column_scales(InMemory(X, y), noise, bounds, wide=wide, **options), noise
