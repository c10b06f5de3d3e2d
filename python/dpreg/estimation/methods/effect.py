"""Average treatment effects: doubly robust scores, regression adjustment, difference in means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import BINOMIAL, GAUSSIAN, Family
from dpreg.base.passes import expect
from dpreg.data.arms import AtLimits, EffectScores, Line, alone, in_arms, one_row_each, treatments
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import sample_rows
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.inference.effect import (
    combined,
    remainder,
    residual_variance,
    scores_by_models,
    without_noise,
)
from dpreg.estimation.methods.effect_columns import (
    ByArm,
    scales_of,
    standardised_columns,
    with_levels,
)
from dpreg.estimation.methods.effect_stages import (
    Known,
    Stages,
    few_in_arm,
    known_scales,
    mean_slopes,
    small_arm,
)
from dpreg.estimation.newton.rounds import newton_passes
from dpreg.estimation.releases.column_scaling import LEVEL_SCALE
from dpreg.estimation.releases.scaling import regressor_limits
from dpreg.estimation.releases.statistics import EventCounts
from dpreg.estimation.standardised import with_scales
from dpreg.privacy.certificate import Part

# Shares of the squared mu left after scales: models of outcome and treatment, and the count of
# rows at the limits.  Scores, which determine the accuracy, get the rest.
_OUTCOMES, _TREATMENT, _AT_LIMITS = 0.3, 0.2, 0.005
# Share for the outcome models in regression adjustment, where their noise has a first-order effect.
_REGRESSION = 0.65
# Share of the scores for the mean outcome of each arm; the effect gets the rest.
_MEAN = 0.2
# Share of the variance from which errors of models are reported: they widen intervals by 1/20.
_REPORTED_SHARE = 0.1
# Scores for the mean outcomes without and with the treatment, and for the difference.
_CONTRAST = np.array([-1.0, 1.0])
_SCORES = {"effect": (-1.0, 1.0), "untreated": (1.0, 0.0), "treated": (0.0, 1.0)}


class EffectRelease(NamedTuple):
    """Numbers that may be published."""

    means: Doubles  # Shape (2,): mean outcomes without and with the treatment.
    # Shape (2, 2): of `means`, sampling error and privacy noise; NaN where not estimable.
    covariance: Doubles
    sampling: Doubles  # Shape (2, 2): the part without noise.
    # units, treated: noisy numbers of rows.
    units: float
    treated: float
    # Noisy number of rows whose treatment probability is at a limit.
    at_limits: float | None
    deviation: float  # Of the noise in it.
    propensity: Doubles | None  # Coefficients of the model of the treatment.
    parts: tuple[Part, ...]
    notes: tuple[str, ...]
    # Coefficients of models without an error widen the interval of the effect.
    longer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TreatmentEffect:
    """Options of `dp_effect`, all public; see there."""

    estimator: str = "aipw"  # One of "aipw", "regression", "difference".
    family: Family = GAUSSIAN  # Of the outcome.
    propensity: float | None = None  # None: estimated.
    overlap: tuple[float, float] = (0.05, 0.95)
    max_rows: int = 1  # Per unit.

    def release(self, design: Design, allowance: Allowance) -> EffectRelease | Declined:
        """Spend the allowance.

        design: private; records whose first regressor is the treatment.

        Privacy
        -------
        guarantee : (eps, delta)-DP, by Gaussian composition
        neighbours : add or remove one unit
        public : all options, bounds, the names of the columns
        proof : effect.md
        """
        expect(4 + 5 * newton_passes())
        spending = Stages(allowance, self.max_rows if design.by_unit else 1)
        design = sample_rows(design, self.max_rows, allowance.bits)
        design = one_row_each(design, in_arms, design.terms)
        known = known_scales(design, spending, self.family)
        if not known.scales.response_found:
            nothing = with_scales(design, spending.stage(1.0), known.scales).declined
            assert nothing is not None
            return spending.declined(nothing)
        if self.estimator == "difference":
            return self._difference(design, known, spending)
        found = self._models(design, known, spending)
        if isinstance(found, Declined):
            return spending.declined(found)
        return self._means(design, known, found, spending)

    def _difference(
        self, design: Design, known: Known, spending: Stages
    ) -> EffectRelease | Declined:
        """Regress the outcome on the treatment alone, as a factor with two levels."""
        terms = Terms(design.terms.response, design.terms.names[:1], True)
        rows = one_row_each(design, alone, replace(terms, ranges={terms.names[0]: (0.0, 1.0)}))
        scales = scales_of(known.scales, [0, -1])
        # Scaled like a level: in units of its own standard deviation, rows of a small arm are large
        # and their scores are clipped.  With 9% of 10,000 rows treated, of which .055 had the
        # event, .07 of intervals covered instead of .95.
        scales = replace(scales, scale=np.append(LEVEL_SCALE, scales.scale[1:]))
        fit = spending.fit("", rows, scales, 1.0)
        if isinstance(fit, Declined):
            return spending.declined(fit)
        of_means = np.array([[1.0, 0.0], [1.0, 1.0]])
        covariance, sampling = _errors(fit)
        return self._released(
            known, spending, of_means @ fit.params, of_means @ covariance @ of_means.T,
            of_means @ sampling @ of_means.T, fit.notes,
        )  # fmt: skip

    def _models(self, design: Design, known: Known, spending: Stages) -> _Models | Declined:
        """Fit models of the outcome in both arms and, unless known, of the treatment."""
        terms, limits = design.terms, regressor_limits(known.scales)[1:-1]
        treatment, others = terms.names[0], terms.names[1:]
        share, centre = spending.left, known.scales.centre[1:-1]
        part = _REGRESSION if self.estimator == "regression" else _OUTCOMES
        common = few_in_arm(known, self.propensity, spending.precision(part * share))
        columns = ByArm.common(len(others)) if common else known.by_arm.apart
        of_outcome = columns.terms(terms.response, terms, self.family)
        rows = one_row_each(design, columns.rows(centre), of_outcome)
        scales = known.scales if common else columns.scales(known.counted, known.share)
        fit = spending.fit("outcome: ", rows, scales, part * share)
        if isinstance(fit, Declined):
            return fit
        turn = columns.coefficients(centre)
        both = np.split(turn @ fit.params, 2)
        lines = (Line(both[0], limits, self.family), Line(both[1], limits, self.family))
        assert fit.moments is not None
        outcome = turn @ fit.moments[0] @ turn.T, turn @ fit.moments[1] @ turn.T
        residuals = None
        if common:
            residuals = residual_variance(outcome[1], self.family, known.scales.units, known.share)
        if self.estimator == "regression" or self.propensity is not None:
            return _Models(lines, *outcome, None, residuals, (fit,))
        of_treatment = with_levels(Terms(treatment, others, True, family=BINOMIAL), terms)
        rows = one_row_each(design, treatments, of_treatment)
        scales = scales_of(known.scales, [*range(1, len(others) + 1), 0])
        fitted = spending.fit("treatment: ", rows, scales, _TREATMENT * share)
        if isinstance(fitted, Declined):
            return fitted
        return _Models(lines, *outcome, fitted, None, (fit, fitted))

    def _means(
        self, design: Design, known: Known, models: _Models, spending: Stages
    ) -> EffectRelease | Declined:
        """Release mean scores, and combine them."""
        chance: Line | float | None = self.propensity
        at_limits, deviation = None, 0.0
        if models.treatment is not None:
            chance = Line(models.treatment.params, models.lines[0].limits, BINOMIAL)
            at_limits, deviation = self._at_limits(design, chance, spending)
        slopes = None
        if self.estimator == "regression":
            slopes = mean_slopes(design, models.lines, known.scales.units, spending)
        terms, left, fits = Terms("score", (), True), spending.left, {}
        for score in ("untreated", "treated", "effect"):
            made = EffectScores(models.lines, chance, self.overlap, _SCORES[score])
            rows = one_row_each(design, made, terms)
            part = spending.left if score == "effect" else _MEAN * left
            of = models.covariance, models.residuals
            arm = None if chance is None else small_arm(known, made, *of)
            fit = spending.mean(f"{score}: ", rows, part, arm)
            if isinstance(fit, Declined):
                return spending.declined(fit)
            fits[score] = fit
        found = [fits[score] for score in _SCORES]
        total, own = (np.array([_errors(fit)[part][0, 0] for fit in found]) for part in (0, 1))
        # Limits are such that the total clipped from scores is at most about the noise.
        hidden = np.fmin(np.maximum(self._by_models(known, models) - own, 0.0), total - own)
        means, covariance, sampling = combined(
            [float(fit.params[0]) for fit in found], total + hidden, own + hidden
        )
        of_models = np.zeros((2, 2))
        if models.treatment is not None:
            of_models = self._remainder(means, known, models, np.diag(sampling))
        if slopes is not None:
            of_models = slopes @ models.covariance @ slopes.T
            sampling = sampling + slopes @ models.sampling @ slopes.T
        covariance = covariance + of_models
        if not np.diag(covariance).max() < known.scales.scale[-1] ** 2:
            # With an error as large as the standard deviation of the outcome, its mean is not
            # estimable.
            covariance = np.full((2, 2), np.nan)
        notes = tuple(note for fit in models.fits for note in fit.notes)
        released = self._released(known, spending, means, covariance, sampling, notes)
        return released._replace(
            at_limits=at_limits, deviation=deviation,
            propensity=None if models.treatment is None else models.treatment.params,
            longer=_is_widened(models.fits, of_models, covariance),
        )  # fmt: skip

    def _at_limits(self, design: Design, chance: Line, spending: Stages) -> tuple[float, float]:
        rows = one_row_each(
            design, AtLimits(chance, self.overlap), Terms("limit", (), True, family=BINOMIAL)
        )
        noise = spending.stage(_AT_LIMITS * spending.left)
        counts = rows.total(EventCounts())
        found, deviation = noise.release("rows at the limits of overlap", counts, noise.mu)
        spending.add("", noise)
        return float(found[1]), deviation

    def _by_models(self, known: Known, models: _Models) -> Doubles:
        """Return the least sampling variance of the mean of each score, shape (3,)."""
        outcomes, overlap = np.array([line.params for line in models.lines]), self.overlap
        treatment = np.zeros(outcomes.shape[1])
        if models.treatment is not None:
            treatment = models.treatment.params
        elif self.propensity is not None and models.residuals is None:
            treatment[0], overlap = BINOMIAL.predictor(self.propensity), (self.propensity,) * 2
        else:  # scores are predictions, or the scale of a small arm is used instead
            return np.zeros(3)
        return scores_by_models(
            outcomes, models.sampling, treatment, self.family, known.scales.units, known.share,
            overlap,
        )  # fmt: skip

    def _remainder(self, means: Doubles, known: Known, models: _Models, own: Doubles) -> Doubles:
        assert models.treatment is not None
        assert models.treatment.moments is not None
        slopes = np.ones(2)
        if self.family is BINOMIAL:
            slopes = np.clip(means, 0, 1) * (1 - np.clip(means, 0, 1))
        shares, units = np.array([1 - known.share, known.share]), known.scales.units
        return remainder(
            models.covariance, models.treatment.moments, units, slopes, known.share,
            own * units * shares, standardised_columns(known.scales, known.factors),
        )  # fmt: skip

    def _released(
        self, known: Known, spending: Stages, means: Doubles, covariance: Doubles,
        sampling: Doubles, notes: tuple[str, ...],
    ) -> EffectRelease:  # fmt: skip
        if not np.isfinite(means).all():  # not possible with any noise
            means, covariance = known.scales.centre[[-1, -1]], np.full((2, 2), np.nan)
        if self.family is BINOMIAL:
            means = np.clip(means, 0.0, 1.0)
        return EffectRelease(
            means, covariance, sampling, known.scales.units, known.share * known.scales.units,
            None, 0.0, None, tuple(spending.parts), notes,
        )  # fmt: skip


class _Models(NamedTuple):
    """Models of the outcome without and with the treatment, and of the treatment."""

    lines: tuple[Line, Line]
    covariance: Doubles
    sampling: Doubles
    treatment: Release | None
    residuals: float | None  # Their variance, NaN if not known; None: each arm has its own slopes.
    fits: tuple[Release, ...]


def _is_widened(fits: tuple[Release, ...], of_models: Doubles, covariance: Doubles) -> bool:
    """Whether coefficients without a standard error widen the interval of the effect."""
    hidden = any(np.isnan(_errors(fit)[0]).any() for fit in fits)
    part, whole = (_CONTRAST @ of @ _CONTRAST for of in (of_models, covariance))
    return bool(hidden and part > _REPORTED_SHARE * whole)


def _errors(fit: Release) -> tuple[Doubles, Doubles]:
    """Return the covariance of coefficients, and its sampling part."""
    assert fit.covariance is not None
    assert fit.sampling is not None
    return fit.covariance, without_noise(fit.covariance, fit.sampling)
