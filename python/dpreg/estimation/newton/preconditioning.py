"""Directions along which rows have about unit second moments, found step by step in noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Design
from dpreg.estimation.newton.narrowing import CLEAR, SEEN, Narrowing, apart, stretched
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.moments import noisy_gram
from dpreg.estimation.releases.rows import StandardUnits, mapped_rows
from dpreg.estimation.releases.spectrum import without_spread
from dpreg.estimation.releases.standardisation import Scales

__all__ = ["Directions", "Preconditioning", "precondition"]

Doubles = NDArray[np.float64]

# Rows longer than this many times their expected length are shortened in the first rounds.
_NARROW = 1.2
# In the very first their limit is as wide as noise allows, if that is more than this many times.
_WIDE = 1.5
# In the last ones it is at most this many times, as long as noise is no more than these shares of
# the rows: its largest eigenvalue, and one of its entries.
_WIDEST, _NOISE, _ENTRY_NOISE = 10.0, 0.5, 0.1
# Where they could be this many times as long, it is no matter that few rows are longer than others;
# they may be as long at first as they are in the last wide round, which has nothing to add then.
_NOISELESS = 40.0
# Long rows add to a second moment where it exceeds the largest eigenvalue of noise alone, which one
# fit in nine does without them.  So in the last round, where noise is more than the second moment,
# it is taken for no more than this: a direction taken for too long is one along which rounds crawl.
_MOST_STRETCHED = 2.0
# Wide rounds take no second moment along directions of the narrow ones for less than this.
_LEAST_EXPECTED = 0.8


@dataclass(frozen=True, slots=True)
class Preconditioning:
    """Shares of the squared mu of the rounds, all public.

    Attributes
    ----------
    narrow : tuple of float
        Of rounds that find the directions; rows much longer than most count less in them.
    wide : tuple of float
        Of rounds that find along which directions long rows add to the spread.
    """

    narrow: tuple[float, ...]
    wide: tuple[float, ...]

    @property
    def share(self) -> float:
        """Of all rounds."""
        return math.fsum((*self.narrow, *self.wide))

    @property
    def passes(self) -> int:
        """Over the rows, at most."""
        return len(self.narrow) + len(self.wide)

    def times(self, factor: float) -> Preconditioning:
        """Multiply all shares."""
        return Preconditioning(
            tuple(factor * share for share in self.narrow),
            tuple(factor * share for share in self.wide),
        )


@dataclass(frozen=True, slots=True)
class Directions:
    """What rows are multiplied by.  Everything here is public.

    Attributes
    ----------
    change, turn : ndarray, shape (w, w)
        Rows in standard units times `change`, then shortened, then times `turn` have second
        moments of about 1 along each direction.
    limit : float
        That rows are shortened to.
    seen : ndarray of bool, shape (w,)
        False: no spread along this direction was told from noise; second moments are at most
        about 1.
    """

    change: Doubles
    turn: Doubles
    limit: float
    seen: NDArray[np.bool_]

    @property
    def map(self) -> Doubles:
        """Both changes, shape (w, w): of rows that are not shortened."""
        return self.change @ self.turn


def precondition(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    plan: Preconditioning,
    noise: GaussianReleases,
) -> Directions:
    """Release second moments, round after round, of rows multiplied by what was released before.

    A direction whose second moment is hidden by noise is stretched until the next round sees it,
    if it can be seen at all.

    Parameters
    ----------
    design : Design
        Private.
    scales : Scales
        Released.
    units : StandardUnits
        Of `scales`.
    plan : Preconditioning
    noise : GaussianReleases

    Privacy
    -------
    guarantee : plan.share mu^2 of `noise`
    proof : preconditioning.md

    References
    ----------
    Kamath, Li, Singhal, Ullman (2019), "Privately learning high-dimensional distributions",
    Algorithm 3.
    """
    found, known = _narrowed(design, scales, units, plan, noise)
    return _widened(design, scales, units, plan.wide, noise, found, known)


def _narrowed(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    plan: Preconditioning,
    noise: GaussianReleases,
) -> tuple[Narrowing, float]:
    """Return what rows say that are mostly not much longer than usual.

    Last comes how long rows may be for second moments to be 1; 0: that was not told.
    """
    width, n = units.width, scales.units
    usual = math.sqrt(max(width, 1))
    mu = noise.share(plan.narrow[0]) / noise.rows
    limit = _first_limit(width, n, mu)
    found = Narrowing(width, n)
    for share in plan.narrow:
        found.stretch()
        rows = mapped_rows(design, scales, units, found.change, None, limit, kept=False)
        gram, deviation = noisy_gram(rows, noise, noise.share(share))
        found.see(gram, deviation)
        if found.clear:
            return found, limit
        if found.least <= max(SEEN, math.sqrt(2 * width)):
            limit = _NARROW * usual
    return found, 0.0


def _widened(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    shares: tuple[float, ...],
    noise: GaussianReleases,
    found: Narrowing,
    known: float,
) -> Directions:
    """Find along which directions long rows add to the spread.

    Up to the length of `known` they add nothing.
    """
    width, n = units.width, scales.units
    change, seen = found.directions()
    limit, turn = 0.0, np.eye(width)
    for number, share in enumerate(shares):
        mu = noise.share(share)
        limit = 2 * limit if number > 0 else _long_rows(width, n, mu / noise.rows)
        if limit <= known:
            continue
        rows = mapped_rows(design, scales, units, change, turn, limit, kept=False)
        gram, deviation = noisy_gram(rows, noise, mu)
        values, vectors = np.linalg.eigh(gram / n)
        values = without_spread(values, deviation / n)
        reach = deviation * math.sqrt(2 * width) / n
        if number == 0:
            held = np.where(values > 1 + reach, values, _expected(values, reach))
        else:
            held = np.where(values > 1 + reach, np.minimum(values, _MOST_STRETCHED), 1.0)
        turn = turn @ stretched(vectors, held)
        # A direction that was not seen is not to come back into others with the noise.
        turn = turn @ np.linalg.solve(change @ turn, apart(change @ turn, seen))
        # Were a row longer after the turn than what it was shortened to, it would not count.
        size = max(1.0, float(np.linalg.norm(turn, 2)))
        change, turn, limit = size * change, turn / size, size * limit
    return Directions(change, turn, limit, seen)


def _first_limit(width: int, units: float, mu: float) -> float:
    """Return how long rows may be at first: as long as nothing is hidden, where that is long.

    Rows of rare levels are long.  Shortened, they seem to have no spread, and would be stretched
    until next to nothing of each is left.
    """
    usual = math.sqrt(max(width, 1))
    reach = _reach(units, mu)
    if reach >= _NOISELESS * usual:
        return 2 * (_WIDEST * usual)
    return min(reach, _WIDEST * usual) if reach > _WIDE * usual else _NARROW * usual


def _reach(units: float, mu: float) -> float:
    """Return how long rows may be for second moments of 1 to be told twice over."""
    return math.sqrt(units * mu / (2 * CLEAR))


def _long_rows(width: int, units: float, mu: float) -> float:
    """Return how long rows may be, for noise to be no more than `_NOISE` and `_ENTRY_NOISE`."""
    edge = math.sqrt(2 * max(width, 1))
    entry = min(_NOISE / edge, _ENTRY_NOISE)
    reach = math.sqrt(entry * mu * units / max(width, 1))
    return min(max(reach, _NARROW), _WIDEST) * math.sqrt(max(width, 1))


def _expected(values: Doubles, reach: float) -> Doubles:
    """Return what second moments are that were found to be 1, along noisy eigenvectors.

    Of their differences from 1 the share is kept that noise whose largest eigenvalue is `reach`
    leaves.  Most exceed 1 a little, as rows were shortened when directions were found, and errors
    of all coefficients would exceed theirs by as much.
    """
    return np.asarray(np.maximum(1 + (values - 1) / (1 + reach**2), _LEAST_EXPECTED))
