"""Units of several rows, for methods that bound the change by one row."""

from __future__ import annotations

import numpy as np

from dpreg import _core
from dpreg.design import Design

__all__ = ["check_max_rows", "sample_rows"]


def check_max_rows(max_rows: int) -> None:
    """Refuse a bound on the rows of a unit that is no positive integer."""
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise ValueError(
            f"max_rows must be an integer, 1 or more: rows that one unit may give, got {max_rows!r}"
        )


def sample_rows(design: Design, max_rows: int, bits: _core.BitSource) -> Design:
    """Keep at most `max_rows` random rows of each unit; a row is a unit of the result.

    Parameters
    ----------
    design : Design
        Private.
    max_rows : int
        Public.
    bits : BitSource

    Returns
    -------
    Design
        Of rows: adding or removing a unit of `design` adds or removes at most `max_rows` of
        them, given the random numbers of the other units.
    """
    if design.units is None:
        return design
    keys = _core.uniform_open(bits, len(design.units.rows))
    offsets = design.units.offsets.astype(np.int64)
    unit = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((keys, unit))
    place = np.arange(len(order)) - offsets[unit]
    kept = np.sort(design.units.rows[order[place < max_rows]])
    return Design(design.X[kept], design.y[kept], design.terms)
