"""Coordinates in which rows have unit second moments, from a few noisy matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.hidden_directions import (
    constant_sums,
    farthest,
    insignificant_columns,
    insignificant_sums,
    shortened,
    unseen,
)
from dpreg.estimation.newton.levels import Beginning, beginning
from dpreg.estimation.newton.second_moments import Moments, shrunken
from dpreg.estimation.releases.accountant import share_for
from dpreg.estimation.releases.moments import noisy_gram
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.releases.rows import mapped_rows
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.standardised import Standardised

# Rows are clipped at this multiple of the root of the number of their entries, or higher, up to the
# second, while noise stays below the last, as a share of the rows.
USUAL, WIDE, _NOISE = 1.3, 3.0, 0.2
# If one row in k has all residuals, with k times the squared size, this number over k of their mean
# square is left in second moments of rows with one entry and the response.
SQUARES_KEPT = 2 * USUAL**2
# Share of a matrix: the least for which its noise is no more than that, but at least the first, and
# the second times that of the previous matrix; and at most the third.
_LEAST, _MORE, _MOST = 0.01, 2.0, 0.06
# If that is too little the first two may cost more, if the last share remains: without it .12 to
# .71 of 30 columns of 5,000 rows had no error, and others errors up to 1.8 times as large.
_RAISED, _LEAST_LEFT = (0.1, 0.2), 0.45
# Second moments of this many standard deviations of noise are significant.  Matrices are released
# until all are, at most this many: with 3, .21 of coefficients of 378 fits had no error instead of
# .15.
_SIGNIFICANT_SD, MOST_LOOKS = 3.0, 4
# They are also released while one is below this many standard deviations and its error is more than
# the second number times the typical one.  Coefficients of nearly collinear columns consist of such
# directions: without it they were wrong by up to 8 and 6 privacy errors in 40 fits of 20,000 wages
# and flights, instead of 3.
_PRECISE, _IMPRECISE = 6.0, 2.0
# Along a direction of levels, by the second share of its square, in which less than the first is
# left of columns, what is measured must be seen by itself: that each has a second moment of 1 says
# nothing of what they have in common.  Without it 8 to 33 of 60 fits of 5,000 rows gave errors to
# two levels of the same rows, and up to 52 of them lay between the two; with .3, up to 15.  Of
# other columns too, a fifth of 54 coefficients of 20,000 rentals of bicycles had none, for 0.
_LEAST_OWN_SHARE, _LEVEL_SHARE = 0.5, 0.5
# Insignificant ones are set to this share of the largest that noise alone makes, and scaled up for
# the next matrix.  With 1, .42 of the coefficients of 198 fits had no error instead of .31.
_INSIGNIFICANT_SHARE = 0.2
# In small studies mean squared residuals are at least this share of their noise.  With 0, a slope
# of .5 in 300 rows with bounds of the response ten times too wide was estimated as -26, with an
# error of 2; with 1, errors of 300 rows in the table of plans were 19% larger instead of 10%.
_HIDDEN = 0.5
# In small studies: the least and largest share of each of two matrices, the noise they aim at, and
# the standard deviations for significance.
_SMALL_MOST, _SMALL_NOISE, _SMALL_SEEN = (0.15, 0.3), (0.25, 0.2), 2.5


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows of matrices."""

    begun: Standardised
    # Rows of the coordinates and the residual, if there is a response, clipped at a threshold.
    rows: Callable[[Whitening, float], MappedRows]
    response: bool  # The response is the last entry of rows.
    sums: Doubles  # See `constant_sums`.

    @property
    def untold(self) -> Integers:
        """Columns that may be nearly always 0; in a small study those may be all, and are ignored.

        With them .91 of the coefficients of 5 indicators of 500 rows covered instead of 1.
        """
        columns = insignificant_columns(self.begun.scales, self.begun.units)
        return columns[:0] if self.begun.few_rows else columns

    def shortened(self, found: Whitening, norm: float) -> Whitening:
        """Scale down coordinates in which one of those would make norms of rows exceed `norm`."""
        far = farthest(self.begun.scales, self.begun.units, self.untold)
        return shortened(found, self.untold, far, norm)


