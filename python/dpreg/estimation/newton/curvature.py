"""The curvature of scores: second moments of rows with the weights of the family."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.groups import groups
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.scores import noisy_products
from dpreg.estimation.newton.second_moments import Moments
from dpreg.estimation.newton.whitening import USUAL
from dpreg.estimation.releases.accountant import share_for
from dpreg.estimation.releases.moments import noisy_gram
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.releases.rows import mapped_rows
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.standardised import Standardised

# Share of the squared mu for second moments of scores, the last release.
PRODUCTS = 0.05
# Rows of scores are clipped at this multiple of the root of the number of their entries.
LONGEST = 8.0
# The same if larger norms are significant, at most: the coefficient of a level of 60 rows in
# 300,000 was wrong by ten errors where its rows were clipped.
_RARE = 16.0
# Bandwidth of the quantile loss in scores, relative to that for the curvature.  With the same
# bandwidth the solution differs where the density of residuals changes, and .89 of intervals for
# deciles and medians of ten responses covered instead of .94.
_SHARP = 0.05
# Noise in the curvature as a share of second moments, for budget shares between these; and the
# clipping threshold of rows.
_PRECISE, _LEAST, _MOST, _REACH = 0.15, 0.03, 0.12, 0.5
# Second moments of rows clipped higher are at least 1 where the first estimate is correct; those
# below this were mistaken.  Without it 18 of 192 coefficients of 17 fits were wrong by more than
# four errors instead of 2 of 167.
_LEAST_MOMENT, _MISTAKEN = 0.25, 2.0
# This applies to directions with at most this share (squared) of the mean row.  With any share, a
# share of .4 ones was estimated for five thousand zeros.
_MEAN = 0.1
# Second moments from the estimation of coordinates are reused if their noise is less than this and
# norms of rows are at most this multiple of their clipping threshold.  Without it fits with light
# tails cost one more step, and 30 indicators of 20,000 rows had 1.4 times the noise of the limit
# instead of 1.0; but two normal columns of 2,000 rows 1.25 times instead of 1.4.
_ENOUGH_PRECISE, _HARDLY_CLIPPED = 0.3, 1.5
# The curvature of a quantile differs by about this share from the density times second moments of
# rows; its mean is at least the second number.  Without it .13 of the outer deciles of raw wages
# and incomes had no error instead of .10, and 3 of 416 were wrong by more than 4 errors instead of
# 0.
_HETEROGENEOUS, _LEAST_DENSITY = 0.3, 0.1
# If a second moment exceeds this, rows were larger than could be measured, and are measured again
# if enough is left for scores.
_TOO_LARGE, _LEAST_LEFT = 2.0, 0.18


def left_for_scores(begun: Standardised) -> float:
    """Return the share of the budget left for scores."""
    return begun.left - PRODUCTS - begun.tail_share


def score_rows(
    begun: Standardised, model: Linearised, top: float, *, kept: bool, smooth: float = _SHARP
) -> MappedRows:
    """Return the rows for scores.

    top: largest norm of rows.
    smooth: bandwidth of a quantile loss, relative to that of its curvature.
    """
    base = model.usual
    loss = model.loss
    if model.family.level is not None:
        loss = replace(loss, bandwidth=smooth * loss.bandwidth)
    return mapped_rows(
        begun.design, begun.scales, begun.telling_units, model.found.rows,
        max(LONGEST * base, min(top, _RARE * base)), kept=kept, loss=loss,
        aim=model.found.theta / model.found.sizes,
    )  # fmt: skip


def expected(begun: Standardised, model: Linearised) -> Linearised:
    """Change to coordinates in which the curvature implied by groups of rows is 1 at the start.

    Without it levels with less than `_LEAST_MOMENT` of the curvature of others were treated as
    mistaken, and .86 of intervals for logits from 0 to 6 covered instead of .95.
    """
    of, found = groups(begun, model), model.found
    if of is None or not of.levels.any():
        return model
    turn = symmetric_root(of.curvature(found.theta), centred=begun.telling_units.intercept)
    longer = np.maximum(np.linalg.norm(turn, axis=0), 1.0)
    sizes = np.where(found.levels, found.sizes / longer, found.sizes)
    found = replace(found.turned(turn), moments=found.moments.turned(turn), sizes=sizes)
    return model.turned(turn, found)


def may_go_on(begun: Standardised, model: Linearised) -> bool:
    """Whether there may be one more score before the curvature is measured."""
    return model.family.level is not None and left_for_scores(begun) > _LEAST_LEFT


def measured(begun: Standardised, model: Linearised, top: float) -> Linearised:
    """Release the curvature: second moments of weighted rows with a high clipping threshold.

    Returns the model in coordinates in which the curvature is 1.
    """
    if is_measured(model, top):
        return model
    model, largest = _measure(begun, model, top)
    again = model.found.width > 0 and largest > _TOO_LARGE and left_for_scores(begun) > _LEAST_LEFT
    return _measure(begun, model, top)[0] if again else model


def is_measured(model: Linearised, top: float) -> bool:
    """Whether earlier second moments suffice.

    They do for least squares, if their noise is small and rows were hardly clipped.
    """
    found = model.found
    if not model.family.least_squares or top > _HARDLY_CLIPPED * found.limit:
        return False
    noise = math.sqrt(2 * found.squares * float(found.moments.variance.mean()))
    return noise < _ENOUGH_PRECISE


def _measure(begun: Standardised, model: Linearised, top: float) -> tuple[Linearised, float]:
    noise, units, n, found = begun.noise, begun.telling_units, begun.scales.units, model.found
    base = math.sqrt(found.squares)
    entries = n / math.sqrt(2) / base
    longest = top * model.curved * math.sqrt(model.most)
    wanted = max(min(longest, LONGEST * base), USUAL * base)
    share = share_for(noise, noise.rows * wanted**2, _PRECISE * entries)
    share = max(min(share, _MOST), _LEAST)
    mu = noise.share(share)
    reach, precise = (math.sqrt(q * entries * mu / noise.rows) for q in (_REACH, _PRECISE))
    limit = max(min(wanted, reach), USUAL * base)
    # Without this .42 of the coefficients of 100,000 gamma responses in 7 levels, with log means
    # from 0 to 4, had no error instead of less than .2.
    if limit == wanted:
        limit = max(wanted, min(precise, LONGEST * base))
    # Second moments of clipped rows are not used.  With them, errors for randhie, which has heavy
    # tails, were 87 times as large, and those of 30 normal columns of 5,000 rows .9 times.
    before = found.moments.of_levels()
    if model.family.least_squares:
        rows = mapped_rows(begun.design, begun.scales, units, found.rows, limit, kept=False)
        gram, deviation = noisy_gram(rows, noise, mu, "second moments of rows")
    else:
        rows = score_rows(begun, model, top, kept=False, smooth=1.0)
        sums = rows.curvature(found.theta / found.sizes, limit)
        gram, deviation = noisy_products("curvature", sums, limit, noise, mu)
    sizes = n * np.outer(found.sizes, found.sizes)
    if model.family.level is not None:
        before = _density_prior(before, gram / sizes)
    moments = before.seen(gram / sizes, (deviation / sizes) ** 2)
    if model.family.level is not None:
        # Where densities differ this much the expected curvature is not reliable.  Without this
        # errors of three quantiles of four tables of 5,000 rows were 1.1 to 2.4 times as large, and
        # .115 of coefficients had none instead of .066.
        moments = replace(moments, noise=moments.variance)
    values, vectors = np.linalg.eigh(moments.matrix)
    values = moments.without_spread(values)
    mistaken = values < np.minimum(_LEAST_MOMENT, _MISTAKEN * moments.along(vectors))
    if not model.family.least_squares:
        # Means near the end of their range have little curvature, which is not a mistake.
        mistaken &= (vectors[: int(units.intercept)] ** 2).sum(axis=0) < _MEAN
    found, basis = found.without(vectors[:, mistaken], centred=units.intercept)
    held = basis.T @ (vectors * np.maximum(values, _LEAST_MOMENT)) @ vectors.T @ basis
    turn = symmetric_root(held, centred=units.intercept)
    largest = float(values.max(initial=0.0))
    moments = replace(moments.turned(basis, found.levels), matrix=np.eye(found.width))
    found = replace(found.turned(turn), moments=moments)
    return model.turned(basis @ turn, found), largest


def _density_prior(before: Moments, seen: Doubles) -> Moments:
    """Return the prior of the curvature of a quantile: about the same in all directions.

    For levels second moments are known, but not the density.  With a density of 1, 74 instead of 12
    of 540 coefficients of quantiles .1, .9 and .95 by a factor, whose first level has 3% of 20,000
    rows, were wrong by more than four errors.

    seen: noisy curvature.
    """
    own, width = ~before.levels, len(seen)
    mean = max(float(np.diag(seen)[own].mean()), _LEAST_DENSITY) if own.any() else 1.0
    both = np.outer(own, own)
    return replace(
        before,
        matrix=mean * np.where(both, np.eye(width), before.matrix),
        variance=(_HETEROGENEOUS * mean) ** 2 * (2 - np.eye(width)),
        errors=None,
    )
