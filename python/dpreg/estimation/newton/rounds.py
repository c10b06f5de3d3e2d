"""Scores, one after another, and what decides the next of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.bent import grown
from dpreg.estimation.newton.groups import Groups
from dpreg.estimation.newton.limits import Limits, count_norms
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.scores import noisy_score
from dpreg.estimation.newton.secant import WIDER, Observation, Path
from dpreg.estimation.releases.accountant import GaussianReleases, share_for
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.releases.standardisation import LEAST_SHARE

# Noise of the first score is this share of residuals, for at most so much of what is left, and no
# less than the last.  Of least squares, of residuals of rare levels too: without, slopes of 17
# levels of 20,000 rows had errors 1.6 times as large, for 1.5; with them for events, too, .913 of
# the intervals of 20,000 rows, one regressor of which was 1 in a tenth, covered, for .932.
_FIRST_NOISE, _FIRST_MOST = 0.1, 0.15
# The last one is taken where the curvature adds at most this share of its noise, and after a step
# that is no longer, in any entry, than so many deviations of it.  With .5 errors of 378 fits were
# 1.02 times as long, and without the second those of 28 of them 1.05 times.
_SETTLED, _LONG = 0.3, 4.0
# nor where noise in coefficients is more than this share of the variance of residuals.
FAR_NOISE = 0.03
# Norms are counted again after residuals fell by this share of their variance.  Without it there
# was 1.7 to 2.2 times as much noise for 30 correlated columns of 2,000 to 20,000 rows.
_FALLEN = 0.1
# What linear predictors that change by so much make of means is no straight line.  Without it .86
# for .91 of 90 intervals covered where a regressor was 1 in a tenth of 20,000 rows.
_LONG_STEP = 2.0
# No regressor moves linear predictors by more than this in a step.  Without it errors of 47 of 348
# fits were 1.06 times as long.
_FARTHEST = 2.0
# A fit makes so many noisy steps at most, with so many after its scores, or as many as one score
# needs: where there are many before them, scores are fewer, and norms are counted less often.
# Without, real tables took up to 24, with 1% less noise; with 18, they had 7% more.
MOST_STEPS, _AFTER = 20, 2
# Rounding rows moves coefficients by no more than this share of their sampling error.
_ROUNDED = 0.1


def newton_passes() -> int:
    """Return the number of passes over the rows, at most, those of scaling among them.

    Each noisy step takes one; rows are kept in one more, and aimed anew before each score but the
    first.  No fit makes fewer than 5 steps beside scores.
    """
    return 2 * MOST_STEPS - 5


@dataclass(eq=False)
class Rounds:
    """Scores, one after another, and the path that they make."""

    # Private: of coordinates with second moments of about 1, aimed at where the path begins.
    rows: MappedRows
    path: Path  # Goes on from where it begins.
    units: float  # Noisy number of rows.
    noise: GaussianReleases
    limits: Limits  # At first where the path begins.
    model: Linearised
    groups: Groups | None = None  # None: the curvature is the same everywhere: steps are straight.

    def __post_init__(self) -> None:
        self.width, self._sizes = self.limits.width, self.model.found.sizes
        self._aimed = self._counted = self.path.theta
        start, of = self.model.found.theta, self.groups
        self._expected = None if of is None else of.curvature(start)
        self._least = self._far
        if self.path.observations:
            self._follow(self.path.observations[-1], last=False)

    @property
    def residual(self) -> float:
        """Root mean square of an entry of the score of a row."""
        return math.sqrt(self.limits.squares / self.width / self.units)

    @property
    def _far(self) -> float:
        """Length of steps that are long: a residual, or `_LONG_STEP` in a linear predictor."""
        if self._expected is None:
            return self.residual
        return min(self.residual, _LONG_STEP * self.model.curved)

    def deviation(self, limit: float, share: float) -> float:
        """Return that of the noise in the mean score, with this limit, for this share."""
        return limit / (self.units * self.noise.share(share))

    @property
    def steps_left(self) -> int:
        """How many noisy steps there may be until the last score."""
        return MOST_STEPS - _AFTER - len(self.noise.parts)

    def go(self, limit: float, share: float, *, last: bool) -> None:
        """Release a score where the path has come to, and go on, or end there."""
        self._aim()
        at, label = self.path.theta, f"score of round {len(self.path.observations) + 1}"
        mu = self.noise.share(share)
        score, deviation = noisy_score(self.rows, at / self._sizes, limit, label, self.noise, mu)
        there = self.units * self._sizes
        seen = Observation(at, score / there, deviation / there, limit)
        self.path.add(seen)
        self._follow(seen, last=last)

    def _follow(self, seen: Observation, *, last: bool) -> None:
        """Go on as far as is likely, and to the curvature that groups of rows have there.

        The last score is all that its step has: it is no likelier that effects are small.
        """
        if self.model.family.level is not None:
            # Farther out the density is another one: where few rows are above, or none, scores do
            # not change.  Without it errors of upper vigintiles of incomes were 400 times as long
            # as those of sampling, for 40.
            far = float(np.linalg.norm(self.path.theta - seen.at))
            self._hold(seen.at, far, self.model.share / self.model.curved)
        if self.groups is None or self._expected is None:
            return
        path, effects = self.path, self.groups.effects
        way = path.theta - seen.at
        if not last:
            way = self.groups.likely(way, path.curvature, seen.deviation)
        if self.model.family.link == "log":
            way = grown(way, effects, path.inverse)
        path.theta = seen.at + way
        self._hold(seen.at, float(np.abs(effects @ way).max(initial=0.0)), _FARTHEST)
        here = self.groups.curvature(path.theta)
        path.bend(self._expected, here)
        self._expected = here

    def _hold(self, at: Doubles, far: float, most: float) -> None:
        """Go no farther than `most` from where a score was taken, being `far` from it."""
        if far > most:
            self.path.hold(at + (self.path.theta - at) * (most / far))

    def first(self, limit: float, left: float) -> float:
        """Return the share of the first score."""
        spread = self.width if self._expected is not None else float((1 / self._sizes**2).sum())
        quiet = _FIRST_NOISE * self._far / math.sqrt(spread) * self.units
        return min(max(share_for(self.noise, limit, quiet), LEAST_SHARE), _FIRST_MOST * left)

    def _aim(self) -> None:
        """Make rows again if their rounding would matter where the path has come to."""
        rounding = self.rows.limit / _core.ROW_STEPS / 2
        far = float(np.linalg.norm((self.path.theta - self._aimed) / self._sizes))
        if far * rounding > _ROUNDED * self.residual / math.sqrt(self.units):
            self.rows.aim(self.path.theta / self._sizes)
            self._aimed = self.path.theta

    def settled(self, sigma: float) -> bool:
        """Whether the next score may be the last, with noise of this deviation."""
        if not self.path.observations or self.path.held:
            return False
        if self.noisy(FAR_NOISE):
            # All that is left would be as loud, and the root is nowhere else for more rounds.
            # Without it errors of 68 fits were 1.03 times as long; of least squares too, of 39.
            loud = self.width * sigma**2 > FAR_NOISE * self._least**2
            return self._expected is not None and loud and len(self.path.observations) > 2
        last = self.path.observations[-1]
        longest = float(np.abs(last.score / last.deviation).max(initial=0.0))
        return self.path.ahead < _SETTLED * sigma and longest < _LONG

    def near(self, sigma: float) -> bool:
        """Whether the curvature adds little to noise of this deviation in the next score."""
        if not self.path.observations:
            return False
        step = (self.path.theta - self.path.observations[-1].at) * self._sizes
        short = float(np.abs(step).max(initial=0.0)) < _LONG * sigma
        return short and self.path.ahead < _SETTLED * sigma

    def noisy(self, share: float) -> bool:
        """Whether noise in coefficients adds more than this share to the variance of residuals.

        Of most rows: those of a rare level are left aside.
        """
        return float(self.variance @ self._sizes**2) > share * self._least**2

    def wider(self, limit: float) -> bool:
        """Whether the score with this limit has more in it than the last one had.

        Without it 39 more of 9,000 coefficients of 866 fits had no error.
        """
        return bool(self.path.observations) and limit > WIDER * self.path.observations[-1].limit

    def early(self, limit: float, share: float) -> float:
        """Return the limit of a score for this share, where that of the last one would be `limit`.

        It is no narrower than before, unless that is: scores that go from wide limits to narrow
        ones and back lead from one root to another.  Without this (and tails doubted by .25) .869
        for .881 of the least-squares slopes of 27 real tables were covered, 20,000 rows of each.
        Amounts, and a mean, have one limit: of 40 means of 2,000 rows one was off by 36 errors, as
        what a narrow one took off was taken for a curvature of 9.
        """
        if self.wider(limit) or self.limits.once:
            return limit
        before = self.path.observations[-1].limit if self.path.observations else 0.0
        best = self.limits.best(self.noise.share(share), self.path.theta / self._sizes)
        return min(limit, max(best, before))

    def count(self, share: float, left: float, label: str) -> None:
        """Count scores by their norm where the path has come to; `left` is for those that follow.

        See `count_norms`.
        """
        at = self.path.theta / self._sizes
        self.limits = count_norms(self.rows, at, self.limits, self.noise, share, left, label)
        self._least, self._counted = min(self._least, self._far), self.path.theta

    @property
    def fallen(self) -> bool:
        """Whether residuals are clearly less than where norms were counted.

        The way from there is as long as the coefficients were wrong, and are.
        """
        way = (self.path.theta - self._counted) * self._sizes
        wrong = float(self.path.variance @ self._sizes**2)
        return float(way @ way) - 2 * wrong > _FALLEN * self.residual**2

    @property
    def variance(self) -> Doubles:
        """Of each entry of the coefficients, where the path has come to."""
        last = self.path.observations[-1]
        wrong = self.path.doubt.apart(last.score)
        return np.asarray(last.deviation**2 + wrong / len(last.score))
