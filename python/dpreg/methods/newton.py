"""Coefficients as the root of noisy scores, each of which costs as little as it may."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.inference.curvature import held_back
from dpreg.inference.secant import Observation, Path
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.column_scaling import share_for
from dpreg.sums.linearised import Linearised
from dpreg.sums.norm_tail import NormTail, bins_around
from dpreg.sums.quantised import MappedRows
from dpreg.sums.scores import noisy_curvature, noisy_score

__all__ = ["FIRST_NORMS", "MOST_ROUNDS", "Limits", "count_norms", "first_score", "newton", "newton_small"]

Doubles = NDArray[np.float64]

MOST_ROUNDS = 6
FIRST_NORMS = "norms of scores"
# Octaves above the typical norm up to which bins are narrow: before it was counted, and after.
_FIRST_OCTAVES, _OCTAVES = 3, 2
# Noise of the first score is this share of residuals, for at most so much of what is left; scores
# are no longer than so many root mean square norms then, or in the two of a small study.
_FIRST_NOISE, _FIRST_MOST, _USUAL_NORMS = 0.1, 0.15, 2.5
# Norms are counted for this share, and once more while noise in coefficients is more than this
# share of residuals.
_NORMS, _LOUD = 0.03, 0.2
# and while limits are more than so many root mean square norms: rows of a rare level may be all
# that makes them so, until its coefficient is found.
_MANY_NORMS = 12.0
# Norms are not counted again where no more than this is left: something must be for scores.
_ENOUGH = 0.06
# Each score but the last costs this share of what is left; of two, the first.
_ROUND, _FIRST_OF_TWO = 0.2, 0.35
# The last one is taken where the curvature adds at most this share of its noise, and after steps
# that are no longer, in any entry, than so many deviations of theirs: the first, and others.
_SETTLED, _FIRST_LONG, _LONG = 0.3, 12.0, 4.0
# nor where noise in coefficients is more than this share of the variance of residuals.
_NOISY = 0.03
# and not after a step that changes residuals by more than this share of their variance.
_FAR = 0.1
# nor with a limit this many times as wide as before: its root is another one.
_WIDER = 2.0
# Limits are at least this many root mean square norms.
_LEAST_NORMS = 1.5
# A score is not sought for less than this share, and of what limits take off, on average, so much
# is on one side.
_LEAST_SHARE, _ONE_SIDED = 1e-4, 0.7
# The curvature is released again after linear predictors have moved by this, for this share at
# most, and for less once more; noise is this share of it, and rows are shortened to so many root mean squares at least, or
# to so many times as much where that is cheap.
_MOVED, _CURVATURE, _CURVATURE_AGAIN, _PRECISE, _SHORTEST, _LONGER = 0.2, 0.05, 0.01, 0.15, 2.0, 2.0
# What linear predictors that change by so much make of means is no straight line.
_LONG_STEP = 2.0
# No regressor moves linear predictors by more than this in a step.
_FARTHEST = 2.0
# Rounding rows moves coefficients by no more than this share of their sampling error.
_ROUNDED = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """The limit of scores, and what is known of their norms.

    Attributes
    ----------
    limit : float
    tail : NormTail or None
        None: norms were not counted.
    norm, squares : float
        Root mean square, and the sum of all squares.
    least, most : float
        No limit is less: the norm of the score of a rare event; or more: that of the longest.
    """

    limit: float
    tail: NormTail | None
    norm: float
    squares: float
    least: float = 0.0
    most: float = math.inf

    def best(self, mu: float, width: int) -> float:
        """Return the limit at which a score of so many entries, with this mu, is best."""
        assert self.tail is not None
        limit = min(self.tail.limit(mu * _along(width)), self.most)
        return max(limit, _LEAST_NORMS * self.norm, self.least)

    @property
    def usual(self) -> float:
        """Where scores are far from their root."""
        return max(_USUAL_NORMS * self.norm, self.least)

    def excess(self, limit: float) -> float:
        """Return what norms exceed `limit` by, added up, as expected; 0: that is not known."""
        return 0.0 if self.tail is None else self.tail.excess(limit)


def count_norms(
    rows: MappedRows,
    theta: Doubles,
    typical: float,
    noise: GaussianReleases,
    share: float,
    left: float,
    label: str,
    ends: tuple[float, float] = (0.0, math.inf),
) -> Limits:
    """Count units by the norm of their score, which is about `typical`.

    Returns
    -------
    Limits
        At which a score with `left` of mu^2 is best.
    """
    octaves = _FIRST_OCTAVES if label == FIRST_NORMS else _OCTAVES
    # Rare events have scores of their own, many times as long as the typical one.
    octaves += math.ceil(math.log2(max(ends[0] / typical, 1.0)))
    starts = bins_around(typical, octaves)
    cells = np.add.reduceat(rows.score_norms(theta), starts)
    counts, scale = noise.of_units(label, cells, _core.SCORE_NORMS_SENSITIVITY, noise.share(share))
    tail = NormTail(counts, starts, scale)
    found = Limits(math.inf, tail, tail.root_mean_square, tail.squares, *ends)
    return replace(found, limit=found.best(noise.share(left), rows.width))


def _along(width: int) -> float:
    """Return how much of what limits take off scores is along one direction.

    Between that all of it is, and that it has no direction.
    """
    return float(max(width, 1) ** -0.25)


class _Rounds:
    """Scores, one after another, and the path that they make."""

    def __init__(
        self,
        rows: MappedRows,
        path: Path,
        units: float,
        noise: GaussianReleases,
        limits: Limits,
        model: Linearised,
    ) -> None:
        self.rows, self.path, self._units, self._noise = rows, path, units, noise
        self.limits, self.width = limits, max(rows.width, 1)
        self._model = model
        self._aimed = self._curved = path.theta
        self._expected = model.curvature(model.found.theta)
        self._least, self._curves = self._far, 0
        if path.observations:
            self._bend()

    @property
    def residual(self) -> float:
        """Root mean square of an entry of the score of a row."""
        return math.sqrt(self.limits.squares / self.width / self._units)

    @property
    def _far(self) -> float:
        """Length of steps that are long: a residual, or `_LONG_STEP` in a linear predictor."""
        if self._expected is None:
            return self.residual
        return min(self.residual, _LONG_STEP * self._model.curved)

    def go(self, limit: float, share: float) -> None:
        """Release a score where the path has come to, and go on."""
        self._aim()
        at, label = self.path.theta, f"score of round {len(self.path.observations) + 1}"
        mu = self._noise.share(share)
        score, deviation = noisy_score(self.rows, at, limit, label, self._noise, mu)
        seen = Observation(
            at, score / self._units, deviation / self._units, limit, self._cut(limit)
        )
        self.path.add(seen)
        if self._model.effects is not None:
            way, effects = self.path.theta - at, self._model.effects
            held = held_back(way, effects, self.path.inverse, seen.deviation, _FARTHEST)
            if float(np.abs(held - way).max(initial=0.0)) > 0:
                self.path.hold(at + held)
        self._bend()

    def _bend(self) -> None:
        here = self._model.curvature(self.path.theta)
        if here is not None and self._expected is not None:
            self.path.bend(here - self._expected)
        self._expected = here

    def curve(self) -> float:
        """Release the curvature where the path has come to, if it moved and that costs little.

        Returns
        -------
        float
            The share of the squared mu that was spent.
        """
        moved = float(np.linalg.norm(self.path.theta - self._curved)) / self._model.curved
        if self._expected is None or moved < _MOVED:
            return 0.0
        most = _CURVATURE if self._curves == 0 else _CURVATURE_AGAIN
        entries = self._units / math.sqrt(2 * self.width) * _PRECISE
        usual = _SHORTEST * math.sqrt(float(np.trace(self.path.curvature)))
        share = max(share_for(self._noise, self._noise.rows * usual**2, entries), _LEAST_SHARE)
        if share > most:
            return 0.0
        share = min(share * _LONGER**4, most)
        self._curves += 1
        mu = self._noise.share(share)
        limit = math.sqrt(entries * mu / self._noise.rows)
        label = f"curvature after round {len(self.path.observations)}"
        at = self.path.theta
        matrix, deviation = noisy_curvature(self.rows, at, limit, label, self._noise, mu)
        self.path.curved(matrix / self._units, deviation / self._units)
        self._curved = at
        self._bend()
        return share

    def first(self, limit: float, left: float) -> float:
        """Return the share of the first score."""
        quiet = _FIRST_NOISE * self._far / math.sqrt(self.width) * self._units
        return min(max(share_for(self._noise, limit, quiet), _LEAST_SHARE), _FIRST_MOST * left)

    def _cut(self, limit: float) -> float:
        """Return what a limit takes off an entry of the score of a row, where the path is."""
        return _ONE_SIDED * self.limits.excess(limit) * _along(self.width) / self._units

    def _aim(self) -> None:
        """Make rows again if their rounding would matter where the path has come to."""
        rounding = self.rows.limit / _core.ROW_STEPS / 2
        far = float(np.linalg.norm(self.path.theta - self._aimed))
        if far * rounding > _ROUNDED * self.residual / math.sqrt(self._units):
            self.rows.aim(self.path.theta)
            self._aimed = self.path.theta

    def settled(self, sigma: float) -> bool:
        """Whether the next score may be the last, with noise of this deviation."""
        if not self.path.observations or self.path.held:
            return False
        if self.noisy(_NOISY):
            # All that is left would be as loud, and the root is nowhere else for more rounds.
            loud = self.width * sigma**2 > _NOISY * self._least**2
            return self._expected is not None and loud and len(self.path.observations) > 2
        last = self.path.observations[-1]
        if float(last.score @ last.score) > _FAR * self._least**2:
            return False
        longest = float(np.abs(last.score).max(initial=0.0)) / last.deviation
        long = _FIRST_LONG if len(self.path.observations) == 1 else _LONG
        return self.path.ahead < _SETTLED * sigma and longest < long

    def noisy(self, share: float) -> bool:
        """Whether noise in coefficients adds more than this share to the variance of residuals."""
        return self.width * self.variance > share * self._least**2

    def wider(self, limit: float) -> bool:
        """Whether the score with this limit has more in it than the last one had."""
        return bool(self.path.observations) and limit > _WIDER * self.path.observations[-1].limit

    def counted(self, limits: Limits) -> None:
        """Take in norms of scores where the path has come to."""
        self.limits = limits
        self._least = min(self._least, self._far)

    @property
    def variance(self) -> float:
        """Of an entry of the coefficients, where the path has come to."""
        last = self.path.observations[-1]
        return last.deviation**2 + self.path.doubt * float((last.score**2).mean())


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
    rounds = _Rounds(rows, path, units, noise, limits, model)
    left, again = share, True
    for number in range(len(path.observations), MOST_ROUNDS):
        if number > 1 and left > _ENOUGH:
            left -= rounds.curve()
        if number > 0 and again and left > _ENOUGH:
            loud, left = rounds.noisy(_LOUD), left - _NORMS
            label = f"norms of scores after round {number}"
            typical = rounds.limits.norm
            ends = rounds.limits.least, rounds.limits.most
            rounds.counted(
                count_norms(rows, path.theta, typical, noise, _NORMS, left, label, ends)
            )
            ruled = rounds.limits.limit <= rounds.limits.least
            again = loud and not ruled or rounds.limits.limit > _MANY_NORMS * rounds.limits.norm
        limit = rounds.limits.limit
        sigma = limit / (units * noise.share(left))
        last = (rounds.settled(sigma) and not rounds.wider(limit)) or number + 1 == MOST_ROUNDS
        part = left if last else _ROUND * left
        if number == 0:
            part = rounds.first(limit, left)
        if not last:
            short = rounds.limits.best(noise.share(part), rounds.width)
            if number == 0 or rounds.noisy(_NOISY):
                short = min(short, rounds.limits.usual)
            elif rounds.wider(limit):
                short = limit
            limit = min(limit, short)
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
    rounds = _Rounds(rows, path, units, noise, limits, model)
    limit = min(limits.limit, limits.usual)
    rounds.go(limit, rounds.first(limit, left))


def newton_small(
    rows: MappedRows,
    path: Path,
    units: float,
    noise: GaussianReleases,
    residual: float,
    share: float,
    model: Linearised,
) -> Limits:
    """Release two scores, with a limit that follows from a mean square residual.

    Parameters
    ----------
    residual : float
        Mean square of an entry of a score.
    model : Linearised

    Others are as for `newton`.
    """
    norm = math.sqrt(residual * max(rows.width, 1))
    limits = Limits(math.inf, None, norm, norm**2 * units, model.event * model.usual)
    rounds = _Rounds(rows, path, units, noise, limits, model)
    for part in (_FIRST_OF_TWO, 1 - _FIRST_OF_TWO):
        rounds.go(limits.usual, part * share)
    return replace(limits, limit=limits.usual)
