"""Rounds of noisy scores on the way to their root."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.inference.curvature import held_back, steadied
from dpreg.methods.score_plan import ScorePlan
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.quantised import MappedRows
from dpreg.sums.scores import (
    ScoreCut,
    ScoreNorms,
    noisy_curvature,
    noisy_score,
    noisy_score_norms,
)
from dpreg.sums.working_model import WorkingModel

__all__ = ["Rounds", "late_limit"]

Doubles = NDArray[np.float64]

# A step goes so far towards the root of the score: in early rounds, while they settle, and in
# those that count.  Where rows are longer than those that curvature is of, the score may fall up to
# ten times as fast as it says before late steps overshoot.
_EARLY_STEP, _SETTLING_STEP, _LATE_STEP = 0.5, 0.3, 0.2
# and all of it where its length is this many deviations of noise.
_TOLD = 2.0
# Where the last two ways are so many, they tell how far the next has to go.
_SURE = 10.0
# and no farther than a regressor moves linear predictors by this: at other predictors the curvature
# is another one, and longer steps by the first end far beyond the root, on one side or the other.
_FARTHEST = 2.0
# Limits of early scores, in the norm that three quarters of the units do not exceed.
_EARLY_LIMIT = 3.0
# or as large as the longest that are seen, which a few rows with a large effect have, as long as
# noise moves predictions by no more than this share of residuals.
_EARLY_NOISE = 0.05
# What late limits cut off may be this many deviations of the noise in the mean of all rounds.
_BALANCE = 0.5
# Noise in that mean may be this many times the sampling error, however much is cut off.
_MOST_NOISE = 4.0
# Limits are never less than this, in root mean square norms.
_LEAST_LIMIT = 2.0
# Where no score is longer than this many root mean square norms, none is shortened.
_FEW = 5.0
# For curvature rows are shortened to so many times their usual length, by how peaked it is,
_LEAST_CURVED, _MOST_CURVED = 3.0, 5.0
# or to more, as long as noise in it is no more than this share of it.
_CURVATURE_NOISE = 0.05
# Mean squares of settled scores, in variances of their noise, are about 2 and less than this.
_SETTLED = 6.0
# Mean squares of the last steps to a new limit, in those of the first ones, where they settle.
_NEARER = 0.5
# Rows are aimed at the mean of where so many rounds lead, and once more if their rounding may move
# coefficients by more than this share of their sampling error.
_AIMED, _ROUNDED = 2, 0.1
# Where noise in a round is no more than this share of the sampling error, fewer rounds do as well:
# early ones end when the way is no longer than so many of these.
_QUIET, _NEAR = 0.5, 2.0
# Of late rounds so many are then made into one, and twice as many where noise is no more than this
# share; and a step goes as far as the two before it say, by this share of the way at least.
_MERGED, _STILL, _LEAST_STEP = 5, 0.15, 0.1
# Rounds do not settle if all of the way is less than this share of what the curvature says it is.
_STEEP = 1 / 6


@dataclass(slots=True)
class Rounds:
    """Where the rounds are, and where they were.

    Attributes
    ----------
    curvature, inverse : ndarray, shape (w, w)
        Of the loss of a unit, on average; and the inverse of that.
    gathered : bool
        The last rounds went all the way, each by itself.
    quick : bool
        Noise in the last round was small beside the sampling error.
    steep : bool
        The score fell many times as fast as the curvature says.
    saved : float
        Share of rounds that were not needed.
    made : int
        How often rows were made anew.
    aimed : ndarray, shape (w,)
        Near these coefficients the rounding of rows does not matter.
    theta : ndarray, shape (w,)
    steps, targets, deviations, of : list
        By round: the whole way to the root as it looked then, where that leads, the deviation of
        the noise in each entry of the score of a unit, on average, and the limit and `made`.
    """

    rows: MappedRows
    seen: NDArray[np.bool_]
    units: float
    noise: GaussianReleases
    model: WorkingModel
    curvature: Doubles = field(init=False)
    inverse: Doubles = field(init=False)
    gathered: bool = field(init=False, default=False)
    quick: bool = field(init=False, default=False)
    steep: bool = field(init=False, default=False)
    saved: float = field(init=False, default=0.0)
    made: int = field(init=False, default=0)
    aimed: Doubles = field(init=False)
    theta: Doubles = field(init=False)
    steps: list[Doubles] = field(init=False, default_factory=list)
    targets: list[Doubles] = field(init=False, default_factory=list)
    deviations: list[float] = field(init=False, default_factory=list)
    of: list[tuple[float, int]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.theta = self.aimed = self.model.start
        moments = self.model.moments
        self._bend(
            self.model.curvature * np.diag(np.ones(self.rows.width) if moments is None else moments)
        )

    @property
    def longest(self) -> float:
        """Norm of the longest score of a unit with one usual row; 0: it has no bound.

        Where few responses are 1, theirs are many times as long as most, and may be too few to be
        counted; without them the mean would be too small.  Of counts it is that of one event, whose
        size is variance over mean, where events are as rare.
        """
        most, usual = self.model.family.most_residual, self.model.deviation
        if not math.isfinite(most):
            event = usual**2 / self.model.curvature
            rare = self.model.family.link == "log" and event > _EARLY_LIMIT * usual
            most = event if rare else 0.0
        return most * math.sqrt(max(self.rows.width, 1))

    def _bend(self, curvature: Doubles) -> None:
        self.curvature, self.inverse = curvature, np.asarray(np.linalg.inv(curvature))

    def step(self, limit: float, share: float, size: float = 1.0) -> None:
        """Go a part of the way, `size`, to the root of a noisy score."""
        label = f"score of round {len(self.steps) + 1}"
        mu = self.noise.share(share)
        score, deviation = noisy_score(self.rows, self.theta, limit, label, self.noise, mu)
        ridge = np.where(self.seen, 0.0, np.diag(self.curvature))
        pull = ridge * (self.theta - self.model.start)
        way = self.inverse @ (score / self.units - pull)
        if self.model.effects is not None:
            scale = deviation / self.units
            way = held_back(way, self.model.effects, self.inverse, scale, _FARTHEST)
        self.steps.append(way)
        self.targets.append(self.theta + way)
        self.deviations.append(deviation / self.units)
        self.of.append((limit, self.made))
        self.theta = self.theta + self._size(size) * way

    def _hurry(self, norm: float) -> None:
        """Find out whether noise in the last round is small where scores have this norm."""
        quiet = self._loudness(norm) <= _QUIET
        self.quick = quiet and self.model.family.least_squares

    def _loudness(self, norm: float) -> float:
        """Return noise in the last round, in sampling errors of scores with this norm."""
        sampling = norm / math.sqrt(max(self.rows.width, 1) * self.units)
        return self.deviations[-1] / sampling

    def _near(self, norm: float) -> bool:
        """Whether the last way is about as long as sampling errors of scores with this norm."""
        return self._fall(self.steps[-1]) <= _NEAR * norm / math.sqrt(self.units)

    def _fall(self, way: Doubles) -> float:
        """Return how much the score of a unit should fall on this way, on average.

        Noise is the same in each of its entries, and that in ways is larger along short directions.
        """
        return float(np.linalg.norm(self.curvature @ way))

    def aim(self) -> None:
        """Make rows again, so that their rounding does not matter where they lead."""
        settled = self.model.family.least_squares
        self.aimed = np.mean(self.targets[-_AIMED:], axis=0) if settled else self.theta
        self.rows.aim(self.aimed)
        self.made += 1

    def go_on_with(self, rows: MappedRows, theta: Doubles) -> None:
        """Take other rows, from here."""
        self.rows, self.theta = rows, theta
        self.made, self.steep = self.made + 1, False

    def _aim_again(self, norm: float) -> None:
        """Aim once more if the root is too far from where rows are aimed; scores have this norm."""
        far = float(np.linalg.norm(np.mean(self.targets[-_AIMED:], axis=0) - self.aimed))
        rounding = self.rows.limit / _core.ROW_STEPS / 2
        if far * rounding > _ROUNDED * norm / math.sqrt(max(self.rows.width, 1) * self.units):
            self.aim()

    def start(self, plan: ScorePlan) -> None:
        """Go towards the root with limits that follow the scores down, and aim rows at it."""
        for number, share in enumerate(plan.early):
            if self.model.deviation > 0:
                usual = self.model.deviation * math.sqrt(max(self.rows.width, 1))
                limit = _EARLY_LIMIT * usual
            elif number % plan.every == 0:
                label = f"norms of scores in round {number + 1}"
                norms = self.norms(label, plan.early_norms)
                usual = norms.three_quarters
                quiet = _EARLY_NOISE * usual * self.noise.share(share) * self.units
                limit = min(norms.longest_seen, quiet / max(self.rows.width, 1))
                limit = max(limit, _EARLY_LIMIT * usual)
            self.step(max(limit, self.longest), share, _EARLY_STEP)
            self._expect()
            self._hurry(usual)
            if self.quick and number >= plan.every and (self._near(usual) or not self.told):
                self.saved += math.fsum(plan.early[number + 1 :])
                counts = len(range(0, len(plan.early), plan.every))
                self.saved += plan.early_norms * (counts - number // plan.every - 1)
                break
        self.aim()
        if plan.curvature:
            self.curve(plan.curvature[0])

    def finish(self, limit: float, shares: tuple[float, ...], norm: float) -> tuple[float, ...]:
        """Make the rounds that count, fewer if each has little noise; return their shares."""
        self._aim_again(norm)
        self._hurry(norm)
        few = len(shares) // (_MERGED if self._loudness(norm) > _STILL else 2 * _MERGED)
        if self.quick and few > 1:
            shares = (math.fsum(shares) / few,) * few
        shares = tuple(share + self.saved / len(shares) for share in shares)
        for share in shares:
            self.step(limit, share, _LATE_STEP)
        return shares

    def settle(self, limit: float, shares: tuple[float, ...]) -> bool:
        """Go to where a new limit leads; return whether that gets nearer.

        It does not where the score falls much faster than the curvature says: each step then
        leads farther beyond the root.
        """
        for number, share in enumerate(shares):
            self.step(limit, share, _SETTLING_STEP)
            if self.quick and number > 0 and not self.told:
                self.saved += math.fsum(shares[number + 1 :])
                return not self.steep
        steps = np.array(self.steps[-len(shares) :]) ** 2
        before, after = steps[:2].mean(axis=0), steps[-2:].mean(axis=0)
        told = after > (_SETTLED + math.log(max(self.rows.width, 1))) * self.usual(2)
        return not self.steep and not (told & (after > _NEARER * before)).any()

    def usual(self, rounds: int) -> Doubles:
        """Return the mean square of the noise in the last steps."""
        noise = np.array(self.deviations[-rounds:])
        return np.asarray(float((noise**2).mean()) * (self.inverse**2).sum(axis=1))

    @property
    def told(self) -> bool:
        """Whether the last way is told from noise."""
        return self._clearness(-1) > _TOLD

    def _clearness(self, of: int) -> float:
        """Return the length of a way in deviations of its noise."""
        noise = self.deviations[of] * math.sqrt(max(self.rows.width, 1))
        return self._fall(self.steps[of]) / noise

    def _size(self, size: float) -> float:
        """Return how much of the last way to go: `size` of it where noise may have made it.

        The curvature of a binomial loss falls on the way from the mean, so that steps are short,
        and all of them can be gone.  With little noise the last step tells how far the next has to
        go: the ways before and after it differ by what it did.
        """
        if not self.told:
            return size
        if self.model.family.name == "binomial":
            return 1.0
        if not self.model.family.least_squares or len(self.steps) < 2:
            return size
        sure = min(self._clearness(-2), self._clearness(-1)) > _SURE
        if not (self.quick or sure) or self.of[-2] != self.of[-1]:
            return size
        gone = self.targets[-1] - self.steps[-1] - (self.targets[-2] - self.steps[-2])
        expected = self.curvature @ gone
        fallen = float(expected @ self.curvature @ (self.steps[-2] - self.steps[-1]))
        if fallen <= 0:
            return size
        whole = float(expected @ expected) / fallen
        self.steep = self.steep or whole < _STEEP
        return min(max(whole, _LEAST_STEP), 1.0)

    def gather(self, limit: float, shares: tuple[float, ...], before: float) -> None:
        """Go all the way, round after round, each from the mean of where the others led.

        So rounds are where noise is least, and what is not linear about a score matters least.

        Parameters
        ----------
        before : float
            Weight of where they start, in shares.
        """
        self.gathered = True
        total, weight = before * self.theta, before
        for share in shares:
            self.step(limit, share)
            total, weight = total + share * self.targets[-1], weight + share
            self.theta = total / weight

    def _expect(self) -> None:
        """Take the curvature to be what the model expects where the rounds are."""
        self._bend(self.model.curvature_at(self.theta))

    def curve(self, share: float) -> None:
        """Release the curvature where the rounds are."""
        mu, width = self.noise.share(share), max(self.rows.width, 1)
        size = math.sqrt(max(float(np.trace(self.model.curvature_at(self.theta))), 0.0))
        quiet = math.sqrt(_CURVATURE_NOISE * mu / self.noise.rows * self.units / width)
        peaked = math.sqrt(self.model.most_curvature / self.model.curvature)
        least = max(_LEAST_CURVED, min(peaked, _MOST_CURVED))
        limit = min(
            max(quiet, least) * size, math.sqrt(self.model.most_curvature) * self.rows.limit
        )
        matrix, deviation = noisy_curvature(self.rows, self.theta, limit, self.noise, mu)
        expected = float(np.trace(self.model.curvature_at(self.theta))) / max(self.rows.width, 1)
        self._bend(steadied(matrix / self.units, deviation / self.units, self.seen, expected))

    def norms(self, label: str, share: float) -> ScoreNorms:
        """Count the norms of scores where the rounds are."""
        mu = self.noise.share(share)
        return noisy_score_norms(self.rows, self.theta, label, self.noise, mu)

    def limit(
        self, label: str, share: float, late: tuple[float, ...]
    ) -> tuple[ScoreNorms, ScoreCut]:
        """Count norms; return them, and a limit with what it takes off."""
        norms = self.norms(label, share)
        norm = norms.root_mean_square()
        longest = self.noise.rows * self.model.most_score
        if longest <= _FEW * norm:
            return norms, ScoreCut(longest, 0.0, 0.0)
        limit = late_limit(norms, norm, self.rows.width, self.noise.share(math.fsum(late)))
        limit = max(limit, self.longest)
        return norms, norms.cut(limit)

    def mean(self, shares: tuple[float, ...]) -> tuple[Doubles, float]:
        """Return the mean of where late rounds led, and the deviation of the noise in its score.

        Each round leads all the way, whatever the share of it that was gone: the mean of the
        iterates would remember where they started.
        """
        last = len(shares)
        weights = np.array(shares) / math.fsum(shares) if self.gathered else np.full(last, 1 / last)
        theta = np.asarray(weights @ np.array(self.targets[-last:]))
        return theta, float(np.linalg.norm(weights * np.array(self.deviations[-last:])))

    def unsettled(self, rounds: int) -> Doubles:
        """Return the mean square of the last steps beyond what noise makes of settled ones."""
        steps = (np.array(self.steps[-rounds:]) ** 2).mean(axis=0)
        return np.asarray(np.maximum(steps - _SETTLED * self.usual(rounds), 0.0))


def late_limit(norms: ScoreNorms, norm: float, width: int, mu: float) -> float:
    """Return the limit of the rounds that count; `mu` is that of them all."""
    wanted = norms.limit(mu, _BALANCE)
    most = _MOST_NOISE * mu * math.sqrt(norms.sum_of_squares() / max(width, 1))
    return max(min(wanted, most), _LEAST_LIMIT * norm)
