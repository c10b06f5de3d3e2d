"""How much memory a call may take: the same results, and what is said of it."""

from __future__ import annotations

import traceback

import numpy as np
import pandas as pd
import pytest

import dpreg

pytestmark = pytest.mark.usefixtures("coarse_losses")


@pytest.mark.parametrize("method", ["boosted_adassp", "adassp", "tukey", "dpsgd"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_results_are_the_same_bits_however_little_memory_there_is(method, unit):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.normal(size=60_000), "who": rng.integers(0, 20_000, 60_000)})
    table["y"] = table["x"] + rng.normal(size=60_000)
    fits = [
        dpreg.dp_lm("y ~ x", table, 1.0, 1e-6, method=method, unit=unit, rng=1, memory=memory)
        for memory in (None, 1e6)
    ]
    assert fits[0].to_json() == fits[1].to_json()


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_blocks_of_a_glm_are_the_same_bits_however_little_memory_there_is(family, unit):
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"x": rng.normal(size=60_000), "who": rng.integers(0, 20_000, 60_000)})
    table["y"] = (rng.poisson(np.exp(table["x"] / 2)) > 1) * 1
    fits = [
        dpreg.dp_glm(
            "y ~ x", table, 3.0, 1e-6, method="tukey", family=family, unit=unit, rng=1,
            memory=memory,
        )
        for memory in (None, 1e6)
    ]  # fmt: skip
    assert fits[0].released
    assert fits[0].to_json() == fits[1].to_json()


@pytest.mark.parametrize(
    "method",
    [
        dpreg.BoostedAdaSSP(max_rows=1),
        dpreg.BoostedAdaSSP(max_rows=4),
        dpreg.DPSGD(steps=20),  # which draws row after row
    ],
    ids=["a row", "four rows", "dpsgd"],
)
def test_effects_of_units_are_the_same_bits_however_little_memory_there_is(method):
    """Rows of a unit lie far apart, and are put together in a file."""
    rng = np.random.default_rng(5)
    who = rng.integers(0, 20_000, 60_000)
    table = pd.DataFrame({"x": rng.normal(size=60_000) + who % 7, "who": who})
    table["y"] = table["x"] + rng.normal(size=60_000) - who % 7
    table.loc[5, "y"] = 1e308  # which overflows where it is not alone
    table.loc[9, "x"] = np.nan
    fits = [
        dpreg.dp_lm(
            "y ~ x | who", table, 1.0, 1e-6, unit="who", rng=1, memory=memory, method=method,
        )
        for memory in (None, 1e6)
    ]  # fmt: skip
    assert fits[0].to_json() == fits[1].to_json()


@pytest.mark.parametrize(
    ("call", "options", "holder"),
    [
        ("dp_lm", {"method": "frank_wolfe"}, "method='frank_wolfe'"),
        ("dp_lm", {"select": "kendall", "k": 1}, "select='kendall'"),
        ("dp_lm", {"select": "two_stage", "k": 1}, "select='two_stage'"),
    ],
)
def test_what_holds_all_rows_says_how_many_before_the_charge(call, options, holder):
    table = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0), "who": np.arange(9)})
    budget = dpreg.Budget(1.0, 1e-5)
    asked = {"formula": "y ~ x", "eps": 1.0, "delta": 1e-5, "budget": budget, **options}
    with pytest.raises(ValueError, match="it allows 125,000,000 rows") as refused:
        getattr(dpreg, call)(data=table, memory=2e9, **asked)
    assert holder in str(refused.value)
    assert budget.remaining[0] == 1.0


@pytest.mark.parametrize("memory", [0, -1.0, 10, True, "2 GB", float("nan")])
def test_memory_is_a_number_of_bytes(memory):
    with pytest.raises(ValueError, match="memory must be a number of bytes, 2e9 for example"):
        dpreg.dp_lm("y ~ x", pd.DataFrame({"x": [1.0], "y": [1.0]}), 1.0, memory=memory)


@pytest.mark.parametrize("call", ["dp_lm", "dp_glm", "dp_select", "dp_moments"])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, ValueError, MemoryError, SystemExit])
def test_what_ends_a_release_tells_of_the_charge_and_of_no_record(call, raised, monkeypatch):
    """Not where it was raised either, nor by what went before it."""

    def stop(*args):
        try:
            raise KeyError("a secret")
        except KeyError as error:
            raise raised("row 3 is secret") from error

    monkeypatch.setattr("dpreg.data.problem.FormulaProblem.design", stop)
    table = pd.DataFrame({"x": [1.0], "y": [1.0]})
    budget = dpreg.Budget(1.0, 1e-5)
    more = {"k": 1, "delta": 0.0} if call == "dp_select" else {}
    formula = "~ x + y" if call == "dp_moments" else "y ~ x"
    told = {ValueError: RuntimeError, SystemExit: RuntimeError}.get(raised, raised)
    with pytest.raises(told) as stopped:
        getattr(dpreg, call)(formula, table, eps=1.0, budget=budget, **more)
    error = stopped.value
    assert (type(error), error.__cause__, error.__context__) == (told, None, None)
    lines = "".join(traceback.format_exception(error))
    assert "the budget is spent" in lines
    assert "secret" not in lines
    assert "stop" not in [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert budget.remaining[0] == 0
    if raised is ValueError:  # nothing that is made from a seed is private
        with pytest.raises(ValueError, match="row 3 is secret") as seeded:
            getattr(dpreg, call)(formula, table, eps=1.0, rng=1, **more)
        assert "the budget is spent" in seeded.value.__notes__[0]
