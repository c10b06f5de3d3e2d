"""The curvature of scores at their solution."""

from __future__ import annotations

import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.covariance import without_noise
from dpreg.estimation.newton.curvature import PRODUCTS, left_for_scores
from dpreg.estimation.newton.errors import Fit
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.rounds import Rounds
from dpreg.estimation.newton.scores import noisy_products
from dpreg.estimation.standardised import Standardised

# Stopped scores have less curvature by about this share, and keep at least the second.
_FEWER, _LEAST_FOLLOWED = 0.05, 0.8
# Share of the budget of scores for the curvature at the solution.  It is not released if its
# relative noise would exceed the second, about the error of a misspecified model.
_SHARE, _WRONG = 0.1, 0.25
# It is not released for fewer events either, because its sampling error is as large: .944 of the
# intervals of 800 persons with 280 events at eps = 20 covered with and without it.
_EVENTS = 500.0
# The curvature of binary responses is released again if scores imply that it is lower than this
_FLATTER = 0.85
# and if noise would change its eigenvalues by about this share at most.  With a limit of .5 for its
# entries errors of 30 normal columns of 5,000 rows at eps = 3 were 2.1 times those of maximum
# likelihood instead of 1.15, because noise in many directions looked like low curvature.
_LOUDEST = 0.9
# The contribution of a person has at most this multiple of the typical trace, or more, up to the
# second, if relative noise stays below the third.  With the first alone .903 and .915 of the
# intervals of two sets of fits covered instead of .912 and .920.
_LEAST_TRACE, _MOST_TRACE, _QUIET = 4.0, 16.0, 0.05
# Least curvature as a share of the expected one.
_FLATTEST = 0.1
# Share of the noise variance used for shrinkage to the expected curvature.  Of the intervals of 32
# logistic models with curves .911 covered.  With 1 coverage was .02 lower and errors were .88 times
# as large.  With 0 it was .02 higher, but errors were 1.16 times as large, and 2.4 times in
# `acs_employment` with 17 columns of 20,000 rows.
_TAKEN = 0.5


def for_followed(begun: Standardised, model: Linearised) -> float:
    """Return the share of the squared mu for `followed_curvature`; 0 if noise would dominate."""
    own = ~model.found.levels
    typical = float((model.found.sizes[own] ** 2).sum())
    share, events = _SHARE * left_for_scores(begun), begun.scales.units
    noise = _LEAST_TRACE * typical / events / begun.noise.share(share)
    return share if events > _EVENTS and 0 < noise < _WRONG else 0.0


def is_flatter(rounds: Rounds) -> bool:
    """Whether to release the curvature of binary responses again: see `Path.end`.

    If means are near 0 along a part of a spline, rows there have hardly any curvature.  Levels have
    the curvature of their groups.
    """
    path, found, noise = rounds.path, rounds.model.found, rounds.noise
    typical = float(found.sizes @ found.sizes)
    entry = noise.rows * _LEAST_TRACE * typical / rounds.units / noise.share(PRODUCTS / 2)
    loud = math.sqrt(found.width) * entry
    flatter = float(np.linalg.eigvalsh(path.curvature)[0]) < _FLATTER
    may = rounds.model.family.name == "binomial" and rounds.steps_left >= 0
    return may and flatter and loud < _LOUDEST and not found.levels.any()


def curvature_there(rounds: Rounds) -> Doubles:
    """Release the curvature at the end of the path, for half of the share of products.

    Privacy
    -------
    guarantee : PRODUCTS / 2 mu^2 of `rounds.noise`
    proof : newton.md
    """
    path, noise, found, n = rounds.path, rounds.noise, rounds.model.found, rounds.units
    mu = noise.share(PRODUCTS / 2)
    limit = _limit(found.sizes, _QUIET * n * mu / noise.rows)
    sums = rounds.rows.curvature(path.theta / found.sizes, limit)
    seen, deviation = noisy_products("curvature at the root", sums, limit, noise, mu)
    back = n * np.outer(found.sizes, found.sizes)
    return _blended(path.curvature, seen, deviation, back)


def followed_curvature(rounds: Rounds, share: float) -> Doubles:
    """Release the curvature of stopped scores at the end of the path.

    If the model holds, second moments over events are the curvature.  In general the curvature of a
    person is the sum over time of rows weighted by hazards, and nearly 0 if the score is stopped,
    because it is then constant.  In nine public studies used as populations, errors by second
    moments over events were .3 to 1.6 times those of the sandwich, and by this .92 to 1.05 times.

    share: share of the squared mu.

    Privacy
    -------
    guarantee : share mu^2 of `rounds.noise`
    proof : hazards.md
    """
    path, noise, found, n = rounds.path, rounds.noise, rounds.model.found, rounds.units
    count = int((~found.levels).sum())  # These come first.
    sizes, mu = found.sizes[:count], noise.share(share)
    at, limit = path.theta / found.sizes, _limit(sizes, _QUIET * n * mu)
    sums = rounds.rows.followed_curvature(at, rounds.limits.limit, limit, count)
    seen, deviation = noisy_products("curvature at the root", sums, limit, noise, mu)
    back = n * np.outer(sizes, sizes)
    curvature = path.curvature.copy()
    curvature[:count, :count] = _blended(curvature[:count, :count], seen, deviation, back)
    return curvature


def _limit(sizes: Doubles, quiet: float) -> float:
    """Return the root of the largest trace, which is `quiet` within limits."""
    typical = float(sizes @ sizes)
    return math.sqrt(min(max(_LEAST_TRACE * typical, quiet), _MOST_TRACE * typical))


def _blended(before: Doubles, seen: Doubles, deviation: float, back: Doubles) -> Doubles:
    """Return a curvature from an assumed and a noisy one.

    before, shape (k, k): assumed, per row.
    seen, shape (k, k): noisy sum over rows, with standard deviation `deviation`.
    back, shape (k, k): divides `seen` to give the units of `before`.
    """
    known = without_noise(before * back, seen, deviation, taken=_TAKEN, least=_FLATTEST)
    return np.asarray(known / back)


def followed(fit: Fit, units: float) -> Doubles:
    """Return the root of the share of the curvature that stopped scores keep.

    It is the share of their second moments; without it .88 of the intervals of 20,000 persons
    covered.  Large rows stop first: with the same share for all coordinates, the distance of 60
    fits of 20,000 persons from those without noise was 1.6 times the reported one for a normal
    covariate and .55 times for a binary one.
    """
    assert fit.products is not None
    own = ~fit.model.found.levels
    count = int(own.sum())
    if not count:
        return np.eye(len(own))
    seen = fit.products[np.ix_(own, own)] / units
    noise, mean = fit.deviation / units, float(np.trace(seen)) / count
    of_mean, of_each = (_FEWER**2 / (_FEWER**2 + noise**2 / of) for of in (count, 1))
    share = 1 + of_mean * (min(max(mean, _LEAST_FOLLOWED), 1.0) - 1)
    apart = of_each * (seen - mean * np.eye(count))
    values, vectors = np.linalg.eigh(share * np.eye(count) + apart)
    root = math.sqrt(share) * np.eye(len(own))
    held = np.sqrt(np.clip(values, _LEAST_FOLLOWED, 1.0))
    root[np.ix_(own, own)] = (vectors * held) @ vectors.T
    return root
