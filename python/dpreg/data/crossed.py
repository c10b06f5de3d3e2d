"""Columns that are a regressor times the levels of a factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Integers
from dpreg.data.bounds import level_places
from dpreg.data.design import Terms


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
