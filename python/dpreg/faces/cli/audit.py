"""`dpreg audit`."""

from __future__ import annotations

import math
import signal
import sys
import time
from pathlib import Path

import click

import dpreg
from dpreg.faces.cli.shell import BROKEN, DONE, INTERRUPTED, command, needs_writable, option

_PAIRS = 1000


@command(
    "dpreg audit",
    "dpreg audit --replay --pairs 5000 --json replay.json",
    "dpreg audit --replay --pairs 5000 --first 3961",
    "dpreg audit --black-box --full",
)
@click.option("--full", is_flag=True, help="Run the full audit, which takes minutes; with "
              "--black-box about an hour.")  # fmt: skip
@click.option("--replay", is_flag=True, help="Instead, call every public function on pairs of "
              "neighbouring tables with the same released numbers, and compare all sums with "
              "their sensitivities.")  # fmt: skip
@click.option("--black-box", is_flag=True, help="Instead, call each method hundreds of times with "
              "one row and without it, and bound eps from below by how well the results are "
              "distinguished.")  # fmt: skip
@option("pairs", click.IntRange(min=1), f"Number of pairs to replay.  [default: {_PAIRS}]")
@option("first", click.IntRange(min=1),
        "Number of the first pair, to go on where a replay was stopped.  [default: 1]")  # fmt: skip
@option("seconds", click.FloatRange(min=0), "Time after which no new pair is replayed.")
@option("json", str, "Write the replay as JSON; - for standard output.", metavar="FILE")
@option("seed", int, "Random seed of the runs.", default=20260101)
def audit(
    full: bool,
    replay: bool,
    black_box: bool,
    pairs: int | None,
    first: int | None,
    seconds: float | None,
    json: str | None,
    seed: int,
) -> int:
    """Check the privacy claims of this installation.

    The exit code is 1 if a claim is broken.  An interrupted replay reports the pairs completed so
    far.
    """
    if replay:
        for name, used in (("--full", full), ("--black-box", black_box)):
            if used:
                raise click.UsageError(f"{name} cannot be used together with --replay")
        most = math.inf if seconds is None else seconds
        last, begin = pairs or _PAIRS, first or 1
        if begin > last:
            raise click.UsageError(f"--first {begin:,} is after the last of --pairs {last:,}")
        return _replay(last, begin, most, json, seed)
    of_replays = {"--pairs": pairs, "--first": first, "--seconds": seconds, "--json": json}
    for name, value in of_replays.items():
        if value is not None:
            raise click.UsageError(f"{name} needs --replay")
    made = dpreg.audit.black_box if black_box else dpreg.audit.audit
    report = made(
        full=full, seed=seed, progress=lambda name: print(f"dpreg: {name}", file=sys.stderr)
    )
    print(report)
    return DONE if report.holds else BROKEN


def _replay(pairs: int, first: int, seconds: float, json: str | None, seed: int) -> int:
    needs_writable(json, "--json")
    replay, start = dpreg.audit.replay, time.monotonic()

    def progress(number: int) -> None:
        done = number - first
        if done and done % 100 == 0:
            minutes = (time.monotonic() - start) / done * (pairs - number + 1) / 60
            said = f"{number - 1:,} of {pairs:,} pairs, {minutes:,.0f} min left"
            print(f"dpreg: {said}", file=sys.stderr)

    # What ends a process that runs in the background stops it as Ctrl-C does.
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        report = replay(pairs, first=first, seconds=seconds, seed=seed, progress=progress)
    finally:
        signal.signal(signal.SIGTERM, usual)
    if json == "-":
        print(report.to_json())
    else:
        if json is not None:
            Path(json).write_text(report.to_json() + "\n", encoding="utf-8")
        print(report)
    if not report.holds:
        return BROKEN
    return INTERRUPTED if report.interrupted else DONE
