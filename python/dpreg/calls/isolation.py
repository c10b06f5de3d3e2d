"""Functions of a user that are called on records: nothing they say is heard, nothing is carried on.

What such a function prints, logs or warns of is about the records that it was given, and so is how
many numbers it drew before the next one is called.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import FrameType

import numpy as np
from numpy.random import mtrand

# What is changed is the whole process's: who changed it second must be the first to put it back.
_TURN = threading.RLock()


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Let nothing be printed, logged or warned of.

    Neither by Python nor by a library in C, nor by a program that is started: whatever this process
    writes to its standard output and error meanwhile is lost.  Threads take turns.
    """
    silent = io.StringIO()
    with (
        _TURN,
        open(os.devnull, "wb") as nowhere,
        redirected(1, nowhere.fileno()),
        redirected(2, nowhere.fileno()),
        warnings.catch_warnings(action="ignore"),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(silent),
        contextlib.redirect_stderr(silent),
    ):
        level = logging.root.manager.disable
        logging.disable(sys.maxsize)
        try:
            yield
        finally:
            _flush()
            logging.disable(level)


@contextlib.contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Start the generators that Python and numpy share with everybody anew, and put them back.

    seed: in [0, 2**32).
    """
    # Those that statistics of other packages draw from when they are given none.
    of_python, of_numpy = random.getstate(), mtrand.get_bit_generator()
    random.seed(seed)
    mtrand.set_bit_generator(np.random.MT19937(seed))
    try:
        yield
    finally:
        random.setstate(of_python)
        mtrand.set_bit_generator(of_numpy)


@contextlib.contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Yield what says whether there was an interrupt, so that the user stops the process.

    A function may raise `KeyboardInterrupt` itself.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: False  # Python interrupts the main thread only, and not if it is told not to
        return
    stopped = threading.Event()

    def heard(number: int, frame: FrameType | None) -> None:
        stopped.set()
        before(number, frame)

    signal.signal(signal.SIGINT, heard)
    try:
        yield stopped.is_set
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def redirected(descriptor: int, to: int) -> Iterator[None]:
    """Write elsewhere what goes to a descriptor of this process, whoever writes it."""
    _flush()
    try:
        kept = os.dup(descriptor)
    except OSError:  # it is closed
        yield
        return
    os.dup2(to, descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


def _flush() -> None:
    """Write what Python and C have in their buffers, so that each part goes where it belongs."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()  # type: ignore[union-attr]
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).fflush(None)
