"""Coefficients as the root of a noisy score, along directions that were found in noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.inference.curvature import held_back, steadied
from dpreg.methods.score_errors import ScoreRoot
from dpreg.methods.score_plan import ScorePlan
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.quantised import MappedRows
from dpreg.sums.scores import (
    ScoreCut,
    ScoreNorms,
    noisy_curvature,
    noisy_products,
    noisy_score,
    noisy_score_norms,
    products_limit,
)
from dpreg.sums.working_model import WorkingModel, least_squares

__all__ = ["late_limit", "score_root"]

Doubles = NDArray[np.float64]

# A step goes so far towards the root of the score: in early rounds, while they settle, and in
# those that count.  Where rows are longer than those that curvature is of, the score may fall up to
# ten times as fast as it says before late steps overshoot.
_EARLY_STEP, _SETTLING_STEP, _LATE_STEP = 0.5, 0.3, 0.2
# and all of it where its length is this many deviations of noise.
_TOLD = 2.0
# and no farther than a regressor moves linear predictors by this: at other predictors the curvature
# is another one, and longer steps by the first end far beyond the root, on one side or the other.
_FARTHEST = 2.0
# Limits of early scores, in the norm that three quarters of the units do not exceed.
_EARLY_LIMIT = 3.0
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


@dataclass(slots=True)
class _Rounds:
    """Where the rounds are, and where they were.

    Attributes
    ----------
    curvature, inverse : ndarray, shape (w, w)
        Of the loss of a unit, on average; and the inverse of that.
    gathered : bool
        The last rounds went all the way, each by itself.
    theta : ndarray, shape (w,)
    steps, targets, deviations : list
        By round: the whole way to the root as it looked then, where that leads, and the deviation
        of the noise in each entry of the score of a unit, on average.
    """

    rows: MappedRows
    seen: NDArray[np.bool_]
    units: float
    noise: GaussianReleases
    model: WorkingModel
    curvature: Doubles = field(init=False)
    inverse: Doubles = field(init=False)
    gathered: bool = field(init=False, default=False)
    theta: Doubles = field(init=False)
    steps: list[Doubles] = field(init=False, default_factory=list)
    targets: list[Doubles] = field(init=False, default_factory=list)
    deviations: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.theta = self.model.start
        self._bend(self.model.curvature * np.eye(self.rows.width))

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
        self.theta = self.theta + self._size(way, deviation / self.units, size) * way
        self.deviations.append(deviation / self.units)

    def settle(self, limit: float, shares: tuple[float, ...]) -> bool:
        """Go to where a new limit leads; return whether that gets nearer.

        It does not where the score falls much faster than the curvature says: each step then
        leads farther beyond the root.
        """
        for share in shares:
            self.step(limit, share, _SETTLING_STEP)
        steps = np.array(self.steps[-len(shares) :]) ** 2
        before, after = steps[:2].mean(axis=0), steps[-2:].mean(axis=0)
        told = after > (_SETTLED + math.log(max(self.rows.width, 1))) * self.usual(2)
        return not (told & (after > _NEARER * before)).any()

    def usual(self, rounds: int) -> Doubles:
        """Return the mean square of the noise in the last steps."""
        noise = np.array(self.deviations[-rounds:])
        return np.asarray(float((noise**2).mean()) * (self.inverse**2).sum(axis=1))

    def _size(self, way: Doubles, deviation: float, size: float) -> float:
        """Go all of the way where it is told from noise and does not overshoot.

        The curvature of a binomial loss falls on the way from the mean, so that steps are short.
        """
        noise = deviation**2 * float((self.inverse**2).sum())
        told = float(way @ way) > _TOLD**2 * noise
        return 1.0 if told and self.model.family.name == "binomial" else size

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

    def expect(self) -> None:
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
        norms = noisy_score_norms(self.rows, self.theta, label, self.noise, mu)
        return replace(norms, gaps=not self.model.family.least_squares)

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


def score_root(
    rows: MappedRows,
    seen: NDArray[np.bool_],
    units: float,
    plan: ScorePlan,
    noise: GaussianReleases,
    model: WorkingModel | None = None,
    shorter: Callable[[], MappedRows] | None = None,
) -> ScoreRoot:
    """Step towards the root of the sum of shortened scores.

    Parameters
    ----------
    rows : MappedRows
        Private, along directions with second moments of about 1.
    seen : ndarray of bool, shape (w,)
        Along the other directions second moments may be anything from 0 to about 1, and a ridge
        as large as the curvature keeps the noise from adding up.
    units : float
        Noisy number of units.
    plan : ScorePlan
    noise : GaussianReleases
    model : WorkingModel, optional
        Default: least squares.
    shorter : callable, optional
        Returns the rows to go on with should `rows`, some much longer than those that curvature is
        of, lead nowhere.
    """
    model = least_squares(rows.width) if model is None else model
    rounds = _Rounds(rows, seen, units, noise, model)
    for number, share in enumerate(plan.early):
        if model.deviation > 0:
            usual = model.deviation * math.sqrt(max(rows.width, 1))
        elif number % plan.every == 0:
            label = f"norms of scores in round {number + 1}"
            usual = rounds.norms(label, plan.early_norms).three_quarters
        rounds.step(max(_EARLY_LIMIT * usual, rounds.longest), share, _EARLY_STEP)
        rounds.expect()
    if plan.curvature:
        rounds.curve(plan.curvature[0])
    start, late = rounds.theta, plan.late
    norms, cut = rounds.limit("norms of scores", plan.norms, late)
    if plan.curvature:
        rounds.gather(cut.limit, plan.settling, 0.0)
        rounds.curve(plan.curvature[1])
        rounds.gather(cut.limit, late, math.fsum(plan.settling))
    else:
        if rounds.settle(cut.limit, plan.settling):
            late = tuple(share + plan.again / len(late) for share in late)
        elif shorter is not None:
            rounds.rows, rounds.theta = shorter(), start
            settling = math.fsum(plan.settling)
            share = plan.again * plan.norms / (plan.norms + settling)
            label = "norms of scores of shorter rows"
            norms, cut = rounds.limit(label, share, late)
            again = (plan.again - share) / settling
            rounds.settle(cut.limit, tuple(again * share for share in plan.settling))
        for share in late:
            rounds.step(cut.limit, share, _LATE_STEP)
    theta, theta_deviation = rounds.mean(late)
    mu = noise.share(plan.products)
    short = min(cut.limit, max(products_limit(norms, rows.width, mu), rounds.longest))
    products, deviation = noisy_products(rounds.rows, theta, short, noise, mu)
    half = (len(late) + 1) // 2
    return ScoreRoot(
        theta=theta,
        deviation=theta_deviation,
        cut=cut,
        row_limit=rounds.rows.limit,
        products=products,
        products_deviation=deviation,
        norm=norms.root_mean_square(),
        squares=norms.sum_of_squares(),
        units=units,
        unsettled=_unsettled(np.array(rounds.steps[-half:]), rounds.usual(half)),
        curvature=rounds.curvature,
        start=model.start,
        scale=model.scale,
        fixed_dispersion=model.dispersion if noise.rows == 1 else 0.0,
        standardised=model.family.standardised,
    )


def _unsettled(steps: Doubles, usual: Doubles) -> Doubles:
    """Mean square of steps beyond so many times their noise, which settled rounds stay within."""
    return np.asarray(np.maximum((steps**2).mean(axis=0) - _SETTLED * usual, 0.0))


def late_limit(norms: ScoreNorms, norm: float, width: int, mu: float) -> float:
    """Return the limit of the rounds that count; `mu` is that of them all."""
    wanted = norms.limit(mu, _BALANCE)
    most = _MOST_NOISE * mu * math.sqrt(norms.sum_of_squares() / max(width, 1))
    return max(min(wanted, most), _LEAST_LIMIT * norm)
