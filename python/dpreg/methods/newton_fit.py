"""Least squares with errors, from few noisy sums.

What is released, one after another, and what each costs of the squared mu:

- the number of rows (.003), and counts of signs and orders of magnitude of each column, and of
  bins of columns far from 0: as little as makes their noise a fortieth of the rows;
- second moments of rows with their residual, which give coordinates along which rows have unit
  spread, and slopes: as little as makes noise half of that spread, again while a direction is
  hidden;
- numbers of units by the norm of their score, and of rows by theirs, which say how long scores and
  rows may be;
- second moments of rows as long as they are, the curvature;
- scores, from the first of which on each step corrects the curvature along it, until what is wrong
  with the curvature is small beside the noise of the last, which gets all that is left;
- second moments of scores, for standard errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.inference.covariance import EstimateError, sandwich
from dpreg.inference.secant import Path
from dpreg.methods.base import Declined, Release
from dpreg.methods.newton import (
    FIRST_NORMS,
    MOST_ROUNDS,
    Limits,
    count_norms,
    newton,
    newton_small,
)
from dpreg.methods.newton_start import start_from, started_anew
from dpreg.methods.score_estimand import estimand
from dpreg.methods.standardised import VOTE_SHARE, Standardised
from dpreg.sums.column_scaling import SCALING_PASSES, share_for
from dpreg.sums.moments import noisy_gram
from dpreg.sums.quantised import MappedRows
from dpreg.sums.resumed import resumed_whitening
from dpreg.sums.row_lengths import longest_rows
from dpreg.sums.rows import mapped_rows
from dpreg.sums.scores import noisy_products
from dpreg.sums.spectrum import symmetric_root, without_spread
from dpreg.sums.whitening import MOST_LOOKS, Whitening, whiten

__all__ = ["NEWTON_PASSES", "newton_fit"]

Doubles = NDArray[np.float64]

# Over the rows, at most.
NEWTON_PASSES = SCALING_PASSES + MOST_LOOKS + 4 + 3 * MOST_ROUNDS + 2
# Rows times the mu of 4% are fewer than this: matrices of rows, norms and products of scores would
# leave little for scores, and tell little.
_SMALL, _SMALL_SHARE = 60.0, 0.04
# Of norms of scores and of rows, each; of the products of scores.
_NORMS, _PRODUCTS = 0.02, 0.05
# Rows of which scores are made are shortened to this many times the root of their entries.
_LONGEST = 8.0
# or, where rows are seen to be longer, to at most so many: the coefficient of a level of 60 rows in
# 300,000 missed by ten errors where its rows lost most of their length.
_RARE = 16.0
# The curvature: noise is this share of second moments, for shares between these.
_PRECISE, _LEAST, _MOST, _REACH = 0.15, 0.03, 0.12, 0.5
_SHORTEST, _USUAL = 1.3, 1.7
# Of long rows second moments are 1 at least: what is less than this had been seen by mistake.
_LEAST_MOMENT, _MISTAKEN = 0.25, 2.0
# Where one is larger than this, rows were longer than could be measured, and are once more.
_AGAIN = 2.0
# Residuals of a small study are at least this, squared, in deviations of the response.
_LEAST_RESIDUAL = 0.02
# Before products of scores are taken, these are shortened to this many root mean square norms, or
# to more, as long as noise is no more than this share of them.
_PRODUCT_NORMS, _PRODUCT_NOISE = 2.0, 0.3
# A coordinate in which no root was found may be so many times as far off as the last step was.
_FARTHER = 5.0
# A coefficient that moved by more than so many deviations in both of the last steps, to the same
# side, goes on as a geometric series, with no more than this ratio.
_MOVED, _SLOWEST = 2.0, 0.8


@dataclass(frozen=True, slots=True)
class _Fit:
    """Everything here is public.

    Attributes
    ----------
    whitening : Whitening
    path : Path
    limits : Limits
    rows : MappedRows
        Private.
    top : float
        Norm up to which there are rows; 0: not counted.
    products : ndarray, shape (w, w), or None
        Second moments of scores.
    deviation : float
        Of the noise on their diagonal; inf: nothing is known.
    """

    whitening: Whitening
    path: Path
    limits: Limits
    rows: MappedRows
    top: float
    products: Doubles | None
    deviation: float


def newton_fit(begun: Standardised) -> Release | Declined:
    """Fit least squares with errors.

    Privacy
    -------
    guarantee : what `begun` has left
    proof : newton.md
    """
    noise, units = begun.noise, begun.telling_units
    small = begun.scales.units * noise.share(_SMALL_SHARE) / noise.rows < _SMALL
    args = (begun.design, begun.scales, units, noise)
    resumed = None
    if begun.start is not None:
        resumed = resumed_whitening(*args, begun.start, small=small)
        if resumed is None:
            return started_anew(begun, newton_fit)
    if resumed is None or resumed.unseen.shape[1]:
        found, resumed = whiten(*args, small=small), None
    else:
        found = resumed
    fit = None
    if found.width:
        if small:
            fit = _small(begun, found)
        else:
            fit = _large(begun, found) if resumed is None else _resumed(begun, found)
    if fit is None:
        return begun.not_estimable()
    theta = fit.whitening.change @ fit.path.theta
    release = begun.released(theta, units, _errors(fit, begun))
    tail = fit.limits.tail
    cut = None if tail is None else tail.cut(fit.limits.limit)
    times = (
        fit.rows.limit / math.sqrt(max(fit.whitening.width, 1)),
        fit.limits.limit / fit.limits.norm,
    )
    family = begun.design.terms.family
    start = start_from(begun, fit.whitening, fit.path, fit.limits.squares, fit.top)
    return replace(release, estimand=estimand(*times, cut, family, release), start=start)


def _rows(begun: Standardised, found: Whitening, top: float, *, kept: bool) -> MappedRows:
    """Return rows of which scores are made, `top` being the norm up to which there are some."""
    base = math.sqrt(max(found.width, 1))
    return mapped_rows(
        begun.design, begun.scales, begun.telling_units, found.change, None,
        max(_LONGEST * base, min(top, _RARE * base)), kept=kept, aim=found.theta,
    )  # fmt: skip


def _small(begun: Standardised, found: Whitening) -> _Fit:
    rows, path = _rows(begun, found, 0.0, kept=True), _path(found)
    residual = max(found.residual, _LEAST_RESIDUAL)
    left = begun.left - VOTE_SHARE
    limits = newton_small(rows, path, begun.scales.units, begun.noise, residual, left)
    return _Fit(found, path, limits, rows, 0.0, None, math.inf)


def _path(found: Whitening) -> Path:
    return Path(np.eye(found.width), min(found.deviation, 1.0) ** 2 / 2, found.theta)


def _large(begun: Standardised, found: Whitening) -> _Fit | None:
    noise = begun.noise
    top = longest_rows(
        begun.design, begun.scales, begun.telling_units, found.change, noise, noise.share(_NORMS)
    )
    first = _first_norms(begun, found, _rows(begun, found, top, kept=False))
    found = _measured(begun, found, top)
    return _rounds(begun, found, top, first) if found.width else None


def _resumed(begun: Standardised, found: Whitening) -> _Fit:
    """Go on from a start, whose second moments hold."""
    assert begun.start is not None
    top = begun.start.longest
    first = _first_norms(begun, found, _rows(begun, found, top, kept=False))
    return _rounds(begun, found, top, first)


def _first_norms(begun: Standardised, found: Whitening, rows: MappedRows) -> Limits:
    left = begun.left - _PRODUCTS - VOTE_SHARE - _NORMS
    typical = math.sqrt(max(found.residual, _LEAST_RESIDUAL) * max(rows.width, 1))
    return count_norms(rows, found.theta, typical, begun.noise, _NORMS, left, FIRST_NORMS)


def _rounds(begun: Standardised, found: Whitening, top: float, first: Limits) -> _Fit:
    noise, n = begun.noise, begun.scales.units
    rows, path = _rows(begun, found, top, kept=True), _path(found)
    left = begun.left - _PRODUCTS - VOTE_SHARE
    limits = newton(rows, path, n, noise, first, left)
    mu, usual = noise.share(_PRODUCTS), _PRODUCT_NORMS * limits.norm
    quiet = math.sqrt(_PRODUCT_NOISE * mu * limits.squares / max(rows.width, 1))
    short = max(usual, min(limits.limit, quiet))
    products, deviation = noisy_products(rows, path.theta, short, noise, mu)
    return _Fit(found, path, limits, rows, top, products, deviation)


def _measured(begun: Standardised, found: Whitening, top: float) -> Whitening:
    """Release second moments of rows that may be long, the curvature of least squares.

    Returns
    -------
    Whitening
        Coordinates in which they are 1.
    """
    found, largest = _measure(begun, found, top)
    return _measure(begun, found, top)[0] if found.width and largest > _AGAIN else found


def _measure(begun: Standardised, found: Whitening, top: float) -> tuple[Whitening, float]:
    noise, units, n = begun.noise, begun.telling_units, begun.scales.units
    base = math.sqrt(found.width)
    entries = n / math.sqrt(2) / base
    wanted = max(min(top, _LONGEST * base), _USUAL * base)
    share = share_for(noise, noise.rows * wanted**2, _PRECISE * entries)
    share = max(min(share, _MOST), _LEAST)
    mu = noise.share(share)
    reach, precise = (math.sqrt(q * entries * mu / noise.rows) for q in (_REACH, _PRECISE))
    limit = max(min(wanted, reach), _SHORTEST * base)
    if limit == wanted:
        limit = max(wanted, min(precise, _LONGEST * base))
    rows = mapped_rows(begun.design, begun.scales, units, found.change, None, limit, kept=False)
    gram, deviation = noisy_gram(rows, noise, mu, "second moments of rows")
    gram, deviation = gram / n, deviation / n
    values, vectors = np.linalg.eigh(gram)
    values = without_spread(values, deviation)
    mistaken = values < min(_LEAST_MOMENT, _MISTAKEN * deviation)
    found, basis = found.without(vectors[:, mistaken], centred=units.intercept)
    held = basis.T @ (vectors * np.maximum(values, _LEAST_MOMENT)) @ vectors.T @ basis
    turn = symmetric_root(held, centred=units.intercept)
    largest = float(values.max(initial=0.0))
    return replace(found.turned(turn), deviation=deviation), largest


def _errors(fit: _Fit, begun: Standardised) -> EstimateError:
    """Return the error of the coefficients in standard units."""
    there, n, width = fit.whitening.change, begun.scales.units, fit.whitening.width
    way = there @ fit.path.inverse
    dispersion = fit.limits.squares / (width * n)
    constant = dispersion * n * fit.path.curvature
    products = constant if fit.products is None else fit.products
    sampling = sandwich(way / n, constant, products, fit.deviation)
    tail, limit = fit.limits.tail, fit.limits.limit
    excess = 0.0 if tail is None else tail.cut(limit).excess / n
    return EstimateError(
        sampling=sampling,
        privacy=fit.path.variance * way @ way.T + _slow(fit, way),
        hidden=_hidden(fit.whitening, dispersion) + _unsettled(fit, dispersion),
        clipping=excess**2 * way @ way.T,
    )


def _hidden(found: Whitening, dispersion: float) -> Doubles:
    """Return second moments of what unseen combinations of columns may do to coefficients.

    They are as large as would explain all residuals, or as would move the response by a standard
    deviation for one of theirs.
    """
    lengths = np.linalg.norm(found.unseen, axis=0)
    most = np.minimum(dispersion, 1 / np.maximum(lengths, 1.0) ** 2)
    return np.asarray(found.unseen * most @ found.unseen.T)


def _unsettled(fit: _Fit, dispersion: float) -> Doubles:
    """Return second moments of what is left along coordinates in which no root was found.

    Without it, intervals of rare levels missed by up to 13 of their errors.
    """
    if not fit.path.unsettled.any():
        return np.zeros((len(fit.whitening.change),) * 2)
    there = fit.whitening.change[:, fit.path.unsettled]
    steps = (fit.path.inverse @ fit.path.observations[-1].score)[fit.path.unsettled]
    before, last = (seen.score[fit.path.unsettled] for seen in fit.path.observations[-2:])
    # A score that changed its sign has passed the root, which is no farther than the step back.
    left = np.where(before * last > 0, dispersion + (_FARTHER * steps) ** 2, steps**2)
    return np.asarray(there * left @ there.T)


def _slow(fit: _Fit, way: Doubles) -> Doubles:
    """Return the square of what is left to go for coefficients that the last score still moved.

    Where second moments are overestimated along one direction, steps along it are too short, and
    each coefficient that has something of it is a little off: unseen in a coordinate, but not in
    the coefficient.  Without it, levels of .1% and .02% of 300,000 rows missed by up to 3.8 errors,
    with it by 2.4.
    """
    if len(fit.path.observations) < 2:
        return np.zeros((len(way), len(way)))
    sizes = np.sqrt((way**2).sum(axis=1))
    before, last = fit.path.observations[-2:]
    first, moved = way @ before.score, way @ last.score
    clear = np.abs(first) > _MOVED * before.deviation * sizes
    clear &= (np.abs(moved) > _MOVED * last.deviation * sizes) & (first * moved > 0)
    larger = np.where(clear, np.maximum(np.abs(first), np.abs(moved)), 1.0)
    ratio = np.minimum(np.abs(moved) / larger, _SLOWEST)
    left = np.where(clear, np.maximum(1.0, ratio / (1 - ratio)) * moved, 0.0)
    return np.outer(left, left)
