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
    """Return the name of a type in a message; numpy's text types would show the largest length."""
    return {"U": "text", "S": "bytes"}.get(getattr(dtype, "kind", ""), str(dtype))
