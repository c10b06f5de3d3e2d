"""What all benchmarks share: paired times, and figures that a machine can read.

A ratio is taken of times that alternate, a pair at a time, so that other jobs of the machine
slow both down; its median, least and most are of the pairs.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np


def seconds(work, clock=time.perf_counter):
    start = clock()
    work()
    return clock() - start


def paired(first, second, repeats, clock=time.perf_counter):
    """Return the times of both, shape (repeats, 2)."""
    return np.array([[seconds(first, clock), seconds(second, clock)] for _ in range(repeats)])


def with_better_blas(work):
    """Return `work` with as many BLAS threads as one trial each finds faster: one or all.

    On a machine that does other things, threads that wait for each other can be slower.
    """
    from threadpoolctl import threadpool_limits

    def limited(threads):
        def run():
            with threadpool_limits(threads, "blas"):
                work()

        return run

    choices = [limited(1), limited(None)]
    return choices[int(np.argmin([seconds(choice) for choice in choices]))]


def processor():
    """Return what Linux calls the processor, and the instruction sets that kernels use there."""
    from dpreg import _core

    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    sets = ", ".join(choice.name for choice in _core.testing.instruction_sets())
    return f"{names[0] if names else platform.machine()}; instruction sets {sets}"


@contextmanager
def instructions(choice):
    """Use an instruction set of `_core`, and what was used before afterwards."""
    from dpreg import _core

    before = _core.testing.instructions_in_use()
    _core.testing.use_instructions(choice)
    try:
        yield
    finally:
        _core.testing.use_instructions(before)


def spread(values, unit=""):
    values = np.asarray(values, dtype=float)
    middle, least, most = np.median(values), values.min(), values.max()
    text = f"{middle:.3g}{unit}"
    return text if least == most else f"{text} ({least:.3g} to {most:.3g})"


class Sheet:
    """Figures by key, printed as they are found."""

    def __init__(self):
        self.figures = {}

    def add(self, key, values, text, note="", *, better=None):
        """Keep the median and the range of `values`, one or many; `text` says of what.

        `better` is "less" or "more" for what `regressions.py` compares with committed figures.
        """
        values = np.atleast_1d(np.asarray(values, dtype=float))
        self.figures[key] = {
            "median": float(np.median(values)),
            "least": float(values.min()),
            "most": float(values.max()),
            "text": text,
            "note": note,
            "better": better,
        }
        print(f"{text}: {spread(values)}{' ' + note if note else ''}", flush=True)

    def ratio(
        self, key, ours, public, repeats, text, *, faster=True, clock=time.perf_counter
    ):  # fmt: skip
        """Time both in pairs; keep public / ours, or ours / public if not `faster`.

        Work on one thread can be timed by `time.process_time`, which other jobs of the
        machine change less than the clock on the wall.
        """
        times = paired(ours, public, repeats, clock)
        values = times[:, 1] / times[:, 0] if faster else times[:, 0] / times[:, 1]
        note = f"[{spread(times[:, 0], ' s')}; {spread(times[:, 1], ' s')}]"
        better = "more" if faster else "less"
        self.add(key, values, text, note, better=better if repeats >= 3 else None)
        return times

    def write(self, path):
        if path is not None:
            Path(path).write_text(json.dumps(self.figures, indent=1), encoding="utf-8")


def write_table(title, about, header, rows, out=None, words=1):
    """Print a page of Markdown with one table; write it to `out` if that is given.

    The first columns, `words` of them, are of words, the others of numbers.
    """
    write_page(f"# {title}\n\n{about}\n\n{markdown(header, rows, words)}\n", out)


def markdown(header, rows, words=1):
    """Return a table in Markdown, the first columns of words and the others of numbers."""
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|" + "---|" * words + "--:|" * (len(header) - words))
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def write_page(text, out=None):
    """Print a page; write it to `out` if that is given, and below it the commit it is of."""
    print(text)
    if out:
        Path(out).write_text(f"{text}\nMeasured with {engine()}.\n", encoding="utf-8")


def engine():
    """Return the last commit that changed the package."""
    root = Path(__file__).parents[2]
    asked = ["git", "log", "-1", "--format=%h", "--", "python/dpreg", "cpp"]
    done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=False)
    return f"the package of commit {done.stdout.strip() or 'unknown'}"


def options(description, **extra):
    """Return what `extra` names with its default."""
    return _parser(description, extra).parse_args()


def arguments(description, **extra):
    """Return --quick and --json too, for figures."""
    parser = _parser(description, extra)
    parser.add_argument("--quick", action="store_true", help="smaller, for a first look")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser.parse_args()


def _parser(description, extra):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for name, default in extra.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser
