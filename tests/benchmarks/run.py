"""Run every benchmark and write one report, the goals and what was measured of each first.

Run as ``python tests/benchmarks/run.py [--quick] [--data FOLDER] [--out FILE] [--commit] [--only
NAMES]``.  Each benchmark compares with a public tool in the same run; what falls short of its goal
stands in the report like the rest.  Accuracy needs a folder of data sets, see `bench_accuracy.py`;
without one it is skipped, and the report says so.  Quick runs are smaller, which the goals' sizes
are not.

A run that is not quick fails if a benchmark does, or if a figure has got worse than that in
``figures.json`` by the rule of `regressions.py`, for which benchmarks of what looks worse are run
once more.  With --commit it writes that file, the report
and the tables that benchmarks make, as pages of the site.  With --only, the others are as the
last run left them beside the report; those that it did not run are left out, and the report says
so, which is then not one to commit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from goals import table
from measure import Sheet, processor
from regressions import RULE, compare, shown, with_runs

HERE = Path(__file__).parent
COVERAGE = HERE.parents[1] / "vignettes" / "coverage.py"
COMMITTED = HERE / "figures.json"
LN3 = math.log(3)
# Minutes for intervals, seconds for hostile tables: the rest of an hour is for the others.
COVERAGE_MINUTES, HOSTILE_SECONDS = 6, 60
SPLITS, PEER_SPLITS, REPEATS, LIMIT_RUNS = 3, 5, 3, 3


class Runs:
    """Results as they come: sections of the report, and figures."""

    def __init__(self, folder, only=()):
        self.folder, self.only, self.again = folder, only, []
        self.sections, self.pages, self.failed, self.left_out = [], [], [], []
        self.made = {}  # of each figure: how to measure it again
        self.seconds = 0.0
        self.found = {"figures": {}, "accuracy": {}, "coverage": [], "peers": []}
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, script, *arguments, name=None, text=True, page=None, threads=1):
        """Run a script with --json; return what it wrote there, or None.

        `page` is the file that it is told to write its table to, which the report then links.
        `threads` of linear algebra: None leaves it to the script, which times it.
        """
        name = name or script.stem
        if page is not None:
            self.pages.append(self.folder / page)
            arguments = (*arguments, "--out", self.folder / page)
        output, kept = (self.folder / f"{name}{end}" for end in (".json", ".section.json"))
        if self.only and name not in self.only:
            if not kept.exists():
                self.left_out.append(name)
                return None
            section = json.loads(kept.read_text())
        else:
            output.unlink(missing_ok=True)
            section = self._section(script, name, (*arguments, "--json", output), threads, text)
            section["alone"] = bool(self.only)
            kept.write_text(json.dumps(section))
        self.again += [name] if section["alone"] else []
        self.seconds += section["seconds"]
        self.failed += [f"- {name} failed."] if section["failed"] else []
        linked = page is not None and not section["failed"]
        body = f"[The table]({page})." if linked else section["said"]
        failed = ", FAILED" if section["failed"] else ""
        self.sections.append(f"## {name}{failed}\n\n{section['seconds']:.0f} s\n\n{body}\n")
        return json.loads(output.read_text()) if output.exists() else None

    def _section(self, script, name, arguments, threads, text):
        """Run it; return its seconds, whether it failed, and what it said in Markdown."""
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, script, *map(str, arguments)],
            capture_output=True, text=True, check=False,
            env=os.environ | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)}),
        )  # fmt: skip
        seconds = time.perf_counter() - start
        print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
        failed = done.returncode != 0
        said = (done.stdout + (done.stderr if failed else "")).strip()
        fenced = f"```text\n{said}\n```" if text or failed else said.replace("\n#", "\n##")
        return {"seconds": seconds, "failed": failed, "said": fenced}

    def figures(self, name, *arguments, page=None, threads=1):
        script = HERE / f"{name}.py"
        found = self.run(script, *arguments, page=page, threads=threads) or {}
        self.found["figures"] |= found
        self.made |= dict.fromkeys(found, (script, arguments, threads))

    def once_more(self, keys):
        """Return these figures of a second run of their benchmarks, which changes no page."""
        found, output = {}, self.folder / "once_more.json"
        for script, arguments, threads in dict.fromkeys(
            self.made[k] for k in keys if k in self.made
        ):
            output.unlink(missing_ok=True)
            again = (*arguments, "--json", output)
            section = self._section(script, f"{script.stem} again", again, threads, text=True)
            self.seconds += section["seconds"]
            found |= json.loads(output.read_text()) if output.exists() else {}
        return {key: found[key] for key in keys if key in found}

    def accuracy(self, data, eps, splits):
        found = self.run(HERE / "bench_accuracy.py", data, "--eps", eps, "--splits", splits,
                         name=f"bench_accuracy_{eps:.2g}", text=False)  # fmt: skip
        if found is not None:
            self.found["accuracy"][round(eps, 3)] = found["table"]

    def peers(self, data):
        """Keep all scores, and the share of OLS of `auto` at eps = 1 as figures."""
        from bench_peers import scores

        picture = self.folder / "peers.png"
        self.pages.append(picture)
        found = self.run(HERE / "bench_peers.py", data, "--splits", PEER_SPLITS, "--plot", picture,
                         page="peers.md") or []  # fmt: skip
        sheet = Sheet()
        for row in found:
            ours, ols = (scores(row["results"], m, 1.0) for m in ("auto", "OLS"))
            if np.isfinite(ours).all():
                sheet.add(f"auto_{row['name']}", ours / ols, f"{row['name']}, R2 of auto over OLS",
                          better="more")  # fmt: skip
        self.found["peers"] = found
        self.found["figures"] |= sheet.figures


def everything(runs, data, quick):
    flag = ["--quick"] if quick else []
    for name in ("bench_import", "bench_tukey", "bench_boosted", "bench_selection",
                 "bench_frank_wolfe", "bench_scaling", "bench_large"):  # fmt: skip
        runs.figures(name, *flag, threads=None)
    runs.figures("bench_roofline", *flag, page="roofline.md", threads=None)
    runs.figures("bench_binagg", *flag, "--jobs", os.cpu_count(), page="binagg.md")
    known = () if data is None else ("--data", data)
    runs.figures("bench_limit", *flag, *known, "--runs", LIMIT_RUNS, page="limit.md")
    runs.figures("bench_trust", *flag, "--seconds", HOSTILE_SECONDS)
    grid = ("--grid", "--minutes", COVERAGE_MINUTES, "--runs", 1000, "--jobs", os.cpu_count())
    runs.found["coverage"] = runs.run(COVERAGE, *(() if quick else grid), text=False) or []
    if data is None:
        runs.sections.append("No folder of data sets was given: accuracy was not measured.\n")
        return
    runs.accuracy(data, LN3, 2 if quick else SPLITS)
    if not quick:
        runs.figures("bench_glm", "--data", data, "--repeats", REPEATS, page="glm.md")
        runs.peers(data)


def regressions(runs):
    """Return lines of the report on the committed figures, and those of what regressed."""
    if not COMMITTED.exists():
        return ["No figures are committed."], []
    committed = json.loads(COMMITTED.read_text())
    worse, compared = compare(runs.found["figures"], committed["figures"])
    again = runs.once_more(list(worse))
    still, _ = compare(again, committed["figures"])
    found_again = [
        f"{line} Again: {shown(again[key])}." for key, line in worse.items() if key in again
    ]
    # What could not be measured again stays regressed.
    regressed = [line for key, line in worse.items() if key in still or key not in again]
    about = f"{compared} figures compared, committed by: {committed['about']}"
    said = [RULE, "", about, "", *(regressed or ["None regressed."])]
    if found_again:
        said += ["", "Worse in one run, and measured again:", "", *found_again]
    return said, regressed


def commit(runs, about, report):
    before = json.loads(COMMITTED.read_text()) if COMMITTED.exists() else {}
    same = before.get("processor") == processor()
    figures = {
        "about": about,
        "processor": processor(),
        "figures": with_runs(runs.found["figures"], before["figures"] if same else {}),
    }
    COMMITTED.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (HERE / "report.md").write_text(report, encoding="utf-8")
    for page in runs.pages:
        if page.exists():
            shutil.copy(page, HERE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/bench.md"))
    parser.add_argument("--commit", action="store_true")
    parser.add_argument("--only", nargs="+", default=())
    options = parser.parse_args()
    load = os.getloadavg()[0]
    data = options.data if options.data is not None and options.data.is_dir() else None
    runs = Runs(options.out.parent / "bench", options.only)
    everything(runs, data, options.quick)
    quick = (["Quick runs are not compared."], [])
    said, worse = quick if options.quick else regressions(runs)
    about = (
        f"{time.strftime('%Y-%m-%d')}; {processor()}, {os.cpu_count()} processors, "
        f"load {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end; "
        f"{platform.python_implementation()} {platform.python_version()}; "
        f"{runs.seconds / 60:.0f} minutes in all."
        + (f" Run by themselves: {', '.join(runs.again)}." if runs.again else "")
        + (f" **Left out: {', '.join(runs.left_out)}.**" if runs.left_out else "") + "\n"
    )  # fmt: skip
    parts = [
        f"# Benchmarks{', quick' if options.quick else ''}\n",
        about,
        "## Goals\n",
        "Medians, with ranges; ratios are of times taken in turn in one run."
        + (" **Sizes are smaller than those of the goals.**" if options.quick else "") + "\n",
        "\n".join(table(runs.found, quick=options.quick)) + "\n",
        "## Regressions\n",
        "\n".join([*said, *runs.failed]) + "\n",
        *runs.sections,
    ]  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {options.out}", file=sys.stderr)
    if options.commit and runs.left_out:
        sys.exit(f"not committed, as these were not run: {', '.join(runs.left_out)}")
    if options.commit:
        commit(runs, about.strip(), "\n".join(parts))
    if not options.quick and (worse or runs.failed):
        sys.exit("\n".join(["worse than committed, or failed:", *worse, *runs.failed]))


if __name__ == "__main__":
    main()
