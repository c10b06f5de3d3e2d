"""The stages of `dp_effect`: what each may spend, and the scales of its rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import BINOMIAL, Family
from dpreg.data.arms import FARTHEST, EffectScores, Line, Treatments, one_row_each
from dpreg.data.bounds import column_bounds, level_places, wide_places
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.newton.fit import newton_fit
from dpreg.estimation.newton.whitening import SQUARES_KEPT
from dpreg.estimation.releases.accountant import ROUNDED_DOWN, GaussianReleases
from dpreg.estimation.releases.column_scaling import LEVEL_SCALE, column_scales
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.standardised import VOTE_SHARE, Standardised, scales_of_columns, with_scales
from dpreg.privacy.certificate import Part

# Parts of the reserve for discrete noise: no call has more stages.
_STAGES = 8
# The share of treated rows is taken to be no nearer to 0 and 1.
_LEAST_SHARE = 1e-3
# Mean scores have no matrix of rows to pay for, and norms say how skewed they are: with the usual
# 60, errors of 2,000 scores were 16% too small.
_FEW_SCORES = 40.0
# Scores are no longer than so many residuals over the probability of an arm, about.
_LONGEST = 3.5
# The model of an outcome is off by no more than this, squared, in deviations of the outcome.
_MOST_OFF = 1e6
# Slopes are the same in both arms where the rows of the smaller one, times mu, are fewer than this
# a coefficient.  With slopes of its own in an arm of 1,000 of 20,000 rows, noise in them made the
# scores of its rows 2 to 18 times as long as residuals are, and errors of effects 8 times those
# without noise.
_FEW_IN_ARM = 100.0
# Of such an arm the variance of residuals is no less, by this factor, than that of the outcome and
# of its model's error say, and no more: that by sampling errors has noise.  With all of the first,
# errors of 1,000 of 20,000 rows were 1.8 times those without noise, for 1.6.
_LESS_VARIED, _MORE_VARIED = 1.5, 4.0


class Known(NamedTuple):
    """Scales of treatment, covariates and outcome, and the share of rows that are treated."""

    scales: Scales
    share: float


class SmallArm(NamedTuple):
    """What released numbers say of scores of which few are long, those of a small arm."""

    scales: Scales
    rare: tuple[float, float]  # See `Standardised.rare`.
    kept: float  # Of squares, where rows are as short as in second moments.
    few: float  # See `Standardised.few`.


class Stages:
    """Stages whose squared mu add up to that of the allowance at most.

    rows: of a unit.
    """

    def __init__(self, allowance: Allowance, rows: int) -> None:
        self._allowance, self._rows = allowance, rows
        self._mu = GaussianReleases(allowance.epsilon, allowance.delta, allowance.bits).mu
        self.parts: list[Part] = []

    @property
    def left(self) -> float:
        """Share of the squared mu that was not spent; a public number."""
        spent = math.fsum((part.mu or 0.0) ** 2 for part in self.parts)
        return max(1 - spent / self._mu**2, 0.0) * ROUNDED_DOWN

    def stage(self, share: float) -> GaussianReleases:
        """Return what may spend a share of the squared mu."""
        own = self._allowance
        epsilon = min(own.epsilon, 1.0) / _STAGES
        total = self._mu * math.sqrt(share)
        return GaussianReleases(epsilon, own.delta, own.bits, self._rows, total)

    def precision(self, share: float) -> float:
        """Return mu of a row for a share of the squared mu; a public number."""
        return self._mu * math.sqrt(share) / self._rows

    def add(self, label: str, noise: GaussianReleases) -> None:
        """Put down what a stage has spent."""
        self.parts += [replace(part, label=label + part.label) for part in noise.parts]

    def fit(self, label: str, design: Design, scales: Scales, share: float) -> Release | Declined:
        """Fit a model with errors."""
        noise = self.stage(min(share, self.left))
        vote = VOTE_SHARE if design.terms.family.least_squares else 0.0
        return self._fitted(label, with_scales(design, noise, scales, vote))

    def mean(
        self, label: str, design: Design, share: float, known: SmallArm | None
    ) -> Release | Declined:
        """Release the mean of a response, whose scale is found first unless it is known."""
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
    return replace(with_scales(design, noise, scales, VOTE_SHARE), few=_FEW_SCORES)


def known_scales(design: Design, spending: Stages, family: Family) -> Known:
    """Release where columns lie, and how many rows are treated; spend no more than it has to."""
    noise, terms = spending.stage(spending.left), replace(design.terms, family=family)
    ranges = {**terms.ranges, terms.names[0]: (0.0, 1.0)}
    bounds = column_bounds(replace(terms, ranges=ranges))
    # The treatment, which is counted below, is scaled the same whether it is a factor or a number.
    levels = tuple(places for places in level_places(terms) if 0 not in places)
    scales = column_scales(
        design, noise, bounds, events=family.events, levels=levels, wide=wide_places(terms)
    )
    arms = one_row_each(design, Treatments(columns=False), terms_of("treatment", (), BINOMIAL))
    counts = column_scales(arms, noise, np.array([[0.0, 1.0]]), events=True)
    spending.add("", noise)
    share = min(max(float(counts.centre[-1]), _LEAST_SHARE), 1 - _LEAST_SHARE)
    centre, scale = scales.centre.copy(), scales.scale.copy()
    centre[0], scale[0] = share, math.sqrt(share * (1 - share))
    return Known(replace(scales, centre=centre, scale=scale, units=counts.units), share)


def few_in_arm(known: Known, propensity: float | None, precision: float) -> bool:
    """Whether an arm is too small for slopes of its own.

    Where the propensity is not known it never is: scores would need the slopes to be right.

    precision: mu of a row, of what these cost.
    """
    if propensity is None:
        return False
    share = min(propensity, 1 - propensity)
    told = share * known.scales.units * precision
    return _is_small(share) and told < _FEW_IN_ARM * (len(known.scales.low) - 1)


def _is_small(share: float) -> bool:
    """Whether second moments lose residuals of an arm with this share of the rows."""
    return SQUARES_KEPT * share < 1


def small_arm(
    known: Known, scores: EffectScores, covariance: Doubles, residuals: float | None
) -> SmallArm | None:
    """Return what released numbers say of doubly robust scores, if an arm of theirs is small.

    A score has the residual of its outcome over the probability of its arm: of a small arm few
    rows have one, and all that the model of its outcome is off by is in these.  Scales that are
    looked for are those of other rows: the mean of 2,000 scores, of which one in 20 was of a
    treated row, was what the model said, and intervals covered in .44.

    covariance: shape (2 w, 2 w): of the coefficients of both outcomes.
    residuals: their variance, as sampling errors of a model with common slopes have it; NaN: they
        say nothing; None: slopes are those of the arms.
    """
    chance = scores.propensity
    treated = known.share if chance is None or isinstance(chance, Line) else float(chance)
    arms = [arm for arm, weight in enumerate(scores.weights) if weight]
    chances = 1 - treated, treated
    share = min(chances[arm] for arm in arms)
    if not _is_small(share):
        return None
    own = known.scales
    centre, spread = np.append(1.0, own.centre[1:-1]), np.append(0.0, own.scale[1:-1])
    moments, w = np.outer(centre, centre) + np.diag(spread**2), len(centre)
    middle = squares = longest = 0.0
    for arm in arms:
        weight, line = scores.weights[arm], scores.outcomes[arm]
        part = slice(arm * w, (arm + 1) * w)
        slope = line.family.slope(line.predictor(centre[None, 1:]))[0] / own.scale[-1]
        # By the errors of the model, which may not be known, or by how its means differ.
        apart = line.params.copy()
        apart[0] -= line.family.predictor(float(own.centre[-1]))
        offs = (covariance[part, part] * moments).sum(), apart @ moments @ apart
        off = float(np.clip(np.fmin(*offs) * slope**2, 0.0, _MOST_OFF))
        residual = float(own.scale[-1]) ** 2 * (1 + float(np.nan_to_num(off)))
        if residuals is not None and not math.isnan(residuals):
            residual = float(np.clip(residuals, residual / _LESS_VARIED, residual * _MORE_VARIED))
        middle += weight * float(line.mean(centre[None, 1:])[0])
        squares += weight**2 * residual / chances[arm]
        farthest = min(_LONGEST * math.sqrt(residual), line.family.most_residual)
        longest = max(longest, abs(weight) * farthest / chances[arm])
    middle = float(np.nan_to_num(np.clip(middle, -FARTHEST, FARTHEST)))
    scale, every = math.sqrt(squares), np.ones(1, dtype=bool)
    scales = Scales(
        low=np.array([middle - longest]), high=np.array([middle + longest]),
        centre=np.array([middle]), scale=np.array([scale]), given=every,
        spread=np.array([np.inf]), seen=every, response_found=True, units=own.units,
    )  # fmt: skip
    # Two scores are enough for a mean that is known but for noise: with norms counted again before
    # each of up to eight, the last had .08 of the squared mu.
    few = _FEW_SCORES if residuals is None else math.inf
    return SmallArm(scales, (longest / scale, share), SQUARES_KEPT * share, few)


def terms_of(response: str, names: tuple[str, ...], family: Family) -> Terms:
    """Return the terms of rows that an expansion makes."""
    return Terms(response, names, True, family=family)


def scales_of(scales: Scales, places: list[int]) -> Scales:
    """Return the scales of some columns, the last being the response.

    A column that is there twice is nearly always 0 in its first place only.
    """
    named = ("low", "high", "centre", "scale", "given", "spread", "seen")
    first = {column: places.index(column) for column in places}
    found = {name: getattr(scales, name)[places] for name in named}
    return replace(scales, **found, rare=scales.rare.moved(first))


def of_level(scales: Scales) -> Scales:
    """Return scales whose first column, of 0 and 1, is as long as that of a level.

    In its own deviations rows of a small arm are long, and their scores were cut: where 9 in 100 of
    10,000 rows were treated and .055 of these had the event, .07 of intervals covered, for .95.
    """
    return replace(scales, scale=np.append(LEVEL_SCALE, scales.scale[1:]))


def scales_interacted(scales: Scales, share: float) -> Scales:
    """Return scales of the rows of `Interacted`."""
    d = len(scales.low) - 1
    covariates = list(range(1, d))
    doubled = scales_of(scales, [0, *covariates, *covariates, d])
    low, high, centre, scale = (
        getattr(doubled, name).copy() for name in ("low", "high", "centre", "scale")
    )
    low[d:-1] = np.minimum(low[d:-1] - centre[d:-1], 0.0)
    high[d:-1] = np.maximum(high[d:-1] - centre[d:-1], 0.0)
    centre[d:-1], scale[d:-1] = 0.0, scale[d:-1] * math.sqrt(share)
    return replace(doubled, low=low, high=high, centre=centre, scale=scale)


def by_arm(centre: Doubles) -> Doubles:
    """Return what coefficients of rows of `Interacted` are multiplied by to give those by arm."""
    k = len(centre)
    matrix = np.zeros((2 * (1 + k), 2 + 2 * k))
    matrix[[0, 1 + k], 0] = 1.0
    matrix[1 : 1 + k, 2 : 2 + k] = matrix[2 + k :, 2 : 2 + k] = np.eye(k)
    matrix[1 + k, 1] = 1.0
    matrix[1 + k, 2 + k :] = -centre
    matrix[2 + k :, 2 + k :] = np.eye(k)
    return matrix
