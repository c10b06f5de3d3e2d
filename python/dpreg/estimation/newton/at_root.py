"""The curvature of scores where they came to their root."""

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

# Scores that stop have less curvature by about this share, and are left with the second at least.
_FEWER, _LEAST_FOLLOWED = 0.05, 0.8
# Of what scores have, the share of the curvature at the root; not where its noise would be more
# than the second, as a share of it, which is about what models are wrong by.
_SHARE, _WRONG = 0.1, 0.25
# nor with fewer events, of which it has as large a sampling error: .944 of intervals of 800 persons
# with 280 at eps = 20 covered with it and without.
_EVENTS = 500.0
# That of events of 0 and 1 is measured where scores say that it is less than this.
_FLATTER = 0.85
# and noise would move its eigenvalues by about this share at most.  With a limit for entries, .5,
# errors of 30 normal columns of 5,000 rows at eps = 3 were 2.1 times those of maximum likelihood,
# for 1.15, as noise along many directions was taken for little curvature.
_LOUDEST = 0.9
# The part of a person has a trace of no more than so many times the typical one, and of more, up to
# the second, where noise stays below the last.  With the first alone .903 and .915 of the intervals
# of two sets of fits covered, for .912 and .920.
_LEAST_TRACE, _MOST_TRACE, _QUIET = 4.0, 16.0, 0.05
# It is no less than this share of what was expected.
_FLATTEST = 0.1
# Of the square of its noise so much is taken off that of what differs from that.  With all of it
# .892 for .915 of the intervals of 32 models with curves covered, 12 samples of each, and errors
# were .88 times as long; with none .941, and 1.16 times.
_TAKEN = 0.5


def for_followed(begun: Standardised, model: Linearised) -> float:
    """Return the share of the squared mu for `followed_curvature`; 0: it would be mostly noise."""
    own = ~model.found.levels
    typical = float((model.found.sizes[own] ** 2).sum())
    share, events = _SHARE * left_for_scores(begun), begun.scales.units
    noise = _LEAST_TRACE * typical / events / begun.noise.share(share)
    return share if events > _EVENTS and 0 < noise < _WRONG else 0.0


def is_flatter(rounds: Rounds) -> bool:
    """Whether to measure the curvature of events of 0 and 1 once more: see `Path.end`.

    Where means come near 0 along a part of a spline, rows there have hardly any.  Levels have that
    of their groups.
    """
    path, found, noise = rounds.path, rounds.model.found, rounds.noise
    typical = float(found.sizes @ found.sizes)
    entry = noise.rows * _LEAST_TRACE * typical / rounds.units / noise.share(PRODUCTS / 2)
    loud = math.sqrt(found.width) * entry
    flatter = float(np.linalg.eigvalsh(path.curvature)[0]) < _FLATTER
    may = rounds.model.family.name == "binomial" and rounds.steps_left >= 0
    return may and flatter and loud < _LOUDEST and not found.levels.any()


def curvature_there(rounds: Rounds) -> Doubles:
    """Release the curvature where the path has come to, for half of the share of products.

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
    """Release the curvature of scores that stop, where the path has come to.

    Second moments over events are the curvature where the model holds.  Where it does not, that of
    a person is the sum over time of rows weighted by hazards, and nearly 0 if the score stops: it
    is at its limit then, wherever the root is.  Of nine public studies, as populations, errors by
    second moments over events were .3 to 1.6 of those of the sandwich, and .92 to 1.05 by this.

    share: of the squared mu.

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
    """Return the root of the largest trace: of more than the least up to `quiet`."""
    typical = float(sizes @ sizes)
    return math.sqrt(min(max(_LEAST_TRACE * typical, quiet), _MOST_TRACE * typical))


def _blended(before: Doubles, seen: Doubles, deviation: float, back: Doubles) -> Doubles:
    """Return a curvature from what it was thought to be, and was seen to be with noise.

    before: of a row; seen, with `deviation`: of all, in the coordinates of rows.
    back: what one is divided by to give the other.  All: shape (k, k).
    """
    known = without_noise(before * back, seen, deviation, taken=_TAKEN, least=_FLATTEST)
    return np.asarray(known / back)


def followed(fit: Fit, units: float) -> Doubles:
    """Return the root of the share of the curvature that is left where scores stop at their limit.

    It is that of their second moments, without which intervals of 20,000 persons covered in .88.
    Long rows stop first: with one share for all coordinates, 60 fits of 20,000 persons were from
    those without noise 1.6 times as far as they said in a normal covariate, and .55 times in one
    of two values.
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
