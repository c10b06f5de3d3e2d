"""Second moments of scores where a path ended, for standard errors."""

from __future__ import annotations

import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.curvature import PRODUCTS
from dpreg.estimation.newton.errors import Fit
from dpreg.estimation.newton.limits import Limits
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.scores import noisy_products
from dpreg.estimation.newton.secant import Path
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.standardised import Standardised

# Before products of scores are taken, these are shortened to this many root mean square norms, or
# to more, as long as noise is no more than this share of them.
_PRODUCT_NORMS, _PRODUCT_NOISE = 2.0, 0.3
# Gamma responses have longer tails: shortened to less noise, products get back what counts of norms
# say that they lost.  Otherwise .91 of the intervals of 3 coefficients of 10,000 rows covered, and
# with this .94.
_TAILED_NOISE, _MOST_LOST = 0.1, 0.5
# Scores that stop have less curvature by about this share, and are left with the second at least.
_FEWER, _LEAST_FOLLOWED = 0.05, 0.8


def with_products(
    begun: Standardised, model: Linearised, path: Path, limits: Limits, rows: MappedRows, top: float
) -> Fit:
    """Release second moments of scores where the path ended."""
    noise = begun.noise
    mu, usual = noise.share(PRODUCTS), max(_PRODUCT_NORMS * limits.norm, limits.narrowest)
    tailed = not model.family.standardised and not model.family.events
    loud = _TAILED_NOISE if tailed else _PRODUCT_NOISE
    quiet = math.sqrt(loud * mu * limits.squares / max(model.found.squares, 1))
    short = max(usual, min(limits.limit, quiet))
    products, deviation = noisy_products(rows, path.theta / model.found.sizes, short, noise, mu)
    if tailed:
        left = max(float(np.trace(products)) / limits.squares, _MOST_LOST)
        products, deviation = products / min(left, 1.0), deviation / min(left, 1.0)
    return Fit(model, path, limits, rows, top, products, deviation)


def followed(fit: Fit, units: float) -> Doubles:
    """Return the root of the share of the curvature that is left where scores stop at their limit.

    It is that of their second moments, without which intervals of 20,000 persons covered in .88.
    Long rows stop first: with one share for all coordinates, 60 fits of 20,000 persons were from
    those without noise 1.6 times as far as they said in a normal covariate, and .55 times in one
    of two values.
    """
    assert fit.products is not None
    own = ~fit.model.found.levels
    count = int(own.sum())
    if not count:
        return np.eye(len(own))
    seen = fit.products[np.ix_(own, own)] / units
    noise, mean = fit.deviation / units, float(np.trace(seen)) / count
    of_mean, of_each = (_FEWER**2 / (_FEWER**2 + noise**2 / of) for of in (count, 1))
    share = 1 + of_mean * (min(max(mean, _LEAST_FOLLOWED), 1.0) - 1)
    apart = of_each * (seen - mean * np.eye(count))
    values, vectors = np.linalg.eigh(share * np.eye(count) + apart)
    root = math.sqrt(share) * np.eye(len(own))
    held = np.sqrt(np.clip(values, _LEAST_FOLLOWED, 1.0))
    root[np.ix_(own, own)] = (vectors * held) @ vectors.T
    return root
