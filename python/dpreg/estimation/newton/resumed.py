"""Scales and coordinates from where an earlier release ended, and whether they still hold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Design
from dpreg.estimation.inference.start import Start
from dpreg.estimation.newton.whitening import Whitening, rows_with_residual
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_scaling import share_for
from dpreg.estimation.releases.moments import noisy_gram
from dpreg.estimation.releases.rows import StandardUnits, mapped_rows
from dpreg.estimation.releases.spectrum import noise_edge, symmetric_root, without_spread
from dpreg.estimation.releases.standardisation import Scales

Doubles = NDArray[np.float64]

# Noise in second moments is this share of them, for shares of mu^2 between these; in a small study
# the last, as intervals of 300 rows vary with what is measured here.
_PRECISE, _LEAST, _MOST, _SMALL_MOST = 0.15, 0.005, 0.05, 0.1
# Rows are shortened to no less than this many times the root of their entries, and where they are
# longer, to as much as makes noise this share of second moments, in a small study the other, or to
# the second and, where some are known to be as long, to the third.
_USUAL, _WIDE, _LONGEST, _REACH, _SMALL_REACH = 1.3, 3.0, 8.0, 1.2, 0.5
# A matrix that differs from what was expected by so many deviations of that is news.
_NEWS = 3.0
# Second moments, or mean squares of residuals, beyond these shares of what they were, by so many
# deviations of their noise, need another start; and their mean does if it is in the upper half of
# what shortened rows can have.
_SMALLER, _LARGER, _CLEAR, _FULL = 0.4, 2.5, 1.5, 0.5
# What shortened rows and a few months make of a mean square of residuals.
_RESIDUAL_DOUBT = 0.1


@dataclass(frozen=True, slots=True)
class _Seen:
    """Noisy second moments of rows along the coordinates of a start.

    Attributes
    ----------
    moments : ndarray, shape (k, k)
    residual : float or None
        Mean square in units of what it was; None: not asked for.
    deviation : float
        Of the noise on the diagonal.
    most : float
        What the mean of second moments would be of rows that are all shortened.
    whole : bool
        Rows were shortened no more than they were for the start.
    """

    moments: Doubles
    residual: float | None
    deviation: float
    most: float
    whole: bool

    @property
    def full(self) -> bool:
        """Whether most rows were shortened, so that they are longer than they were."""
        squares = np.append(np.diag(self.moments), [] if self.residual is None else self.residual)
        if not len(squares):
            return False
        most = 1 + _FULL * (min(self.most, 2 * _LARGER) - 1)
        return bool(squares.mean() > most + _CLEAR * self.deviation / math.sqrt(len(squares)))


def resumed_whitening(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    noise: GaussianReleases,
    start: Start,
    *,
    small: bool,
) -> Whitening | None:
    """Release second moments of rows along the coordinates of a start; None if they do not hold.

    Where they say what was expected, they and the start are averaged by what is wrong with each;
    otherwise they count more, as more was wrong with the start than was thought.

    Parameters
    ----------
    design : Design
        Private.
    scales : Scales
        As `resumed_scales` returned them.
    units : StandardUnits
        Of `scales`.
    noise : GaussianReleases
    start : Start
    small : bool
        Norms of scores will not be counted, so that the mean square of residuals is measured too.

    Privacy
    -------
    guarantee : as the release that is added to `noise`
    proof : resumed.md
    """
    before = Whitening(start.change, start.unseen, start.theta, start.residual, start.deviation)
    seen = _look(design, scales, units, noise, start, before, small=small)
    sampling = _sampling(start, scales.units)
    residual = _residual(seen, sampling)
    values = without_spread(np.asarray(np.linalg.eigvalsh(seen.moments)), seen.deviation)
    edge = _CLEAR * noise_edge(seen.deviation, before.width)
    most = max(values.max(initial=1.0), residual)
    least = min(values.min(initial=1.0) if seen.whole else 1.0, residual)
    if seen.full or most > _LARGER + edge or least < _SMALLER - edge:
        return None
    return _averaged(before, seen, sampling, residual, centred=units.intercept)


def _look(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    noise: GaussianReleases,
    start: Start,
    before: Whitening,
    *,
    small: bool,
) -> _Seen:
    width, n = before.width, scales.units
    usual = math.sqrt(width + small)
    # A tenth of the rows may be longer than norms were told to be from noise.
    wanted = max(min(start.longest, _LONGEST * usual), _WIDE * usual)
    entries = n / math.sqrt(2 * max(width, 1))
    share = share_for(noise, noise.rows * wanted**2, _PRECISE * entries)
    share = min(max(share, _LEAST), _SMALL_MOST if small else _MOST)
    mu = noise.share(share)
    reach = math.sqrt((_SMALL_REACH if small else _REACH) * entries * mu / noise.rows)
    limit = min(wanted, max(reach, _USUAL * usual))
    if small:
        rows = rows_with_residual(design, scales, units, before, limit, start.residual)
    else:
        rows = mapped_rows(design, scales, units, before.change, limit, kept=False)
    gram, deviation = noisy_gram(rows, noise, mu, "second moments of rows, as of the start")
    gram, deviation = gram / n, deviation / n
    residual = float(gram[-1, -1]) if small else None
    most = limit**2 / max(len(gram), 1)
    return _Seen(gram[:width, :width], residual, deviation, most, limit == wanted)


def _sampling(start: Start, units: float) -> float:
    """Return the variance of the difference of two months in a second moment, at most about."""
    width = max(len(start.theta), 1)
    fourth = max(start.longest**2 / width, 2.0)
    return min(fourth * (1 / max(start.units, 1.0) + 1 / units), 1.0)


def _residual(seen: _Seen, sampling: float) -> float:
    """Return the mean square of residuals, in units of what it was."""
    if seen.residual is None:
        return 1.0
    doubt, noise = _RESIDUAL_DOUBT**2 + sampling, seen.deviation**2
    news = (seen.residual - 1) ** 2 > _NEWS**2 * (doubt + noise)
    return seen.residual if news else 1 + doubt / (doubt + noise) * (seen.residual - 1)


def _averaged(
    before: Whitening, seen: _Seen, sampling: float, residual: float, *, centred: bool
) -> Whitening:
    width, wrong = before.width, seen.moments - np.eye(before.width)
    doubt, noise = before.deviation**2 + sampling, seen.deviation**2
    if not seen.whole:  # what is less may have been shortened
        values, vectors = np.linalg.eigh(wrong)
        values[values < -noise_edge(seen.deviation, width)] = 0.0
        wrong = (vectors * values) @ vectors.T
    number = max(width * (width + 1) / 2, 1.0)
    # Entries off the diagonal have half of the variance, and are there twice.
    mean = float((wrong**2).sum()) / number
    if mean > (doubt + noise) * (1 + _NEWS * math.sqrt(2 / number)):
        doubt = max(doubt, mean - noise)
    weight = doubt / (doubt + noise)
    held = np.eye(width) + weight * wrong
    values, vectors = np.linalg.eigh(held)
    held = (vectors * np.maximum(values, _SMALLER)) @ vectors.T
    found = before.turned(symmetric_root(held, centred=centred))
    return Whitening(
        found.change,
        found.unseen,
        found.theta,
        residual * before.residual,
        math.sqrt(doubt * (1 - weight)),
    )
