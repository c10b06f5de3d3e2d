"""The stages of `dp_effect`: the budget of each, and the scales of its rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.base.families import BINOMIAL, Family
from dpreg.data.arms import FARTHEST, EffectScores, Line, Slopes, one_row_each, treatments_alone
from dpreg.data.bounds import column_bounds, wide_places
from dpreg.data.design import Design, Terms
from dpreg.data.level_tables import level_tables
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.inference.effect import (
    LEAST_CHANCE,
    share_of_large_residuals,
    share_of_large_weights,
)
from dpreg.estimation.methods.effect_columns import ByArm, factors
from dpreg.estimation.newton.fit import newton_fit
from dpreg.estimation.newton.whitening import SQUARES_KEPT
from dpreg.estimation.releases.accountant import ROUNDED_DOWN, GaussianReleases, spent
from dpreg.estimation.releases.column_scaling import column_scales
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.statistics import MomentSums
from dpreg.estimation.standardised import Standardised, scales_of_columns, with_scales
from dpreg.privacy.certificate import Part

# Largest number of stages of a call, for the reserve for discrete noise.
_STAGES = 8
# Mean scores need no matrix of rows, and norms show their skewness: with 60, as for other means,
# errors of 2,000 scores were 16% too small.
_FEW_SCORES = 40.0
# Probabilities are evaluated at this many standard deviations of the linear predictor.
_FARTHEST_CHANCE = 1.645
# Share of the remaining squared mu for mean derivatives of predictions.
_SLOPES = 0.03
# Scores are clipped at about this many residuals over the probability of an arm.  With 8, errors of
# 16 effects were 1.15 times as large.
_LONGEST = 3.5
# Largest squared error of an outcome model, in variances of the outcome.
_LARGEST_MODEL_ERROR = 1e6
# Slopes are the same in both arms if the rows of the smaller arm, times mu, are fewer than this per
# coefficient.  With separate slopes for an arm of 1,000 of 20,000 rows, noise made the scores of
# its rows 2 to 18 times as large as residuals, and errors of effects 8 times those without noise.
_FEW_IN_ARM = 100.0
# The residual variance of such an arm is kept within these factors of that implied by the outcome
# and the error of its model, because the estimate from sampling errors is noisy.  With 1 instead of
# the first, errors for 1,000 treated of 20,000 rows were 1.8 times those without noise instead of
# 1.6.
_LESS_VARIED, _MORE_VARIED = 1.5, 4.0


class Known(NamedTuple):
    """Scales of treatment, covariates and outcome, and the share of rows that are treated."""

    scales: Scales
    share: float
    # Columns whose rows were counted, and their scales.
    by_arm: ByArm
    counted: Scales
    factors: tuple[Integers, ...]  # Indices of the levels of covariates; the treatment has index 0.


class SmallArm(NamedTuple):
    """Estimates for scores of which few are large, those of a small arm."""

    scales: Scales
    rare: tuple[float, float]  # See `Standardised.rare`.
    kept: float  # Share of squares retained when rows are clipped as in second moments.
    few: float  # See `Standardised.few`.


class Stages:
    """Stages whose squared mu add up to at most that of the allowance.

    rows: rows per unit.
    """

    def __init__(self, allowance: Allowance, rows: int) -> None:
        self._allowance, self._rows = allowance, rows
        self._mu = GaussianReleases(allowance.epsilon, allowance.delta, allowance.bits).mu
        self.parts: list[Part] = []

    @property
    def left(self) -> float:
        """Unspent share of the squared mu; public."""
        return max(1 - spent(self.parts) / self._mu**2, 0.0) * ROUNDED_DOWN

    def stage(self, share: float) -> GaussianReleases:
        """Return the noise of a stage with this share of the squared mu."""
        own = self._allowance
        epsilon = min(own.epsilon, 1.0) / _STAGES
        total = self._mu * math.sqrt(share)
        return GaussianReleases(epsilon, own.delta, own.bits, self._rows, total)

    def precision(self, share: float) -> float:
        """Return the mu of a row for a share of the squared mu; public."""
        return self._mu * math.sqrt(share) / self._rows

    def add(self, label: str, noise: GaussianReleases) -> None:
        """Record what a stage has spent."""
        self.parts += [replace(part, label=label + part.label) for part in noise.parts]

    def fit(self, label: str, design: Design, scales: Scales, share: float) -> Release | Declined:
        """Fit a model with standard errors."""
        noise = self.stage(min(share, self.left))
        return self._fitted(label, with_scales(design, noise, scales))

    def mean(
        self, label: str, design: Design, share: float, known: SmallArm | None
    ) -> Release | Declined:
        """Release the mean of a response; unless known, its scale is released first."""
        noise = self.stage(min(share, self.left))
        if known is None:
            return self._fitted(label, _of_scores(design, noise, scales_of_columns(design, noise)))
        begun = _of_scores(design, noise, known.scales)
        begun = replace(begun, rare=known.rare, least=1 - known.kept, few=known.few)
        return self._fitted(label, begun)

    def _fitted(self, label: str, begun: Standardised) -> Release | Declined:
        found = begun.declined or newton_fit(begun)
        self.add(label, begun.noise)
        return found

    def declined(self, outcome: Declined) -> Declined:
        """Return the outcome with all parts."""
        return replace(outcome, parts=tuple(self.parts))


def _of_scores(design: Design, noise: GaussianReleases, scales: Scales) -> Standardised:
    return replace(with_scales(design, noise, scales), few=_FEW_SCORES)


def known_scales(design: Design, spending: Stages, family: Family) -> Known:
    """Release scales of columns and the number of treated rows, at the least cost."""
    noise, terms = spending.stage(spending.left), replace(design.terms, family=family)
    by_arm = ByArm.of(terms)
    of = by_arm.terms(terms.response, terms, family)
    rows = one_row_each(design, by_arm.rows(np.zeros(len(terms.names) - 1)), of)
    ranges = {**terms.ranges, terms.names[0]: (0.0, 1.0)}
    places = np.array([0, *(1 + by_arm.covariates), len(terms.names)])
    bounds = column_bounds(replace(terms, ranges=ranges))[places]
    wide = np.flatnonzero(np.isin(places, wide_places(terms)))
    scales = column_scales(
        rows,
        noise,
        bounds,
        family=family if family.events else None,
        levels=level_tables(of),
        wide=wide,
    )
    arms = one_row_each(design, treatments_alone, Terms("treatment", (), True, family=BINOMIAL))
    counts = column_scales(arms, noise, np.array([[0.0, 1.0]]), family=BINOMIAL)
    spending.add("", noise)
    share = min(max(float(counts.centre[-1]), LEAST_CHANCE), 1 - LEAST_CHANCE)
    centre, scale = scales.centre.copy(), scales.scale.copy()
    centre[0], scale[0] = share, math.sqrt(share * (1 - share))
    scales = replace(scales, centre=centre, scale=scale, units=counts.units)
    return Known(by_arm.together(scales), share, by_arm, scales, tuple(factors(terms)))


def few_in_arm(known: Known, propensity: float | None, precision: float) -> bool:
    """Whether an arm is too small for separate slopes.

    It never is if the propensity is estimated: scores would then need the correct slopes.

    precision: mu of a row in the stage that estimates them.
    """
    if propensity is None:
        return False
    share = min(propensity, 1 - propensity)
    told = share * known.scales.units * precision
    return _is_small(share) and told < _FEW_IN_ARM * (len(known.scales.low) - 1)


def _is_small(share: float) -> bool:
    """Whether second moments clip residuals of an arm with this share of the rows."""
    return SQUARES_KEPT * share < 1


@np.errstate(all="ignore")  # numbers that were released may be of any size
def small_arm(
    known: Known, scores: EffectScores, covariance: Doubles, residuals: float | None
) -> SmallArm | None:
    """Return estimates for doubly robust scores if one arm is small.

    A score contains the residual divided by the probability of the arm.  Only the few rows of a
    small arm have such scores, and they alone correct errors of its outcome model.  Released scales
    would be those of the other rows: the mean of 2,000 scores, one in 20 of a treated row, was that
    of the model, and .44 of intervals covered.

    covariance: shape (2 w, 2 w): of the coefficients of both outcomes.
    residuals: their variance, implied by sampling errors of a model with common slopes; NaN: not
        determined; None: arms have separate slopes.
    """
    chance = scores.propensity
    treated = known.share if chance is None or isinstance(chance, Line) else float(chance)
    arms = [arm for arm, weight in enumerate(scores.weights) if weight]
    chances = 1 - treated, treated
    least = _least_chances(scores, known, chances)
    own = known.scales
    centre, spread = np.append(1.0, own.centre[1:-1]), np.append(0.0, own.scale[1:-1])
    share = min(_long_scores(scores, arm, chances[arm], centre, spread) for arm in arms)
    if not _is_small(share):
        return None
    moments, w = np.outer(centre, centre) + np.diag(spread**2), len(centre)
    size = min(max(float(own.scale[-1]), 1 / FARTHEST), FARTHEST)
    middle = squares = longest = 0.0
    for arm in arms:
        weight, line = scores.weights[arm], scores.outcomes[arm]
        part = slice(arm * w, (arm + 1) * w)
        slope = line.family.slope(line.predictor(centre[None, 1:]))[0] / size
        # From the errors of the model, which may be unknown, or from the variance of its means.
        apart = line.params.copy()
        apart[0] -= line.family.predictor(float(own.centre[-1]))
        offs = (covariance[part, part] * moments).sum(), apart @ moments @ apart
        off = float(np.clip(np.fmin(*offs) * slope**2, 0.0, _LARGEST_MODEL_ERROR))
        residual = size**2 * (1 + float(np.nan_to_num(off)))
        if residuals is not None and not math.isnan(residuals):
            residual = float(np.clip(residuals, residual / _LESS_VARIED, residual * _MORE_VARIED))
        middle += weight * float(line.mean(centre[None, 1:])[0])
        squares += weight**2 * residual / chances[arm]
        farthest = min(_LONGEST * math.sqrt(residual), line.family.most_residual)
        longest = max(longest, abs(weight) * farthest / least[arm])
    middle = float(np.nan_to_num(np.clip(middle, -FARTHEST, FARTHEST)))
    scale, every = math.sqrt(squares), np.ones(1, dtype=bool)
    scales = Scales(
        low=np.array([middle - longest]), high=np.array([middle + longest]),
        centre=np.array([middle]), scale=np.array([scale]), given=every,
        spread=np.array([np.inf]), seen=every, response_found=True, units=own.units,
    )  # fmt: skip
    # Two scores suffice for a mean that is known except for noise: with norms counted again before
    # each of up to eight, the last got .08 of the squared mu.
    few = _FEW_SCORES if residuals is None else math.inf
    return SmallArm(scales, (longest / scale, share), SQUARES_KEPT * share, few)


def _long_scores(
    scores: EffectScores, arm: int, share: float, centre: Doubles, spread: Doubles
) -> float:
    """Return the effective share of rows with large scores, of an arm with this share of rows.

    With a rare outcome few rows have large residuals, as in a small arm.  Without it half of the
    intervals covered for the mean of 7,600 rows of which .07 had the event.  The outcome may be
    rare in one arm only, where few rows have large weights.  With the share of events of all rows,
    the mean without treatment of 5,000 rows, with .11 events there and .24 overall, was wrong by 5
    errors on average instead of .3.
    """
    line, chance = scores.outcomes[arm], scores.propensity
    if line.family is not BINOMIAL:
        return share
    events = share_of_large_residuals(line.params, centre, spread)
    if isinstance(chance, Line):
        weights = share_of_large_weights(chance.params, centre, spread, scores.overlap)[arm]
        share = min(max(weights, LEAST_CHANCE), share)
    return share * (events if _is_small(events) else 1.0)


@np.errstate(all="ignore")  # numbers that were released may be of any size
def _least_chances(
    scores: EffectScores, known: Known, chances: tuple[float, float]
) -> tuple[float, float]:
    """Return the 5% quantile of the probability of each arm."""
    if not isinstance(scores.propensity, Line):
        return chances
    line, low = scores.propensity, scores.overlap[0]
    centre, spread = known.scales.centre[1:-1], known.scales.scale[1:-1]
    middle = float(line.predictor(centre[None])[0])
    reach = _FARTHEST_CHANCE * float(np.linalg.norm(line.params[1:] * spread))
    own = np.nan_to_num(BINOMIAL.mean(np.array([-middle - reach, middle - reach])))
    untreated, treated = np.minimum(np.maximum(own, low), chances)
    return float(untreated), float(treated)


def mean_slopes(
    design: Design, lines: tuple[Line, Line], units: float, spending: Stages
) -> Doubles:
    """Release mean derivatives of predictions by coefficients, shape (2, 2 w)."""
    steepest = float(lines[0].family.slope(np.zeros(1))[0])
    one = np.array([[0.0, 1.0]])
    reach = steepest * np.vstack([one, lines[0].limits])
    low = np.tile(np.minimum(reach[:, 0], 0.0), 2)
    high = np.tile(np.maximum(reach[:, 1], 0.0), 2)
    middle, half = np.append((low + high) / 2, 0.0), np.append((high - low) / 2, 1.0)
    half = np.where(half > 0, half, 1.0)
    names = tuple(f"slope {j}" for j in range(len(low)))
    rows = one_row_each(design, Slopes(lines), Terms("none", names, True))
    noise = spending.stage(_SLOPES * spending.left)
    sums = rows.total(MomentSums(middle, half, np.ones(len(half))))
    noisy, _ = noise.release("mean derivatives of predictions", sums, noise.mu)
    spending.add("", noise)
    means = np.clip(noisy[1 : len(half)] * 2.0**-_core.MOMENT_BITS / units, -1, 1)
    means = middle[:-1] + half[:-1] * means
    w = len(means) // 2
    found = np.zeros((2, 2 * w))
    found[0, :w], found[1, w:] = means[:w], means[w:]
    return found
