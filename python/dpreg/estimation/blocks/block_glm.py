"""Firth's logistic and Poisson fits to many small blocks of rows, one model vector each.

All arithmetic is element by element over rows, with sums in their order, so the vector of a block
is a function of its own rows and their order alone.  Matrix products are avoided because their last
bits may depend on the shapes of all blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.base.families import Family
from dpreg.data.design import Design
from dpreg.estimation.blocks.model_rows import BlockRows, block_rows, rows_of_models

# Fisher scoring steps, and the largest change of the linear predictor of a typical row per step.
_STEPS, _LONGEST = 20, 2.0
# Limits of linear predictors, so that means and variances do not overflow, and of responses of a
# log link.
_MOST_PREDICTOR, _MOST_COUNT = 30.0, 1e12
# Ridge on the diagonal of the correlation matrix, and the diagonal of its inverse above which a
# column is collinear in its block.
_RIDGE, _COLLINEAR = 1e-9, 1e6
# Largest absolute logarithm of a spread; see cpp/src/stats/batch_fit.cpp.
_LOG_RANGE = 745.0
_GOLDEN = 0.6180339887498949


def fit_glm_blocks(
    design: Design, assignment: _core.Assignment, family: Family, *, log_spreads: bool
) -> Doubles:
    """Return one model vector per block, in the format of `_core.fit_batches`.

    Instead of the mean of y it has the linear predictor at the means of x.

    assignment: assignment of units to blocks.
    family: binomial or Poisson.
    Returns an array of shape (blocks, size): without NaN. If a slope is not estimable in a block,
        because its column is constant or collinear there, its value is infinite, with a sign that
        alternates between blocks, and its spread is the largest; without `log_spreads` the value is
        0.

    Notes
    -----
    Firth (1993): with leverage h, h (1/2 - p) is added to the residual of a logit link and h/2 to
    that of a log link.  This removes the bias of order 1 / rows and keeps coefficients of separated
    blocks finite.
    """
    i = int(design.terms.intercept)
    with np.errstate(all="ignore"):
        return np.vstack([
            _fitted(block_rows(*models), family, i, log_spreads=log_spreads)
            for models in rows_of_models(design, assignment)
        ])  # fmt: skip


def _fitted(blocks: BlockRows, family: Family, i: int, *, log_spreads: bool) -> Doubles:
    columns = blocks.X.shape[1]
    centre, scale, means, told = _scales(blocks, columns, i)
    told &= _independent(blocks, centre, scale, told, i)
    size = i + columns
    used = np.concatenate([np.ones((len(told), i)), told.astype(float)], axis=1)

    def standard(x: Doubles, of: Integers) -> Doubles:
        z = np.empty((len(x), size))
        z[:, :i], z[:, i:] = 1.0, (x - centre[of]) / scale[of]
        return np.where(used[of] > 0, z, 0.0)

    # Slightly above 0, with 1 on the diagonal for unused columns.
    ridged = np.where(used > 0, _RIDGE, 1.0)[:, :, None] * np.eye(size)
    theta = np.zeros((len(told), size))
    inverse = np.zeros((len(told), size, size))
    for step in range(_STEPS):
        score, matrix = np.zeros_like(theta), ridged.copy()
        for rows in blocks.parts():
            of, z = rows.block, standard(rows.x, rows.block)
            mean, weight = _means(family, _inner(theta[of], z))
            extra = weight * _quadratic(inverse[of], z)
            bias = extra * (0.5 - mean) if family.link == "logit" else extra / 2
            residual = _response(family, rows.y) - mean + bias
            _add_by_block(score, of, residual[:, None] * z)
            _add_by_block(matrix, of, weight[:, None, None] * z[:, :, None] * z[:, None, :])
        inverse = _inverted(matrix)
        way = _times(inverse, score)
        length = np.sqrt(_inner(way, way))
        # The first step is large if the mean is far from the starting value.
        longest = _LONGEST * (2 if step < 2 else 1)
        theta = theta + way * np.minimum(1.0, longest / np.maximum(length, 1e-300))[:, None]
    return _vectors(
        blocks, family, theta, inverse, (centre, scale, means, told), standard,
        intercept=i, log_spreads=log_spreads,
    )  # fmt: skip


def _scales(blocks: BlockRows, d: int, intercept: int) -> tuple[Doubles, Doubles, Doubles, Flags]:
    """Return centre, spread and weighted means of columns by block, and which vary."""
    sums, weighed, weights, count = (np.zeros((blocks.count, k)) for k in (d, d, 1, 1))
    for rows in blocks.parts():
        of, weight = rows.block, _mean_weight(rows.place)[:, None]
        _add_by_block(sums, of, rows.x)
        _add_by_block(count, of, np.ones_like(weight))
        _add_by_block(weighed, of, weight * rows.x)
        _add_by_block(weights, of, weight)
    centre = intercept * sums / np.maximum(count, 1.0)
    squares = np.zeros_like(sums)
    for rows in blocks.parts():
        _add_by_block(squares, rows.block, (rows.x - centre[rows.block]) ** 2)
    spread = np.sqrt(squares / np.maximum(count, 1.0))
    size = np.maximum(np.abs(centre), 1e-290)
    told = np.isfinite(spread) & (spread > 1e-12 * size)
    means = weighed / np.maximum(weights, 1e-300)
    centre = np.where(np.isfinite(centre), centre, 0.0)
    means = np.where(np.isfinite(means), means, 0.0)
    return centre, np.where(told, spread, 1.0), means, told


def _mean_weight(place: Integers) -> Doubles:
    """Return weights as in the core: unweighted means of few values would have ties."""
    return np.asarray(0.5 + ((place + 1) * _GOLDEN) % 1.0)


def _independent(
    blocks: BlockRows, centre: Doubles, scale: Doubles, told: Flags, intercept: int
) -> Flags:
    """Return which columns are not collinear in their block."""
    matrix, count = np.zeros((*told.shape, told.shape[1])), np.zeros((len(told), 1, 1))
    for rows in blocks.parts():
        of = rows.block
        z = np.where(told[of], (rows.x - centre[of]) / scale[of], 0.0)
        _add_by_block(matrix, of, z[:, :, None] * z[:, None, :])
        _add_by_block(count, of, np.ones((len(of), 1)))
    unused = ~told[:, :, None] * np.eye(told.shape[1])
    matrix = matrix / np.maximum(count, 1.0) + unused + _RIDGE * np.eye(told.shape[1])
    of_diagonal = np.diagonal(_inverted(matrix), axis1=1, axis2=2)
    # With fewer rows than coefficients some direction is never estimable.
    enough = count[:, :, 0] > told.sum(axis=1, keepdims=True) + intercept
    return np.asarray((of_diagonal < _COLLINEAR) & (of_diagonal > 0) & enough)


def _means(family: Family, predictor: Doubles) -> tuple[Doubles, Doubles]:
    """Return means and their variances."""
    inside = np.fmin(np.fmax(predictor, -_MOST_PREDICTOR), _MOST_PREDICTOR)
    return family.mean(inside), family.slope(inside)


def _response(family: Family, y: Doubles) -> Doubles:
    return np.clip(y, 0.0, 1.0 if family.link == "logit" else _MOST_COUNT)


def _vectors(
    blocks: BlockRows,
    family: Family,
    theta: Doubles,
    inverse: Doubles,
    scales: tuple[Doubles, Doubles, Doubles, Flags],
    standard: Callable[[Doubles, Integers], Doubles],
    *,
    intercept: int,
    log_spreads: bool,
) -> Doubles:
    centre, scale, means, told = scales
    slopes = theta[:, intercept:] / scale
    # Where the means are, in standard units.
    middle = np.concatenate([np.ones((len(theta), intercept)), (means - centre) / scale], axis=1)
    parts = [slopes]
    if intercept:
        parts += [_inner(theta, middle)[:, None], means]
    if log_spreads:
        signed, variance, of_scores = _spreads(blocks, family, theta, inverse, middle, standard)
        parts.append(_log(np.abs(_times(inverse, signed))[:, intercept:] / scale))
        if intercept:
            # Its parts are drawn separately; see batch_fit.hpp in the core.
            of_slopes = of_scores[:, intercept:] / scale**2
            error = np.sqrt(variance + _inner(means**2, of_slopes))
            parts.append(_log(error)[:, None])
    vectors = np.concatenate(parts, axis=1)
    failed = ~np.isfinite(vectors).all(axis=1, keepdims=True)
    hidden = np.zeros(vectors.shape, dtype=bool)
    d = slopes.shape[1]
    hidden[:, :d] = ~told
    first = d + intercept * (1 + d)
    # Infinite values carry no information about the median.
    away = np.where(np.arange(len(vectors)) % 2 == 0, np.inf, -np.inf)[:, None]
    vectors = np.where(hidden | failed, away if log_spreads else 0.0, vectors)
    if log_spreads:
        hidden[:, :d] = False
        hidden[:, first : first + d] = ~told
        beyond = failed & (np.arange(vectors.shape[1]) >= first)
        vectors = np.where(hidden | beyond, _LOG_RANGE, vectors)
    return vectors


def _log(values: Doubles) -> Doubles:
    return np.log(np.maximum(values, np.finfo(float).tiny))


def _spreads(
    blocks: BlockRows,
    family: Family,
    theta: Doubles,
    inverse: Doubles,
    middle: Doubles,
    standard: Callable[[Doubles, Integers], Doubles],
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the components of standard errors by block.

    Returns signed: shape (blocks, size): sum of unit scores with alternating signs.
    and variance: shape (blocks,): variance of the linear predictor at the means, including that of
        the means, and of slopes times means.
    and of_coefficients: shape (blocks, size): variances of the coefficients.
    """
    signed, of_coefficients = np.zeros_like(theta), np.zeros_like(theta)
    towards, total = _times(inverse, middle), np.zeros(len(theta))
    of_units = np.zeros(len(blocks.block_of_unit))
    square, spread = np.zeros(len(theta)), np.zeros(len(theta))
    for rows in blocks.parts():
        of, z = rows.block, standard(rows.x, rows.block)
        mean, weight = _means(family, _inner(theta[of], z))
        spare = np.maximum(1 - weight * _quadratic(inverse[of], z), 1e-3)
        residual = (_response(family, rows.y) - mean) / np.sqrt(spare)
        score = residual[:, None] * z
        _add_by_block(signed, of, np.where(rows.turn % 2 == 0, 1.0, -1.0)[:, None] * score)
        _add_by_block(of_units, rows.unit, _inner(score, towards[of]))
        _add_by_block(of_coefficients, of, _times(inverse[of], score) ** 2)
        share = _mean_weight(rows.place)
        apart = theta[of] * (z - middle[of])
        _add_by_block(spread, of, share**2 * _inner(apart, np.ones_like(apart)) ** 2)
        _add_by_block(spread, of, share**2 * _inner(apart, apart))
        _add_by_block(total, of, share)
    _add_by_block(square, blocks.block_of_unit, of_units**2)
    variance = square + spread / np.maximum(total, 1e-300) ** 2
    return signed, variance, of_coefficients


