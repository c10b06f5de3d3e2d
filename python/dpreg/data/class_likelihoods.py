"""Likelihoods of models of classes, and the rows of a step of maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.families import BINOMIAL, Family
from dpreg.data.classes import Baseline, Ordered

# Linear predictors are no farther from 0, so that no probability is 0.
_FARTHEST = 15.0
# Those of ordered classes are no farther from the nearest threshold, by link, and thresholds no
# farther from the middle one: densities are not 0 then.
_BEYOND = {"logit": 15.0, "probit": 6.0}
# Predictors of so many deviations are not rare.  Without it, slopes of two classes were 1.1 times
# those of maximum likelihood for any number of records.
_FAR = 2.5
# Thresholds are no nearer to each other than this share of what they are without covariates, and no
# farther from 0 than doubles tell them apart.
_LEAST_GAP, _MOST_EDGE = 0.5, 1e6
# Entries of rows are finite.
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class MultinomialLikelihood:
    """That of a multinomial logit; predictors are those of each class but the base.  Public."""

    classes: Baseline

    def constant(self, shares: Doubles) -> Doubles:
        """Return the coefficients of a model without slopes, where classes have these shares."""
        odds = np.log(np.delete(shares, self.classes.base) / shares[self.classes.base])
        slopes = np.zeros((self.classes.count, len(self.classes.covariates)))
        return np.column_stack([odds, slopes]).ravel()

    def held(self, theta: Doubles, shares: Doubles) -> Doubles:
        """Return coefficients at which each class has a probability."""
        del shares
        return theta

    def usual(self, shares: Doubles) -> tuple[Doubles, Doubles]:
        """Return the least information of a class is measured by, and the sizes of columns."""
        own = np.delete(shares * (1 - shares), self.classes.base)
        return own, np.repeat(np.sqrt(own), 1 + len(self.classes.covariates))

    def rarest(self, shares: Doubles, theta: Doubles) -> float:
        """Return the probability of the rarest outcome that has a score of its own.

        Also where covariates are far on the other side: scores of these records are long; were they
        clipped, slopes would be too steep.
        """
        blocks = theta.reshape(self.classes.count, -1)
        far = _FAR * np.linalg.norm(blocks[:, 1:], axis=1)
        ends = special.expit(np.append(blocks[:, 0], -blocks[:, 0]) - np.tile(far, 2))
        own = np.delete(shares, self.classes.base)
        return float(min(own.min(), ends.min()))

    def surprise(self, covariates: Doubles, code: Integers, theta: Doubles) -> Doubles:
        """Return derivatives of the log-likelihood of records by their predictors."""
        count, base = self.classes.count, self.classes.base
        # Number of the class among the others; of the base, after them.
        place = np.where(code == base, count, code - (code > base))
        happened = place[:, None] == np.arange(count)
        return np.asarray(happened - self._chances(covariates, theta)[:, :-1])

    def factor(self, covariates: Doubles, theta: Doubles, least: Doubles) -> tuple[Doubles, ...]:
        """Return lengths of the columns of the root of the information, and what they are below.

        Returns spread: shape (n, K - 1): diagonal of L, whose squares are no less than `least`: L
            L' is the information of the predictors of a record, or more.
        and below: shape (n, K - 1, K - 1): entries of L over the diagonal's entry of their column,
            and 1 on the diagonal.
        """
        chances = self._chances(covariates, theta)
        # Probability of a class or a later one, and of a later one.
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
        """Return probabilities of the classes but the base, and of that, last."""
        blocks = theta.reshape(self.classes.count, -1)
        predictors = _predictors(blocks[:, 0], covariates, blocks[:, 1:])
        found = np.nan_to_num(np.clip(predictors, -_FARTHEST, _FARTHEST))
        powers = np.column_stack([np.exp(found), np.ones(len(found))])
        total = np.zeros(len(found))
        for column in powers.T:
            total = total + column
        return np.asarray(powers / total[:, None])


@dataclass(frozen=True, slots=True)
class CumulativeLikelihood:
    """That of a cumulative link; predictors are those of being above each threshold.  Public."""

    classes: Ordered
    family: Family = BINOMIAL  # Its link.
    offsets: tuple[int, ...] = ()  # Covariates whose coefficient is 1.

    def constant(self, shares: Doubles) -> Doubles:
        above = 1 - np.cumsum(shares)[:-1]
        slopes = np.zeros(len(self.classes.covariates))
        slopes[list(self.offsets)] = 1.0
        return np.append(slopes, [-self.family.predictor(mean) for mean in above.tolist()])

    def held(self, theta: Doubles, shares: Doubles) -> Doubles:
        """Return coefficients whose thresholds are in increasing order, and not too near."""
        size, middle = len(self.classes.covariates), self.classes.count // 2
        gaps = _LEAST_GAP * np.diff(self.constant(shares)[size:])
        edges = np.sort(np.clip(theta[size:], -_MOST_EDGE, _MOST_EDGE))
        reach = _BEYOND[self.family.link]
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
        """Return correlations of the columns of thresholds, where there are no slopes."""
        _, information = self._information(shares)
        sizes = np.sqrt(np.diag(information))
        return np.asarray(information / np.outer(sizes, sizes))

    def _information(self, shares: Doubles) -> tuple[Doubles, Doubles]:
        """Return squares of the diagonal of its root, and the information of predictors."""
        none = np.zeros((1, len(self.classes.covariates)))
        spread, below = self.factor(none, self.constant(shares), np.zeros(self.classes.count))
        factor = below * spread[:, None, :]
        return spread[0] ** 2, (factor @ factor.transpose(0, 2, 1))[0]

    def rarest(self, shares: Doubles, theta: Doubles) -> float:
        size = len(self.classes.covariates)
        slopes, edges = theta[:size].copy(), theta[size:]
        slopes[list(self.offsets)] = 0.0
        far = _FAR * float(np.linalg.norm(slopes))
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
        """Return densities at thresholds, chances of classes, and of no class above a threshold."""
        size, reach = len(self.classes.covariates), _BEYOND[self.family.link]
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
        # Differences of the smaller ones, which are exact.
        upper = over[:, :-1] < 0.5
        chance = np.where(upper, over[:, :-1] - over[:, 1:], under[:, 1:] - under[:, :-1])
        return slope, chance, below


Likelihood = CumulativeLikelihood | MultinomialLikelihood


def _predictors(level: Doubles, covariates: Doubles, slopes: Doubles) -> Doubles:
    """Return levels and covariates times slopes, shape (n, number of predictors).

    One column after another: the last bit of a matrix product may depend on where a row is.
    """
    found = np.tile(level, (len(covariates), 1))
    for column, own in zip(covariates.T, slopes.T, strict=True):
        found = found + column[:, None] * own
    return found


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfStep:
    """Rows whose least squares are a step of the likelihood of a model of classes.

    A record has K - 1 predictors, each with columns Z of its own, and as many rows: row j has
    columns L[:, j]' Z and the response (inv(L) u)[j], where u are the derivatives of its
    log-likelihood by predictors at the start, and L L' their information, in closed form, in the
    middle of the step.  So the rows add up to the score Z'u of the record, and to its information
    there.  Public, and can be pickled.
    """

    likelihood: Likelihood
    weighted: bool  # The last column of a record is its weight, and is that of its rows.
    # centre, scale: of covariates: rows have what they are less the centre, over the scale.
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    # start, middle: coefficients of the covariates in these units.
    start: Doubles
    middle: Doubles
    # Shape (K - 1,): squares of entries of the diagonal of L are no less, so that no response is
    # far from 0; the information is larger then, and the step shorter.
    least: Doubles

    @np.errstate(all="ignore")  # a warning would be about a cell
    def __call__(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles, Integers]:
        """Return regressors and response of the rows, and how many are of each record.

        The response of a record is the number of its class, from 0; a record with another one has
        no row.  Columns are those of `names` of the classes, and the weight if there are weights.
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
        return made, (_solved(below, surprise) / spread).ravel(), counts


def _solved(below: Doubles, surprise: Doubles) -> Doubles:
    """Return what matrices with 1 on the diagonal, and 0 above it, multiply to give `surprise`."""
    found = surprise.copy()
    for j in range(found.shape[1]):
        found[:, j + 1 :] -= below[:, j + 1 :, j] * found[:, j, None]
    return found
