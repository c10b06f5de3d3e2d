"""Coefficients as the root of noisy scores, each of which costs as little as it may."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.limits import Limits
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.rounds import NORMS, Rounds
from dpreg.estimation.newton.secant import Path
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_scaling import share_for
from dpreg.estimation.releases.quantised import MappedRows

# Where the curvature is known; the first score costs this share.
MOST_KNOWN, _FIRST_KNOWN = 8, 0.12
# with noise that need be no less than this share of the sampling error; and the last one gets so
# much of all.
_QUIET_KNOWN, _LAST_KNOWN = 0.2, 0.6
# Hazards are wrong by so many sampling errors where they begin, and their logarithms by no more
# than the second; nor do slopes of a deviation of events change by more in a step.
_DOUBT_KNOWN, _REACH_KNOWN = 5.0, 1.0
# Norms are counted once more while noise in coefficients is more than this share of the variance of
# residuals, unless limits are no more than they must be,
_LOUD = 0.2
# and while limits are more than so many root mean square norms: rows of a rare level may be all
# that makes them so, until its coefficient is found.
_MANY_NORMS = 12.0
# Norms are not counted again where no more than this is left: something must be for scores.
_ENOUGH = 0.06
# nor, because residuals fell, where no more than this is.
_WORTH = 0.12
# Each score but the last costs this share of what is left; of two, the first.
_ROUND, _FIRST_OF_TWO = 0.2, 0.35


def newton(
    rows: MappedRows,
    path: Path,
    units: float,
    noise: GaussianReleases,
    limits: Limits,
    share: float,
    model: Linearised,
) -> Limits:
    """Release scores until the last of them, with all that is left, is near the root.

    Parameters
    ----------
    rows : MappedRows
        Private, of coordinates with second moments of about 1, aimed at where the path begins.
    path : Path
        Goes on from where it begins.
    units : float
        Noisy number of rows.
    noise : GaussianReleases
    limits : Limits
        Where the path begins.
    share : float
        Of the squared mu, for all of it.
    model : Linearised

    Returns
    -------
    Limits
        Of the last score.

    Privacy
    -------
    guarantee : share mu^2 of `noise`
    proof : newton.md
    """
    rounds = Rounds(rows, path, units, noise, limits, model)
    left, again = share, True
    for number in itertools.count(len(path.observations)):
        rounds.hesitate()
        if number > 1 and left > _ENOUGH and rounds.steps_left > 2:
            left -= rounds.curve()
        enough = left > (_ENOUGH if again else _WORTH) and rounds.steps_left > 1
        if number > 0 and enough and (again or rounds.fallen):
            loud, left = rounds.noisy(_LOUD), left - NORMS
            label = f"norms of scores after round {number}"
            rounds.count(left, label)
            ruled = rounds.limits.limit <= rounds.limits.narrowest
            again = (loud and not ruled) or rounds.limits.limit > _MANY_NORMS * rounds.limits.norm
        limit = rounds.allow(left)
        sigma = limit / (units * noise.share(left))
        last = (rounds.settled(sigma) and not rounds.wider(limit)) or rounds.steps_left < 2
        part = left if last else _ROUND * left
        if number == 0:
            part = rounds.first(limit, left)
        if not last:
            limit = rounds.early(limit, noise.share(part))
        rounds.go(limit, part)
        left -= part
        if last:
            break
    return rounds.limits


def first_score(
    rows: MappedRows,
    path: Path,
    units: float,
    noise: GaussianReleases,
    limits: Limits,
    left: float,
    model: Linearised,
) -> None:
    """Release a score where the curvature is not known yet.

    Parameters are as for `newton`; `left` is what there is for all scores.
    """
    rounds = Rounds(rows, path, units, noise, limits, model)
    rounds.go(limits.usual, rounds.first(limits.usual, left))


def newton_known(
    rows: MappedRows,
    path: Path,
    units: float,
    noise: GaussianReleases,
    limits: Limits,
    share: float,
    model: Linearised,
) -> None:
    """Release scores with one limit, until the last of them is near the root.

    Parameters are as for `newton`.
    """
    rounds, left = Rounds(rows, path, units, noise, limits, model), share
    quiet = share_for(noise, limits.limit, _QUIET_KNOWN * math.sqrt(units))
    for number in range(MOST_KNOWN):
        near = rounds.near(limits.limit / (units * noise.share(left)))
        last = number + 1 == MOST_KNOWN or near or left < _LAST_KNOWN * share
        part = left if last else min(left * (_ROUND if number else _FIRST_KNOWN), quiet)
        path.theta = _damped(path, model, units)
        rounds.go(limits.limit, part)
        left -= part
        if last:
            break


def _damped(path: Path, model: Linearised, units: float) -> Doubles:
    """Return where to take a score: hazards begin near the root, and noise in them is large."""
    if not path.observations:
        return path.theta
    start, levels = model.found.theta, model.found.levels
    gain = _DOUBT_KNOWN**2 / (_DOUBT_KNOWN**2 + path.variance * units)
    reach = model.found.sizes * _REACH_KNOWN
    moved = start + np.clip(gain * (path.theta - start), -reach, reach)
    at = path.observations[-1].at
    step = np.where(levels, 0.0, path.theta - at)
    step /= max(float(np.linalg.norm(step)) / _REACH_KNOWN, 1.0)
    return np.where(levels, moved, at + step)


def newton_small(
    rows: MappedRows,
    path: Path,
    units: float,
    noise: GaussianReleases,
    limits: Limits,
    share: float,
    model: Linearised,
) -> None:
    """Release two scores.

    Parameters are as for `newton`.
    """
    rounds = Rounds(rows, path, units, noise, limits, model)
    rounds.go(limits.limit, _FIRST_OF_TWO * share)
    rounds.go(limits.limit, (1 - _FIRST_OF_TWO) * share)
