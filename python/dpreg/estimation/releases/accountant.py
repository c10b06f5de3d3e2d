"""Gaussian releases of exact sums, and their accounting within one call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import NamedTuple

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost
from dpreg.privacy.gdp import discreteness, gdp_mu
from dpreg.privacy.sealed import ExactSums, opened

# Share of epsilon that pays for the noise being discrete, and how many releases of one call
# may use it up.
RESERVE = 1e-6
_MOST_RELEASES = 256
# Half of the largest scale that `discrete_gaussian` takes.
_MOST_SCALE = 2.0**43


class Noisy(NamedTuple):
    """Numbers with noise, and how much."""

    values: Doubles
    # Standard deviation of the noise; of an entry that counted with a weight, by that weight.
    scale: float

    def averaged(self, again: Noisy) -> Noisy:
        """Return the mean of two releases of the same numbers, each weighed by its precision."""
        weights = np.array([self.scale**-2, again.scale**-2])
        values = weights @ np.stack([self.values, again.values]) / weights.sum()
        return Noisy(values, float(weights.sum() ** -0.5))


# Shares are added up in doubles.
ROUNDED_DOWN = 1 - 1e-9


@dataclass(slots=True)
class GaussianReleases:
    """All Gaussian releases of one call: a total mu, and the parts that use it up.

    Notes
    -----
    With mu the largest for which mu-GDP implies (epsilon', delta')-DP, both one part in a
    million smaller than epsilon and delta, releases whose squared mu add up to at most mu^2
    are (epsilon, delta)-DP together: the rest is more than discrete noise costs beyond
    Gaussian noise, summed over all draws (``accountant.md``).
    """

    # epsilon, delta: what the releases may cost together.
    epsilon: float
    delta: float
    bits: _core.BitSource
    # Maximum number of rows of a protected unit: sensitivities are stated for one row.
    rows: int = 1
    # The total mu, for callers that do the accounting: releases whose squared mu add up to at most
    # total^2 are total^2/2-zCDP together.  Default: as below.
    total: InitVar[float | None] = None
    # Share of the squared total that is reserved for `put_aside`.
    aside: float = 0.0
    mu: float = field(init=False)
    parts: list[Part] = field(init=False, default_factory=list)
    _discrete: float = field(init=False, default=0.0)
    _most: float = field(init=False)

    def __post_init__(self, total: float | None) -> None:
        self._most = _total_mu(self.epsilon, self.delta) if total is None else total
        self.mu = self._most * math.sqrt(1 - self.aside)

    @property
    def left(self) -> float:
        """Share of the squared `mu` that was not spent; a public number."""
        return (1 - spent(self.parts) / self.mu**2) * ROUNDED_DOWN

    def share(self, fraction: float) -> float:
        """Return the mu of a release that uses `fraction` of the squared `mu`."""
        return self.mu * math.sqrt(fraction)

    def put_aside(self, fraction: float) -> float:
        """Return the mu of a release that uses `fraction` of the reserved share."""
        return self._most * math.sqrt(self.aside * fraction)

    def release(self, label: str, exact: ExactSums, mu: float) -> Noisy:
        """Add discrete Gaussian noise to exact sums.

        With several rows per unit the sensitivity is multiplied by their number.

        label: for the certificate.
        Returns: values of the same shape.  An entry that counts w times has noise of scale sigma /
            w.
        """
        sums = opened(exact)
        sensitivity = exact.sensitivity * (1 if exact.of_units else self.rows)
        flat = np.atleast_1d(sums).ravel()
        weight = np.ones(len(flat)) if exact.weights is None else exact.weights.ravel()
        # In finer steps if need be, so that the noise is hardly discrete.
        spare = RESERVE * min(self.epsilon, 1.0) / _MOST_RELEASES
        finest = max(10.0, math.sqrt(discreteness(1.0, len(flat)) / spare))
        least = finest * float(weight.max(initial=1.0))
        shift = max(0, math.ceil(math.log2(least * mu / sensitivity)))
        # Or in coarser ones, when the noise is so large: rounding moves an entry by less than 1.
        most = _MOST_SCALE * min(1.0, float(weight.min(initial=1.0)))
        shift -= max(0, math.ceil(math.log2(math.ldexp(sensitivity, shift) / mu / most)))
        if shift < 0:
            sensitivity += math.ldexp(float(np.linalg.norm(weight)), -shift)
            flat = (flat + (1 << -shift - 1)) >> -shift
        sigma = math.ceil(math.ldexp(sensitivity, shift) / mu * (1 + 1e-12))
        scales = np.ceil(sigma / weight).astype(np.int64)
        noisy = flat * (1 << max(shift, 0)) + self._noise(scales)
        self._charge(label, sensitivity, math.ldexp(sigma, -shift), scales)
        values = np.asarray(noisy.astype(np.float64) * 2.0**-shift).reshape(np.shape(sums))
        return Noisy(values, math.ldexp(sigma, -shift))

    def _noise(self, scales: Integers) -> Integers:
        noise = np.empty(len(scales), dtype=np.int64)
        for scale in np.unique(scales):
            here = scales == scale
            noise[here] = _core.discrete_gaussian(int(scale), self.bits, int(here.sum()))
        return noise

    def _charge(self, label: str, sensitivity: float, scale: float, scales: Integers) -> None:
        self._discrete += discreteness(float(scales.min(initial=1 << 62)), len(scales))
        how = f"discrete Gaussian, scale {scale:.4g}"
        self.parts.append(
            Part(label, 0.0, 0.0, how, sensitivity=sensitivity, scale=scale, mu=sensitivity / scale)
        )
        # Both hold by construction; a method that breaks them must not go on.
        if spent(self.parts) > self._most**2 or self._discrete > RESERVE * min(self.epsilon, 1.0):
            raise AssertionError("a method spent more than its allowance")


def spent(parts: Sequence[Part]) -> float:
    """Return the total squared mu of parts."""
    return math.fsum((part.mu or 0.0) ** 2 for part in parts)


def _total_mu(epsilon: float, delta: float) -> float:
    return gdp_mu((1 - RESERVE) * epsilon, (1 - 2 * RESERVE) * delta)


def releases_cost(epsilon: float, delta: float) -> Cost:
    """Return what `GaussianReleases(epsilon, delta)` may cost at most, all of them together."""
    mu = _total_mu(epsilon, delta)
    return Cost(epsilon, delta, mu, mu * mu / 2, discreteness=RESERVE * min(epsilon, 1.0))


def share_for(noise: GaussianReleases, sensitivity: float, deviation: float) -> float:
    """Return the share of the squared mu that makes noise of this deviation."""
    return (sensitivity / deviation / noise.mu) ** 2
