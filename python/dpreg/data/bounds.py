"""Public bounds of columns given by the user, and what names and bounds imply about columns."""

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

# Dividing by half the width of a narrower interval could overflow.
LEAST_WIDTH = 1e-60
# Squared ratios of widths must not overflow.
_LARGEST = 1e60
# Columns of contrasts with one column fewer than levels.
_CODED = re.compile(r"\[[A-Z]\.")


def column_pairs(bounds: Mapping[str, Bounds] | None, schema: Schema) -> dict[str, Bounds]:
    """Return the bounds that are of columns of the data; `checked_bounds` checks the others."""
    if not isinstance(bounds, Mapping):
        return {}
    return {
        name: _checked_pair(name, pair) for name, pair in bounds.items() if name in schema.columns
    }


def checked_bounds(bounds: Mapping[str, Bounds] | None, terms: Terms) -> dict[str, Bounds]:
    """Return the given bounds by column of the design, for `Terms.bounds`.

    bounds: as for `dp_lm`.  Bounds of a term with several columns, such as a factor, apply to each
        of its columns without bounds of its own.
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

    Deviations from unit means are bounded by plus or minus the width of the given interval.
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
    """Return the indices of columns with bounds from the user; the response is last."""
    natural = terms.family.response is not None
    names = [*terms.names, "" if natural else terms.response]
    return np.flatnonzero([name in terms.bounds for name in names])


def level_places(terms: Terms) -> tuple[Integers, ...]:
    """Return the indices in X of columns of levels with values from 0 to 1, grouped by term.

    Columns with bounds from the user and weights are left out.  So are bases of a column with
    public bounds, some of which have values from 0 to 1.
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
    """Return the indices in X of the factor that has all its levels, without an intercept.

    These columns add up to 1 in every row.  Only the first factor of the formula qualifies: R's
    names do not say which levels of later factors are left out.  Levels do not add up to 1 if some
    have bounds from the user.
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
    """Indices in X of a regressor, of indicators of levels, and of their products."""

    of: int
    levels: Integers
    products: Integers


def crossed_columns(terms: Terms) -> Iterator[Crossed]:
    """Find crossed columns by name; the regressor and the levels must be in the model too.

    A regressor that is itself a product with levels is left out, so that no column is found twice:
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
        # The message does not show the value, which may be a column of records, nor the type of a
        # pair, which would not help.
        pair = isinstance(limits, (tuple, list)) and len(limits) == 2
        other = "" if pair else f", not {a_kind(limits)}"
        limits_are = ("those of ", Value(name), f" must be two numbers{other}")
        raise ArgumentError("bounds", limits_are, such_bounds(name)) from None
    if not (max(abs(low), abs(high)) <= _LARGEST and high - low > LEAST_WIDTH):
        # Ordered doubles are rejected only if they are beyond these limits.
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
