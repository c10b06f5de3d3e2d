"""Solve noisy score equations; each score gets as little budget as possible."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.rounds import Rounds
from dpreg.estimation.releases.accountant import share_for

# Maximum number of scores if the curvature is known, and the share of the first.
MOST_KNOWN, _FIRST_KNOWN = 8, 0.12
# Its noise need not be below this share of the sampling error; and the share of the last score.
# Neither matters up to eps = 3 (0 and 13 of 96 fits changed).  At eps = 200 the error of a slope
# that is not loglinear was 1.07 times as large without the first, and missing without the second.
_LEAST_NOISE_KNOWN, _LAST_KNOWN = 0.2, 0.6
# Errors of hazards at the start, in sampling errors, and the largest error of log hazards; it also
# limits steps of slopes per standard deviation over events.  Without it errors of 96 fits were 1.08
# times as large.
_DOUBT_KNOWN, _REACH_KNOWN = 5.0, 1.0
# Share of the budget for counts of norms.
_NORMS = 0.03
# They are counted again while noise in coefficients exceeds this share of the variance of
# residuals, unless thresholds are minimal; for amounts or a mean (`Limits.once`) only if residuals
# fell, since each threshold would lead to another solution.  With one count even then, errors of 14
# such fits were 2.7 times those of least squares instead of 2.3.
_NOISY_SHARE = 0.2
# They are also counted again while thresholds exceed this many root mean square norms: the reason
# may be rows of a rare level, until its coefficient is estimated.  Without it errors of 93 of 378
# fits were 1.07 times as large.
_MANY_NORMS = 12.0
# Share of these counts, as few scores are large: with `_NORMS` thresholds of two lognormal columns
# of 20,000 rows had 2.3 times the noise of the limit instead of 1.3, and .942 of named coefficients
# of 15 real tables covered instead of .948.
_FAR_NORMS = 0.1
# Norms are not counted again if no more than this is left: without it nothing was left for scores
# in two of 378 fits.
_LEAST_LEFT = 0.06
# Share of what is left for each score except the last, and for the first of two.
_ROUND, _FIRST_OF_TWO = 0.2, 0.35


def newton(rounds: Rounds, share: float) -> None:
    """Release scores until the last of them, with all that is left, is near the solution.

    share: share of the squared mu for all of this.

    Privacy
    -------
    guarantee : share mu^2 of `rounds.noise`
    proof : newton.md
    """
    left, once = share, rounds.limits.once
    again = not once
    for number in itertools.count(len(rounds.path.observations)):
        enough = left > _LEAST_LEFT and rounds.steps_left > 1
        if number > 0 and enough and (again or rounds.fallen):
            far = rounds.limits.more_than(_MANY_NORMS) and not once
            cost = min(_FAR_NORMS, left / 4) if far else _NORMS
            loud, left = rounds.noisy(_NOISY_SHARE), left - cost
            label = f"norms of scores after round {number}"
            rounds.count(cost, left, label)
            ruled = rounds.limits.limit <= rounds.limits.narrowest
            many = rounds.limits.more_than(_MANY_NORMS)
            again = not once and ((loud and not ruled) or many)
        limit = rounds.limits.limit
        settled = rounds.settled(rounds.deviation(limit, left)) and not rounds.wider(limit)
        last = settled or rounds.steps_left < 2
        part = left if last else _ROUND * left
        if number == 0 and not last:
            part = rounds.first(limit, left)
        if not last:
            limit = rounds.early(limit, part)
        rounds.go(limit, part, last=last)
        left -= part
        if last:
            break


def first_score(rounds: Rounds, left: float) -> None:
    """Release a score before the curvature is known; `left` is the share of all scores."""
    share = rounds.first(rounds.limits.usual, left)
    rounds.go(rounds.limits.usual, share, last=False)


def newton_known(rounds: Rounds, share: float) -> None:
    """Release scores with one threshold, as `newton`, until the last is near the solution."""
    left, limit, path = share, rounds.limits.limit, rounds.path
    quiet = share_for(rounds.noise, limit, _LEAST_NOISE_KNOWN * math.sqrt(rounds.units))
    for number in range(MOST_KNOWN):
        near = rounds.near(rounds.deviation(limit, left))
        last = number + 1 == MOST_KNOWN or near or left < _LAST_KNOWN * share
        part = left if last else min(left * (_ROUND if number else _FIRST_KNOWN), quiet)
        path.theta = _damped(rounds)
        rounds.go(limit, part, last=last)
        left -= part
        if last:
            break


def _damped(rounds: Rounds) -> Doubles:
    """Return the point of the next score: hazards start near the solution, with large noise."""
    path, found = rounds.path, rounds.model.found
    if not path.observations:
        return path.theta
    gain = _DOUBT_KNOWN**2 / (_DOUBT_KNOWN**2 + path.variance * rounds.units)
    reach = found.sizes * _REACH_KNOWN
    moved = found.theta + np.clip(gain * (path.theta - found.theta), -reach, reach)
    at = path.observations[-1].at
    step = np.where(found.levels, 0.0, path.theta - at)
    step /= max(float(np.linalg.norm(step)) / _REACH_KNOWN, 1.0)
    return np.where(found.levels, moved, at + step)


def newton_small(rounds: Rounds, share: float) -> None:
    """Release two scores for a share of the squared mu."""
    rounds.go(rounds.limits.limit, _FIRST_OF_TWO * share, last=False)
    rounds.go(rounds.limits.limit, (1 - _FIRST_OF_TWO) * share, last=True)
