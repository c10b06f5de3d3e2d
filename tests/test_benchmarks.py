"""The benchmarks say what was measured: figures, medians with failures, verdicts."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "benchmarks"))

import bench_glm
import bench_peers
import goals
import held_out
import measure
import peers
import regressions
import run
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


def test_a_page_has_a_line_a_row(tmp_path, capsys):
    page = tmp_path / "page.md"
    measure.write_table("Title", "About.", ("a", "b", "n"), [("x", "y", 1)], page, words=2)
    *lines, last = page.read_text().splitlines()
    assert lines == [
        "# Title", "", "About.", "", "| a | b | n |", "|---|---|--:|", "| x | y | 1 |", "",
    ]  # fmt: skip
    assert re.fullmatch(r"Measured with the package of commit ([0-9a-f]{7,}|unknown)\.", last)
    assert capsys.readouterr().out.startswith("# Title")


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


def peer_table(*scores):
    both = [{"method": m, "eps": 1.0, "seed": 0, "r2": r, "said": {}}
            for m, r in zip(bench_peers.METHODS, scores, strict=True)]  # fmt: skip
    ols = {"method": "OLS", "eps": None, "seed": 0, "r2": 0.9, "said": {}}
    return [{"name": "diamonds", "n": 9000, "d": 3, "splits": 1, "results": [ols, *both]}]


def test_a_fit_without_a_result_is_the_worst():
    assert held_out.quantile(np.array([0.5, 0.7, -np.inf]), 0.5) == 0.5
    assert held_out.quantile(np.array([0.5, -np.inf, -np.inf]), 0.5) == -math.inf
    assert bench_peers.cell(np.array([-np.inf, -np.inf])) == "none"
    table = peer_table(0.5, 0.9, None, None, 0.1, 0.1, 0.1, 0.6)
    verdict = verdicts(NOTHING | {"peers": table})
    above = "auto above what users could pick instead, every data set and eps"
    near = "auto at eps = 1, n >= 5,000: best, or within 1% of the R2 of OLS"
    assert verdict[above].met is False
    assert verdict[near].met is False
    assert "opendp" in verdict[above].note
    assert bench_peers.losses(table, [1.0]) == [
        "- diamonds, n = 9,000, eps = 1: opendp, one column † 0.600, auto 0.500, OLS 0.900."
    ]
    close = verdicts(NOTHING | {"peers": peer_table(0.895, 0.1, 0.899, *[None] * 5)})
    assert (close[above].met, close[near].met) == (False, True)


def test_the_best_setting_of_a_peer_counts():
    results = [{"method": "AdaSSP", "eps": 1.0, "seed": s, "r2": r, "setting": share}
               for share, values in ((1.0, (0.1, 0.9)), (0.5, (0.6, 0.6)))
               for s, r in enumerate(values)]  # fmt: skip
    assert bench_peers.scores(results, "AdaSSP", 1.0).tolist() == [0.6, 0.6]


@pytest.mark.parametrize("method", peers.BOUNDED)
def test_bounded_peers_come_near_least_squares_with_much_budget(method):
    rng = np.random.default_rng(1)
    X = rng.uniform((10, -5), (20, 5), (4000, 2))
    y = 3 + 0.1 * X[:, 0] - 0.2 * X[:, 1]
    bounded = peers.Bounded(X, y, np.array([(10, 20), (-5, 5), (3, 7)]))
    shares = [share for name, share in bounded.settings() if name == method]
    fits = [bounded.fit(method, share, 100.0, 1e-5, 1)(X) for share in shares]
    assert max(held_out.r_squared(y, fit) for fit in fits) > 0.98


def figure(least, most, better):
    return {"least": least, "median": least, "most": most, "better": better, "text": "a figure"}


@pytest.mark.parametrize(
    ("better", "then", "now", "worse"),
    [
        ("less", (1.0, 2.0), (2.3, 9.0), False),  # its best is within 20% of the worst
        ("less", (1.0, 2.0), (2.5, 2.6), True),
        ("less", (1.0, 2.0), (0.1, 0.2), False),
        ("more", (1.0, 2.0), (0.1, 0.9), False),
        ("more", (1.0, 2.0), (0.1, 0.7), True),
        ("more", (1.0, 2.0), (8.0, 9.0), False),
        ("more", (-0.5, 0.1), (-0.9, -0.7), True),
        (None, (1.0, 2.0), (9.0, 9.0), False),
    ],
)
def test_a_figure_regresses_when_its_best_is_a_fifth_worse_than_the_worst(better, then, now, worse):
    committed = {"key": figure(*then, better), "gone": figure(1.0, 1.0, "less")}
    lines, compared = regressions.compare({"key": figure(*now, better)}, committed)
    assert bool(lines) is worse
    assert compared == int(better is not None)
    assert not lines or "a figure" in lines["key"]


def test_the_worst_of_the_runs_that_were_committed_counts_and_the_oldest_is_forgotten():
    ranges = ((1.0, 2.0), (2.0, 4.0), (1.0, 1.5), (1.0, 1.0))
    committed = {}
    for kept, most in zip(ranges, (2.0, 4.0, 4.0, 4.0), strict=True):
        committed = regressions.with_runs({"key": figure(*kept, "less")}, committed)
        assert regressions.outermost(committed["key"]) == (1.0, most)
    committed = regressions.with_runs({"key": figure(1.0, 1.0, "less")}, committed)
    assert regressions.outermost(committed["key"]) == (1.0, 1.5)


@pytest.mark.parametrize(("again", "worse"), [(2.5, 1), (2.0, 0), (None, 1)])
def test_what_looks_worse_is_measured_again(monkeypatch, tmp_path, again, worse):
    (tmp_path / "bench.py").write_text("import sys; sys.exit('no figure')")
    if again is not None:
        found = {"key": figure(again, again, "less"), "other": figure(9.0, 9.0, "less")}
        made = f"import sys; open(sys.argv[-1], 'w').write({json.dumps(found)!r})"
        (tmp_path / "bench.py").write_text(made)
    runs = run.Runs(tmp_path / "folder")
    runs.found["figures"] = {"key": figure(2.5, 2.6, "less"), "fine": figure(1.0, 1.0, "less")}
    runs.made = {"key": (tmp_path / "bench.py", (), 1), "fine": (tmp_path / "never.py", (), 1)}
    monkeypatch.setattr(run, "COMMITTED", tmp_path / "figures.json")
    assert run.regressions(runs) == (["No figures are committed."], [])
    then = {"key": figure(1.0, 2.0, "less"), "fine": figure(1.0, 1.0, "less")}
    run.COMMITTED.write_text(json.dumps({"about": "a machine", "figures": then}))
    lines, regressed = run.regressions(runs)
    assert len(regressed) == worse
    assert set(regressed) <= set(lines)
    assert ("None regressed." in lines) is not bool(worse)
    assert any("Again: " in line for line in lines) is (again is not None)
    assert "2 figures compared, committed by: a machine" in lines


def test_what_is_not_run_again_is_as_it_was_left(tmp_path):
    script = tmp_path / "bench.py"
    made = (
        "import sys; open(sys.argv[2], 'w').write('{made}'); print('said {made}'); sys.exit({made})"
    )
    for again, made_now, found, said in (
        ((), 0, 0, "said 0"),  # first run
        (("other",), 1, 0, "said 0"),  # kept
        (("bench",), 1, 1, "said 1"),  # run again
    ):
        script.write_text(made.format(made=made_now))
        runs = run.Runs(tmp_path / "kept", again)
        assert runs.run(script) == found
        assert said in runs.sections[0]
        assert bool(runs.failed) is ("FAILED" in runs.sections[0]) is bool(found)
        assert runs.again == (["bench"] if found else [])


def test_what_was_never_run_is_left_out_and_not_run_for_another(tmp_path):
    runs = run.Runs(tmp_path / "none", ("other",))
    assert runs.run(tmp_path / "bench.py") is None
    runs.figures("bench_import")
    assert runs.left_out == ["bench", "bench_import"]
    assert not runs.sections
    assert not runs.failed


def test_glm_goals_compare_with_the_exact_fit_and_the_best_peer():
    def found(ours, theirs, area):
        sheet = measure.Sheet()
        for method, loss in zip(bench_glm.METHODS, (ours, theirs, 0.5), strict=True):
            sheet.add(f"glm adult 1 {method}", loss, "")
            sheet.add(f"glm adult 1 {method} AUC", area, "")
        sheet.add("glm adult exact", 0.3, "")
        sheet.add("glm adult exact AUC", 0.9, "")
        verdict = verdicts(NOTHING | {"figures": sheet.figures})
        return [v.met for text, v in verdict.items() if text.startswith("dp_glm")]

    assert found(0.34, 0.35, 0.895) == [True, True]
    assert found(0.36, 0.35, 0.88) == [False, False]


def test_public_bounds_are_intervals():
    for known in KNOWN.values():
        assert all(low < high for low, high in known.bounds.values())
        assert not known.bounds or "target" in known.bounds


def test_bounds_follow_the_columns(diamonds):
    renamed = diamonds.rename(columns={"price": "target"})
    found = bounds_of("diamonds", renamed)
    assert found.shape == (len(renamed.columns), 2)
    assert tuple(found[-1]) == KNOWN["diamonds"].bounds["target"]
