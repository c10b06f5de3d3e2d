"""Starting values of a fit: scales and coefficients from an earlier release or public data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpreg.base.arrays import Doubles, Flags
from dpreg.base.documents import Document

_LARGEST = 1e300
# Sizes: d columns and the response, w columns of standardised rows, k coordinates, h others.
_SHAPES = {
    "low": "d", "high": "d", "centre": "d", "scale": "d", "constant": "d", "change": "wk",
    "unseen": "wh", "theta": "k", "deviation": "kk", "sizes": "k",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Start(Document):
    """What an earlier release or public data say about a regression.

    Given as ``dp_lm(start=)``, it replaces estimates of scales and second moments, so that nearly
    all of the budget is spent on the coefficients.  A released fit has one as `DPResults.start`;
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
        Factors by which coordinates are multiplied before rows are summed: 1, and less for rare
        levels.
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

    _document = ("this is not a start", "dpreg_start", 2)

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        sizes = {"d": len(data["names"]) + 1}
        for name, shape in _SHAPES.items():
            array = data[name]
            if array.ndim != len(shape):
                raise ValueError(f"start.{name}: {len(shape)} dimensions are needed")
            for letter, size in zip(shape, array.shape, strict=True):
                if sizes.setdefault(letter, size) != size:
                    raise ValueError(f"start.{name}: its shape does not fit the others")
        if sizes["k"] + sizes["h"] != sizes["w"] or (data["change"].size == 0 < sizes["w"]):
            raise ValueError("start.change: its shape does not fit the others")
        if not all(0 <= data[name] <= _LARGEST for name in ("residual", "longest", "units")):
            raise ValueError("start: residual, longest or units is not a size")
        sizes_of = data["sizes"]
        if not ((data["deviation"] >= 0).all() and (sizes_of > 0).all() and (sizes_of <= 1).all()):
            raise ValueError("start: deviation or sizes is not a size")
        rising = (data["low"] <= data["high"]).all()
        if not ((data["scale"] > 0).all() and rising and data["residual"] > 0):
            raise ValueError("start: scales must be above 0, and low not above high")
