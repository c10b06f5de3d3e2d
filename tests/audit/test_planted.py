"""Ten planted leaks: who refuses each is what planted.py says, and nobody refuses none."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from audit.patches import OPEN
from audit.planted import LEAKS
from audit.replayed import BROKEN
from test_sealed import faults_of, sources

import dpreg
from dpreg import _core
from dpreg.audit import CHECKS, Effort
from dpreg.audit.observed import difference, observe, watch
from dpreg.audit.recordings import Leak as Found
from dpreg.audit.replay import measure
from dpreg.audit.replay_calls import held
from dpreg.audit.replay_tables import random_case

by_name = pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.name)
CASES = 12
ROOT = Path(__file__).parents[2]
TREE = ROOT / "python/dpreg"


@pytest.mark.slow
def test_what_a_type_checker_refuses(tmp_path):
    """One run over the files of all ten, as they come without `opened`, in the places of theirs.

    Of other files it knows what `make lint` has found, if that was run: nine tenths of the time.
    """
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: make lint")
    texts, written = {}, {leak.name: leak.written(leak.plain) for leak in LEAKS}
    for file, source, changed in written.values():
        text = texts.get(file, (TREE / file).read_text())
        assert text.count(source) == 1
        texts[file] = text.replace(source, changed)
    shadows = []
    for number, (file, text) in enumerate(texts.items()):
        copy = tmp_path / f"{number}.py"
        copy.write_text(text)
        shadows += ["--shadow-file", TREE / file, copy]
    known, cache = ROOT / ".mypy_cache", tmp_path / "cache"
    if known.exists():
        shutil.copytree(known, cache)
    files = [TREE / file for file in texts]
    run = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", cache, *shadows, *files],
                         cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    found = re.findall(r"^python/dpreg/(\S+):(\d+): error: (.*)$", run.stdout, re.MULTILINE)
    refused = {}
    for name, (file, _, changed) in written.items():
        first = texts[file][: texts[file].index(changed)].count("\n") + 1
        lines = range(first, first + changed.count("\n"))
        refused[name] = [
            said for where, line, said in found if where == file and int(line) in lines
        ]
    assert {leak.name for leak in LEAKS if leak.mypy} == {n for n, said in refused.items() if said}
    errors = run.stdout.count(": error: ")
    assert errors == len(found) == sum(map(len, refused.values())), run.stdout + run.stderr


def outcome(leak, line, table):
    """Return what the call says of a table when the line is in the place of the old one."""
    with contextlib.ExitStack() as stack:
        leak.apply(line, stack)
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        try:
            leak.call(table, _core.TestBits(7))
        except (TypeError, AttributeError) as error:
            return str(error)
    return ""


def case_of(call, seed):
    rng = np.random.default_rng(seed)
    while True:
        case = random_case(rng, call)
        if len(case.table) == 20:
            return case


@by_name
def test_what_fails_when_it_runs(leak, monkeypatch):
    """With the same words for any table."""
    monkeypatch.setattr(logging, "raiseExceptions", False)
    said = [outcome(leak, leak.plain, case_of(leak.call, seed).table) for seed in (1, 2)]
    assert bool(said[0]) == leak.run
    assert said[0] == said[1]


def test_a_log_of_a_sealed_count_says_nothing():
    (leak,) = (leak for leak in LEAKS if leak.name == "a log line")
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    with contextlib.redirect_stderr(io.StringIO()):
        logging.getLogger("dpreg").addHandler(handler)
        try:
            outcome(leak, leak.plain, case_of(leak.call, 1).table)
        finally:
            logging.getLogger("dpreg").removeHandler(handler)
    assert heard.getvalue() == ""


@by_name
def test_what_the_syntax_of_the_module_tells(leak):
    file, source, changed = leak.written(leak.forced.replace(OPEN, "opened"))
    text = sources()[file].replace(source, changed)
    if OPEN in leak.forced:
        text = f"from dpreg.privacy.sealed import opened\n{text}"
    assert bool(faults_of({**sources(), file: text})) == leak.syntax


@by_name
def test_what_a_replay_finds(leak):
    found = ""
    with contextlib.ExitStack() as stack:
        leak.apply(leak.forced, stack)
        for seed in range(CASES if leak.replay else 3):
            try:
                measure(case_of(leak.call, seed))
            except Found as why:
                found = str(why)
                break
    assert bool(found) == leak.replay
    assert not BROKEN.search(found), found


def probed(call, table):
    """A call whose method releases nothing, as tests/boundary makes it."""
    with held(table, call.container) as data:
        return observe(call.formula, data)


def called(call, table):
    """The call itself: its numbers are released, and so they differ."""
    budget = dpreg.Budget(*call.claim)
    paid = replace(call, options={**call.options, "budget": budget})
    return replace(watch(lambda: paid(table, _core.TestBits(7)), budget), document=None)


@by_name
def test_what_is_seen_beside_released_numbers(leak):
    """With a method that releases nothing no leak is reached: all are in methods, or in sums."""
    found = {probed: [], called: []}
    cases = [case_of(leak.call, seed).pair for seed in range(CASES if leak.boundary else 3)]
    with contextlib.ExitStack() as stack:
        leak.apply(leak.forced, stack)
        for pair in cases:
            tables = sorted(pair, key=len)
            for seen, differences in found.items():
                pairs = (seen(leak.call, table) for table in tables)
                differences.append(difference(*pairs, grouped=False))
    assert not any(found[probed])
    assert any(found[called]) == leak.boundary


def test_noise_that_is_used_again_is_found_by_its_audit():
    (leak,) = (leak for leak in LEAKS if leak.other == "audit: fresh noise")
    with contextlib.ExitStack() as stack:
        leak.apply(leak.plain, stack)
        assert not CHECKS["fresh noise"].run(Effort(0.1, 20260101)).holds


def test_rows_that_count_twice_are_found_beside_a_table_of_one_partition():
    """As tests/data/test_engines.py compares fits."""
    (leak,) = (leak for leak in LEAKS if leak.other == "tests/data/test_engines.py")
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.standard_normal((200, 2)), columns=["y", "x"])

    def fits():
        return [dpreg.dp_lm("y ~ x", data, 5.0, rng=1).to_json()
                for data in (table, dd.from_pandas(table, npartitions=3))]  # fmt: skip

    one, several = fits()
    assert one == several
    with contextlib.ExitStack() as stack:
        leak.apply(leak.plain, stack)
        one, several = fits()
    assert one != several


def test_the_page_says_so():
    page = Path(__file__).parents[2] / "vignettes/site/pages/architecture.md"
    rows = page.read_text().splitlines()
    assert [leak.name for leak in LEAKS if leak.row not in rows] == []


def test_nothing_is_refused_by_nobody():
    for leak in LEAKS:
        assert leak.mypy or leak.run or leak.syntax or leak.replay or leak.other, leak.name
