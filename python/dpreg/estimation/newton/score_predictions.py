"""Coefficients for predictions alone: rounds of noisy scores that stop early."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import NegativeBinomial
from dpreg.data.design import Terms
from dpreg.estimation.base import Release
from dpreg.estimation.inference.shrinkage import SHRUNK_NOTE, kept_shares
from dpreg.estimation.newton.scores import ScoreNorms, noisy_score, noisy_score_norms
from dpreg.estimation.newton.working_model import (
    CONSTANT_LOSS,
    CONSTANT_RESIDUAL,
    WorkingModel,
    loss_of,
    range_note,
    working_model,
)
from dpreg.estimation.releases.dispersion import first_alpha
from dpreg.estimation.releases.moments import noisy_gram
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.releases.rows import StandardUnits, mapped_rows
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.standardised import Standardised

# Shares of the squared mu left after standardisation, for second moments and each count of norms.
_GRAM, _NORMS = 0.2, 0.01
# Number of rounds, and of the last ones that are averaged.  More rounds than are needed to follow
# significant directions would follow the noise.
_ROUNDS, _LAST = 20, 10
# Passes over the rows: norms twice, second moments, keeping rows, and the rounds.
PREDICTING_PASSES = 4 + _ROUNDS
# Rows are clipped at this many root mean square norms; if not all columns have public limits, rows
# may be far larger, and are clipped at the upper quartile of norms or above.
_LONGEST = 1.2
# Residuals are clipped at this many standard deviations of the response.
_RESIDUAL = 4.0
# Curvature in the rounds, relative to that at the start.  With 1 the mean R squared of 72 simulated
# fits was .43 instead of .46.
_FLATTER = 0.6
# A step was too large if scores point back by this many standard deviations of noise; the curvature
# is then multiplied by the second number.
_CLEAR, _STEEPER = 2.0, 2.0
# A norm that no row has, in roots of the width.
_NO_LIMIT = 50.0
# A priori, linear predictors vary by the equivalent of a standard deviation of the response, and
# rounds are shrunk accordingly; for rare outcomes by no more than for balanced ones, as their large
# equivalent does not reflect effects of regressors.
_MOST_VARIED = {"logit": 2.0, "probit": 1.25, "cloglog": 1.25, "log": 2.0}
# Share of the variance of counts about their means, as the dispersion is not known.
_WITHIN_VARIANCE = 0.7
# Limits of an indicator of a level.
_INDICATOR = (0.0, 1.0)
# Shares are added up in doubles.
_ROUNDED_DOWN = 1 - 1e-12
# Shrinkage below this share of the coefficients is reported.
_KEPT = 0.98


def predicting(begun: Standardised, share: float) -> Release:
    """Fit a family for predictions, without standard errors.

    Columns with public limits keep their natural scale: rare levels then add as little to the noise
    as to predictions.  All levels of a factor are treated alike, including the reference; otherwise
    rounds that stop early would depend on the reference.  Along directions whose second moments are
    not significant, rounds move as slowly as if these were as large as the noise.

    share: share of the squared mu.
    """
    if begun.design.terms.family.dispersed:
        mean, spread = float(begun.scales.centre[-1]), float(begun.scales.scale[-1])
        begun = begun.of(NegativeBinomial(first_alpha(_WITHIN_VARIANCE * spread**2, mean, mean**2)))
    design, scales, noise = begun.design, begun.scales, begun.noise
    family = design.terms.family
    units = _public_scale(begun.telling_units, scales)
    size = max(units.width, 1)
    alike = _alike(design.terms, units)
    limit, _ = _row_limit(begun, units, alike, "norms of rows", share)
    rows = mapped_rows(design, scales, units, alike, limit, kept=False)
    gram, deviation = noisy_gram(rows, noise, noise.share(share * _GRAM))
    values, vectors = np.linalg.eigh(gram / scales.units)
    hidden = deviation / scales.units * math.sqrt(2 * size)
    held = np.maximum(values, hidden)
    change = alike @ vectors / np.sqrt(held)
    limit, norms = _row_limit(begun, units, change, "norms of rows along directions", share)
    rows = mapped_rows(
        design, scales, units, change, limit, kept=True, loss=loss_of(family, scales)
    )
    model = working_model(family, scales, units, change, design.terms.given)
    most = _MOST_VARIED.get(family.link, math.inf)
    model = replace(model, scale=min(model.scale, most))
    mean_square = (norms.root_mean_square() / CONSTANT_RESIDUAL) ** 2
    moments = _moments(values / held, hidden / size / held, mean_square)
    limit *= min(family.most_residual, _RESIDUAL * model.deviation)
    theta, noises, pulls = _rounds(begun, rows, model, moments, limit, share)
    theta, kept = _shrunk(theta, model, moments, noises, pulls, scales.units)
    if model.constant is not None:
        theta = theta + _clipping_offset(model, norms, limit) * model.constant
    notes = (*range_note(family, scales), *(SHRUNK_NOTE,) * bool((kept < _KEPT).any()))
    return begun.released(change @ theta, units, None, notes)


def _public_scale(units: StandardUnits, scales: Scales) -> StandardUnits:
    """Scale columns by the distance of public limits or, without an intercept, the largest one."""
    low, high = scales.low[units.columns], scales.high[units.columns]
    given = scales.given[units.columns]
    far = high - low if units.intercept else np.maximum(np.abs(low), np.abs(high))
    return replace(units, scale=np.where(given, far, units.scale))


def _alike(terms: Terms, units: StandardUnits) -> Doubles:
    """Return the map of rows that treats all levels of a factor alike.

    A factor of k + 1 levels has k indicators, without one for the reference.  Multiplied by I + e
    11', e = (sqrt(1 + k) - 1) / k, they have the norm of all k + 1 centred indicators, so the
    choice of the reference has no effect.

    Returns a symmetric array of shape (width, width).
    """
    change, first = np.eye(units.width), int(units.intercept)
    places = {name: k for k, name in enumerate(terms.names[j] for j in units.columns)}
    groups = terms.groups.values() if terms.groups else ((name,) for name in terms.names)
    for names in groups if units.intercept else ():
        indicators = all(terms.ranges.get(name) == _INDICATOR for name in names)
        if names and indicators and set(names) <= places.keys():
            at = [first + places[name] for name in names]
            change[np.ix_(at, at)] += (math.sqrt(1 + len(at)) - 1) / len(at)
    return change


def _row_limit(
    begun: Standardised, units: StandardUnits, change: Doubles, label: str, share: float
) -> tuple[float, ScoreNorms]:
    """Count rows by norm; return their clipping threshold, and the counts."""
    unlimited = _NO_LIMIT * math.sqrt(max(units.width, 1))
    rows = mapped_rows(
        begun.design, begun.scales, units, change, unlimited, kept=False, loss=CONSTANT_LOSS
    )
    mu = begun.noise.share(share * _NORMS)
    norms = noisy_score_norms(rows, np.zeros(units.width), label, begun.noise, mu)
    longest = _LONGEST * norms.root_mean_square()
    if not begun.scales.given[units.columns].all():
        longest = max(longest, norms.three_quarters)
    return min(longest / CONSTANT_RESIDUAL, unlimited), norms


def _moments(seen: Doubles, least: Doubles, total: float) -> Doubles:
    """Return second moments along directions; insignificant ones share the remaining total."""
    hidden = seen < 1
    rest = (total - float((~hidden).sum())) / max(int(hidden.sum()), 1)
    return np.where(hidden, np.clip(rest, least, 1.0), 1.0)


def _rounds(
    begun: Standardised,
    rows: MappedRows,
    model: WorkingModel,
    moments: Doubles,
    limit: float,
    share: float,
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the mean of the last iterates, and the noise and shrinkage of each round.

    Far from the start means are near the ends of their range and scores no longer decrease, so
    added noise would remain.  Each round is therefore shrunk towards the start, by the noise of all
    rounds relative to the prior.

    Returns theta: shape (w,).
    and noises: shape (_ROUNDS,): variance of the noise in each coordinate.
    and pulls: shape (_ROUNDS, w): factors of the distance from the start.
    """
    units, theta = begun.scales.units, model.start
    thetas, noises, pulls = [], [], []
    curvature, before = _FLATTER * model.curvature, np.zeros(len(model.start))
    mu = begun.noise.share(share * (1 - _GRAM - 2 * _NORMS) / _ROUNDS * _ROUNDED_DOWN)
    prior = model.scale**2 / float(moments.sum())
    for number in range(1, _ROUNDS + 1):
        label = f"score of round {number}"
        score, deviation = noisy_score(rows, theta, limit, label, begun.noise, mu)
        if _is_reversed(score, before, deviation):
            curvature *= _STEEPER
        before = score
        step = 1 / (units * curvature)
        pull = 1 / (1 + (deviation * step) ** 2 / (_ROUNDS * moments * prior))
        theta = model.start + pull * (theta - model.start + step * score)
        thetas.append(theta)
        noises.append((deviation * step) ** 2)
        pulls.append(pull)
    return np.asarray(np.mean(thetas[-_LAST:], axis=0)), np.array(noises), np.array(pulls)


