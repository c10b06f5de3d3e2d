"""What is shown of how far a release has come: passes, and nothing that counts rows."""

from __future__ import annotations

import io
import sys

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.base.passes import Progress

pytestmark = pytest.mark.usefixtures("coarse_losses")


def table(n, seed=1):
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(rng.standard_normal((n, 2)), columns=["x", "z"])
    found["y"] = found["x"] + rng.standard_normal(n)
    found["b"] = found["y"] > 0
    found["who"] = np.arange(n) // 2
    return found


def watched(call, *arguments, **options):
    seen = []
    with dpreg.progress(seen.append):
        call(*arguments, eps=1.0, delta=1e-6, rng=1, **options)
    return seen


CALLS = {
    "boosted": (dpreg.dp_lm, "y ~ x + z", {}),
    "predictions": (dpreg.dp_lm, "y ~ x + z", {"method": "boosted_adassp", "inference": False}),
    "extras": (dpreg.dp_lm, "y ~ x", {"fit_stats": True, "diagnostics": True}),
    "units": (dpreg.dp_lm, "y ~ x", {"unit": "who", "method": dpreg.BoostedAdaSSP(max_rows=2)}),
    "adassp": (dpreg.dp_lm, "y ~ x + z", {"method": "adassp"}),
    "robust": (dpreg.dp_lm, "y ~ x", {"method": dpreg.AdaSSP(cov_type="robust")}),
    "adassp predicts": (dpreg.dp_lm, "y ~ x", {"method": "adassp", "inference": False}),
    "dpsgd": (dpreg.dp_lm, "y ~ x", {"method": dpreg.DPSGD(steps=20)}),
    "binomial": (dpreg.dp_glm, "b ~ x", {}),
    "binomial predicts": (dpreg.dp_glm, "b ~ x", {"inference": False}),
    "moments": (dpreg.dp_moments, "~ x + z + y", {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_more_passes_than_were_said(name):
    call, formula, options = CALLS[name]
    # Where released numbers say that it is enough, a fit with errors takes the short way.
    share = {"boosted": 3, "extras": 3, "units": 3, "binomial": 5}.get(name, 2)
    for n in (300, 30_000):  # noise hides everything, and nearly nothing
        seen = watched(call, formula, table(n), **options)
        assert [p.done for p in seen] == list(range(1, len(seen) + 1))
        assert seen[0].most is None
        assert len({p.most for p in seen[1:]}) == 1
        if len(seen) > 7:  # else the response was not found
            assert seen[-1].most / share <= seen[-1].done <= seen[-1].most
    assert len(seen) > 4


def test_at_most_is_reached_when_nothing_ends_early():
    """With levels, zeros and rare columns to count, and one so far from 0 that it is looked at."""
    data = table(20_000).assign(g=pd.Categorical(["a", "b"] * 10_000))
    data["x"], data["z"] = 1e6 + 1e-3 * data["x"], 0.0
    data["a"], data["b"] = [1.0] * 900 + [0.0] * 19_100, [0.0] * 19_100 + [1.0] * 900
    found = watched(dpreg.dp_lm, "y ~ x + g + z + a + b", data, method="adassp", inference=False)
    assert found[-1].most - found[-1].done == 0


@pytest.mark.parametrize("method", ["tukey", "frank_wolfe"])
def test_methods_that_hold_all_rows_say_when_these_are_read(method):
    seen = watched(dpreg.dp_lm, "y ~ x", table(3000), method=method)
    assert seen[0].done == 1
    assert str(seen[0]).startswith("pass 1 over the rows after")


def test_passes_do_not_tell_where_the_rows_are_or_how_many():
    """A file for them, other blocks: the same passes; a row more: of at most the same number."""
    data = table(140_000)
    here, spooled, fewer = (
        watched(dpreg.dp_lm, "y ~ x", part, memory=memory)
        for part, memory in ((data, None), (data, 1e6), (data.iloc[1:], None))
    )
    assert [(p.done, p.most) for p in here] == [(p.done, p.most) for p in spooled]
    assert here[-1].most == fewer[-1].most


def test_nothing_but_passes_and_the_clock_is_told():
    assert Progress.__slots__ == ("done", "most", "seconds", "pace")
    found = Progress(11, 51, 30.0, 2.0)
    assert found.left == 80.0
    assert str(found) == (
        "pass 11 of at most 51 over the rows after 30 s, 2 s per pass, at most 80 s left"
    )
    assert Progress(1, 51, 3.0, None).left is None


def test_a_terminal_shows_one_line_and_files_none(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, lines in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with dpreg.progress():
            dpreg.dp_lm("y ~ x", table(100), 1.0, 1e-6, rng=1)
        shown = stream.getvalue()
        assert ("dpreg: pass 1 over the rows" in shown) == lines
        assert shown.endswith("\r\033[K") == lines
        assert "\n" not in shown


def test_each_release_is_counted_by_itself_and_results_do_not_change():
    data, seen = table(2000), []
    alone = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, rng=1)
    with dpreg.progress(seen.append):
        fits = [dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, rng=1) for _ in range(2)]
    assert [fit.to_json() for fit in fits] == [alone.to_json()] * 2
    assert [p.done for p in seen[: len(seen) // 2]] == [p.done for p in seen[len(seen) // 2 :]]


def test_who_stops_it_is_told_of_the_charge():
    def stop(found):
        if found.done == 1:
            raise KeyboardInterrupt

    budget = dpreg.Budget(1.0, 1e-6)
    with pytest.raises(KeyboardInterrupt) as stopped, dpreg.progress(stop):
        dpreg.dp_lm("y ~ x", table(100), 1.0, 1e-6, budget=budget)
    assert "the budget is spent" in stopped.value.__notes__[0]
    assert budget.remaining[0] == 0
