"""Likelihoods of models of classes, and rows whose least squares are a Newton step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.families import BINOMIAL, Family
from dpreg.data.classes import Baseline, Ordered

# Linear predictors are clipped to plus or minus this, so that no probability is 0.
_LARGEST_PREDICTOR = 15.0
# For ordered classes, by link: the largest distance of a predictor from the nearest threshold, and
# of a threshold from the middle one, so that densities are not 0.
_LARGEST_DISTANCE = {"logit": 15.0, "probit": 6.0}
# Predictors this many standard deviations from their mean are not treated as rare.  Without it,
# slopes of two classes were 1.1 times those of maximum likelihood for any number of records.
_NOT_RARE_SD = 2.5
# Least gap between thresholds, as a share of the gap without covariates, and the largest absolute
# threshold, within which doubles distinguish neighbours.
_LEAST_GAP, _MOST_EDGE = 0.5, 1e6
# Largest absolute entry of a row, so that rows are finite.
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class MultinomialLikelihood:
    """Multinomial logit likelihood, with a predictor for each class but the base.  Public."""

    classes: Baseline

    def constant(self, shares: Doubles) -> Doubles:
        """Return the coefficients of a model without slopes in which classes have these shares."""
        odds = np.log(np.delete(shares, self.classes.base) / shares[self.classes.base])
        slopes = np.zeros((self.classes.count, len(self.classes.covariates)))
        return np.column_stack([odds, slopes]).ravel()

    def held(self, theta: Doubles, shares: Doubles) -> Doubles:
        """Return coefficients clipped so that each class has positive probability."""
        del shares
        return theta

    def usual(self, shares: Doubles) -> tuple[Doubles, Doubles]:
        """Return the unit of the least information of a class, and the sizes of columns."""
        own = np.delete(shares * (1 - shares), self.classes.base)
        return own, np.repeat(np.sqrt(own), 1 + len(self.classes.covariates))

    def rarest(self, shares: Doubles, theta: Doubles) -> float:
        """Return the probability of the rarest outcome with a score of its own.

        It includes records whose covariates make the outcome unlikely: their scores are large, and
        clipping them would make slopes too steep.
        """
        blocks = theta.reshape(self.classes.count, -1)
        far = _NOT_RARE_SD * np.linalg.norm(blocks[:, 1:], axis=1)
        ends = special.expit(np.append(blocks[:, 0], -blocks[:, 0]) - np.tile(far, 2))
        own = np.delete(shares, self.classes.base)
        return float(min(own.min(), ends.min()))

    def surprise(self, covariates: Doubles, code: Integers, theta: Doubles) -> Doubles:
        """Return derivatives of the log-likelihood of records by their predictors."""
        count, base = self.classes.count, self.classes.base
        # Index of the class among the others; the base comes last.
        place = np.where(code == base, count, code - (code > base))
        happened = place[:, None] == np.arange(count)
        return np.asarray(happened - self._chances(covariates, theta)[:, :-1])

    def factor(self, covariates: Doubles, theta: Doubles, least: Doubles) -> tuple[Doubles, ...]:
        """Return a factor of the information: its diagonal, and its entries relative to that.

        Returns spread: shape (n, K - 1): diagonal of L, whose squares are at least `least`.  L L'
            is at least the information of a record about its predictors.
        and below: shape (n, K - 1, K - 1): columns of L divided by their diagonal entry.
        """
        chances = self._chances(covariates, theta)
        # Probability of this class or a later one, and of a later one.
        at_least = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
        own, from_here, later = chances[:, :-1], at_least[:, :-1], at_least[:, 1:]
        count = own.shape[1]
        below = np.tile(np.eye(count), (len(own), 1, 1))
        for j in range(count):
            below[:, j + 1 :, j] = -own[:, j + 1 :] / later[:, j, None]
        return np.sqrt(np.maximum(own * later / from_here, least)), below

    def columns(self, covariates: Doubles, factor: Doubles) -> Doubles:
        """Return combinations of the columns of predictors; see the classes."""
        return self.classes.columns(covariates, factor)

    def _chances(self, covariates: Doubles, theta: Doubles) -> Doubles:
        """Return the probabilities of the classes, with the base last."""
        blocks = theta.reshape(self.classes.count, -1)
        predictors = _predictors(blocks[:, 0], covariates, blocks[:, 1:])
        found = np.nan_to_num(np.clip(predictors, -_LARGEST_PREDICTOR, _LARGEST_PREDICTOR))
        powers = np.column_stack([np.exp(found), np.ones(len(found))])
        total = np.zeros(len(found))
        for column in powers.T:
            total = total + column
        return np.asarray(powers / total[:, None])


@dataclass(frozen=True, slots=True)
class CumulativeLikelihood:
    """Likelihood of a cumulative link, with a predictor of exceeding each threshold.  Public."""

    classes: Ordered
    family: Family = BINOMIAL  # Its link.
    offsets: tuple[int, ...] = ()  # Covariates whose coefficient is 1.

    def constant(self, shares: Doubles) -> Doubles:
        above = 1 - np.cumsum(shares)[:-1]
        slopes = np.zeros(len(self.classes.covariates))
        slopes[list(self.offsets)] = 1.0
        return np.append(slopes, [-self.family.predictor(mean) for mean in above.tolist()])

    def held(self, theta: Doubles, shares: Doubles) -> Doubles:
        """Return coefficients with increasing thresholds that are not too close together."""
        size, middle = len(self.classes.covariates), self.classes.count // 2
        gaps = _LEAST_GAP * np.diff(self.constant(shares)[size:])
        edges = np.sort(np.clip(theta[size:], -_MOST_EDGE, _MOST_EDGE))
        reach = _LARGEST_DISTANCE[self.family.link]
        edges = np.clip(edges, edges[middle] - reach, edges[middle] + reach)
        for j in range(middle, len(gaps)):
            edges[j + 1] = max(edges[j + 1], edges[j] + gaps[j])
        for j in reversed(range(middle)):
            edges[j] = min(edges[j], edges[j + 1] - gaps[j])
        return np.append(theta[:size], edges)

    def usual(self, shares: Doubles) -> tuple[Doubles, Doubles]:
        least, information = self._information(shares)
        slope = np.full(len(self.classes.covariates), np.sqrt(information.sum()))
        return least, np.append(slope, np.sqrt(np.diag(information)))

    def alike(self, shares: Doubles) -> Doubles:
        """Return correlations of the threshold columns in a model without slopes."""
        _, information = self._information(shares)
        sizes = np.sqrt(np.diag(information))
        return np.asarray(information / np.outer(sizes, sizes))

    def _information(self, shares: Doubles) -> tuple[Doubles, Doubles]:
        """Return the squared diagonal of its Cholesky factor, and the information of predictors."""
        none = np.zeros((1, len(self.classes.covariates)))
        spread, below = self.factor(none, self.constant(shares), np.zeros(self.classes.count))
        factor = below * spread[:, None, :]
        return spread[0] ** 2, (factor @ factor.transpose(0, 2, 1))[0]

    def rarest(self, shares: Doubles, theta: Doubles) -> float:
        size = len(self.classes.covariates)
        slopes, edges = theta[:size].copy(), theta[size:]
        slopes[list(self.offsets)] = 0.0
        far = _NOT_RARE_SD * float(np.linalg.norm(slopes))
        ends = self.family.mean(np.array([edges[0], -edges[-1]]) - far)
        return float(min(shares.min(), ends.min()))

    def surprise(self, covariates: Doubles, code: Integers, theta: Doubles) -> Doubles:
        slope, chance, _ = self._parts(covariates, theta)
        number = np.arange(self.classes.count)
        above = (code[:, None] == number + 1) / chance[:, 1:]
        return np.asarray(slope * (above - (code[:, None] == number) / chance[:, :-1]))

    def factor(self, covariates: Doubles, theta: Doubles, least: Doubles) -> tuple[Doubles, ...]:
        slope, chance, below_mean = self._parts(covariates, theta)
        number = np.arange(self.classes.count)
        next_mean = np.column_stack([below_mean[:, 1:], np.ones(len(slope))])
        square = slope**2 * next_mean / (below_mean * chance[:, 1:])
        below = np.tile(np.eye(len(number)), (len(slope), 1, 1))
        later = slope[:, 1:] * below_mean[:, :-1] / (slope[:, :-1] * below_mean[:, 1:])
        below[:, number[1:], number[:-1]] = -later
        return np.sqrt(np.maximum(square, least)), below

    def columns(self, covariates: Doubles, factor: Doubles) -> Doubles:
        moved = covariates.copy()
        moved[:, list(self.offsets)] = 0.0
        return self.classes.columns(moved, factor)

    def _parts(self, covariates: Doubles, theta: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Return densities at thresholds, and probabilities of classes and below thresholds."""
        size, reach = len(self.classes.covariates), _LARGEST_DISTANCE[self.family.link]
        edges = theta[size:]
        inside = _predictors(np.zeros(1), covariates, theta[None, :size])[:, 0]
        inside = np.clip(np.nan_to_num(inside), edges[0] - reach, edges[-1] + reach)
        predictor = inside[:, None] - edges
        logit = self.family.link == "logit"
        mean = special.expit if logit else self.family.mean
        above, below = mean(predictor), mean(-predictor)
        slope = above * below if logit else self.family.slope(predictor)
        ends = np.ones((len(predictor), 1))
        over, under = np.hstack([ends, above, 0 * ends]), np.hstack([0 * ends, below, ends])
        # Differences of the smaller tail probabilities avoid cancellation.
        upper = over[:, :-1] < 0.5
        chance = np.where(upper, over[:, :-1] - over[:, 1:], under[:, 1:] - under[:, :-1])
        return slope, chance, below


