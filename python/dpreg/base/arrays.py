"""Types of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
# Integers that are added up: any order gives the same.
Sums = NDArray[np.int64]
