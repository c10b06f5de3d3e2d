"""Arrays of every shape, layout and content."""

from __future__ import annotations

import numpy as np

N, D = 30, 9
HUGE = (1e308, -1e308, 1.7976931348623157e308, 1e300)
ODD = (np.nan, np.inf, -np.inf, 5e-324, -0.0)


def table(n=N, d=D, odd=()):
    """Return regressors and a response, every few cells being odd."""
    random = np.random.default_rng(n + d)
    x, y = random.standard_normal((n, d)), random.standard_normal(n)
    for cells in (x.ravel(), y):
        for k, cell in enumerate(odd):
            cells[k::7] = cell
    return x, y


def misaligned(array):
    """Return a copy that begins at an odd address."""
    room = np.zeros(array.nbytes + 8, dtype=np.uint8)
    at = (1 - room.ctypes.data) % 8
    copy = room[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def spread(array):
    """Return a view with gaps between all numbers."""
    wide = np.zeros([2 * size for size in array.shape])
    part = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    part[...] = array
    return part


def turned(array):
    """Return a view that goes backwards in memory."""
    back = tuple(slice(None, None, -1) for _ in array.shape)
    return np.ascontiguousarray(array[back])[back]


LAYOUTS = {
    "misaligned": misaligned, "spread": spread, "turned": turned, "columns": np.asfortranarray,
    "swapped": lambda array: array.astype(">f8"), "read only": lambda array: frozen(array),
}  # fmt: skip


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


TABLES = {
    "plain": table(), "no rows": table(0), "one row": table(1), "two rows": table(2),
    "no columns": table(N, 0), "nothing": table(0, 0), "one column": table(N, 1),
    "many rows": table(1500, 3), "many columns": table(3, 70), "huge": table(odd=HUGE),
    "odd": table(odd=ODD), "odd and huge": table(100, 17, ODD + HUGE),
    "one cell": (np.broadcast_to(1.5, (N, D)), np.broadcast_to(0.5, N)),
}  # fmt: skip
