"""What a published form returns: its outcome, and what may be claimed for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOT_CLAIMED = "published calibration, guarantee not claimed"
NOT_PRIVATE = "published form without noise: not private"


@dataclass(frozen=True, slots=True, eq=False)
class PublishedSelection:
    """Columns chosen by a form as printed.

    Attributes
    ----------
    columns : ndarray of int, shape (k,)
    form : str
        Paper and algorithm.
    claim : str
        What is known of its privacy.
    """

    columns: NDArray[np.intp]
    form: str
    claim: str

    def __str__(self) -> str:
        return f"{self.form}: columns {self.columns.tolist()}\n{self.claim}"

    __repr__ = __str__