def _add_by_block(sums: Doubles, block: Integers, values: Doubles) -> None:
    """Add values of rows to the sums of their blocks, in order of rows.

    sums: shape (blocks, ...): C-contiguous; modified in place.
    block: shape (rows,)
    values: shape (rows, ...)
    """
    size = sums[0].size if len(sums) else 0
    cells = block[:, None] * size + np.arange(size)
    np.add.at(sums.reshape(-1), cells.reshape(-1), values.reshape(-1))


def _inner(a: Doubles, b: Doubles) -> Doubles:
    """Return a'b for each pair of rows."""
    total = np.zeros(len(a))
    for j in range(a.shape[1]):
        total = total + a[:, j] * b[:, j]
    return total


def _times(matrix: Doubles, vector: Doubles) -> Doubles:
    """Return M v for each pair."""
    total = np.zeros_like(vector)
    for j in range(vector.shape[1]):
        total = total + matrix[:, :, j] * vector[:, j : j + 1]
    return total


def _quadratic(matrix: Doubles, z: Doubles) -> Doubles:
    """Return z' M z for each pair."""
    return _inner(_times(matrix, z), z)


def _inverted(matrix: Doubles) -> Doubles:
    """Return inverses of positive definite matrices by Gauss-Jordan elimination."""
    size = matrix.shape[1]
    left, right = matrix.copy(), np.broadcast_to(np.eye(size), matrix.shape).copy()
    for k in range(size):
        pivot = left[:, k, k].copy()[:, None]
        left[:, k], right[:, k] = left[:, k] / pivot, right[:, k] / pivot
        for j in range(size):
            if j != k:
                factor = left[:, j, k].copy()[:, None]
                left[:, j] -= factor * left[:, k]
                right[:, j] -= factor * right[:, k]
    return right
