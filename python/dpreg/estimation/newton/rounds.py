"""Successive scores, and rules for the next one."""

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

# Noise of the first score as a share of residuals, for at most the second share of what is left,
# and not below the noise of the last.  For least squares this includes residuals of rare levels:
# without them slopes of 17 levels of 20,000 rows had errors 1.6 times as large instead of 1.5; with
# them for events too, .913 of the intervals covered instead of .932 for 20,000 rows with a
# regressor that was 1 in a tenth.
_FIRST_NOISE, _FIRST_MOST = 0.1, 0.15
# The last score is taken when errors of the curvature add at most this share of its noise, after a
# step of at most this many standard deviations in each entry.  With .5 errors of 378 fits were 1.02
# times as large, and without the second those of 28 of them 1.05 times.
_SETTLED, _LONG_SD = 0.3, 4.0
# It is not taken while noise in coefficients exceeds this share of the variance of residuals.
FAR_NOISE = 0.03
# Norms are counted again after residuals fell by this share of their variance.  Without it there
# was 1.7 to 2.2 times as much noise for 30 correlated columns of 2,000 to 20,000 rows.
_RESIDUAL_DROP = 0.1
# Change of linear predictors for which means are clearly nonlinear.  Without it .86 of 90 intervals
# covered instead of .91 where a regressor was 1 in a tenth of 20,000 rows.
_LONG_STEP = 2.0
# Largest change of linear predictors by a regressor in a step.  Without it errors of 47 of 348 fits
# were 1.06 times as large.
_FARTHEST = 2.0
# Maximum number of noisy steps of a fit, and of those after its scores: after many earlier steps
# there are fewer scores, at least one, and norms are counted less often.  Without it real tables
# took up to 24, with 1% less noise; with 18, they had 7% more.
MOST_STEPS, _AFTER = 20, 2
# Largest effect of rounding rows on coefficients, as a share of their sampling error.
_ROUNDED = 0.1


def newton_passes() -> int:
    """Return the maximum number of passes over the rows, including scaling.

    Each noisy step takes one; rows are stored in one more, and re-centred before each score except
    the first.  Every fit has at least 5 steps that are not scores.
    """
    return 2 * MOST_STEPS - 5


