"""`make audit`: everything that `make test` checks in little, at full size, with a report.

The audits with ten times the runs; thousands of whole calls of each method; every mutant; 5,000
replays of neighbouring tables, and how soon replays find mutants; batteries on the generator; 1,000
kills of processes that write a ledger; how long fits of neighbouring tables take; random inputs;
and each fuzzer for a minute.

``--parts fuzzers`` runs a part alone, ``--out FILE`` adds what is printed to a file.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from audit.mutants import MUTANTS
from audit.replayed import SEEN, found_after
from privacy.ledger.kill_rounds import run

import dpreg
from dpreg import _core
from dpreg.audit import audit, black_box, replay
from dpreg.audit.worlds import hostile_pairs


def claims(options):
    report = audit(full=True)
    return report.holds, str(report)


def calls(options):
    """`dpreg audit --black-box --full`: what is published, with one row and without it."""
    report = black_box(full=True)
    return report.holds, str(report)


def mutants(options):
    """Each under the quick audit, in a process of its own as it changes the package."""
    done = pytest(HERE / "test_mutants.py", "-k", "test_mutant_is_rejected")
    return (
        done.returncode == 0,
        f"{len(MUTANTS)} mutants; a test fails if one is not rejected\n{tail(done)}",
    )


def replays(options):
    """`dpreg audit --replay`: whole calls on neighbours, with the same released numbers."""
    report = replay(500 * options.times)
    return report.holds, str(report)


def replayed_mutants(options):
    """Reported, not judged, as `mutants` is: how soon the replay finds each, the newest first."""
    pairs, end = 30 * options.times, time.monotonic() + options.seconds
    after = {}
    for mutant in reversed(SEEN):
        if time.monotonic() > end:
            break
        after[mutant.name] = (found_after(mutant, pairs) or (math.inf,))[0]
        print(f"{after[mutant.name]:g}  {mutant.name}", file=sys.stderr, flush=True)
    found = sum(number < math.inf for number in after.values())
    lines = [f"{after[name]:>5g}  {name}" for name in sorted(after, key=after.__getitem__)]
    tried = f"{len(after)} mutants tried of {len(SEEN)}"
    return True, "\n".join([f"{found} found in {pairs} pairs, {tried}; after so many:", *lines])


def ledger(options):
    with tempfile.TemporaryDirectory() as scratch:
        tally = run(1000, scratch)
    return not tally.lost and not tally.overspent, str(tally)


def inputs(options):
    """Hypothesis tests of tests/test_hostile.py: tables, units, formulas, JSON, selections."""
    done = pytest(
        HERE.parent / "test_hostile.py", "-k", "any_ or units_of", DPREG_EXAMPLES=str(options.times)
    )
    # 650 in `make test`.
    return done.returncode == 0, f"{650 * options.times:,} random inputs\n{tail(done)}"


def neighbours(options):
    """tests/boundary: one unit more, in every container and file format."""
    times = 10 * options.times
    done = pytest(HERE.parent / "boundary", DPREG_EXAMPLES=str(times))
    # 12 pairs each in `make test`.
    return done.returncode == 0, f"{12 * times:,} pairs of tables a container\n{tail(done)}"


def pytest(*arguments, **environment):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | environment
    )


def tail(done):
    """What failed, and the count."""
    lines = done.stdout.strip().splitlines()
    return "\n".join([*(x for x in lines[:-1] if x.startswith("FAILED")), *lines[-1:]])


# Tests of dieharder that are quick and need little input; all p-values are shown.
DIEHARDER = ("-d 100", "-d 101", "-d 102 -n 4", "-d 8", "-d 15", "-d 10")
VERDICTS = ("PASSED", "WEAK", "FAILED")


def batteries(options):
    """Dieharder, on the stream that all noise is made of."""
    if shutil.which("dieharder") is None:
        return True, "dieharder is not there (Debian: apt install dieharder): left out"
    lines, bits = [], _core.TestBits(20260101)
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        for _ in range(64):  # 64 MB
            file.write(words(bits, 1 << 17))
        file.flush()
        for test in DIEHARDER:
            command = ["dieharder", "-g", "201", "-f", file.name, *test.split(), "-D", "default"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            verdicts = (x for x in done.stdout.splitlines() if x.rstrip().endswith(VERDICTS))
            lines += [" ".join(x.split()) for x in verdicts]
    return not any(x.endswith("FAILED") for x in lines), "\n".join(lines)


def words(bits, count):
    return np.array([bits.next() for _ in range(count)], dtype=np.uint64).tobytes()


def timing(options):
    """Reported, not judged: time is out of the model (vignettes/privacy_model.py)."""
    pairs = hostile_pairs(2000)
    rows = []
    for method in ("tukey", "adassp", "boosted_adassp"):
        for label in ("an extreme row", "a missing cell"):
            spans = [[], []]
            for repeat in range(30):
                for side, table in enumerate(pairs[label]):
                    start = time.perf_counter()
                    dpreg.dp_lm("y ~ a + b", table, 1.0, 1e-5, method=method, rng=repeat)
                    spans[side].append(time.perf_counter() - start)
            without, having = (1e3 * np.median(s) for s in spans)
            rows.append((method, label, without, having, having / without))
    columns = ["method", "one row more", "ms without", "ms having", "ratio"]
    return True, pd.DataFrame(rows, columns=columns).round(3).to_string(index=False)


def fuzzers(options):
    command = [sys.executable, HERE.parent / "fuzz/run.py", "--seconds", str(options.fuzz_seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout.strip()


PARTS = {
    "claims": ("Claims", claims),
    "calls": ("Whole calls as black boxes", calls),
    "mutants": ("Mutants", mutants),
    "replays": ("Replays of neighbouring tables", replays),
    "replayed_mutants": ("Mutants in replays", replayed_mutants),
    "ledger": ("Ledger under kill -9", ledger),
    "batteries": ("Dieharder on the bits", batteries),
    "timing": ("Time of fits of neighbours", timing),
    "fuzzers": ("Fuzzers", fuzzers),
    "inputs": ("Random inputs", inputs),
    "neighbours": ("Neighbouring tables", neighbours),
}


HEAD = """# Audit report

Made by `tests/audit/full.py --out`, part by part; each says when, and with which version.
"""


def add(path, section):
    text = path.read_text() if path.exists() else HEAD
    path.write_text(f"{text}\n{section}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, help="file to which the report is added")
    parser.add_argument("--fuzz-seconds", type=int, default=60, help="for each fuzzer")
    parser.add_argument(
        "--times", type=int, default=10, help="times 650 random inputs, and 500 pairs"
    )
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="after which no mutant is replayed"
    )
    options = parser.parse_args()
    broken = []
    for part in options.parts:
        title, work = PARTS[part]
        start = time.time()
        fine, text = work(options)
        broken += [] if fine else [title]
        verdict = f"{'Nothing broken' if fine else 'BROKEN'}, {time.time() - start:.0f} s"
        section = f"## {title}\n\n{datetime.date.today()}, dpreg {dpreg.__version__}: {verdict}.\n"
        section += f"\n```\n{text}\n```\n"
        print(section, flush=True)
        if options.out is not None:
            add(options.out, section)
    return bool(broken)


if __name__ == "__main__":
    raise SystemExit(main())