@dataclass(frozen=True, slots=True)
class _MatrixResult:
    """The result of a matrix."""

    found: Whitening
    # hidden, alike: orthonormal directions, in coordinates: without significant variance, and those
    # among them along which columns seemed to be collinear.
    hidden: Doubles
    alike: Doubles
    clear: bool  # No other matrix is needed, or the rest is for scores.


def whiten(begun: Standardised, first: Beginning) -> Whitening:
    """Release second moments of rows with their residual, until all directions are significant.

    begun: `units` are those of the rows.  In a small study there are two matrices.
    first: released.

    Privacy
    -------
    guarantee : as the releases that are added to `begun.noise`
    proof : whitening.md

    References
    ----------
    Kamath, Li, Singhal, Ullman (2019), "Privately learning high-dimensional distributions",
    Algorithm 3.
    """

    def rows(found: Whitening, limit: float) -> MappedRows:
        return rows_with_residual(begun, found, limit)

    sums = constant_sums(begun.design.terms, begun.scales, begun.units)
    return _whitened(_Table(begun, rows, response=True, sums=sums), first)


def whiten_columns(begun: Standardised) -> Whitening:
    """As `whiten`, without a response: `theta` and `residual` are 0.

    Privacy
    -------
    guarantee : as the releases that are added to `begun.noise`
    proof : whitening.md
    """
    design, scales, units = begun.design, begun.scales, begun.units

    def rows(found: Whitening, limit: float) -> MappedRows:
        return mapped_rows(design, scales, units, found.rows, limit, kept=False)

    first = beginning(design.terms, scales, units, small=begun.few_rows)
    sums = constant_sums(design.terms, scales, units)
    return _whitened(_Table(begun, rows, response=False, sums=sums), first)


def _whitened(table: _Table, first: Beginning) -> Whitening:
    found = Whitening(
        first.change, first.unseen, np.zeros(len(first.sizes)), 1.0, first.moments, first.sizes,
    )  # fmt: skip
    small = table.begun.few_rows
    nothing = np.zeros((found.width, 0))
    look = _MatrixResult(found, nothing, nothing, clear=False)
    for number in range(2 if small else MOST_LOOKS):
        look = _release_matrix(table, look, number)
        if look.clear and not small:
            break
    found = table.shortened(look.found, USUAL * math.sqrt(max(look.found.squares, 1)))
    return found.without(look.hidden, centred=table.begun.units.intercept)[0]


