"""Types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
# Integers that are added up: any order gives the same.
Sums = NDArray[np.int64]


def named(dtype: Any) -> str:
    """Return what a message calls a type: those of text of numpy have the length of the longest."""
    return {"U": "text", "S": "bytes"}.get(getattr(dtype, "kind", ""), str(dtype))
