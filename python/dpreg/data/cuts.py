"""Public times that divide time into intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import unusable, write
from dpreg.base.options import is_number

MOST_CUTS = 1000


def edges_of(cuts: object, start: object, most: int = MOST_CUTS) -> Doubles:
    """Return where intervals end, the first being the beginning of all."""
    wanted = f"increasing finite numbers, at most {most}"
    like = (*write("cuts", [90, 180, 365]), ", for example")
    several = isinstance(cuts, Iterable) and not isinstance(cuts, (str, bytes, Mapping))
    several &= getattr(cuts, "ndim", 1) > 0
    # One more than there may be: an iterable need not end.
    values: list[Any] = list(itertools.islice(cuts, most + 1)) if several else []  # type: ignore[call-overload]
    if not values or len(values) > most or not all(map(_real, values)):
        raise unusable("cuts", wanted, cuts, like)
    if any(a >= b for a, b in itertools.pairwise(values)):
        raise unusable("cuts", wanted, cuts, like)
    if not _real(start) or not start < values[0]:
        wanted = f"a number below the first cut, {values[0]:g}"
        raise unusable(
            "start", wanted, start, write("start", ...), "leave out cuts that are not above it"
        )
    return np.array([start, *values], dtype=np.float64)


def _real(value: object) -> bool:
    return is_number(value) and math.isfinite(value)
