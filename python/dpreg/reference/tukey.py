"""TukeyEM exactly as printed, and as its reference code has it.

Continuous volumes in double precision, models moved by at most 1e-10 against ties, the true
number of rows taken as public: for the tables of the paper, not for data that matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.mechanisms._inputs import doubles, response_of
from dpreg.privacy.bits import bit_source
from dpreg.reference._published import NOT_CLAIMED, PublishedFit, Rng, laplace

Form = Literal["text", "algorithm", "code"]

_PARTS = "m even parts of the true n rows all change when n crosses a multiple of m"
_CLAIMS = {
    "text": f"{NOT_CLAIMED}, not private as stated: depth moves both ways when a model is "
    f"replaced, so a draw by exp(eps depth) loses twice its eps; {_PARTS}",
    "algorithm": f"{NOT_CLAIMED}, not private as stated: {_PARTS}",
    "code": f"{NOT_CLAIMED}, not private as stated: the test has Laplace noise of scale eps where "
    "1 / eps is needed, and a distance that jumps by 2; exp(eps depth) as in the text; the shell "
    f"after the one that was drawn, from which points are not uniform; {_PARTS}",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublishedTukeyEM(PublishedFit):
    """Result of TukeyEM as published: coefficients and a distance.

    Attributes
    ----------
    distance : int
        The lower bound on the distance to unsafe data.  Not a release.
    """

    distance: int


def model_fits(X: Any, y: Any, models: int, *, form: Form = "text", rng: Rng = None) -> Doubles:
    """Least squares on each of `models` parts of randomly ordered rows, shape (models, d).

    Parts have n / m rows, some one more; in the reference code all have int(n / m) rows, and the
    remaining rows are left out.

    Raises
    ------
    ValueError
        If a part has fewer rows than X has columns.
    """
    rows = doubles("X", X, 2)
    response = response_of(y, len(rows))
    n, d = rows.shape
    if not 2 <= models <= n // max(d, 1):
        raise ValueError(f"models must be at least 2 and at most n / d, got {models}")
    order = np.argsort(_core.uniform_open(bit_source(rng), n), kind="stable")
    if form == "code":
        order = order[: n // models * models]
    parts = np.array_split(order, models)
    return np.array([np.linalg.lstsq(rows[p], response[p], rcond=None)[0] for p in parts])


def tukey_distance(points: Any, eps: float, delta: float) -> int:
    """Lemma 3.6 as Algorithm 1 uses it: t half the number of regions, delta / (8 e^eps).

    Parameters
    ----------
    points : array, shape (m, d)
    eps, delta : float
        Of the test: half of the eps of TukeyEM.

    Returns
    -------
    int
        The largest k with V[t-k-1] / V[t+k+g+1] exp(-eps g / 2) below for some g > 0, or -1.
    """
    return _distance(_log_volumes(_sides(doubles("points", points, 2))), eps, delta)


def tukey_em(
    X: Any, y: Any, models: int, eps: float, delta: float, *, form: Form = "text", rng: Rng = None
) -> PublishedTukeyEM:
    """Amin et al. (2023), Algorithm 2.

    Parameters
    ----------
    X : array, shape (n, d)
    y : array, shape (n,)
    models : int
        m in the paper.
    eps, delta : float
    form : {"text", "algorithm", "code"}
        Depths are drawn by exp(eps depth) in the text (3.3.1 and 7.3), by exp(eps depth / 2)
        in Algorithm 3, eps being half of the whole; ``"code"`` is the reference code, with
        the Laplace scale, the distance and the shells that it has.
    rng : int or bit source, optional
    """
    bits = bit_source(rng)
    return tukey_em_of_models(
        model_fits(X, y, models, form=form, rng=bits), eps, delta, form=form, rng=bits
    )


def tukey_em_of_models(
    points: Any, eps: float, delta: float, *, form: Form = "text", rng: Rng = None
) -> PublishedTukeyEM:
    """Algorithm 2 from line 5 on, for the models in the rows of `points`; see `tukey_em`."""
    if form not in _CLAIMS:
        raise ValueError(f"form must be 'text', 'algorithm' or 'code', got {form!r}")
    if not (eps > 0 and 0 < delta < 1):
        raise ValueError("eps must be greater than 0, and delta between 0 and 1")
    bits, half = bit_source(rng), eps / 2
    fits = doubles("points", points, 2)
    if len(fits) < 4:
        raise ValueError("points must have at least 4 rows")
    shifts = 1e-10 * _core.uniform_open(bits, fits.size).reshape(fits.shape)
    sides = _sides(fits + shifts)
    distance = _distance(_log_volumes(sides), half, delta)
    if form == "code" and distance >= 0:
        distance += 1  # where its binary search ends
    params = None
    noise = laplace(half if form == "code" else 1 / half, 1, bits)
    if distance + float(noise[0]) >= math.log(1 / (2 * delta)) / half:
        params = _draw(sides, half, form, bits)
    name = f"TukeyEM, Amin et al. (2023), {_NAMES[form]}"
    return PublishedTukeyEM(params, name, _CLAIMS[form], distance)


_NAMES = {"text": "Section 3", "algorithm": "Algorithms 1 to 4", "code": "reference code"}


def _sides(points: Doubles) -> Doubles:
    """Return the ends of the box of depth i + 1 at [i], shape (regions, d, 2)."""
    ordered = np.sort(points, axis=0)
    regions = len(ordered) // 2
    return np.stack([ordered[:regions], ordered[::-1][:regions]], axis=2)


def _log_volumes(sides: Doubles) -> Doubles:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sides[:, :, 1] - sides[:, :, 0]).sum(axis=1))


def _distance(log_volumes: Doubles, eps: float, delta: float) -> int:
    limit = math.log(delta / 8) - eps
    regions = len(log_volumes)
    t, best = regions // 2, -1
    volume = np.concatenate([[np.inf], log_volumes])  # of depth 0: the whole space
    for k in range(t - 1):
        inner = volume[t + k + 2 :]
        terms = volume[t - k - 1] - inner - eps / 2 * np.arange(1, len(inner) + 1)
        if not (len(inner) and terms.min() <= limit):
            break
        best = k
    return best


def _draw(sides: Doubles, eps: float, form: Form, bits: _core.BitSource) -> Doubles:
    """Draw a depth, then a point of its shell."""
    regions = len(sides)
    t = max(1, regions // 2)
    log_volumes = _log_volumes(sides)
    inner = np.append(log_volumes[1:], -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        shells = log_volumes + np.log1p(-np.exp(inner - log_volumes))
    rate = eps / 2 if form == "algorithm" else eps
    depths = np.arange(t - 1, regions)
    index = int(depths[_race(shells[depths] + rate * depths, bits)])
    if form == "code":
        index += 1
        if index + 1 >= regions:  # beyond the deepest: the code returns NaN there
            return np.full(sides.shape[1], np.nan)
    return _shell_point(sides, index, bits, right_inner=form == "code")


def _race(log_weights: Doubles, bits: _core.BitSource) -> int:
    weights = np.where(np.isnan(log_weights), -np.inf, log_weights)
    return int(np.argmax(weights + _core.standard_gumbel(bits, len(weights))))


def _shell_point(
    sides: Doubles, index: int, bits: _core.BitSource, *, right_inner: bool
) -> Doubles:
    """Algorithm 4: a point of the box `index` outside the next one.

    `right_inner` weighs coordinates after the first that is outside by inner lengths, as the
    code does; by outer ones the point is uniform.
    """
    outer = sides[index]
    last = index + 1 == len(sides)
    inner = np.full_like(outer, outer.mean()) if last else sides[index + 1]
    long, short = np.ptp(outer, axis=1), np.ptp(inner, axis=1)
    with np.errstate(divide="ignore"):
        log_long, log_short, log_exact = np.log(long), np.log(short), np.log(long - short)
    before = np.concatenate([[0.0], np.cumsum(log_short)[:-1]])
    after = log_short if right_inner else log_long
    after = np.append(np.cumsum(after[::-1])[::-1][1:], 0.0)
    j = _race(before + log_exact + after, bits)
    uniform = _core.uniform_open(bits, len(outer))
    low, length = outer[:, 0].copy(), long.copy()
    low[:j], length[:j] = inner[:j, 0], short[:j]
    point = low + uniform * length
    # Of the two end pieces: skip the inner part between them.
    step = uniform[j] * (long[j] - short[j])
    point[j] = outer[j, 0] + step
    if not last and point[j] > inner[j, 0]:
        point[j] += short[j]
    return np.asarray(point)