def _release_matrix(table: _Table, last: _MatrixResult, again: int) -> _MatrixResult:
    """Release a matrix."""
    noise, n, small = table.begun.noise, table.begun.scales.units, table.begun.few_rows
    before = last.found
    width = before.width
    limit, share = _plan(table, before, again)
    rows = table.rows(before, limit)
    beside = " and response" * table.response
    label = f"second moments of rows{beside}, {again + 1}"
    gram, scale = noisy_gram(rows, noise, noise.share(share), label)
    sizes = np.append(before.sizes, np.ones(int(table.response)))
    gram, deviation = gram / np.outer(sizes, sizes) / n, scale / n / before.sizes
    doubt = np.outer(deviation, 1 / before.sizes) ** 2
    # Without a response there are no products with it, and no residual.
    products, square = gram[:width, width:].sum(axis=1), float(gram[width:, width:].sum())
    told = shrunken(products, deviation**2 / 2)
    # Otherwise .19 of the coefficients of 102 fits had no error instead of .13.
    products = products * np.where(before.levels, told, 1.0)
    moments = before.moments.doubted(last.alike).seen(gram[:width, :width], doubt)
    least = _SMALL_SEEN if small else _SIGNIFICANT_SD
    untold = unseen(moments, before, table.untold, least)
    measured = Moments(gram[:width, :width], doubt, before.levels)
    moments = moments.apart(untold).without(insignificant_sums(table.sums, before, measured, least))
    values, vectors = np.linalg.eigh(moments.matrix)
    # Noise of others has not spread independent coordinates: when shrunk to the others,
    # insignificant columns seemed significant, and .05 of coefficients of 30 indicators of 5,000
    # rows were wrong by 4 errors.
    others = (vectors[untold] ** 2).sum(axis=0) < 0.5
    values[others] = moments.without_spread(values[others])
    unsure = moments.along(vectors)
    alone = np.einsum("iv,ij,jv->v", vectors, measured.matrix, vectors)
    apart = (values > _LEAST_OWN_SHARE) | ((vectors[before.levels] ** 2).sum(axis=0) < _LEVEL_SHARE)
    seen = (values > least * unsure) & (apart | (alone > least * measured.along(vectors)))
    step = vectors @ (seen / np.maximum(values, 2 * unsure) * (vectors.T @ products))
    held = np.maximum(values, _INSIGNIFICANT_SHARE * moments.edge(vectors))
    by = symmetric_root((vectors * held) @ vectors.T, centred=table.begun.units.intercept)
    floor = _HIDDEN * float(scale) / n if small else 0.0
    left = square - 2 * float(step @ products) + float(step @ moments.matrix @ step)
    found = replace(
        before,
        theta=before.theta + step,
        residual=max(left, floor),
        noise=float(scale) / n * (1 + float(((step / before.sizes) ** 2).sum())),
        moments=moments.turned(by).unrelated(untold),
        limit=min(before.limit, limit),
    )
    hidden, alike = (
        np.linalg.qr(np.linalg.solve(by, vectors[:, of]))[0] for of in (~seen, ~seen & ~apart)
    )
    clear = noise.left < _LEAST_LEFT or (bool(seen.all()) and not _is_imprecise(values, unsure))
    return _MatrixResult(table.shortened(found.turned(by), limit), hidden, alike, clear)


def _is_imprecise(values: Doubles, unsure: Doubles) -> bool:
    """Whether a second moment is imprecise, and much less precise than others.

    unsure: standard errors.
    """
    error = unsure / values
    return len(error) > 0 and bool(error.max() > max(1 / _PRECISE, _IMPRECISE * np.median(error)))


def _plan(table: _Table, before: Whitening, again: int) -> tuple[float, float]:
    """Return the clipping threshold of rows and the share of a matrix."""
    noise, n, small = table.begun.noise, table.begun.scales.units, table.begun.few_rows
    squares = before.squares
    usual = math.sqrt(max(squares + table.response, 1))
    entries = math.sqrt(2 * max(squares, 1))
    limit = USUAL * usual
    quiet = _SMALL_NOISE[again] if small else _NOISE
    share = share_for(noise, noise.rows * limit**2, quiet * n / entries)
    if small:
        return limit, min(share, _SMALL_MOST[again])
    most = _MOST
    if share > _MOST and again < len(_RAISED) and noise.left - _RAISED[again] > _LEAST_LEFT:
        most = _RAISED[again]
    share = min(max(share, _LEAST) * _MORE**again, most)
    reach = math.sqrt(quiet * n / entries * noise.share(share) / noise.rows)
    return min(max(limit, reach), WIDE * usual), share


def rows_with_residual(
    begun: Standardised, found: Whitening, limit: float, square: float = 1.0
) -> MappedRows:
    """Return rows of the coordinates with the residual at theta, clipped together.

    begun: `units` are those of the rows.
    square: residuals are divided by its root.
    """
    design, units = begun.design, begun.units
    change = np.zeros((units.width + 1, found.width + 1))
    change[:-1, :-1] = found.rows
    change[:-1, -1] = -found.change @ found.theta / math.sqrt(square)
    change[-1, -1] = 1 / math.sqrt(square)
    last = units.with_response(design.columns)
    return mapped_rows(design, begun.scales, last, change, limit, kept=False)
