"""How far long work has come, when somebody is looking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dpreg.base.passes import progress

# Seconds before anything is shown.
_PATIENCE = 2.0


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show `text`, passes over the rows and the time on stderr, after two seconds, on a terminal.

    Of how far the work has come, `dpreg.base.passes` says what may be shown.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(text, total=None)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        with progress(lambda found: bar.update(task, description=f"{text}, {found}")):
            yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
