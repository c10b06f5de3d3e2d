"""Run every benchmark and write one report.

Run as ``python tests/benchmarks/run.py [--quick] [--data FOLDER] [--out FILE]``.  Each benchmark
compares with a public tool in the same run; what falls short of its goal stands in the report
like the rest.  Accuracy needs a folder of data sets, see `bench_accuracy.py`.
"""

from __future__ import annotations

import argparse
import math
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
QUICK = ("bench_boosted", "bench_tukey")
ALL = (*QUICK, "bench_selection", "bench_frank_wolfe")


def run(script, *arguments):
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, HERE / f"{script}.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + (done.stderr if done.returncode else "")
    seconds = time.perf_counter() - start
    print(f"{script}: {seconds:.0f} s", file=sys.stderr, flush=True)
    failed = f", FAILED with code {done.returncode}" if done.returncode else ""
    return f"## {script}{failed}\n\n{seconds:.0f} s\n\n```text\n{text.strip()}\n```\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/bench.md"))
    options = parser.parse_args()
    parts = [f"# Benchmarks\n\n{platform.machine()}, {platform.python_implementation()} "
             f"{platform.python_version()}\n"]  # fmt: skip
    parts += [run(script) for script in (QUICK if options.quick else ALL)]
    if options.data is not None and options.data.is_dir():
        splits = 3 if options.quick else 10
        for eps in (math.log(3),) if options.quick else (0.1, 0.5, math.log(3), 3.0):
            parts.append(run("bench_accuracy", options.data, "--eps", eps, "--splits", splits))
    else:
        parts.append("No folder of data sets was given: accuracy was not measured.\n")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
