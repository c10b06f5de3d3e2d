"""Where scores begin: limits from counts of their norms, and of a quantile counts of residuals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.curvature import left_for_scores
from dpreg.estimation.newton.groups import Groups, groups
from dpreg.estimation.newton.limits import FIRST_NORMS, Limits, along, count_norms
from dpreg.estimation.newton.linearised import (
    LEAST_RESIDUAL,
    Linearised,
    constant_row,
    most_of_quantile,
)
from dpreg.estimation.newton.row_lengths import RowLengths
from dpreg.estimation.releases.accountant import share_for
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.releases.residuals import (
    RESIDUAL_CELLS_SENSITIVITY,
    ResidualCells,
    line_of,
)
from dpreg.estimation.standardised import Standardised

# Of norms of scores and of rows, each.
NORMS = 0.02
# Of norms of scores of a small study.  With limits of 2.5 root mean square norms instead, .42 of
# intervals for the mean of 1,000 exponential responses covered, for .77 (bench_skewed.py).
_SMALL_NORMS = 0.05
# Limits are best for tails longer by so many deviations than is expected; in a small study, where
# counts hide most of them, and of ordered classes, by the second number.  At 0 and 0, .863 of
# least-squares slopes of 27 real tables were covered, 20,000 rows each, for .877, and .86 of means
# of 1,000 exponential responses for .90; at .25, .44 of simulated designs met the noise goal of
# bench_limit.py, for .61.  With the first number .925 and .944 of coefficients of two ordered
# probits were covered, for .942 and .969 with the second.
_DOUBTED, _DOUBTED_FEW = 0.1, 0.25
# Residuals have this share of the mean square that second moments have, at least.  Without it
# errors of 2 of 378 fits were 1/250 of what they are, and 5 coefficients missed by four of them.
_TOLD = 0.5
# Limits are no less than is best for rows as long as are seen, of which a share have an event that
# is this share of that of all: long rows are mostly predicted well.  With half the limit for all of
# that share, a regressor that was 1 in a tenth of 2,000 rows missed by up to 8 errors, for 4.
_EVENTS = 0.25
# and, of few scores of a constant, no more than so many times that of a rare event.  Without it
# errors of means of 20,000 scores, a tenth of which were long, were 1.9 times those without noise,
# for 1.5; with 1, .83 of intervals covered where residuals of these were lognormal.
_RARE_TAIL = 2.0
# Of amounts, beside many zeros, and of a mean, norms are counted once, unless residuals fall, with
# the first of these shares and no more than the second of what is left, and limits are best for
# tails longer by so many deviations.  Counted as others are, .08 of coefficients of 1,000 to 20,000
# rows, 2 to 30% of which had amounts, were off by more than four errors, for .004; with .5
# deviations .875 covered, for .907.  Of 388 means of columns of real tables, 1,000 and 2,000 rows
# of each, .055 and .039 were off by more than four errors, for .021 and .015.
_ONCE_NORMS, _OF_LEFT, _DOUBTED_AMOUNTS, _DOUBTED_MEAN = 0.1, 0.2, 1.0, 0.5
# Their tails begin at this share of the usual amount, for most rows are zeros.  With .35 a mean was
# off by 8 errors, for 5.
_BEGINS = 0.5
# Of the squared mu, for counts in bins that reach so many deviations of residuals about their mean;
# where so much is left for scores, which is never too little afterwards.
_SHARE, _REACH, _LEFT = 0.03, 3.0, 0.23
# or up to the second share, until rows beyond the quantile are so many times the noise in one bin;
# and as many bins as that, between these.  With the first share and 48 bins .85 of coefficients of
# 95% quantiles of six responses of 2,000 rows covered, for .94, and 10 of 420 were off by more than
# four errors, for 0; with 16 at 20,000 rows .10 of those of 5% quantiles had no error, for .02.
_TO_NOISE, _MOST_SHARE, _BINS = 12.0, 0.12, (16, 48)
# The density is that of this share of the rows beyond the quantile, on each side of it.
_AROUND = 0.25


def first_norms(
    begun: Standardised, model: Linearised, rows: MappedRows, lengths: RowLengths | None,
    left: float,
) -> Limits:  # fmt: skip
    """Count scores by their norm where they begin; rows are as long as is told, if it is.

    left: share of the squared mu for that and for scores.
    """
    share = _SMALL_NORMS if begun.few_rows else NORMS
    mean = model.family.least_squares and not begun.design.terms.regressors
    once = model.amounts or mean
    if once:
        share = min(_ONCE_NORMS, _OF_LEFT * left)
    noise, scales = begun.noise, begun.scales
    width = max(model.found.squares, 1.0)
    typical = math.sqrt(max(model.squares, LEAST_RESIDUAL) * width)
    least, most = model.event * model.usual, math.inf
    if lengths is not None:
        if least > 0 and not model.amounts:
            part = _EVENTS * model.share
            events = lengths.limit(noise.share(left - share) * along(width), model.event, part)
            if model.longest < math.inf:
                # Else a tenth of the rows, three times as long as others, were taken for a tail,
                # and errors were up to 12 times those of least squares.
                events = min(events, model.event * lengths.top)
            least = max(least, events)
        # Scores of the rows of a unit add up: with a cap for one row, .88 of the intervals of
        # persons with five rows covered, with this .93.
        most = max(noise.rows * model.longest * lengths.top, least)
    elif begun.rare is not None:
        most = noise.rows * _RARE_TAIL * least
    told = far = begins = 0.0
    if model.amounts:
        begins = _BEGINS * least
    if model.family.least_squares:
        told = _TOLD * model.squares * width * scales.units
        low, high = scales.low[-1] - scales.centre[-1], scales.high[-1] - scales.centre[-1]
        far = float(max(-low, high) / scales.scale[-1]) * model.usual
        if scales.constant[-1]:
            # Counts hide responses that are few and anywhere.  Without this .25 to .45 of the
            # coefficients of 2,000 to 20,000 of those, with a regressor, were covered, for .95.
            least = max(least, noise.rows * far)
    doubted = _DOUBTED_FEW if begun.few_rows or begun.aligned else _DOUBTED
    if once:
        doubted = _DOUBTED_AMOUNTS if model.amounts else _DOUBTED_MEAN
    of = asking(model, groups(begun, model))
    before = Limits(
        math.inf, None, typical, 0.0, width, least, most, told, far, begins,
        doubted=doubted, groups=of, aligned=begun.aligned, once=once,
    )  # fmt: skip
    at = model.found.theta / model.found.sizes
    return count_norms(rows, at, before, noise, share, left - share, FIRST_NORMS)


def asking(model: Linearised, of: Groups | None) -> Groups | None:
    """Return groups that ask for limits: of no other responses is the longest residual known."""
    return of if model.family.name == "binomial" else None


def begun_at_quantile(begun: Standardised, model: Linearised) -> Linearised:
    """Begin scores at the quantile of residuals of least squares, with their density there.

    As if residuals were normal, scores of the lower decile of skewed responses began below all of
    these, where they do not change, and had a fifth of their curvature at the root: of intervals of
    deciles and medians of ten responses .90 covered, for .94, .07 had no end, for .02, and fits
    missed by more than 4 errors 31 times, for 13.

    Privacy
    -------
    guarantee : `_SHARE` of the squared mu of `begun.noise`, or up to `_MOST_SHARE`
    proof : newton.md
    """
    level, units, found = model.family.level, begun.telling_units, model.found
    if level is None or not units.intercept or left_for_scores(begun) < _LEFT:
        return model
    params = begun.user_params(found.change @ found.theta, units)
    usual = math.sqrt(max(found.residual, LEAST_RESIDUAL))
    # Scores begin so much above least squares now.
    place = float(special.ndtri(level)) * usual
    mu, bins = _counts_by_residual(begun, min(level, 1 - level) * begun.scales.units)
    edges = np.linspace(-_REACH, _REACH, bins + 1) * usual - place
    ends = float(edges[0] * units.y_scale), float(edges[-1] * units.y_scale)
    cells = ResidualCells(line_of(begun.design, params), (0.0, 1.0), ends, (1, bins))
    counts, _ = begun.noise.release("numbers of rows by residual", begun.design.total(cells), mu)
    beside = _AROUND * min(level, 1 - level)
    low, at, high = _quantiles(counts[0], edges, np.array([level - beside, level, level + beside]))
    density = 2 * beside / max(high - low, edges[1] - edges[0])
    constant = constant_row(begun.scales, units, found)
    moved = replace(model, found=replace(found, theta=found.theta + at * constant))
    return _with_density(moved, density)


def _counts_by_residual(begun: Standardised, beyond: float) -> tuple[float, int]:
    """Return the mu of counts by residual, and in how many bins, for so many rows `beyond`.

    No less is left than if they had `_SHARE` of `_LEFT`.
    """
    noise, (fewest, most) = begun.noise, _BINS
    sensitivity = noise.rows * RESIDUAL_CELLS_SENSITIVITY
    wanted = share_for(noise, sensitivity, max(beyond, 1.0) / _TO_NOISE)
    share = min(max(wanted, _SHARE), _MOST_SHARE, left_for_scores(begun) - _LEFT + _SHARE)
    mu = noise.share(share)
    return mu, int(min(max(beyond * mu / sensitivity, fewest), most))


def _with_density(model: Linearised, density: float) -> Linearised:
    times = density / model.curved**2
    # No smoother where residuals are few: those nearby would be taken for what is there.
    loss = replace(model.loss, bandwidth=model.loss.bandwidth / max(times, 1.0))
    return replace(
        model,
        found=model.found.turned(np.eye(model.found.width) / math.sqrt(times)),
        loss=loss,
        squares=model.squares / times,
        curved=math.sqrt(density),
        most=most_of_quantile(loss, density),
    )


def _quantiles(counts: Doubles, edges: Doubles, levels: Doubles) -> Doubles:
    """Return quantiles by noisy counts between edges, linear between two of them."""
    below = np.concatenate([[0.0], np.cumsum(counts)])
    wanted = levels * below[-1]
    k = np.array([int(np.argmax(below[1:] >= number)) for number in wanted])
    share = (wanted - below[k]) / np.maximum(below[k + 1] - below[k], 1.0)
    return np.asarray(edges[k] + np.clip(share, 0.0, 1.0) * np.diff(edges)[k])
