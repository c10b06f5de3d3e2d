"""Where a fit may start: what an earlier release or public data say of scales and coefficients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles, Flags

_FORMAT, _LARGEST = 2, 1e300
# Letters are sizes: d columns with the response, w of standardised rows, k coordinates, h others.
_SHAPES = {
    "low": "d", "high": "d", "centre": "d", "scale": "d", "constant": "d", "change": "wk",
    "unseen": "wh", "theta": "k", "deviation": "kk", "sizes": "k",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Start:
    """What an earlier release or public data say about a regression.

    As ``dp_lm(start=)`` it saves the part of the budget that finds scales and second moments, and
    nearly all of it goes to the coefficients.  A released fit has one as `DPResults.start`;
    `dpreg.public_start` makes one from public data.

    Standardised rows are (1, (x - centre) / scale), without the 1 where there is no intercept;
    times `change` they have second moments of about 1 along each coordinate.

    Attributes
    ----------
    response : str
    names : tuple of str, length d
        Of the columns of the design, dummies one by one.
    intercept, within : bool
        There is an intercept; rows are deviations from the means of their unit.
    weights : str or None
        Column of row weights, the last of `names`.
    offsets : tuple of str
        Terms with coefficient 1, which are not among `names`.
    levels : mapping of str to tuple
        Levels of the categorical columns of the formula.
    low, high, centre, scale : ndarray, shape (d + 1,)
        Range, mean and standard deviation of each column and, last, of the response.
    constant : ndarray of bool, shape (d + 1,)
        True: the column is constant.
    change : ndarray, shape (w, k)
        Coordinates of standardised rows.
    unseen : ndarray, shape (w, w - k)
        Combinations of columns whose second moments are not known.
    theta : ndarray, shape (k,)
        Coefficients along the coordinates, for the standardised response.
    residual : float
        Mean squared residual of the standardised response.
    deviation : ndarray, shape (k, k)
        Standard error, from noise, of a second moment along a coordinate, and the root of 2 times
        that of a product of two.
    sizes : ndarray, shape (k,)
        What coordinates are multiplied by where rows are added up: 1, and less for rare levels.
    longest : float
        Norm up to which there are rows; 0: not known.
    units : float
        Number of rows, perhaps noisy.
    source : str
        What it was made from.
    seeded : bool
        True: it comes from a release that is **not private**, because it had a seed.

    Privacy
    -------
    guarantee : none of its own.  Computed from private releases or public data, it is
        post-processing.  One that is computed from private records without noise breaks the
        privacy of every fit that starts from it.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> start = dpreg.public_start("price ~ carat", d.head(2000))
    >>> dpreg.dp_lm("price ~ carat", d, 1.0, start=start).released
    True
    """

    response: str
    names: tuple[str, ...]
    intercept: bool
    low: Doubles
    high: Doubles
    centre: Doubles
    scale: Doubles
    constant: Flags
    change: Doubles
    unseen: Doubles
    theta: Doubles
    residual: float
    deviation: Doubles
    sizes: Doubles
    longest: float
    units: float
    within: bool = False
    weights: str | None = None
    offsets: tuple[str, ...] = ()
    levels: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    source: str = ""
    seeded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain |= {name: getattr(self, name).tolist() for name in _SHAPES}
        levels = {column: list(of) for column, of in self.levels.items()}
        return {**plain, "names": list(self.names), "offsets": list(self.offsets), "levels": levels}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Start:
        """Read what `to_dict` wrote; a ValueError if it is something else."""
        try:
            kinds = {"constant": np.bool_}
            arrays = {k: np.asarray(data[k], dtype=kinds.get(k, np.float64)) for k in _SHAPES}
            levels = {column: tuple(of) for column, of in data["levels"].items()}
            found = cls(**{**data, **arrays, "levels": levels, "names": tuple(data["names"]),
                           "offsets": tuple(data["offsets"])})  # fmt: skip
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"start: this is not as it was written: {error}") from None
        found._check()
        return found

    def to_json(self) -> str:
        """Return everything as JSON; `from_json` reads it."""
        return json.dumps({"dpreg_start": _FORMAT, **self.to_dict()}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Start:
        """Read what `to_json` wrote; a ValueError if `text` is something else."""
        try:
            data = json.loads(text)
            if not isinstance(data, dict) or data.pop("dpreg_start", None) != _FORMAT:
                raise ValueError("another format")
            return cls.from_dict(data)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"this is not a start of format {_FORMAT}: {error}") from None

    def _check(self) -> None:
        """Raise a ValueError for arrays that do not fit together, or are no numbers."""
        sizes = {"d": len(self.names) + 1}
        for name, shape in _SHAPES.items():
            array = getattr(self, name)
            if array.ndim != len(shape):
                raise ValueError(f"start.{name}: {len(shape)} dimensions are needed")
            for letter, size in zip(shape, array.shape, strict=True):
                if sizes.setdefault(letter, size) != size:
                    raise ValueError(f"start.{name}: its shape does not fit the others")
            if not np.isfinite(array).all():
                raise ValueError(f"start.{name}: finite numbers are needed")
        if sizes["k"] + sizes["h"] != sizes["w"] or (self.change.size == 0 < sizes["w"]):
            raise ValueError("start.change: its shape does not fit the others")
        numbers = (self.residual, self.longest, self.units)
        if not all(type(v) in (int, float) and 0 <= v <= _LARGEST for v in numbers):
            raise ValueError("start: residual, longest or units is not a size")
        if not ((self.deviation >= 0).all() and (self.sizes > 0).all() and (self.sizes <= 1).all()):
            raise ValueError("start: deviation or sizes is not a size")
        if not ((self.scale > 0).all() and (self.low <= self.high).all() and self.residual > 0):
            raise ValueError("start: scales must be above 0, and low not above high")
