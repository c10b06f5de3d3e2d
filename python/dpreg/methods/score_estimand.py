"""What the root of shortened scores is an estimate of, in words."""

from __future__ import annotations

import math

import numpy as np

from dpreg.families import Family
from dpreg.methods.base import Release
from dpreg.sums.scores import ScoreCut

__all__ = ["estimand"]

# What shortened scores may move coefficients by is told as if all of them leaned to one side.  Up
# to so many standard errors of that are beside the point.
_BESIDE = 2.0
# Least squares follows any row; counts have noise of some rows.
_TOLD = "as counts tell, which miss a few rows"


def estimand(
    rows: float, scores: float, cut: ScoreCut | None, family: Family, release: Release
) -> str:
    """Say what `release` estimates, and how far from what it would be without limits.

    Everything here is public: the limits, noisy counts, and what was released.

    Parameters
    ----------
    rows, scores : float
        How many times as long as usual they may be.
    cut : ScoreCut or None
        What limits take off scores; None: norms were not counted.
    """
    what = _without_limits(family)
    if cut is not None and not cut.units > 0:
        return f"{what}, but rows over {_times(rows)} times as long as usual count less"
    limits = (
        f"rows over {_times(rows)} times and scores over {_times(scores)} times as long as usual"
    )
    if cut is None:
        return f"{_with_limits(family, what)}: {limits} count less"
    farthest = _farthest(release)
    if farthest <= _BESIDE:
        return (
            f"{what}, but {limits} count less, which moves coefficients by up to about "
            f"{farthest:.1f} standard errors {_TOLD}"
        )
    units = float(f"{cut.units:.1e}")
    return (
        f"{_with_limits(family, what)}: {limits} count less, the scores of at most about "
        f"{units:,.0f} units; {what} may lie up to about {farthest:.1f} standard errors away "
        f"{_TOLD}"
    )


def _without_limits(family: Family) -> str:
    if family.least_squares:
        return "least squares"
    if family.level is not None:
        return f"the quantile {family.level:g}"
    return "the root of residuals times rows" if family.link == "probit" else "maximum likelihood"


def _with_limits(family: Family, what: str) -> str:
    return "Huber regression" if family.least_squares else f"{what}, of shortened scores"


def _farthest(release: Release) -> float:
    """Return the most standard errors by which shortened scores may move a coefficient."""
    if release.covariance is None or release.clipping is None:
        return 0.0
    errors = np.sqrt(np.diag(release.covariance))
    told = errors > 0
    return float(np.max(release.clipping[told] / errors[told], initial=0.0))


def _times(factor: float) -> str:
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.2g}"
