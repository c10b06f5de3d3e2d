"""The curvature of scores: second moments of long rows, weighted as a family has them."""

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

# Of the squared mu, for second moments of scores, the last release.
PRODUCTS = 0.05
# Rows of which scores are made are shortened to this many times the root of their entries.
LONGEST = 8.0
# or, where rows are seen to be longer, to at most so many: the coefficient of a level of 60 rows in
# 300,000 missed by ten errors where its rows lost most of their length.
_RARE = 16.0
# Scores of a quantile are of a loss that is hardly smooth.  As smooth as that whose curvature is
# measured, it has another root where the density of residuals changes, and .89 of intervals of
# deciles and medians of ten responses covered, for .94.
_SHARP = 0.05
# The curvature: noise is this share of second moments, for shares between these.
_PRECISE, _LEAST, _MOST, _REACH = 0.15, 0.03, 0.12, 0.5
# Of long rows second moments are 1 at least: what is less than this had been seen by mistake.
# Without it 18 of 192 coefficients of 17 fits were off by more than four errors, for 2 of 167.
_LEAST_MOMENT, _MISTAKEN = 0.25, 2.0
# of a direction, with no more than this of the mean row, squared.  With all of it, five thousand
# zeros were said to have a share of .4 of ones.
_MEAN = 0.1
# Those that were seen while coordinates were sought serve where their noise is less than this, and
# rows are no more than so many times as long as they were shortened to.  Without it fits of light
# tails cost one step more, and 30 indicators of 20,000 rows had 1.4 times the noise of the limit,
# for 1.0; but two normal columns of 2,000 rows 1.25 times, for 1.4.
_ENOUGH_PRECISE, _SHORTENED = 0.3, 1.5
# The curvature of a quantile differs by about this share from the density times second moments of
# rows; its mean is at least the second.  Without it .13 of the outer deciles of raw wages and of
# incomes had no error, for .10, and 3 of 416 missed by more than 4 errors, for 0.
_HETEROGENEOUS, _LEAST_DENSITY = 0.3, 0.1
# Where one is larger than this, rows were longer than could be measured, and are once more, if that
# leaves something for scores.
_AGAIN, _ENOUGH = 2.0, 0.18


def left_for_scores(begun: Standardised) -> float:
    """Return the share of scores."""
    return begun.left - PRODUCTS - begun.tail_share


def score_rows(
    begun: Standardised, model: Linearised, top: float, *, kept: bool, smooth: float = _SHARP
) -> MappedRows:
    """Return rows of which scores are made.

    top: the norm up to which there are some.
    smooth: how smooth the loss of a quantile is, as a share of what its curvature takes.
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
    """Go to coordinates in which the curvature is 1 as groups of rows have it, where scores begin.

    Without it levels with less than `_LEAST_MOMENT` of the curvature of others were taken for
    measured by mistake, and .86 of intervals of logits from 0 to 6 covered, for .95.
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
    return model.family.level is not None and left_for_scores(begun) > _ENOUGH


def measured(begun: Standardised, model: Linearised, top: float) -> Linearised:
    """Release the curvature, second moments of weighted rows that may be long.

    Returns the model in coordinates in which it is 1.
    """
    if is_measured(model, top):
        return model
    model, largest = _measure(begun, model, top)
    again = model.found.width > 0 and largest > _AGAIN and left_for_scores(begun) > _ENOUGH
    return _measure(begun, model, top)[0] if again else model


def is_measured(model: Linearised, top: float) -> bool:
    """Whether second moments that were released before are all that is wanted.

    They are those of least squares, with so little noise, and rows are hardly longer than they were
    shortened to.
    """
    found = model.found
    if not model.family.least_squares or top > _SHORTENED * found.limit:
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
    # Without this .42 of the coefficients of 100,000 gamma responses in 7 levels, the logarithms of
    # whose means were 0 to 4, had no error, for less than .2.
    if limit == wanted:
        limit = max(wanted, min(precise, LONGEST * base))
    # Those of shortened rows are left aside.  With them, errors of randhie, which has long ones,
    # were 87 times as long, and those of 30 normal columns of 5,000 rows .9 times.
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
        before = _as_dense(before, gram / sizes)
    moments = before.seen(gram / sizes, (deviation / sizes) ** 2)
    if model.family.level is not None:
        # Where densities differ that much, what is expected is hardly that.  Without this errors of
        # three quantiles of four tables, 5,000 rows of each, were 1.1 to 2.4 times as long, and
        # .115 for .066 of coefficients had none.
        moments = replace(moments, noise=moments.variance)
    values, vectors = np.linalg.eigh(moments.matrix)
    values = moments.without_spread(values)
    mistaken = values < np.minimum(_LEAST_MOMENT, _MISTAKEN * moments.along(vectors))
    if not model.family.least_squares:
        # Means near the end of their range have little curvature, and nothing is mistaken.
        mistaken &= (vectors[: int(units.intercept)] ** 2).sum(axis=0) < _MEAN
    found, basis = found.without(vectors[:, mistaken], centred=units.intercept)
    held = basis.T @ (vectors * np.maximum(values, _LEAST_MOMENT)) @ vectors.T @ basis
    turn = symmetric_root(held, centred=units.intercept)
    largest = float(values.max(initial=0.0))
    moments = replace(moments.turned(basis, found.levels), matrix=np.eye(found.width))
    found = replace(found.turned(turn), moments=moments)
    return model.turned(basis @ turn, found), largest


def _as_dense(before: Moments, seen: Doubles) -> Moments:
    """Return what is known of the curvature of a quantile: it is about the same in all directions.

    Of levels second moments are known, and not the density: when that was taken for 1, 74 for 12 of
    540 coefficients of quantiles of .1, .9 and .95 by a factor, the first level of which is 3% of
    20,000 rows, were off by more than four errors.

    seen: noisy.
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
