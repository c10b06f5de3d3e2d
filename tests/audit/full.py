"""`make audit`: everything that `make test` checks in little, at full size, with a report.

The audits with ten times the runs and with runs of whole fits; every mutant; batteries on
the generator; 1,000 kills of processes that write a ledger; how long fits of neighbouring
tables take; and each fuzzer for some seconds.
"""

from __future__ import annotations

import argparse
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

import dpreg
from dpreg import _core
from dpreg.audit import audit
from dpreg.audit.worlds import hostile_pairs


def heading(title):
    print(f"\n{title}\n{'=' * len(title)}", flush=True)


def claims():
    report = audit(full=True)
    print(report)
    return report.holds


def mutants():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
               str(HERE / "test_mutants.py")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout.strip().splitlines()[-1])
    return done.returncode == 0


def ledger():
    from ledger.kill_rounds import run

    with tempfile.TemporaryDirectory() as scratch:
        tally = run(1000, scratch)
    print(tally)
    return not tally.lost and not tally.overspent


# Tests of dieharder that are quick and need little input; all p-values are shown.
DIEHARDER = ("-d 100", "-d 101", "-d 102 -n 4", "-d 8", "-d 15", "-d 10")


def batteries():
    """Dieharder, on the stream that all noise is made of."""
    if shutil.which("dieharder") is None:
        print("dieharder is not there (Debian: apt install dieharder): left out")
        return True
    clean = True
    bits = _core.TestBits(20260101)
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        for _ in range(64):  # 64 MB
            file.write(words(bits, 1 << 17))
        file.flush()
        for test in DIEHARDER:
            command = ["dieharder", "-g", "201", "-f", file.name, *test.split(), "-D", "default"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            for line in done.stdout.splitlines():
                if line.rstrip().endswith(("PASSED", "WEAK", "FAILED")):
                    print("  " + " ".join(line.split()))
                    clean &= not line.rstrip().endswith("FAILED")
    return clean


def words(bits, count):
    return np.array([bits.next() for _ in range(count)], dtype=np.uint64).tobytes()


def timing():
    """Reported, not judged: time is out of the model (vignettes/privacy_model.py)."""
    pairs = {pair.label: pair for pair in hostile_pairs(2000)}
    rows = []
    for method in ("tukey", "adassp", "boosted_adassp"):
        for label in ("an extreme row", "a missing cell"):
            pair = pairs[label]
            spans = [[], []]
            for repeat in range(30):
                for side, table in enumerate((pair.without, pair.having)):
                    start = time.perf_counter()
                    dpreg.dp_lm("y ~ a + b", table, 1.0, 1e-5, method=method, rng=repeat)
                    spans[side].append(time.perf_counter() - start)
            without, having = (1e3 * np.median(s) for s in spans)
            rows.append((method, label, without, having, having / without))
    columns = ["method", "one row more", "ms without", "ms having", "ratio"]
    print(pd.DataFrame(rows, columns=columns).round(3).to_string(index=False))
    return True


def fuzzers(seconds):
    command = [sys.executable, str(HERE.parent / "fuzz/run.py"), "--seconds", str(seconds)]
    return subprocess.run(command, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fuzz-seconds", type=int, default=15, help="for each fuzzer")
    seconds = parser.parse_args().fuzz_seconds
    broken = []
    for title, part in (
        ("Claims", claims),
        ("Mutants", mutants),
        ("Ledger under kill -9", ledger),
        ("Dieharder on the bits", batteries),
        ("Time of fits of neighbours", timing),
        ("Fuzzers", lambda: fuzzers(seconds)),
    ):
        heading(title)
        start = time.time()
        if not part():
            broken.append(title)
        print(f"({time.time() - start:.0f} s)", flush=True)
    heading("Broken: " + ", ".join(broken) if broken else "Nothing broken")
    return bool(broken)


if __name__ == "__main__":
    raise SystemExit(main())
