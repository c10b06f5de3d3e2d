"""A sign of life on long work, when somebody is looking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["working"]

# Seconds before anything is shown.
_PATIENCE = 2.0


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show `text` and the time that has passed on stderr, after two seconds, on a terminal.

    Nothing is shown of how far the work has come: that may depend on the records.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(text, total=None)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
