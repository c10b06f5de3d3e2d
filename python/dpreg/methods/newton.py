"""Coefficients as the root of noisy scores, each of which costs as little as it may."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.inference.secant import Observation, Path
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.column_scaling import share_for
from dpreg.sums.norm_tail import NormTail, bins_around
from dpreg.sums.quantised import MappedRows
from dpreg.sums.scores import noisy_score

__all__ = ["FIRST_NORMS", "MOST_ROUNDS", "Limits", "count_norms", "newton", "newton_small"]

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
    """

    limit: float
    tail: NormTail | None
    norm: float
    squares: float

    def best(self, mu: float, width: int) -> float:
        """Return the limit at which a score of so many entries, with this mu, is best."""
        assert self.tail is not None
        return max(self.tail.limit(mu * _along(width)), _LEAST_NORMS * self.norm)

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
) -> Limits:
    """Count units by the norm of their score, which is about `typical`.

    Returns
    -------
    Limits
        At which a score with `left` of mu^2 is best.
    """
    octaves = _FIRST_OCTAVES if label == FIRST_NORMS else _OCTAVES
    starts = bins_around(typical, octaves)
    cells = np.add.reduceat(rows.score_norms(theta), starts)
    counts, scale = noise.of_units(label, cells, _core.SCORE_NORMS_SENSITIVITY, noise.share(share))
    tail = NormTail(counts, starts, scale)
    found = Limits(math.inf, tail, tail.root_mean_square, tail.squares)
    return replace(found, limit=found.best(noise.share(left), rows.width))


def _along(width: int) -> float:
    """Return how much of what limits take off scores is along one direction.

    Between that all of it is, and that it has no direction.
    """
    return float(max(width, 1) ** -0.25)


class _Rounds:
    """Scores, one after another, and the path that they make."""

    def __init__(
        self, rows: MappedRows, path: Path, units: float, noise: GaussianReleases, limits: Limits
    ) -> None:
        self.rows, self.path, self._units, self._noise = rows, path, units, noise
        self.limits, self.width = limits, max(rows.width, 1)
        self._aimed = path.theta
        self._least = self.residual

    @property
    def residual(self) -> float:
        """Root mean square of an entry of the score of a row."""
        return math.sqrt(self.limits.squares / self.width / self._units)

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
        if not self.path.observations or self.noisy(_NOISY):
            return False
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
        self._least = min(self._least, self.residual)

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

    Returns
    -------
    Limits
        Of the last score.

    Privacy
    -------
    guarantee : share mu^2 of `noise`
    proof : newton.md
    """
    rounds = _Rounds(rows, path, units, noise, limits)
    left, again = share, True
    for number in range(MOST_ROUNDS):
        if number > 0 and again and left > _ENOUGH:
            loud, left = rounds.noisy(_LOUD), left - _NORMS
            label = f"norms of scores after round {number}"
            typical = rounds.limits.norm
            rounds.counted(count_norms(rows, path.theta, typical, noise, _NORMS, left, label))
            again = loud or rounds.limits.limit > _MANY_NORMS * rounds.limits.norm
        limit = rounds.limits.limit
        sigma = limit / (units * noise.share(left))
        last = (rounds.settled(sigma) and not rounds.wider(limit)) or number + 1 == MOST_ROUNDS
        part = left if last else _ROUND * left
        if number == 0:
            part = share_for(
                noise, limit, _FIRST_NOISE * rounds.residual / math.sqrt(rounds.width) * units
            )
            part = min(max(part, _LEAST_SHARE), _FIRST_MOST * left)
        if not last:
            short = rounds.limits.best(noise.share(part), rounds.width)
            if number == 0 or rounds.noisy(_NOISY):
                short = min(short, _USUAL_NORMS * rounds.limits.norm)
            elif rounds.wider(limit):
                short = limit
            limit = min(limit, short)
        rounds.go(limit, part)
        left -= part
        if last:
            break
    return rounds.limits


def newton_small(
    rows: MappedRows,
    path: Path,
    units: float,
    noise: GaussianReleases,
    residual: float,
    share: float,
) -> Limits:
    """Release two scores, with a limit that follows from a mean square residual.

    Parameters
    ----------
    residual : float
        Released.

    Others are as for `newton`.
    """
    norm = math.sqrt(residual * max(rows.width, 1))
    limits = Limits(_USUAL_NORMS * norm, None, norm, norm**2 * units)
    rounds = _Rounds(rows, path, units, noise, limits)
    for part in (_FIRST_OF_TWO, 1 - _FIRST_OF_TWO):
        rounds.go(limits.limit, part * share)
    return limits
