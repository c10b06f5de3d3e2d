"""How long rows are."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.data.design import Design
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.rows import StandardUnits, mapped_rows
from dpreg.sums.standardisation import Scales
from dpreg.sums.working_model import CONSTANT_LOSS, CONSTANT_RESIDUAL

__all__ = ["longest_rows"]

# A tail of rows is seen with so many deviations of its noise; longer ones than this many times the
# root of their entries do not matter.
_SEEN, _LONGEST = 2.0, 128.0


def longest_rows(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    change: NDArray[np.float64],
    noise: GaussianReleases,
    mu: float,
) -> float:
    """Count rows by their norm; return the norm up to which there are told to be some."""
    usual = math.sqrt(change.shape[1])
    rows = mapped_rows(
        replace(design, units=None), scales, units, change, None, _LONGEST * usual,
        kept=False, loss=CONSTANT_LOSS,
    )  # fmt: skip
    counts, deviation = noise.of_rows(
        "norms of rows",
        rows.score_norms(np.zeros(rows.width)),
        _core.SCORE_NORMS_SENSITIVITY,
        mu,
    )
    # Norms that are counted are those of scores with a constant residual.
    first = math.floor(2 * math.log2(usual * CONSTANT_RESIDUAL)) - _core.LEAST_SCORE_BIN
    last = math.ceil(2 * math.log2(_LONGEST * usual)) - _core.LEAST_SCORE_BIN
    beyond = np.cumsum(counts[first:last][::-1])[::-1]
    told = beyond > _SEEN * deviation * np.sqrt(np.arange(len(beyond), 0, -1))
    longest = first + (int(np.argmin(told)) if not told.all() else len(told))
    return float(2.0 ** ((_core.LEAST_SCORE_BIN + longest) / 2)) / CONSTANT_RESIDUAL
