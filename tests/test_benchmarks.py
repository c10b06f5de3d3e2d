"""The benchmarks say what was measured: figures, medians with failures, verdicts."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "benchmarks"))

import bench_peers
import goals
import measure
from public_bounds import KNOWN, bounds_of

NOTHING = {"figures": {}, "accuracy": {}, "coverage": [], "peers": []}


def verdicts(found):
    return {goal.text: goal.judge(found) for goal in goals.GOALS}


def test_a_sheet_keeps_median_and_range(tmp_path, capsys):
    sheet = measure.Sheet()
    sheet.add("import", [1.0, 4.0, 2.0], "import")
    sheet.write(tmp_path / "figures.json")
    found = json.loads((tmp_path / "figures.json").read_text())["import"]
    assert (found["median"], found["least"], found["most"]) == (2.0, 1.0, 4.0)
    assert "2 (1 to 4)" in capsys.readouterr().out
    assert not verdicts(NOTHING | {"figures": {"import": found}})[
        "import dpreg: 1.3 times numpy, scipy, pandas"
    ].met


def test_what_did_not_run_is_not_judged():
    assert all(verdict.met is None for verdict in verdicts(NOTHING).values())
    text = "\n".join(goals.table(NOTHING, quick=False))
    assert f"Met 0, not met 0, not judged {len(goals.GOALS)}." in text


def rows(**shares):
    return [
        {"name": name, "n": 9000, "d": 3, "scores": {"ols": [0.8] * 3, "auto": [0.8 * s] * 3}}
        for name, s in shares.items()
    ]


@pytest.mark.parametrize(
    ("shares", "met"),
    [
        ((1.0, 1.0, 0.96, 0.95, 0.81), (True, True, True)),
        ((1.0, 1.0, 0.96, 0.94, 0.81), (False, True, True)),
        ((1.0, 1.0, 1.0, 1.0, 0.79), (True, False, True)),
        ((1.0, 1.0, 1.0, 1.0, math.nan), (True, False, False)),
    ],
)
def test_accuracy_goals(shares, met):
    table = rows(**{f"data{i}": s for i, s in enumerate(shares)})
    judged = list(verdicts(NOTHING | {"accuracy": {goals.LN3: table}}).values())
    assert tuple(verdict.met for verdict in judged[:3]) == met


def test_too_few_hostile_inputs_are_not_judged_but_a_failure_is():
    def found(wrong, fits):
        sheet = measure.Sheet()
        sheet.add("hostile", fits, "")
        sheet.add("hostile_wrong", wrong, "")
        return NOTHING | {"figures": sheet.figures}

    name = "no exception or warning in 1e5 hostile inputs"
    assert verdicts(found(0, 10))[name].met is None
    assert verdicts(found(1, 10))[name].met is False
    assert verdicts(found(0, 100_000))[name].met is True


def test_a_fit_without_a_result_is_the_worst():
    assert bench_peers.quantile(np.array([0.5, 0.7, -np.inf]), 0.5) == 0.5
    assert bench_peers.quantile(np.array([0.5, -np.inf, -np.inf]), 0.5) == -math.inf
    assert bench_peers.cell(np.array([-np.inf, -np.inf])) == "none"
    both = [{"method": m, "eps": 1.0, "seed": 0, "r2": r, "said": {}}
            for m, r in zip(bench_peers.METHODS, (0.5, 0.9, None, None, 0.6, 0.1, 0.1, 0.1),
                            strict=True)]  # fmt: skip
    table = [{"name": "diamonds", "n": 9000, "d": 3, "splits": 1, "results": both}]
    verdict = verdicts(NOTHING | {"peers": table})
    text = "auto above what users could pick instead, every data set and eps"
    assert verdict[text].met is False
    assert "opendp" in verdict[text].note
    assert bench_peers.losses(table, [1.0]) == [
        "- diamonds, eps = 1: opendp, one column 0.600, auto 0.500."
    ]


def test_public_bounds_are_intervals():
    for known in KNOWN.values():
        assert all(low < high for low, high in known.bounds.values())
        assert not known.bounds or "target" in known.bounds


def test_bounds_follow_the_columns(diamonds):
    renamed = diamonds.rename(columns={"price": "target"})
    found = bounds_of("diamonds", renamed)
    assert found.shape == (len(renamed.columns), 2)
    assert tuple(found[-1]) == KNOWN["diamonds"].bounds["target"]
