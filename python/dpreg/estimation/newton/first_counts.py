"""Limits of scores where they begin, from counts of their norms."""

from __future__ import annotations

import math

from dpreg.estimation.newton.groups import Groups, groups
from dpreg.estimation.newton.limits import FIRST_NORMS, Limits, along, count_norms
from dpreg.estimation.newton.linearised import LEAST_RESIDUAL, Linearised
from dpreg.estimation.newton.row_lengths import RowLengths
from dpreg.estimation.releases.quantised import MappedRows
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
# less so many deviations of the noise in these.  Without it, where regressors explain .98 of the
# response, noise was taken for residuals that are few and long, limits of 5,000 rows were up to 15
# root mean square norms, for 4, and errors 1.6 times as long.
_UNCLEAR = 2.0
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
        surely = max(model.squares - _UNCLEAR * model.found.noise, 0.0)
        told = _TOLD * surely * width * scales.units
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
