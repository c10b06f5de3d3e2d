"""Initial clipping thresholds of scores, from counts of their norms."""

from __future__ import annotations

import math

from dpreg.estimation.newton.groups import Groups, groups
from dpreg.estimation.newton.limits import FIRST_NORMS, Limits, along, count_norms
from dpreg.estimation.newton.linearised import LEAST_RESIDUAL, Linearised
from dpreg.estimation.newton.row_lengths import RowLengths
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.standardised import Standardised

# Share of the squared mu for counts of norms of scores, and of rows.
NORMS = 0.02
# The same in a small study.  With fixed thresholds of 2.5 root mean square norms instead, .42 of
# intervals for the mean of 1,000 exponential responses covered instead of .77 (bench_skewed.py).
_SMALL_NORMS = 0.05
# Thresholds are optimal for tails this many standard deviations heavier than expected; in a small
# study, where counts miss most of the tail, and for ordered classes, by the second number.  At 0
# and 0, .863 of least-squares slopes of 27 real tables of 20,000 rows were covered instead of .877,
# and .86 of means of 1,000 exponential responses instead of .90; at .25, .44 of simulated designs
# met the noise goal of bench_limit.py instead of .61.  With the first number .925 and .944 of
# coefficients of two ordered probits were covered, against .942 and .969 with the second.
_DOUBTED, _DOUBTED_FEW = 0.1, 0.25
# Least mean square of residuals, as a share of that from second moments.  Without it errors of 2 of
# 378 fits were 1/250 of their correct size, and 5 coefficients were wrong by more than four errors.
_LEAST_RESIDUAL_SHARE = 0.5
# From it this many standard deviations of noise are subtracted.  Without it, where regressors
# explain .98 of the response, noise looked like a few large residuals: thresholds for 5,000 rows
# were up to 15 root mean square norms instead of 4, and errors 1.6 times as large.
_RESIDUAL_NOISE_SD = 2.0
# Thresholds are at least optimal for the largest norms of rows, with this fraction of the overall
# share of events: large rows are mostly predicted well.  With half the threshold for the full
# share, a regressor that was 1 in a tenth of 2,000 rows was wrong by up to 8 errors instead of 4.
_EVENTS = 0.25
# For a mean of which few scores are large: largest threshold, as a multiple of the score of a rare
# event.  Without it errors of means of 20,000 scores, a tenth of which were large, were 1.9 times
# those without noise instead of 1.5; with 1, .83 of intervals covered for lognormal residuals.
_RARE_TAIL = 2.0
# For amounts with many zeros, and for a mean, norms are counted once, unless residuals fall.  The
# count gets the first share of the budget, at most the second share of what is left; thresholds are
# optimal for tails heavier by the last two numbers, in standard deviations.  Counted like others,
# .08 of coefficients of 1,000 to 20,000 rows, 2 to 30% of them with amounts, were wrong by more
# than four errors instead of .004; with .5 deviations .875 covered instead of .907.  Of 388 means
# of columns of real tables, with 1,000 and 2,000 rows each, .055 and .039 were wrong by more than
# four errors instead of .021 and .015.
_ONCE_NORMS, _OF_LEFT, _DOUBTED_AMOUNTS, _DOUBTED_MEAN = 0.1, 0.2, 1.0, 0.5
# Their tails begin at this share of the typical amount, since most rows are zeros.  With .35 a mean
# was wrong by 8 errors instead of 5.
_TAIL_START = 0.5


def first_norms(
    begun: Standardised, model: Linearised, rows: MappedRows, lengths: RowLengths | None,
    left: float,
) -> Limits:  # fmt: skip
    """Count scores by their norm at the start; `lengths` has counts of rows by norm, if any.

    left: share of the squared mu for counts and scores.
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
                # Otherwise a tenth of the rows, three times as large as others, looked like a tail,
                # and errors were up to 12 times those of least squares.
                events = min(events, model.event * lengths.top)
            least = max(least, events)
        # Scores of the rows of a unit add up: with the limit for one row, .88 of the intervals for
        # persons with five rows covered, with this .93.
        most = max(noise.rows * model.longest * lengths.top, least)
    elif begun.rare is not None:
        most = noise.rows * _RARE_TAIL * least
    told = far = begins = 0.0
    if model.amounts:
        begins = _TAIL_START * least
    if model.family.least_squares:
        surely = max(model.squares - _RESIDUAL_NOISE_SD * model.found.noise, 0.0)
        told = _LEAST_RESIDUAL_SHARE * surely * width * scales.units
        low, high = scales.low[-1] - scales.centre[-1], scales.high[-1] - scales.centre[-1]
        far = float(max(-low, high) / scales.scale[-1]) * model.usual
        if scales.constant[-1]:
            # Counts hide a few scattered responses.  Without this .25 to .45 of the coefficients of
            # 2,000 to 20,000 such responses, with a regressor, were covered instead of .95.
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
    """Return groups with thresholds of their own: only if the largest residual is known."""
    return of if model.family.name == "binomial" else None
