"""What the solution of clipped score equations estimates."""

from __future__ import annotations

import numpy as np

from dpreg.base.families import Family
from dpreg.estimation.base import Release
from dpreg.estimation.inference.estimand import CLIPPED, Estimand
from dpreg.estimation.newton.norm_tail import ScoreCut


def estimand(
    rows: float, scores: float, cut: ScoreCut | None, family: Family, release: Release
) -> Estimand:
    """Return what `release` estimates, and how much clipping may have changed it.

    Everything here is public: the limits, noisy counts, and what was released.

    rows, scores: clipping thresholds of their norms, as multiples of the typical norm.
    cut: what the limit takes off scores; None: they stop at the limit instead.
    release: with its covariance and `clipping`.
    """
    target = _without_limits(family)
    if cut is None:  # scores stop; what is left out has mean 0 where the model holds
        return Estimand(f"early-censored {target}", rows, scores)
    effect = _largest_effect(release) if cut.units > 0 else 0.0
    return Estimand(CLIPPED + target, rows, scores, cut.units, effect, cut.surely)


def _without_limits(family: Family) -> str:
    if family.least_squares:
        return "least squares"
    if family.level is not None:
        return f"quantile regression ({family.level:g})"
    unbounded = family.link in ("probit", "cloglog")  # likelihoods
    return "unweighted score equations" if unbounded else "maximum likelihood"


def _largest_effect(release: Release) -> float | None:
    """Return the largest estimated effect of clipping on a coefficient, in standard errors.

    None: no coefficient has an error.
    """
    if release.covariance is None or release.clipping is None:
        return 0.0
    errors = np.sqrt(np.diag(release.covariance))
    if np.isnan(errors).all():
        return None
    known = errors > 0
    return float(np.max(release.clipping[known] / errors[known], initial=0.0))