@dataclass(eq=False)
class Rounds:
    """Successive scores, and their path."""

    # Private: in coordinates with second moments of about 1, centred at the start of the path.
    rows: MappedRows
    path: Path  # Extended by each score.
    units: float  # Noisy number of rows.
    noise: GaussianReleases
    limits: Limits  # At first those at the start of the path.
    model: Linearised
    groups: Groups | None = None  # None: the curvature is constant.

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
        """Length of a large step: a residual, or `_LONG_STEP` in a linear predictor."""
        if self._expected is None:
            return self.residual
        return min(self.residual, _LONG_STEP * self.model.curved)

    def deviation(self, limit: float, share: float) -> float:
        """Return the noise standard deviation of the mean score, for this threshold and share."""
        return limit / (self.units * self.noise.share(share))

    @property
    def steps_left(self) -> int:
        """Number of noisy steps available until the last score."""
        return MOST_STEPS - _AFTER - len(self.noise.parts)

    def go(self, limit: float, share: float, *, last: bool) -> None:
        """Release a score at the current point of the path, and continue or end the path."""
        self._aim()
        at, label = self.path.theta, f"score of round {len(self.path.observations) + 1}"
        mu = self.noise.share(share)
        score, deviation = noisy_score(self.rows, at / self._sizes, limit, label, self.noise, mu)
        there = self.units * self._sizes
        seen = Observation(at, score / there, deviation / there, limit)
        self.path.add(seen)
        self._follow(seen, last=last)

    def _follow(self, seen: Observation, *, last: bool) -> None:
        """Take the most likely step, and update the curvature from groups of rows.

        The step of the last score uses no prior that effects are small.
        """
        if self.model.family.level is not None:
            # Farther out the density differs: where few or no rows are above, scores do not change.
            # Without it errors of upper vigintiles of incomes were 400 times sampling errors
            # instead of 40.
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
        """Limit the distance from the point of the last score, now `far`, to `most`."""
        if far > most:
            self.path.hold(at + (self.path.theta - at) * (most / far))

    def first(self, limit: float, left: float) -> float:
        """Return the share of the first score."""
        spread = self.width if self._expected is not None else float((1 / self._sizes**2).sum())
        quiet = _FIRST_NOISE * self._far / math.sqrt(spread) * self.units
        return min(max(share_for(self.noise, limit, quiet), LEAST_SHARE), _FIRST_MOST * left)

    def _aim(self) -> None:
        """Recompute rows if their rounding matters at the current point."""
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
            # All that is left would have as much noise, and more rounds would not move the
            # solution.  Without it errors of 68 fits were 1.03 times as large; of 39 if used for
            # least squares too.
            loud = self.width * sigma**2 > FAR_NOISE * self._least**2
            return self._expected is not None and loud and len(self.path.observations) > 2
        last = self.path.observations[-1]
        longest = float(np.abs(last.score / last.deviation).max(initial=0.0))
        return self.path.ahead < _SETTLED * sigma and longest < _LONG_SD

    def near(self, sigma: float) -> bool:
        """Whether errors of the curvature add little to noise of this size in the next score."""
        if not self.path.observations:
            return False
        step = (self.path.theta - self.path.observations[-1].at) * self._sizes
        short = float(np.abs(step).max(initial=0.0)) < _LONG_SD * sigma
        return short and self.path.ahead < _SETTLED * sigma

    def noisy(self, share: float) -> bool:
        """Whether noise in coefficients adds more than this share to the variance of residuals.

        Rows of rare levels are not considered.
        """
        return float(self.variance @ self._sizes**2) > share * self._least**2

    def wider(self, limit: float) -> bool:
        """Whether the score with this threshold clips clearly less than the last one did.

        If such a score could be the last, 39 more of 9,000 coefficients of 866 fits had no error.
        """
        return bool(self.path.observations) and limit > WIDER * self.path.observations[-1].limit

    def early(self, limit: float, share: float) -> float:
        """Return the threshold of a score for this share, if `limit` is planned for the last.

        It is not below the previous threshold unless `limit` is: changing between wide and narrow
        thresholds changes the solution.  Without this (and with tails doubted by .25) .869 of the
        least-squares slopes of 27 real tables of 20,000 rows were covered instead of .881.

        Amounts and means have one threshold: of 40 means of 2,000 rows one was wrong by 36 errors,
        as the part clipped by a narrow one looked like a curvature of 9.
        """
        if self.wider(limit) or self.limits.once:
            return limit
        before = self.path.observations[-1].limit if self.path.observations else 0.0
        best = self.limits.best(self.noise.share(share), self.path.theta / self._sizes)
        return min(limit, max(best, before))

    def count(self, share: float, left: float, label: str) -> None:
        """Count scores by norm at the current point; `left` is the budget of those that follow.

        See `count_norms`.
        """
        at = self.path.theta / self._sizes
        self.limits = count_norms(self.rows, at, self.limits, self.noise, share, left, label)
        self._least, self._counted = min(self._least, self._far), self.path.theta

    @property
    def fallen(self) -> bool:
        """Whether residuals are clearly smaller than when norms were counted.

        The distance from there includes errors of the coefficients then and now.
        """
        way = (self.path.theta - self._counted) * self._sizes
        wrong = float(self.path.variance @ self._sizes**2)
        return float(way @ way) - 2 * wrong > _RESIDUAL_DROP * self.residual**2

    @property
    def variance(self) -> Doubles:
        """Variance of each coefficient at the current point."""
        last = self.path.observations[-1]
        wrong = self.path.doubt.apart(last.score)
        return np.asarray(last.deviation**2 + wrong / len(last.score))
