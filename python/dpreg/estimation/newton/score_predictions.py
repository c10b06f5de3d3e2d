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

# Of the squared mu that standardisation leaves: for second moments, and for each count of norms.
_GRAM, _NORMS = 0.2, 0.01
# Rounds, and of how many of the last the result is the mean.  More than are needed to follow
# what is told from noise would follow the noise.
_ROUNDS, _LAST = 20, 10
# Passes over the rows: norms twice, second moments, keeping rows, and the rounds.
PREDICTING_PASSES = 4 + _ROUNDS
# Rows are shortened to this many root mean square norms; where not all columns have public limits
# they may be far longer, and to no less than what three quarters do not exceed.
_LONGEST = 1.2
# Residuals count up to this many standard deviations of the response.
_RESIDUAL = 4.0
# Curvature in the rounds, as a share of what it is where they start.  With 1 the mean R squared of
# 72 simulated fits was .43, for .46.
_FLATTER = 0.6
# A step that was too long is seen when scores point back by this many deviations of noise; then
# curvature is taken for this many times as much.
_CLEAR, _STEEPER = 2.0, 2.0
# No row is as long, in roots of the width.
_NO_LIMIT = 50.0
# Before anything is seen, linear predictors vary by what a standard deviation of the response is
# worth; rounds are pulled back accordingly.  Where outcomes are rare that is much, and says nothing
# about what regressors do: so no more than with even outcomes.
_MOST_VARIED = {"logit": 2.0, "probit": 1.25, "cloglog": 1.25, "log": 2.0}
# Of the variance of counts so much is about their means, where their dispersion is guessed.
_ABOUT = 0.7
# Limits of a column that tells whether a factor has one of its levels.
_INDICATOR = (0.0, 1.0)
# Shares are added up in doubles.
_ROUNDED_DOWN = 1 - 1e-12
# Less than this share of the coefficients that is kept is mentioned.
_KEPT = 0.98


def predicting(begun: Standardised, share: float) -> Release:
    """Fit a family for predictions, without errors.

    Columns with public limits keep their natural size: among dummies rare levels then add as little
    to the noise as to what is predicted.  The levels of a factor are alike, also the one that the
    others are compared with: rounds that stop early would else depend on which it is.  Along
    directions whose second moments are hidden by noise, rounds move as slowly as if these were as
    large as the noise.

    share: of the squared mu.
    """
    if begun.design.terms.family.dispersed:
        mean, spread = float(begun.scales.centre[-1]), float(begun.scales.scale[-1])
        begun = begun.of(NegativeBinomial(first_alpha(_ABOUT * spread**2, mean, mean**2)))
    design, scales, noise = begun.design, begun.scales, begun.noise
    family = design.terms.family
    units = _natural(begun.telling_units, scales)
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
    theta, kept = _quieted(theta, model, moments, noises, pulls, scales.units)
    if model.constant is not None:
        theta = theta + _cut_off(model, norms, limit) * model.constant
    notes = (*range_note(family, scales), *(SHRUNK_NOTE,) * bool((kept < _KEPT).any()))
    return begun.released(change @ theta, units, None, notes)


def _natural(units: StandardUnits, scales: Scales) -> StandardUnits:
    """Take the distance of public limits for 1, or without an intercept the one far from 0."""
    low, high = scales.low[units.columns], scales.high[units.columns]
    given = scales.given[units.columns]
    far = high - low if units.intercept else np.maximum(np.abs(low), np.abs(high))
    return replace(units, scale=np.where(given, far, units.scale))


def _alike(terms: Terms, units: StandardUnits) -> Doubles:
    """Return what rows are multiplied by so that all levels of a factor are alike.

    A factor of k + 1 levels has k indicators, and none for the level that the others are compared
    with.  With z those of a row, I + e I and e = (sqrt(1 + k) - 1) / k times ones make its norm
    that of all k + 1 indicators about their means: which level is left out then changes nothing.

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
    """Count the norms of rows; return what they are shortened to, and the counts."""
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
    """Return second moments along directions: those that noise hides share what others leave."""
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
    """Return the mean of the last iterates, and of each round the noise and what the pull left.

    Far from the start means are near the ends of their range, scores no longer fall, and what noise
    has added would stay: so each round is pulled back, as far as the noise of all rounds is large
    beside the prior.

    Returns theta: shape (w,).
    and noises: shape (_ROUNDS,): variance of the noise in each coordinate.
    and pulls: shape (_ROUNDS, w): what the way from the start was multiplied by.
    """
    units, theta = begun.scales.units, model.start
    thetas, noises, pulls = [], [], []
    curvature, before = _FLATTER * model.curvature, np.zeros(len(model.start))
    mu = begun.noise.share(share * (1 - _GRAM - 2 * _NORMS) / _ROUNDS * _ROUNDED_DOWN)
    prior = model.scale**2 / float(moments.sum())
    for number in range(1, _ROUNDS + 1):
        label = f"score of round {number}"
        score, deviation = noisy_score(rows, theta, limit, label, begun.noise, mu)
        if _turned(score, before, deviation):
            curvature *= _STEEPER
        before = score
        step = 1 / (units * curvature)
        pull = 1 / (1 + (deviation * step) ** 2 / (_ROUNDS * moments * prior))
        theta = model.start + pull * (theta - model.start + step * score)
        thetas.append(theta)
        noises.append((deviation * step) ** 2)
        pulls.append(pull)
    return np.asarray(np.mean(thetas[-_LAST:], axis=0)), np.array(noises), np.array(pulls)


def _cut_off(model: WorkingModel, norms: ScoreNorms, limit: float) -> float:
    """Return what is added to linear predictors where outcomes are rare.

    The residual of a rare outcome is about 1, and its score is cut to a share that norms of rows
    tell, while the scores of others are not: so rounds end where the mean is that share of what it
    should be.
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
    if often and family.link == "cloglog":  # which is not symmetric
        return math.log(math.log(rare) / math.log(share * rare))
    added = family.predictor(rare) - family.predictor(share * rare)
    return -added if often else added


def _turned(score: Doubles, before: Doubles, deviation: float) -> bool:
    """Whether the score points back, beyond noise: the step before was too long."""
    noise = deviation**2 * math.sqrt(len(score)) + deviation * float(np.linalg.norm(before))
    return float(score @ before) < -_CLEAR * noise


def _quieted(
    theta: Doubles,
    model: WorkingModel,
    moments: Doubles,
    noises: Doubles,
    pulls: Doubles,
    units: float,
) -> tuple[Doubles, Doubles]:
    """Shrink where noise would swamp predictions; return what is kept of each coordinate too.

    A round multiplies what is off along a direction by 1 - m, with m its second moment, and by the
    pull, and adds noise.
    """
    left = (1 - moments) * pulls[-1]
    ages = np.arange(_ROUNDS)[::-1]
    powers = left[:, None] ** ages
    # The mean of the last iterates has of a round what each of them has.
    reach = np.array([powers[:, k : k + _LAST].sum(axis=1) for k in range(_ROUNDS)]).T / _LAST
    variance = (reach**2) @ noises / model.scale**2
    # How much a linear predictor may explain has no limit.
    kept = kept_shares(np.diag(moments) * units, units, np.zeros(len(theta)), np.diag(variance))
    return model.start + kept @ (theta - model.start), np.diag(kept)
