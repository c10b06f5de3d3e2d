"""The progress of a release, by passes and the clock, and calls with a public duration.

Rows, bytes and blocks are not counted, because their numbers are private.  The number of passes
follows from options and earlier releases, wherever the rows are.  Anyone who can see a clock can
estimate the number of rows, with or without this.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from dpreg.base.errors import unusable
from dpreg.base.options import is_number


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a release; as text, one line.

    Attributes
    ----------
    done : int
        Passes over the rows, of which reading them is the first.
    most : int or None
        Maximum number of passes; None: not known, as for methods that hold all rows in memory.
    seconds : float
        Since the budget was charged.
    pace : float or None
        Average seconds per pass; None until a pass after the first, which reads the rows.
    """

    done: int
    most: int | None
    seconds: float
    pace: float | None

    @property
    def left(self) -> float | None:
        """Upper limit of the remaining seconds, at this pace; None: not known."""
        if self.most is None or self.pace is None:
            return None
        return (self.most - self.done) * self.pace

    def __str__(self) -> str:
        of = "" if self.most is None else f" of at most {self.most}"
        pace = "" if self.pace is None else f", {self.pace:.2g} s per pass"
        left = "" if self.left is None else f", at most {self.left:.0f} s left"
        return f"pass {self.done}{of} over the rows after {self.seconds:.0f} s{pace}{left}"


@dataclass(slots=True)
class _Watch:
    """A release, and the function that receives its progress."""

    show: Callable[[Progress], object]
    done: int = 0
    most: int | None = None
    begun: float = field(default_factory=time.monotonic)
    read: float = 0.0  # When the first pass, that of reading, had ended.


_watched: ContextVar[_Watch | None] = ContextVar("watched", default=None)


@contextmanager
def progress(show: Callable[[Progress], object] | None = None) -> Iterator[None]:
    """Show the progress of releases.

    Parameters
    ----------
    show : callable, optional
        Called with a `Progress` after each pass over the rows; `print`, for example.  Default: a
        line on stderr, if that is a terminal.

    Privacy
    -------
    What is shown depends on options, released values and the clock.  Times reveal something about
    the number of rows, so show a log only to those who may see how long a fit takes.

    Examples
    --------
    >>> import dpreg
    >>> seen = []
    >>> with dpreg.progress(seen.append):
    ...     fit = dpreg.dp_lm("price ~ carat", dpreg.load_diamonds(), eps=1.0)
    >>> seen[-1].done <= seen[-1].most
    True
    """
    terminal = show is None and sys.stderr.isatty()
    told = _on_stderr if terminal else show
    before = _watched.set(None if told is None else _Watch(told))
    try:
        yield
    finally:
        _watched.reset(before)
        if terminal:
            sys.stderr.write("\r\033[K")


def _on_stderr(found: Progress) -> None:
    sys.stderr.write(f"\r\033[Kdpreg: {found}")
    sys.stderr.flush()


def starting() -> None:
    """Say that a release begins."""
    watch = _watched.get()
    if watch is not None:
        _watched.set(_Watch(watch.show))


def expect(passes: int) -> None:
    """Say that at most so many passes follow.  Public."""
    watch = _watched.get()
    if watch is not None:
        watch.most = watch.done + passes


def passed() -> None:
    """Say that all rows have been read, or summed, once more."""
    watch = _watched.get()
    if watch is None:
        return
    now = time.monotonic()
    watch.done += 1
    if watch.done == 1:
        watch.read = now
    pace = (now - watch.read) / (watch.done - 1) if watch.done > 1 else None
    watch.show(Progress(watch.done, watch.most, now - watch.begun, pace))


@contextmanager
def padded(seconds: float) -> Iterator[None]:
    """Make the duration of a block a multiple of `seconds`.

    For services whose users can observe when an answer comes.  Choose `seconds` so that no call
    takes longer; one that does ends at the next multiple.

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
    Include what is done with the result, such as writing it, in the block.  Memory, power, and how
    busy the processor is can still be observed from the same machine.

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
