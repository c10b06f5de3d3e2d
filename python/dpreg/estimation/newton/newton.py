"""Coefficients as the root of noisy scores, each of which costs as little as it may."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.rounds import Rounds
from dpreg.estimation.releases.accountant import share_for

# Where the curvature is known; the first score costs this share.
MOST_KNOWN, _FIRST_KNOWN = 8, 0.12
# with noise that need be no less than this share of the sampling error; and the last one gets so
# much of all.  Neither matters up to eps = 3 (0 and 13 of 96 fits were others).  At eps = 200 the
# error of a slope that is not loglinear was 1.07 times as long without the first, and there was
# none without the second.
_QUIET_KNOWN, _LAST_KNOWN = 0.2, 0.6
# Hazards are wrong by so many sampling errors where they begin, and their logarithms by no more
# than the second; nor do slopes of a deviation of events change by more in a step.  Without it
# errors of 96 fits were 1.08 times as long.
_DOUBT_KNOWN, _REACH_KNOWN = 5.0, 1.0
# Norms are counted for this share.
_NORMS = 0.03
# They are counted once more while noise in coefficients is more than this share of the variance of
# residuals, unless limits are no more than they must be; not of amounts or a mean (`Limits.once`),
# unless residuals fell: limits of each count would lead to another root.  With one count even then,
# errors of 14 such fits were 2.7 times those of least squares, for 2.3.
_LOUD = 0.2
# And while limits are more than so many root mean square norms: rows of a rare level may be all
# that makes them so, until its coefficient is found.  Without it errors of 93 of 378 fits were 1.07
# times as long.
_MANY_NORMS = 12.0
# Such limits are counted for this share, as few scores are long: with `_NORMS` limits of two
# lognormal columns of 20,000 rows had 2.3 times the noise of the limit, for 1.3, and .942 of named
# coefficients of 15 real tables covered, for .948.
_FAR_NORMS = 0.1
# Norms are not counted again where no more than this is left: without it nothing was for scores in
# two of 378 fits.
_ENOUGH = 0.06
# Each score but the last costs this share of what is left; of two, the first.
_ROUND, _FIRST_OF_TWO = 0.2, 0.35


def newton(rounds: Rounds, share: float) -> None:
    """Release scores until the last of them, with all that is left, is near the root.

    share: of the squared mu, for all of it.

    Privacy
    -------
    guarantee : share mu^2 of `rounds.noise`
    proof : newton.md
    """
    left, once = share, rounds.limits.once
    again = not once
    for number in itertools.count(len(rounds.path.observations)):
        enough = left > _ENOUGH and rounds.steps_left > 1
        if number > 0 and enough and (again or rounds.fallen):
            far = rounds.limits.more_than(_MANY_NORMS) and not once
            cost = min(_FAR_NORMS, left / 4) if far else _NORMS
            loud, left = rounds.noisy(_LOUD), left - cost
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
    """Release a score where the curvature is not known yet; `left` is what all scores have."""
    share = rounds.first(rounds.limits.usual, left)
    rounds.go(rounds.limits.usual, share, last=False)


def newton_known(rounds: Rounds, share: float) -> None:
    """Release scores with one limit, as `newton`, until the last of them is near the root."""
    left, limit, path = share, rounds.limits.limit, rounds.path
    quiet = share_for(rounds.noise, limit, _QUIET_KNOWN * math.sqrt(rounds.units))
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
    """Return where to take a score: hazards begin near the root, and noise in them is large."""
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