def _clipping_offset(model: WorkingModel, norms: ScoreNorms, limit: float) -> float:
    """Return the correction of linear predictors for rare outcomes.

    The residual of a rare outcome is about 1, and its score is clipped to a share known from norms
    of rows, while other scores are not clipped: rounds converge to a mean that is that share of the
    correct one.
    """
    family, mean = model.family, model.mean
    if not family.events or model.constant is None:
        return 0.0
    often = family.link != "log" and mean > 0.5
    rare = 1 - mean if often else mean
    residual = 1.0 if family.link == "log" else 1 - rare
    if _RESIDUAL * model.deviation >= residual:
        return 0.0
    share = norms.left(limit * CONSTANT_RESIDUAL / residual)
    if often and family.link == "cloglog":  # an asymmetric link
        return math.log(math.log(rare) / math.log(share * rare))
    added = family.predictor(rare) - family.predictor(share * rare)
    return -added if often else added


def _is_reversed(score: Doubles, before: Doubles, deviation: float) -> bool:
    """Whether the score significantly points back, as the previous step was too large."""
    noise = deviation**2 * math.sqrt(len(score)) + deviation * float(np.linalg.norm(before))
    return float(score @ before) < -_CLEAR * noise


def _shrunk(
    theta: Doubles,
    model: WorkingModel,
    moments: Doubles,
    noises: Doubles,
    pulls: Doubles,
    units: float,
) -> tuple[Doubles, Doubles]:
    """Shrink where noise would dominate predictions; also return the share kept by coordinate.

    A round multiplies the error along a direction by 1 - m, with m its second moment, and by the
    shrinkage, and adds noise.
    """
    left = (1 - moments) * pulls[-1]
    ages = np.arange(_ROUNDS)[::-1]
    powers = left[:, None] ** ages
    # The mean of the last iterates contains the noise of a round as each of them does.
    reach = np.array([powers[:, k : k + _LAST].sum(axis=1) for k in range(_ROUNDS)]).T / _LAST
    variance = (reach**2) @ noises / model.scale**2
    # The variance explained by a linear predictor is not limited.
    kept = kept_shares(np.diag(moments) * units, units, np.zeros(len(theta)), np.diag(variance))
    return model.start + kept @ (theta - model.start), np.diag(kept)