Likelihood = CumulativeLikelihood | MultinomialLikelihood


def _predictors(level: Doubles, covariates: Doubles, slopes: Doubles) -> Doubles:
    """Return levels plus covariates times slopes, shape (n, number of predictors).

    Columns are added one by one: the last bit of a matrix product may depend on the position of a
    row.
    """
    found = np.tile(level, (len(covariates), 1))
    for column, own in zip(covariates.T, slopes.T, strict=True):
        found = found + column[:, None] * own
    return found


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfStep:
    """Rows whose least squares are a Newton step of the likelihood of a model of classes.

    A record has K - 1 predictors, each with its own columns Z, and K - 1 rows.  Row j has
    regressors L[:, j]' Z and response (inv(L) u)[j].  Here u is the gradient of the log-likelihood
    by the predictors at the start, and L L' is their information, in closed form, in the middle of
    the step.  The rows of a record therefore add up to its score Z'u and to its information there.
    Public, and can be pickled.
    """

    likelihood: Likelihood
    weighted: bool  # The last column of a record is its weight, which its rows inherit.
    # centre, scale: rows have (covariate - centre) / scale.
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    # start, middle: coefficients of the covariates in these units.
    start: Doubles
    middle: Doubles
    # Shape (K - 1,): lower limits of the squared diagonal of L, so that no response is extreme.
    # Where a limit applies the information is larger and the step shorter.
    least: Doubles

    @np.errstate(all="ignore")  # a warning would be about a cell
    def __call__(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles, Integers]:
        """Return regressors and response of the rows, and the number of rows of each record.

        The response of a record is the number of its class, from 0; a record with any other
        response has no rows.  Columns are `names` of the classes, then the weight if any.
        """
        likelihood, count = self.likelihood, self.likelihood.classes.count
        inside = np.flatnonzero(np.isin(y, np.arange(count + 1)))
        moved = (X[inside][:, : len(self.centre)] - self.centre) / self.scale
        covariates = np.clip(moved, -_LARGEST, _LARGEST)
        surprise = likelihood.surprise(covariates, y[inside].astype(np.int64), self.start)
        spread, below = likelihood.factor(covariates, self.middle, self.least)
        factor = (below * spread[:, None, :]).transpose(0, 2, 1)
        made = likelihood.columns(covariates, factor)
        made = made.reshape(len(inside) * count, made.shape[2])
        if self.weighted:
            made = np.column_stack([made, np.repeat(X[inside][:, -1], count)])
        counts = np.zeros(len(y), dtype=np.int64)
        counts[inside] = count
        return made, (_forward_solved(below, surprise) / spread).ravel(), counts


def _forward_solved(below: Doubles, surprise: Doubles) -> Doubles:
    """Solve unit lower triangular systems with right-hand side `surprise`."""
    found = surprise.copy()
    for j in range(found.shape[1]):
        found[:, j + 1 :] -= below[:, j + 1 :, j] * found[:, j, None]
    return found
