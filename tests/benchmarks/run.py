"""Run every benchmark and write one report, the goals and what was measured of each first.

Run as ``python tests/benchmarks/run.py [--quick] [--data FOLDER] [--out FILE]``.  Each benchmark
compares with a public tool in the same run; what falls short of its goal stands in the report
like the rest.  Accuracy needs a folder of data sets, see `bench_accuracy.py`; without one it is
skipped, and the report says so.  Quick runs are smaller, which the goals' sizes are not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from goals import table
from measure import processor

HERE = Path(__file__).parent
COVERAGE = HERE.parents[1] / "vignettes" / "coverage.py"
EPS = (0.1, 0.5, math.log(3), 3.0)
# Minutes for intervals, seconds for hostile tables: the rest of an hour is for the others.
COVERAGE_MINUTES, HOSTILE_SECONDS = 8, 180


class Runs:
    """Results as they come: sections of the report, and figures."""

    def __init__(self, folder):
        self.folder, self.sections = folder, []
        self.found = {"figures": {}, "accuracy": {}, "coverage": [], "peers": []}
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, script, *arguments, name=None, text=True):
        """Run a script with --json; return what it wrote there, or None."""
        name = name or script.stem
        output = self.folder / f"{name}.json"
        output.unlink(missing_ok=True)
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, script, *map(str, arguments), "--json", output],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
        failed = f", FAILED with code {done.returncode}" if done.returncode else ""
        said = done.stdout + (done.stderr if done.returncode else "")
        body = f"```text\n{said.strip()}\n```" if text or failed else said.replace("\n#", "\n##")
        self.sections.append(f"## {name}{failed}\n\n{seconds:.0f} s\n\n{body.strip()}\n")
        return json.loads(output.read_text()) if output.exists() else None

    def figures(self, name, *arguments):
        self.found["figures"] |= self.run(HERE / f"{name}.py", *arguments) or {}

    def accuracy(self, data, eps, splits):
        found = self.run(HERE / "bench_accuracy.py", data, "--eps", eps, "--splits", splits,
                         name=f"bench_accuracy_{eps:.2g}", text=False)  # fmt: skip
        if found is not None:
            self.found["accuracy"][round(eps, 3)] = found["table"]


def everything(runs, data, quick):
    flag = ["--quick"] if quick else []
    for name in ("bench_import", "bench_tukey", "bench_boosted", "bench_selection",
                 "bench_frank_wolfe", "bench_scaling", "bench_large"):  # fmt: skip
        runs.figures(name, *flag)
    runs.figures("bench_trust", *flag, "--seconds", HOSTILE_SECONDS)
    grid = ("--grid", "--minutes", COVERAGE_MINUTES, "--runs", 1000, "--jobs", os.cpu_count())
    runs.found["coverage"] = runs.run(COVERAGE, *(() if quick else grid), text=False) or []
    if data is None:
        runs.sections.append("No folder of data sets was given: accuracy was not measured.\n")
        return
    for eps in (math.log(3),) if quick else EPS:
        runs.accuracy(data, eps, 2 if quick else 10)
    if not quick:
        plot = runs.folder / "peers.png"
        runs.found["peers"] = runs.run(
            HERE / "bench_peers.py", data, "--plot", plot, text=False
        ) or []  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/bench.md"))
    options = parser.parse_args()
    start = time.perf_counter()
    load = os.getloadavg()[0]
    data = options.data if options.data is not None and options.data.is_dir() else None
    runs = Runs(options.out.parent / "bench")
    everything(runs, data, options.quick)
    parts = [
        f"# Benchmarks{', quick' if options.quick else ''}\n",
        f"{processor()}, {os.cpu_count()} processors, load {load:.1f} at the start; "
        f"{platform.python_implementation()} {platform.python_version()}; "
        f"{(time.perf_counter() - start) / 60:.0f} minutes in all.\n",
        "## Goals\n",
        "Medians, with ranges; ratios are of times taken in turn in one run."
        + (" **Sizes are smaller than those of the goals.**" if options.quick else "") + "\n",
        "\n".join(table(runs.found, quick=options.quick)) + "\n",
        *runs.sections,
    ]  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
