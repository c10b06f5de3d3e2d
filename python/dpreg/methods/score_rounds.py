"""Coefficients as the root of a noisy score, along directions that were found in noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.inference.covariance import EstimateError, sandwich
from dpreg.inference.shrinkage import kept_shares
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.preconditioning import Directions
from dpreg.sums.quantised import MappedRows
from dpreg.sums.scores import (
    ScoreNorms,
    noisy_products,
    noisy_score,
    noisy_score_norms,
    products_limit,
)

__all__ = ["ScorePlan", "ScoreRoot", "score_errors", "score_root", "shrunk"]

Doubles = NDArray[np.float64]

# A step goes this far towards the root of the score.
_STEP = 0.5
# Limits of early scores, in the norm that three quarters of the units do not exceed.
_EARLY_LIMIT = 3.0
# What late limits cut off may be this many deviations of the noise in the mean of all rounds.
_BALANCE = 0.5
# Noise in that mean may be this many times the sampling error, however much is cut off.
_MOST_NOISE = 4.0
# Limits are never less than this, in root mean square norms.
_LEAST_LIMIT = 2.0
# Mean squares of settled scores, in variances of their noise, are about 2 and less than this.
_SETTLED = 6.0


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """Shares of the squared mu, all public.

    Attributes
    ----------
    early : tuple of float
        Of rounds whose limits follow the scores down.
    every : int
        Norms are counted before every so many of them.
    early_norms : float
        Of each of those counts.
    norms : float
        Of the counts from which the last limit comes.
    settling : tuple of float
        Of rounds with that limit, which move away from where the limits before it led.
    late : tuple of float
        Of more rounds with that limit; the result is the mean of their iterates.
    products : float
        Of the second moments of the scores.
    """

    early: tuple[float, ...]
    every: int
    early_norms: float
    norms: float
    settling: tuple[float, ...]
    late: tuple[float, ...]
    products: float

    @property
    def share(self) -> float:
        """Of everything."""
        counts = math.ceil(len(self.early) / self.every) * self.early_norms + self.norms
        return math.fsum((*self.early, *self.settling, *self.late, counts, self.products))

    def times(self, factor: float) -> ScorePlan:
        """Multiply all shares."""
        return ScorePlan(
            early=tuple(factor * share for share in self.early),
            every=self.every,
            early_norms=factor * self.early_norms,
            norms=factor * self.norms,
            settling=tuple(factor * share for share in self.settling),
            late=tuple(factor * share for share in self.late),
            products=factor * self.products,
        )


@dataclass(frozen=True, slots=True)
class ScoreRoot:
    """What the rounds released, along w directions with second moments of about 1.

    Attributes
    ----------
    theta : ndarray, shape (w,)
    deviation : float
        Of the privacy noise in each entry.
    limit : float
        Of the norms of scores, in the last rounds.
    products : ndarray, shape (w, w)
        Noisy sum of the products of scores.
    products_deviation : float
        Of the noise on its diagonal.
    norm : float
        Root mean square norm of a score.
    units : float
    unsettled : ndarray, shape (w,)
        Mean square of the last steps beyond what noise explains: not all rounds converge.
    """

    theta: Doubles
    deviation: float
    limit: float
    products: Doubles
    products_deviation: float
    norm: float
    units: float
    unsettled: Doubles

    @property
    def residual_variance(self) -> float:
        """Mean square of the residuals, were they independent of the rows."""
        return self.norm**2 / max(len(self.theta), 1)


def score_root(
    rows: MappedRows,
    seen: NDArray[np.bool_],
    units: float,
    plan: ScorePlan,
    noise: GaussianReleases,
) -> ScoreRoot:
    """Step towards the root of the sum of shortened scores.

    Parameters
    ----------
    rows : MappedRows
        Private, along directions with second moments of about 1.
    seen : ndarray of bool, shape (w,)
        Along the other directions second moments may be anything from 0 to about 1, and a ridge
        of 1 keeps the noise from adding up.
    units : float
        Noisy number of units.
    plan : ScorePlan
    noise : GaussianReleases
    """
    theta, ridge = np.zeros(rows.width), np.where(seen, 0.0, 1.0)
    scores: list[Doubles] = []
    thetas: list[Doubles] = []
    deviations: list[float] = []

    def step(limit: float, share: float) -> None:
        nonlocal theta
        label = f"score of round {len(thetas) + 1}"
        score, deviation = noisy_score(rows, theta, limit, label, noise, noise.share(share))
        scores.append(score / units - ridge * theta)
        theta = theta + _STEP * scores[-1]
        thetas.append(theta)
        deviations.append(deviation / units)

    for number, share in enumerate(plan.early):
        if number % plan.every == 0:
            label = f"norms of scores in round {number + 1}"
            norms = noisy_score_norms(rows, theta, label, noise, noise.share(plan.early_norms))
        step(_EARLY_LIMIT * norms.three_quarters, share)
    norms = noisy_score_norms(rows, theta, "norms of scores", noise, noise.share(plan.norms))
    norm = norms.root_mean_square()
    limit = late_limit(norms, norm, units, rows.width, noise.share(math.fsum(plan.late)))
    for share in (*plan.settling, *plan.late):
        step(limit, share)
    theta = np.asarray(np.mean(thetas[-len(plan.late) :], axis=0))
    mu = noise.share(plan.products)
    half = (len(plan.late) + 1) // 2
    last = np.array(scores[-half:]), np.array(deviations[-half:])
    short = min(limit, products_limit(norm, units, rows.width, mu))
    products, deviation = noisy_products(rows, theta, short, noise, mu)
    return ScoreRoot(
        theta=theta,
        deviation=_deviation_of_mean(np.array(deviations), len(plan.late)),
        limit=limit,
        products=products,
        products_deviation=deviation,
        norm=norm,
        units=units,
        unsettled=_unsettled(*last),
    )


def _unsettled(scores: Doubles, deviations: Doubles) -> Doubles:
    """Mean square of scores beyond so many times their noise, which settled rounds stay within."""
    usual = _SETTLED * float((deviations**2).mean())
    return np.asarray(np.maximum((scores**2).mean(axis=0) - usual, 0.0))


def late_limit(norms: ScoreNorms, norm: float, units: float, width: int, mu: float) -> float:
    """Return the limit of the rounds that count; `mu` is that of them all."""
    wanted = norms.limit(mu, _BALANCE)
    most = _MOST_NOISE * mu * math.sqrt(units / max(width, 1)) * norm
    return max(min(wanted, most), _LEAST_LIMIT * norm)


def _deviation_of_mean(deviations: Doubles, average: int) -> float:
    """Of the noise in the mean of the last iterates, each step forgetting a share of the past."""
    rounds, left = len(deviations), 1 - _STEP
    reach = np.zeros(rounds)
    for t in range(rounds):
        ages = np.arange(max(rounds - average, t), rounds) - t
        reach[t] = _STEP * float((left**ages).sum()) / average
    return float(np.linalg.norm(reach * deviations))


def shrunk(root: ScoreRoot, directions: Directions) -> tuple[ScoreRoot, Doubles]:
    """Shrink the estimate where noise would swamp predictions.

    Along all directions that were seen together, see `kept_shares`.  Along each, where noise is
    no less than a prior by which a standard deviation of the regressors moves the response by
    about one of its own; that leaves alone whatever is told from noise.

    Returns
    -------
    ScoreRoot
    kept : ndarray, shape (w,)
        Share of each coordinate that is left; 1 where nothing was done.
    """
    seen, variance = directions.seen, root.deviation**2
    size = int(seen.sum())
    gram, noise = root.units * np.eye(size), variance * np.eye(size)
    kept = 1 / (1 + (variance / _prior_variance(directions)) ** 2)
    theta = kept * root.theta
    kept[seen] *= np.diag(kept_shares(gram, root.units, theta[seen], noise))
    return replace(root, theta=kept * root.theta), kept


def _prior_variance(directions: Directions) -> Doubles:
    """Of the coordinate along each direction."""
    return np.asarray(1 / np.maximum((directions.map**2).sum(axis=0), np.finfo(float).tiny))


def score_errors(root: ScoreRoot, directions: Directions, kept: Doubles) -> EstimateError:
    """Return the error of the coefficients in standard units, w of them.

    Along directions that were not seen, coordinates are as large as would explain all that is left
    of the response, or as the prior of `shrunk` has them.

    Parameters
    ----------
    root : ScoreRoot
    directions : Directions
    kept : ndarray, shape (w,)
        What the coordinates were multiplied by.
    """
    there = directions.map * kept
    constant = root.residual_variance * root.units * np.eye(len(kept))
    products, deviation = root.products, root.products_deviation
    sampling = sandwich(there / root.units, constant, products, deviation)
    largest = np.minimum(root.residual_variance, _prior_variance(directions))
    hidden = np.where(directions.seen, (1 - kept) ** 2, 1.0) * largest
    return EstimateError(
        sampling=sampling,
        privacy=root.deviation**2 * there @ there.T,
        hidden=(directions.map * (hidden + root.unsettled)) @ directions.map.T,
    )
