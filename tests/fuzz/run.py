"""Build and run every fuzzer for a while; print executions and coverage of each.

Needs clang++ with libFuzzer for the C++ targets and atheris for the Python ones; what is not
there is said and left out.  As many run at once as there are processors.

A slow machine fails none: an input may take five minutes, and no executions are asked for.  With
`--fixed` each of the Python targets gets the same inputs on every machine, and no clock decides
what is found: those of `corpus.json`, which reached new code in longer runs, and about as many
others as half a minute is enough for where nothing else runs.  `--keep` adds to it those of them
that reach new code.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/fuzz"
FLAGS = ["-std=c++17", "-O1", "-g", "-pthread", "-ffp-contract=off", "-fno-sanitize-recover=all",
         "-Wno-psabi", f"-I{ROOT / 'cpp/include'}"]  # fmt: skip
# With how many inputs `--fixed` runs them.
PYTHON_TARGETS = {"formula": 3000, "frame": 1000, "json": 1500, "ledger": 2000, "command": 4000}
CORPUS = HERE / "corpus.json"


def build(clang):
    """Compile the core once with coverage, and link each target with libFuzzer."""
    BUILD.mkdir(parents=True, exist_ok=True)
    objects = []
    newest = max(header.stat().st_mtime for header in (ROOT / "cpp/include").rglob("*.hpp"))
    for source in sorted((ROOT / "cpp/src").rglob("*.cpp")):
        target = BUILD / f"{source.parent.name}-{source.stem}.o"
        objects.append(target)
        if not target.exists() or target.stat().st_mtime < max(newest, source.stat().st_mtime):
            sanitize = "-fsanitize=fuzzer-no-link,address,undefined"
            subprocess.run([clang, *FLAGS, sanitize, "-c", source, "-o", target], check=True)
    for source in sorted(HERE.glob("fuzz_*.cpp")):
        program = BUILD / source.stem
        subprocess.run(
            [clang, *FLAGS, "-fsanitize=fuzzer,address,undefined", source, *objects, "-o", program],
            check=True,
        )
        yield program


def kept(scratch):
    """Return the inputs that a fuzzer of Python left in its folder: those that reached new code."""
    found = (p for p in Path(scratch).glob("*/seeds/*") if re.fullmatch("[0-9a-f]{40}", p.name))
    return [base64.b64encode(path.read_bytes()).decode() for path in sorted(found)]


def fuzz(name, command, end, seed, corpus):
    """Run one fuzzer in an empty folder until `end`; return whether it found nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [*command, end, f"-seed={seed}", "-max_len=4000",
             "-print_final_stats=1", "-timeout=300", "-rss_limit_mb=4096"],
            cwd=scratch, env=os.environ | {"TMPDIR": scratch, "PYTHONHASHSEED": "0"},
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        corpus[name] = kept(scratch)
    runs = re.findall(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr + done.stdout)
    said = (
        f"{name:<16} {int(runs[-1]) if runs else 0:>10,} executions, "
        f"{covered[-1] if covered else '?':>6} edges covered"
    )
    if done.returncode != 0:
        said += f"  FAILED\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    print(said, flush=True)
    return done.returncode == 0


def core_targets():
    clang = shutil.which("clang++")
    if clang is None:
        print("clang++ is not there: the C++ targets are left out")
        return
    for program in build(clang):
        yield program.name, [str(program)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--fixed", action="store_true", help="no C++ targets, no clock")
    parser.add_argument("--keep", action="store_true", help="write corpus.json anew")
    given = parser.parse_args()
    clock = f"-max_total_time={given.seconds}"
    targets = [] if given.fixed else [(*target, clock) for target in core_targets()]
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not there (pip install atheris): the Python targets are left out")
    else:
        script = [sys.executable, str(HERE / "fuzz_python.py")]
        for name, inputs in PYTHON_TARGETS.items():
            end = f"-runs={inputs}" if given.fixed else clock
            targets.append((name, [*script, name], end))
    corpus: dict[str, list[str]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        clean = [pool.submit(fuzz, *target, given.seed, corpus) for target in targets]
    if given.keep and corpus.keys() >= PYTHON_TARGETS.keys():
        found = {name: corpus[name] for name in PYTHON_TARGETS}
        CORPUS.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(one.result() for one in clean) else 1


if __name__ == "__main__":
    raise SystemExit(main())
