"""Public bounds of columns, as the user gives them, and what names and bounds say of columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.errors import ArgumentError, Value, a_kind, closest
from dpreg.data.schema import Schema, such_bounds

if TYPE_CHECKING:
    from dpreg.data.design import Terms

Bounds = tuple[float, float]

# Half of a narrower interval could not be divided by.
LEAST_WIDTH = 1e-60
# Squares of ratios of widths must be doubles.
_LARGEST = 1e60
# Columns that contrasts with other levels make, of which there are fewer than levels.
_CODED = re.compile(r"\[[A-Z]\.")


def column_pairs(bounds: Mapping[str, Bounds] | None, schema: Schema) -> dict[str, Bounds]:
    """Return the bounds of columns of the data; `checked_bounds` sees the rest."""
    if not isinstance(bounds, Mapping):
        return {}
    return {
        name: _checked_pair(name, pair) for name, pair in bounds.items() if name in schema.columns
    }


def checked_bounds(bounds: Mapping[str, Bounds] | None, terms: Terms) -> dict[str, Bounds]:
    """Return what `Terms.bounds` may be: the bounds that were given, by column of the design.

    bounds: as for `dp_lm`.  Those of a term with several columns, such as a factor, are of each of
        them that has none of its own.
    """
    if bounds is None:
        return {}
    if not isinstance(bounds, Mapping):
        problem = f"must be a dict of pairs of numbers, not {a_kind(bounds)}"
        raise ArgumentError("bounds", problem, such_bounds(terms.response))
    names = [*terms.names, terms.response]
    shared: dict[str, Bounds] = {}
    own: dict[str, Bounds] = {}
    for name, limits in bounds.items():
        if name not in names and name in terms.data_bounds:
            continue
        if name not in names and name not in terms.groups:
            raise _not_of_the_model(name, names)
        pair = _checked_pair(name, limits)
        if name in names:
            own[name] = pair
        else:
            shared.update(dict.fromkeys(terms.groups[name], pair))
    return {**shared, **own}


def column_bounds(terms: Terms) -> Doubles:
    """Return the bounds of each column of X and, last, of the response; NaN where unknown.

    Those of deviations from the means of a unit are as far from 0 as the given ones are apart.
    """
    names = [*terms.names, terms.response]
    result = np.full((len(names), 2), np.nan)
    family = terms.family.response
    natural = {} if family is None else {terms.response: family}
    for name, (low, high) in {**terms.ranges, **terms.bounds, **natural}.items():
        if name not in names:
            continue
        apart = terms.within and name in terms.bounds
        result[names.index(name)] = (low - high, high - low) if apart else (low, high)
    return result


def wide_places(terms: Terms) -> Integers:
    """Return places of the columns with bounds of the user, the response being the last."""
    natural = terms.family.response is not None
    names = [*terms.names, "" if natural else terms.response]
    return np.flatnonzero([name in terms.bounds for name in names])


def level_places(terms: Terms) -> tuple[Integers, ...]:
    """Return places, in X, of the columns from 0 to 1 that levels make, those of a term together.

    Columns with bounds of the user, and weights, are left out, and so are the bases of a column
    with public bounds, of which some are from 0 to 1.
    """
    if terms.within:
        return ()
    bases = "|".join(map(re.escape, terms.data_bounds))

    def is_level(place: int) -> bool:
        name = terms.names[place]
        known = terms.ranges.get(name) == (0.0, 1.0) and name not in terms.bounds
        return known and place != terms.weight

    found = (
        [j for j in places if is_level(j)]
        for term, places in terms.candidates.items()
        if not (bases and re.search(rf"\b(?:{bases})\b", term))
    )
    return tuple(np.array(of, dtype=np.int64) for of in found if of)


def whole_factor(terms: Terms) -> Integers:
    """Return places, in X, of the levels of a factor that a formula without an intercept has all.

    They add up to 1 in all rows.  That is the first factor of the formula, or none: R does not say
    in its names which levels are left out of later ones, nor do levels add up to 1 of which some
    have bounds of the user.
    """
    levels = {tuple(of.tolist()) for of in level_places(terms)}
    known = {j for j, name in enumerate(terms.names) if name in terms.ranges}
    first = next((of for of in terms.candidates.values() if known.intersection(of)), ())
    whole = not terms.intercept and len(first) > 1 and first in levels
    names = [terms.names[j] for j in first]
    if not whole or any(_CODED.search(name) or name in terms.offsets for name in names):
        first = ()
    return np.array(first, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Crossed:
    """Places in X of a regressor, of the indicators of levels, and of their products."""

    of: int
    levels: Integers
    products: Integers


def crossed_columns(terms: Terms) -> Iterator[Crossed]:
    """Find them by their names, where regressor and levels are in the model too.

    A regressor that is a product with levels itself is left out, so that no column is found twice:
    x:g:h is x times the levels of g:h.
    """
    parts = [tuple(sorted(name.split(":"))) for name in terms.names]
    place = {of: j for j, of in enumerate(parts)}
    factors = level_places(terms)
    indicators = {int(j) for levels in factors for j in levels}
    with_levels = {part for j in indicators for part in parts[j]}
    others = [j for j, of in enumerate(parts) if with_levels.isdisjoint(of)]
    for levels in factors:
        for j in others:
            found: list[int] = []
            for level in levels:
                product = place.get(tuple(sorted(parts[j] + parts[level])))
                if product is None or product in indicators or terms.names[product] in terms.bounds:
                    break
                found.append(product)
            else:
                yield Crossed(j, levels, np.array(found))


def _checked_pair(name: str, limits: Any) -> Bounds:
    try:
        first, last = limits
        if isinstance(first, (str, bytes)) or isinstance(last, (str, bytes)):
            raise TypeError
        low, high = float(first), float(last)
    except (OverflowError, TypeError, ValueError):
        # The value is not shown: it may be a column of records.
        # Two of something else: the kind of the pair would say nothing.
        pair = isinstance(limits, (tuple, list)) and len(limits) == 2
        other = "" if pair else f", not {a_kind(limits)}"
        limits_are = ("those of ", Value(name), f" must be two numbers{other}")
        raise ArgumentError("bounds", limits_are, such_bounds(name)) from None
    if not (max(abs(low), abs(high)) <= _LARGEST and high - low > LEAST_WIDTH):
        # Of doubles that are in order, only those beyond these limits are refused.
        more = ", more than 1e-60 apart and within 1e60 of 0" if low < high else ""
        raise ArgumentError("bounds", f"{name!r} needs low < high{more}", such_bounds(name))
    return low, high


def _not_of_the_model(name: object, names: Sequence[str]) -> ArgumentError:
    listed = ", ".join(map(repr, names))
    # Bounds of 'y' are those of 'log(y)' for a response that is log(y).
    made = [known for known in names if re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", known)]
    meant = made[0] if made else closest(name, names)
    advice = [] if meant is None else [such_bounds(meant)]
    return ArgumentError(
        "bounds", f"{name!r} is not a column of the model, which has {listed}", *advice
    )
