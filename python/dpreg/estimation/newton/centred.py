"""Regressors with centred products.  Everything here is public."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial, hermite_e

from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.data.bounds import crossed_columns, level_places
from dpreg.data.design import Terms
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.two_values import TwoValues, only_two, two_values

# Names of powers, of the first, and of others; the last two are R's.
_POWERS = (
    (re.compile(r"I\((?P<of>.+) \*\* (?P<power>[234])\)"), "{of}", "I({of} ** {k})"),
    (re.compile(r"(?P<of>poly\(.+, raw=True\))\[(?P<power>[234])\]"), "{of}[1]", "{of}[{k}]"),
    (re.compile(r"I\((?P<of>.+)\^(?P<power>[234])\)"), "{of}", "I({of}^{k})"),
    (re.compile(r"(?P<of>poly\(.+, raw = T(RUE)?\))(?P<power>[234])"), "{of}1", "{of}{k}"),
)
# A regressor is centred if its mean is this many standard deviations from 0: others are hardly
# correlated with their products.
_FAR = 1.0
# Largest such distance for which doubles resolve the difference; its square if the other factor is
# a level.  Without it slopes of a regressor near 8e15 in levels were wrong by 20 errors.
_ROUNDED = 1e4
# Released sizes of two regressors and of their product agree to this factor, or one is wrong.
_NEAR = 4.0
# Expectations of polynomials of a normal variable, up to the eighth power.
_NODES, _WEIGHTS = hermite_e.hermegauss(5)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


class _Factor(NamedTuple):
    """A regressor of a product."""

    place: int  # Index among the coefficients.
    about: float  # Subtracted centre.
    size: float  # Of the centred regressor.

    @property
    def root(self) -> float:
        """Root mean square."""
        return math.hypot(self.about, self.size)

    @property
    def far(self) -> float:
        """Distance of its mean from 0, in standard deviations."""
        return abs(self.about) / self.size if self.size > 0 else math.inf

    @property
    def taken(self) -> _Factor:
        """The regressor as it enters a product."""
        return self if self.far > _FAR else _Factor(self.place, 0.0, self.root)


class Product(NamedTuple):
    """A product of two centred regressors, or a square."""

    place: int  # Index among the coefficients.
    row: Doubles  # Shape (w,): maps standardised rows to it.
    # value, share: its distance from 0, in this share of the rows.
    value: float
    share: float


@dataclass(frozen=True, slots=True)
class Regressors:
    """Standardised rows with centred powers and products."""

    rows: Doubles  # Shape (w, w): maps standardised rows to these.
    products: tuple[Product, ...]
    # Indices in X of levels, and indices among the coefficients of a regressor times each.
    crossed: tuple[tuple[Integers, Integers], ...]

    def slopes(self, theta: Doubles) -> Doubles:
        """Return their coefficients, given those of standardised rows, shape (w, ...)."""
        at = [product.place for product in self.products]
        found, own = theta.copy(), self.rows[:, at]
        found[at] = 0.0
        of_products = np.linalg.solve(own[at], theta[at])
        found -= own @ of_products
        found[at] = of_products
        return found

    def two_values(self, scales: Scales, units: StandardUnits) -> TwoValues:
        """Return the regressors as if each had two values."""
        two = two_values(scales, units)
        for at, _, value, share in self.products:
            two.means[at] = 0.0
            two.values[:, at], two.shares[:, at] = (-value, value), share / 2
        return two

    def only_two(self, scales: Scales, units: StandardUnits) -> Flags:
        """Return which regressors have almost only two values, shape (w,)."""
        only = np.append(np.zeros(int(units.intercept), dtype=bool), only_two(scales, units))
        only[[product.place for product in self.products]] = False
        return only


def regressors(terms: Terms, units: StandardUnits) -> Regressors:
    """Return regressors with powers and products centred at released means.

    x and x^2, or x, z and x z, are nearly collinear if their means are far from 0.  Noise in second
    moments hides the small part that identifies their coefficients, or makes it too large.  Without
    centring, a year and its square had no error in .6 of fits to 20,000 rows, and a year with
    products with levels in all fits; .80 of the slopes of an age and its square in 10,000 wages
    were covered instead of .93; .83 of powers up to the fourth in 20,000 rows had no error instead
    of .16.

    units: standard units of the columns that are used.
    """
    rows = np.eye(units.width)
    if not units.intercept:
        return Regressors(rows, (), ())
    made = {product.place: product for product in (*_powers(terms, units), *_pairs(terms, units))}
    crossed = list[tuple[Integers, Integers]]()
    for levels, products in _crossed(terms, units):
        crossed.append((levels, np.array([product.place for product in products])))
        made |= {product.place: product for product in products}
    for at, row, _, _ in made.values():
        rows[:, at] = row
    return Regressors(rows, tuple(made.values()), tuple(crossed))


def _pairs(terms: Terms, units: StandardUnits) -> Iterator[Product]:
    """Yield products of two regressors of which one is far from 0.

    Products of two levels are levels, and counted as such.  If they were centred, no coefficient of
    a logistic model of g * h with 20,000 rows, most of them in one level, had an error.
    """
    place = _places(terms, units)
    levels = {terms.names[j] for of in level_places(terms) for j in of}
    for name, at in place.items():
        pair = name.split(":")
        if len(pair) != 2 or name in levels or not place.keys() >= set(pair):
            continue
        one, two, both = (_factor(units, place[of]) for of in (*pair, name))
        if _FAR < max(one.far, two.far) < _ROUNDED and _agree(one.root, two.root, both.root):
            yield Product(at, _about(units, at, one.taken, two.taken), 1.0, 1.0)


def _powers(terms: Terms, units: StandardUnits) -> Iterator[Product]:
    """Yield Hermite polynomials up to degree 4 of regressors far from 0 with all lower powers."""
    place = _places(terms, units)
    for (name, at), (pattern, first, later) in itertools.product(place.items(), _POWERS):
        found = pattern.fullmatch(name)
        if found is None:
            continue
        of, powers = found["of"], range(2, int(found["power"]) + 1)
        names = [first.format(of=of), *(later.format(of=of, k=k) for k in powers)]
        if place.keys() >= set(names):
            row = _hermite(units, [_factor(units, place[each]) for each in names])
            if row is not None:
                yield Product(at, row, 1.0, 1.0)


def _hermite(units: StandardUnits, powers: list[_Factor]) -> Doubles | None:
    """Return the map of rows to a Hermite polynomial, with variance 1 for a normal regressor.

    powers: powers of one regressor, up to the degree of the polynomial.
    Returns: None if the regressor is near 0 or too far from it, or a released size disagrees.
    """
    degree, (_, mean, scale) = len(powers), powers[0]
    if not _FAR < powers[0].far < _ROUNDED ** (2 / degree):
        return None
    away, size, row = mean / scale, 1.0, np.zeros(units.width)
    hermite = Polynomial(hermite_e.herme2poly([0.0] * degree + [1.0]))
    about = hermite(Polynomial([-away, 1.0])).coef
    parts = np.asarray(about, dtype=float) / math.sqrt(math.factorial(degree))
    row[0] = parts[0]
    for k, of in enumerate(powers, start=1):
        size *= scale
        root = math.sqrt(_WEIGHTS @ (away + _NODES) ** (2 * k))
        if not 0 < size < math.inf or not 1 / _NEAR < of.root / size / root < _NEAR:
            return None
        row[0] += parts[k] * (units.centre[of.place - 1] / size)
        row[of.place] += parts[k] * (units.scale[of.place - 1] / size)
    return row


def _places(terms: Terms, units: StandardUnits) -> dict[str, int]:
    """Return indices among the coefficients by name."""
    names = (*terms.names, terms.response)
    return {names[j]: 1 + k for k, j in enumerate(units.columns)}


def _crossed(terms: Terms, units: StandardUnits) -> Iterator[tuple[Integers, list[Product]]]:
    """Yield products of a regressor with the indicators of levels, in the order of levels."""
    place = {int(j): 1 + k for k, j in enumerate(units.columns)}
    for crossed in crossed_columns(terms):
        if not place.keys() >= {crossed.of, *crossed.levels, *crossed.products}:
            continue
        of, levels, products = (
            [_factor(units, place[int(j)]) for j in columns]
            for columns in ([crossed.of], crossed.levels, crossed.products)
        )
        made = [_of_level(units, of[0], *pair) for pair in zip(levels, products, strict=True)]
        found = [product for product in made if product is not None]
        if len(found) == len(made):
            yield crossed.levels, found


def _of_level(
    units: StandardUnits, of: _Factor, level: _Factor, product: _Factor
) -> Product | None:
    """Return a regressor times a level; None if sizes disagree or it is too far from 0."""
    far = max(of.far, level.far) > _ROUNDED**2
    if far or not _agree(of.root, level.root, product.root):
        return None
    least, most = sorted((level.about, 1 - level.about))
    row = _about(units, product.place, of, level)
    return Product(product.place, row, most / level.size, max(least, 0.0) / most)


def _factor(units: StandardUnits, place: int) -> _Factor:
    return _Factor(place, float(units.centre[place - 1]), float(units.scale[place - 1]))


def _agree(first: float, second: float, product: float) -> bool:
    """Whether the size of a product agrees with those of its factors."""
    return first > 0 and second > 0 and 1 / _NEAR < product / first / second < _NEAR


def _about(units: StandardUnits, product: int, one: _Factor, two: _Factor) -> Doubles:
    """Return the map of rows to a product of two centred regressors, divided by their sizes.

    (x - m) (z - n) = x z - n x - m z + m n, in standard units.
    """
    (first, mean, size), (second, other, by) = one, two
    row = np.zeros(units.width)
    row[0] = mean / size * (other / by)
    for place, times, sizes in (
        (product, 1.0, (size, by)), (first, -other / by, (size,)), (second, -mean / size, (by,)),
    ):  # fmt: skip
        centre, scale = float(units.centre[place - 1]), float(units.scale[place - 1])
        for of in sizes:
            centre, scale = centre / of, scale / of
        row[0] += times * centre
        row[place] += times * scale
    return row
