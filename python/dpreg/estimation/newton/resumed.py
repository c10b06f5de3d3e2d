"""Starts: results of a fit for later ones, and a test whether an earlier start still holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpreg.estimation.base import Declined, Release
from dpreg.estimation.inference.covariance import at_least
from dpreg.estimation.inference.start import Start
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.curvature import LONGEST
from dpreg.estimation.newton.secant import Path
from dpreg.estimation.newton.second_moments import Moments
from dpreg.estimation.newton.whitening import USUAL, WIDE, rows_with_residual
from dpreg.estimation.releases.accountant import share_for
from dpreg.estimation.releases.moments import noisy_gram
from dpreg.estimation.releases.rows import mapped_rows, standard_units
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.standardised import Standardised

# Noise in second moments, relative to them, for shares of mu^2 between these; in a small study the
# last share, as intervals of 300 rows depend on what is measured here.
_PRECISE, _LEAST, _MOST, _SMALL_MOST = 0.15, 0.005, 0.05, 0.1
# Rows are shortened to no less than `USUAL` times the root of their entries, and where they are
# longer, to as much as makes noise this share of second moments, or to `WIDE` and, where some are
# known to be as long, to `LONGEST` times it.  With 1.2 for .5 noise hid that a column of 2,000 to
# 20,000 rows had become twice another one, if the norms of the start had no end that was seen.
_REACH = 0.5
# A matrix or a mean squared residual has changed if it differs from its expectation by this many
# standard deviations.  Without it .89 of intervals covered instead of .96 where residuals had
# become 1.5 or 2 times as large.
_CHANGED_SD = 3.0
# Second moments, or mean squares of residuals, beyond these shares of what they were, by so many
# deviations of their noise, need another start; and their mean does if it is in the upper half of
# what shortened rows can have.
_SMALLER, _LARGER, _CLEAR, _MOSTLY_CLIPPED = 0.4, 2.5, 1.5, 0.5
# Relative change of a mean squared residual from clipping rows and over a few months.
_RESIDUAL_DOUBT = 0.1


@dataclass(frozen=True, slots=True)
class _Seen:
    """Noisy second moments of rows along the coordinates of a start."""

    moments: Moments  # Their errors are noise.
    residual: float | None  # Mean square relative to the earlier one; None: not requested.
    deviation: float  # Of the noise in it.
    full: bool  # Most rows were clipped, so norms have grown.
    whole: bool  # Rows were clipped no more than for the start.


def resumed_whitening(begun: Standardised) -> Whitening | None:
    """Release second moments of rows along the coordinates of a start; None if it does not hold.

    If they agree with the start, the two are averaged by their errors; otherwise they get more
    weight, as the errors of the start were underestimated.

    begun: with a start, from which its scales come; `units` are those of the rows.  In a small
        study norms of scores will not be counted, so the mean squared residual is measured too.

    Privacy
    -------
    guarantee : as the release that is added to `begun.noise`
    proof : resumed.md
    """
    start = begun.start
    assert start is not None
    variance, levels = start.deviation**2, start.sizes < 1
    noise = np.where(levels[:, None] | levels, 0.0, variance)
    moments = Moments(np.eye(len(start.theta)), variance, levels, noise)
    before = Whitening(
        start.change, start.unseen, start.theta, start.residual, moments, start.sizes
    )
    seen = _release_moments(begun, start, before)
    if seen.full or _has_collapsed(seen, moments):
        return None
    sampling = _sampling(start, begun.scales.units)
    residual = _residual(seen, sampling)
    known = replace(moments, variance=moments.variance + sampling)
    moments = known.of_levels().seen(seen.moments.matrix, seen.moments.variance)
    values, vectors = np.linalg.eigh(moments.matrix)
    edge = _CLEAR * moments.edge(vectors)
    values = moments.without_spread(values)
    most = max((values - edge).max(initial=1.0), residual - edge.max(initial=0.0))
    least = residual + edge.max(initial=0.0)
    if most > _LARGER or least < _SMALLER:
        return None
    return _averaged(
        before, known, seen.moments, residual, centred=begun.units.intercept, whole=seen.whole
    )


def _has_collapsed(seen: _Seen, known: Moments) -> bool:
    """Whether the variance of rows in a direction is small, and clearly below that of the start.

    Slopes along it would be those of the start, with small errors.  When more than `_SMALLER` only
    had to be possible, slopes of 2,000 rows in which a column had become twice another one had
    errors in all of 40 fits, and were wrong by up to 600 of them; now in a tenth.
    """
    values, vectors = np.linalg.eigh(seen.moments.matrix)
    edge = replace(known, variance=known.variance + seen.moments.variance).edge(vectors)
    # Clipped rows have less variance in all directions.
    before = 1.0 if seen.whole else min(float(values.sum()) / max(len(values), 1), 1.0)
    return bool(((values < _SMALLER * before) & (values + edge < before)).any())


def _release_moments(begun: Standardised, start: Start, before: Whitening) -> _Seen:
    noise, small = begun.noise, begun.few_rows
    squares, n = before.squares, begun.scales.units
    usual = math.sqrt(squares + small)
    # A tenth of the rows may exceed the largest significant norm.
    wanted = max(min(start.longest, LONGEST * usual), WIDE * usual)
    entries = n / math.sqrt(2 * max(squares, 1))
    share = share_for(noise, noise.rows * wanted**2, _PRECISE * entries)
    share = min(max(share, _LEAST), _SMALL_MOST if small else _MOST)
    mu = noise.share(share)
    reach = math.sqrt(_REACH * entries * mu / noise.rows)
    limit = min(wanted, max(reach, USUAL * usual))
    if small:
        rows = rows_with_residual(begun, before, limit, start.residual)
    else:
        rows = mapped_rows(begun.design, begun.scales, begun.units, before.rows, limit, kept=False)
    gram, deviation = noisy_gram(rows, noise, mu, "second moments of rows, as of the start")
    gram, deviation = gram / n, deviation / n
    total = max(squares + small, 1.0)
    full = 1 + _MOSTLY_CLIPPED * (min(limit**2 / total, 2 * _LARGER) - 1)
    full += _CLEAR * deviation * math.sqrt(max(len(gram), 1)) / total
    sizes, width = np.outer(before.sizes, before.sizes), before.width
    variance = (deviation / sizes) ** 2
    moments = Moments(gram[:width, :width] / sizes, variance, before.levels, variance)
    residual = float(gram[-1, -1]) if small else None
    return _Seen(
        moments, residual, deviation, float(np.trace(gram)) / total > full, limit == wanted
    )


def _sampling(start: Start, units: float) -> float:
    """Return an approximate upper limit of the variance of a change in a second moment."""
    width = max(len(start.theta), 1)
    fourth = max(start.longest**2 / width, 2.0)
    return min(fourth * (1 / max(start.units, 1.0) + 1 / units), 1.0)


def _residual(seen: _Seen, sampling: float) -> float:
    """Return the mean squared residual, relative to the earlier one."""
    if seen.residual is None:
        return 1.0
    doubt, noise = _RESIDUAL_DOUBT**2 + sampling, seen.deviation**2
    news = (seen.residual - 1) ** 2 > _CHANGED_SD**2 * (doubt + noise)
    return seen.residual if news else 1 + doubt / (doubt + noise) * (seen.residual - 1)


def _averaged(
    before: Whitening, known: Moments, seen: Moments, residual: float, *, centred: bool, whole: bool
) -> Whitening:
    width, wrong = before.width, seen.matrix - np.eye(before.width)
    doubt, noise = known.variance, seen.variance
    if not whole:  # a smaller moment may be due to clipping
        values, vectors = np.linalg.eigh(wrong)
        values[values < -seen.edge(vectors)] = 0.0
        wrong = (vectors * values) @ vectors.T
    number = max(width * (width + 1) / 2, 1.0)
    # Entries off the diagonal have half of the variance, and occur twice.
    news = float((wrong**2 / (doubt + noise)).sum()) / number
    if news > 1 + _CHANGED_SD * math.sqrt(2 / number):
        doubt = np.maximum(doubt, news * (doubt + noise) - noise)
    weight = doubt / (doubt + noise)
    held = at_least(np.eye(width) + weight * wrong, _SMALLER)
    found = before.turned(symmetric_root(held, centred=centred))
    moments = replace(known, variance=doubt * (1 - weight))
    return replace(found, residual=residual * before.residual, moments=moments)


def start_from(
    begun: Standardised, found: Whitening, path: Path, squares: float, longest: float
) -> Start:
    """Return the start given by a fit.  Everything here is public.

    begun: only released values are used.
    found: coordinates.
    path: path along the coordinates.
    squares: sum of squared norms of scores.
    longest: see `Start`.
    """
    terms, scales = begun.design.terms, begun.scales
    ended = replace(found, theta=path.theta)
    ended = ended.turned(symmetric_root(path.curvature, centred=begun.units.intercept))
    residual = squares / (max(found.squares, 1.0) * scales.units)
    if begun.units.intercept and not terms.intercept:
        ended, residual = _without_constant(begun, ended, residual)
    return Start(
        response=terms.response,
        names=terms.names,
        intercept=terms.intercept,
        low=scales.low,
        high=scales.high,
        centre=scales.centre,
        scale=scales.scale,
        constant=scales.constant,
        change=ended.change,
        unseen=ended.unseen,
        theta=ended.theta,
        residual=residual,
        deviation=np.sqrt(path.doubt.entries),
        sizes=ended.sizes,
        longest=longest,
        units=scales.units,
        within=terms.within,
        weights=terms.weights,
    )


def _without_constant(
    begun: Standardised, ended: Whitening, residual: float
) -> tuple[Whitening, float]:
    """Return coordinates of rows of the formula, which has all levels instead of a constant."""
    assert begun.back is not None
    levels = np.flatnonzero(begun.back[:, 0])
    units, whole = begun.telling_units, standard_units(begun.scales, intercept=False)
    terms = begun.design.terms
    whole = whole.keeping(~np.isin(whole.columns, [*terms.given, len(terms.regressors)]))
    own = np.isin(whole.columns, units.columns)
    constant = np.isin(whole.columns, levels) * whole.scale
    rows = np.zeros((whole.width, units.width))  # Map of the coordinates.
    rows[own, 1 + np.arange(len(units.columns))] = whole.scale[own] / units.scale
    rows[:, 1:] -= np.outer(constant, units.centre / units.scale)
    rows[:, 0] = constant
    change = rows @ ended.change
    level = np.linalg.lstsq(change, constant, rcond=None)[0]
    theta = (units.y_scale * ended.theta + units.y_centre * level) / whole.y_scale
    # Constant columns cannot be separated from the levels, as from a constant.
    same = np.flatnonzero(~own & (whole.columns != levels[0]))
    alike = np.diag(whole.scale)[:, same]
    alike -= np.outer(constant, begun.scales.centre[whole.columns[same]])
    unseen = np.column_stack([rows @ ended.unseen, alike])
    found = replace(ended, change=change, unseen=unseen, theta=theta)
    return found, residual * (units.y_scale / whole.y_scale) ** 2


def started_anew(
    begun: Standardised, fit: Callable[[Standardised], Release | Declined]
) -> Release | Declined:
    """Fit with the remaining budget, without the start, which does not hold."""
    spent = 1 - begun.left
    anew = begun.anew()
    outcome = anew.declined or fit(anew.with_constant())
    if isinstance(outcome, Declined):
        return outcome
    note = (
        "start= is out of date: the second moments of the columns, or the residual scale, have "
        f"changed.  They were estimated anew, and {100 * spent:.0f}% of the squared mu was lost"
    )
    return replace(outcome, notes=(note, *outcome.notes))
