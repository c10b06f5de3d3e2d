"""Calls that take the same time whatever the records are."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dpreg.base.errors import unusable
from dpreg.base.options import is_number


@contextmanager
def padded(seconds: float) -> Iterator[None]:
    """Let a block end only a multiple of `seconds` after it began.

    For services that answer strangers, who see when an answer comes.  Choose `seconds` so that
    no call takes longer; one that does ends at the next multiple.

    Parameters
    ----------
    seconds : float
        Greater than 0.

    Raises
    ------
    ValueError
        If `seconds` is not greater than 0 and finite.

    Privacy
    -------
    The time of the block shows how many times `seconds` it took and nothing else about the records,
    whether a result was released, the mechanism declined, or an error was raised after the charge.
    Put what follows from the result, such as writing it, into the block too.  Memory, power, and
    how busy the processor is can still be observed from the same machine.

    Examples
    --------
    >>> import dpreg
    >>> with dpreg.padded(2.0):
    ...     text = dpreg.dp_lm("price ~ carat", dpreg.load_diamonds(), eps=1.0).to_json()
    """
    if not (is_number(seconds) and 0 < seconds < math.inf):
        raise unusable("seconds", "greater than 0 and finite", seconds)
    start = time.monotonic()
    try:
        yield
    finally:
        taken = time.monotonic() - start
        end = start + max(1, math.ceil(taken / seconds)) * seconds
        # Sleeping may end early where the clock is coarse.
        while (left := end - time.monotonic()) > 0:
            time.sleep(left)
