"""Columns of the rows of `dp_effect`, and their scales.  Everything here is public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.families import Family
from dpreg.data.arms import BOTH, TREATED, UNTREATED, Interacted
from dpreg.data.bounds import level_places
from dpreg.data.design import Terms
from dpreg.estimation.releases.standardisation import Scales

# Avoids division by 0 where one count dominates all others so that a share is 0 or 1.
_NOTHING = 1e-15


def scales_of(scales: Scales, places: list[int]) -> Scales:
    """Return the scales of some columns; the last is the response.

    A duplicated column is marked as nearly always 0 only at its first index.
    """
    named = ("low", "high", "centre", "scale", "given", "spread", "seen")
    first = {column: places.index(column) for column in places}
    found = {name: getattr(scales, name)[places] for name in named}
    return replace(scales, **found, rare=scales.rare.moved(first))


@dataclass(frozen=True, slots=True, eq=False)
class ByArm:
    """Columns of the covariates; each column of a factor belongs to one arm.

    A row has one level of a factor, in one arm, so together they are one factor whose rows can be
    counted.  As centred products of levels and treatment they were ordinary columns: rare ones were
    not significant, so the error of the effect could not be estimated.
    """

    # Shape (m,): see `Interacted`.
    covariates: Integers
    arms: Integers

    @classmethod
    def of(cls, terms: Terms) -> ByArm:
        """Return the columns of all slopes; slopes of numeric covariates are common to both arms.

        terms: the treatment comes first.
        """
        found, levels = list[tuple[int, int]](), {int(of[0]): of for of in factors(terms)}
        places = iter(range(1, len(terms.names)))
        for place in places:
            factor = levels.get(place)
            if factor is None:
                found.append((place - 1, BOTH))
                continue
            found += [(int(j) - 1, arm) for arm in (UNTREATED, TREATED) for j in factor]
            for _ in factor[1:]:
                next(places)
        made = np.array(found, dtype=np.int64).reshape(-1, 2)
        return cls(made[:, 0], made[:, 1])

    @classmethod
    def common(cls, count: int) -> ByArm:
        """Return the columns of `count` covariates with the same slopes in both arms."""
        return cls(np.arange(count), np.full(count, BOTH))

    @property
    def apart(self) -> ByArm:
        """The columns in which numeric covariates have separate slopes in each arm."""
        more = self.covariates[self.arms == BOTH]
        arms = np.append(self.arms, np.full(len(more), TREATED))
        return ByArm(np.append(self.covariates, more), arms)

    def rows(self, centre: Doubles) -> Interacted:
        """Return the expansion that makes rows; see `offsets`."""
        return Interacted(self.covariates, self.arms, self.offsets(centre))

    def offsets(self, centre: Doubles) -> Doubles:
        """Return what to subtract: the centre of numeric columns that are in one arm."""
        numbers = np.isin(self.covariates, self.covariates[self.arms == BOTH])
        taken = numbers & (self.arms != BOTH)
        return np.where(taken, centre[self.covariates], 0.0)

    def terms(self, response: str, of: Terms, family: Family) -> Terms:
        """Return the terms of the rows; levels of both arms form one factor."""
        treatment, *others = of.names
        # Names show no products: numeric columns of one arm are already centred.
        names = [
            f"({others[j]}) if {treatment}" if arm == TREATED else others[j]
            for j, arm in zip(self.covariates, self.arms, strict=True)
        ]
        terms = with_levels(Terms(response, of.names, True, family=family), of)
        term_of = {name: term for term, columns in terms.groups.items() for name in columns}
        groups: dict[str, tuple[str, ...]] = {treatment: (treatment,)}
        numbers, ranges = self.offsets(np.ones(len(others))), dict(terms.ranges)
        for j, name, product in zip(self.covariates, names, numbers, strict=True):
            term = name if product else term_of[others[j]]
            groups[term] = (*groups.get(term, ()), name)
            if not product and others[j] in ranges:
                ranges[name] = ranges[others[j]]
        return replace(terms, names=(treatment, *names), groups=groups, ranges=ranges)

    def coefficients(self, centre: Doubles) -> Doubles:
        """Return the matrix that maps coefficients of the rows to those by arm."""
        k = len(centre)
        matrix = np.zeros((2 * (1 + k), 2 + len(self.arms)))
        matrix[[0, 1 + k], 0] = matrix[1 + k, 1] = 1.0
        columns = zip(self.covariates, self.arms, self.offsets(centre), strict=True)
        for at, (j, arm, offset) in enumerate(columns, 2):
            if arm != TREATED:
                matrix[1 + j, at] = 1.0
            if arm != UNTREATED:
                matrix[2 + k + j, at] = 1.0
                matrix[1 + k, at] = -offset
        return matrix

    def together(self, scales: Scales) -> Scales:
        """Return scales of treatment, covariates and response from those of the rows."""
        first = [
            int(np.argmax(self.covariates == j))
            for j in range(max(self.covariates, default=-1) + 1)
        ]
        found = scales_of(scales, [0, *(1 + at for at in first), -1])
        centre, spread = found.centre.copy(), found.spread.copy()
        for at in np.flatnonzero(self.arms == TREATED):
            share, place = float(scales.centre[1 + at]), 1 + self.covariates[at]
            precision = scales.spread[1 + at] / max(share * (1 - share), _NOTHING)
            centre[place] = min(centre[place] + share, 1.0)
            spread[place] = centre[place] * (1 - centre[place]) * precision
        return replace(found, centre=centre, spread=spread)

    def scales(self, counted: Scales, share: float) -> Scales:
        """Return the scales of rows in which numeric covariates have separate slopes.

        counted: scales of rows with common slopes.
        share: share of rows that are treated.
        """
        m = len(counted.low) - 2
        twice = [1 + int(np.argmax(self.covariates == j)) for j in self.covariates[m:]]
        found = scales_of(counted, [*range(m + 1), *twice, -1])
        low, high, centre, scale = (
            getattr(found, name).copy() for name in ("low", "high", "centre", "scale")
        )
        own = slice(m + 1, -1)
        low[own] = np.minimum(low[own] - centre[own], 0.0)
        high[own] = np.maximum(high[own] - centre[own], 0.0)
        centre[own], scale[own] = 0.0, scale[own] * math.sqrt(share)
        return replace(found, low=low, high=high, centre=centre, scale=scale)


def with_levels(terms: Terms, design: Terms) -> Terms:
    """Return terms that mark as levels the covariates that are levels in the design."""
    own = set(design.names[1:]) & set(terms.names)
    groups = {term: of for term, of in design.groups.items() if set(of) <= own}
    placed = {name: term for term, of in groups.items() for name in of}
    named = dict.fromkeys(placed.get(name, name) for name in terms.names)
    return replace(
        terms,
        ranges={name: pair for name, pair in design.ranges.items() if name in own},
        bounds={name: pair for name, pair in design.bounds.items() if name in own},
        groups={term: groups.get(term, (term,)) for term in named},
        data_bounds=design.data_bounds,
    )


def factors(terms: Terms) -> Sequence[Integers]:
    """Return indices of the levels of covariates, if they are contiguous.

    The treatment is scaled in the same way whether it is a factor or a number.
    """
    found = [of for of in level_places(terms) if 0 not in of]
    return [of for of in found if of[-1] - of[0] == len(of) - 1]


def standardised_columns(scales: Scales, levels: Sequence[Integers]) -> tuple[Doubles, Doubles]:
    """Return the map of coefficients to those of standardised columns, and their second moments.

    Terms are assumed to be independent.

    scales: of treatment, covariates and response.
    levels: indices of the levels of covariates; the treatment has index 0.
    """
    centre, spread = scales.centre[1:-1], scales.scale[1:-1]
    turn = np.diag(np.append(1.0, spread))
    turn[0, 1:] = centre
    moments = np.eye(len(turn))
    for places in levels:
        share, sizes = centre[places - 1], spread[places - 1]
        apart = np.diag(share) - np.outer(share, share)
        moments[np.ix_(places, places)] = apart / np.outer(sizes, sizes)
    return turn, moments
