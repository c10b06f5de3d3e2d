"""What a custodian reads in a ledger: who, when, from what, how, and what came of it."""

from __future__ import annotations

import datetime
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import traceback

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.base.errors import ArgumentError, BudgetError
from dpreg.privacy.charge import Entry, charges_from


@pytest.fixture
def file(tmp_path, diamonds):
    path = tmp_path / "diamonds.parquet"
    diamonds.to_parquet(path)
    return path


@pytest.fixture
def kept(tmp_path, diamonds, file):
    """A ledger with a fit by each of two analysts, one declined, and a charge from elsewhere."""
    path = tmp_path / "ledger"
    budget = dpreg.Budget(3.0, 1e-5, accounting="gdp", ledger=path, name="diamonds", user="ada")
    dpreg.dp_lm("price ~ carat", file, 0.3, 1e-6, method="adassp", budget=budget)
    other = dpreg.Budget.open(path, user="bob")
    dpreg.dp_lm("price ~ depth", diamonds.iloc[:50], 0.01, 1e-7, method="tukey", budget=other)
    other.spend("a histogram, by another program", mu=0.1)
    return path


def test_each_charge_says_who_when_from_what_and_how(kept, file):
    fit, declined, elsewhere = dpreg.Budget.open(kept).charges
    assert [c.user for c in (fit, declined, elsewhere)] == ["ada", "bob", "bob"]
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(fit.time)
    assert 0 <= age.total_seconds() < 600
    assert (fit.formula, fit.method, fit.data) == ("price ~ carat", "adassp", str(file))
    assert declined.data == "pandas.DataFrame"
    assert [c.status for c in (fit, declined, elsewhere)] == ["released", "declined", "charged"]
    assert elsewhere.label == "a histogram, by another program"
    assert elsewhere.paid.mu == 0.1


def test_the_certificate_is_that_of_the_result(tmp_path, diamonds):
    budget = dpreg.Budget(1.0, ledger=tmp_path / "ledger")
    fit = dpreg.dp_lm("price ~ carat", diamonds, 0.5, method="adassp", budget=budget)
    found = dpreg.dp_select("price ~ carat + depth", diamonds, 1, 0.1, budget=budget)
    (first, second) = dpreg.Budget.open(tmp_path / "ledger").charges
    assert first.certificate == json.loads(fit.privacy.to_json())
    assert second.certificate == json.loads(found.privacy.to_json())


def test_nobody_is_asked_for_the_totals_again(kept):
    budget = dpreg.Budget.open(kept)
    assert (budget.eps, budget.delta, budget.accounting, budget.name) == (
        3.0, 1e-5, "gdp", "diamonds")  # fmt: skip
    assert repr(budget).startswith("Budget(eps=3, delta=1e-05, accounting='gdp'): eps=")
    assert repr(budget).endswith("left after 3 charges")


@pytest.mark.parametrize("arguments", [
    {"eps": 2.0}, {"mu": 0.5}, {"rho": 0.1}, {"eps": 2.0, "accounting": "zcdp"},
    {"eps": 2.0, "delta": 0.0},
])  # fmt: skip
def test_any_total_is_opened_as_it_was_made(tmp_path, arguments):
    made = dpreg.Budget(**arguments, ledger=tmp_path / "ledger")
    again = dpreg.Budget.open(tmp_path / "ledger")
    assert repr(again) == repr(made)
    assert (again.eps, again.delta) == (made.eps, made.delta)
    assert dpreg.Budget(**arguments, ledger=tmp_path / "ledger").eps == made.eps


def test_a_ledger_of_another_data_set_is_refused(kept):
    totals = {"accounting": "gdp", "ledger": kept}
    with pytest.raises(BudgetError, match="is the ledger of 'diamonds'; write name='diamonds'"):
        dpreg.Budget(3.0, 1e-5, name="rubies", **totals)
    assert dpreg.Budget(3.0, 1e-5, **totals).name == "diamonds"
    with pytest.raises(BudgetError, match=r"was made for eps=3\.0, delta=1e-05, accounting=gdp"):
        dpreg.Budget(3.0, 1e-5, ledger=kept)


def test_there_is_no_ledger_to_open(tmp_path):
    with pytest.raises(BudgetError, match=r"cannot open .*nothing': there is no such file"):
        dpreg.Budget.open(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_as_a_frame(kept):
    frame = dpreg.Budget.open(kept).to_frame()
    assert list(frame.columns) == ["time", "user", "data", "label", "formula", "method", "eps",
                                   "delta", "mu", "rho", "failure", "status", "stratum",
                                   "unit"]  # fmt: skip
    assert frame["user"].tolist() == ["ada", "bob", "bob"]
    assert frame["eps"].iloc[0] == 0.3
    np.testing.assert_allclose(frame["failure"], [0.0, 9.5e-8, 0.0])
    assert frame.groupby("user")["mu"].max().loc["bob"] == 0.1


def test_the_protected_unit_is_in_the_ledger(tmp_path):
    """And what was charged elsewhere, or before ledgers had it, says nothing of it."""
    path = tmp_path / "ledger"
    budget = dpreg.Budget(8.0, 1e-5, ledger=path)
    table = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0], "who": [1, 1]})
    paid = {"eps": 1.0, "budget": budget}
    dpreg.dp_lm("y ~ x", table, **paid)
    dpreg.dp_lm("y ~ x", table, unit="who", max_rows=3, **paid)
    dpreg.dp_lm("y ~ x", table, unit="who", method="tukey", **paid)
    dpreg.dp_select("y ~ x", table, 1, delta=1e-6, unit="who", **paid)
    dpreg.dp_moments("~ x + y", table, unit="who", max_rows=2, **paid)
    dpreg.dp_test(lambda rows: 1.0, table, unit="who", **paid)
    budget.spend("a count", 1.0)
    again = dpreg.Budget.open(path)
    of_who = "all rows of one 'who'"
    wanted = ["one row", f"{of_who}, max_rows=3", of_who, f"{of_who}, max_rows=1",
              f"{of_who}, max_rows=2", of_who, ""]  # fmt: skip
    assert again.to_frame()["unit"].tolist() == wanted
    assert [charge.to_dict()["unit"] for charge in again.charges] == wanted
    assert "unit" not in again.charges[-1].entry().content
    before = again.charges[0].entry().content
    (old,) = charges_from([Entry({k: v for k, v in before.items() if k != "unit"})])
    assert (old.unit, old.label, old.most) == ("", again.charges[0].label, again.charges[0].most)
    with pytest.raises(ValueError, match="charge 1 is not a charge"):
        charges_from([Entry({**before, "unit": None})])


def test_as_html_nothing_is_run(tmp_path):
    budget = dpreg.Budget(1.0, ledger=tmp_path / "ledger", user="<b>eve</b>")
    budget.spend("<script>alert(1)</script>", 0.5)
    page = budget._repr_html_()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page
    assert pd.read_html is not None
    assert "<table" in page


def test_as_a_picture(kept):
    import matplotlib as mpl

    mpl.use("Agg")
    budget = dpreg.Budget.open(kept)
    ax = budget.plot()
    widths = [bar.get_width() for bar in ax.patches]
    assert sum(widths) == pytest.approx(1.0)
    paid = np.array([charge.paid.mu for charge in budget.charges])
    np.testing.assert_allclose(
        widths[:-1], paid**2 / float(budget.account.accounting.limits["mu^2"])
    )
    assert ax.get_xlabel() == "share of mu^2"


def test_the_seal_finds_a_ledger_that_was_made_anew(kept, tmp_path):
    """Whoever can write the file can make it anew, hashes and all; who noted the seal sees it."""
    seal = dpreg.Budget.open(kept).seal
    dpreg.Budget.open(kept).spend("later", 0.01)
    assert dpreg.Budget.open(kept).verify(seal) == 6
    forged = tmp_path / "forged"
    dpreg.Budget(3.0, 1e-5, accounting="gdp", ledger=forged, name="diamonds").spend("little", 0.01)
    os.replace(forged, kept)
    verify = f"import dpreg; print(dpreg.Budget.open({str(kept)!r}).verify({seal!r}))"
    run = subprocess.run([sys.executable, "-c", verify], capture_output=True, text=True)
    assert run.returncode == 1
    assert "are missing" in run.stderr


def test_without_a_ledger_there_is_nothing_to_seal():
    budget = dpreg.Budget(1.0)
    budget.spend("x", 0.5)
    assert budget.seal == ""
    assert budget.verify() == 0


def test_a_process_that_ends_in_between_has_paid_in_full(tmp_path, diamonds, monkeypatch):
    """The charge is there, for all that the method might have cost, and has no outcome."""

    def crash(*arguments):
        raise KeyboardInterrupt

    budget = dpreg.Budget(3.0, accounting="gdp", ledger=tmp_path / "ledger")
    with monkeypatch.context() as patched:
        patched.setattr("dpreg.data.problem.read_design", crash)
        with pytest.raises(KeyboardInterrupt):
            dpreg.dp_lm("price ~ carat", diamonds, 0.2, budget=budget, inference=False)
    (charge,) = dpreg.Budget.open(tmp_path / "ledger").charges
    assert charge.status == "charged"
    assert charge.certificate is None
    assert charge.paid == charge.most
    dpreg.dp_lm("price ~ carat", diamonds, 0.2, budget=budget, inference=False)
    assert budget.charges[1].paid.mu < 0.5 * charge.paid.mu


def test_what_numpy_says_of_memory_is_not_repeated(diamonds, monkeypatch):
    """It has the shape of the array that did not fit, and so the number of rows."""

    def read(*arguments):
        return np.empty((123_457, 1 << 40))

    monkeypatch.setattr("dpreg.data.problem.read_design", read)
    with pytest.raises(MemoryError) as failed:
        dpreg.dp_lm("price ~ carat", diamonds, 0.2)
    said = "".join(traceback.format_exception(failed.value))
    assert "123" not in said
    assert "the budget is spent" in said


def test_a_result_is_not_lost_when_the_disk_is_full_by_then(tmp_path, diamonds, monkeypatch):
    """A limit on the size of files stands for the disk; the charge stays as it was."""
    budget = dpreg.Budget(3.0, accounting="gdp", ledger=tmp_path / "ledger")
    read = dpreg.data.problem.read_design
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill(*arguments):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
        return read(*arguments)

    monkeypatch.setattr("dpreg.data.problem.read_design", fill)
    try:
        fit = dpreg.dp_lm("price ~ carat", diamonds, 0.2, budget=budget)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert fit.released
    assert any(
        "the ledger has the charge but could not record the outcome" in note for note in fit.notes
    )
    assert budget.charges[0].status == "charged"


def test_delta_goes_with_eps(diamonds):
    """Four calls of a quarter of eps use up both, and none of them had to name delta."""
    budget = dpreg.Budget(2.0)
    assert budget.delta == 1e-5
    for _ in range(4):
        dpreg.dp_lm("price ~ carat", diamonds, 0.5, budget=budget)
    assert budget.remaining == (0.0, 0.0)
    assert {charge.delta for charge in budget.charges} == {2.5e-6}


@pytest.mark.parametrize(("total", "eps", "share"), [
    ((3.0, 1e-5), 0.3, 1e-6), ((0.7, 1e-6), 0.1, 1.42857142857e-7), ((1.0, 0.0), 0.5, 0.0),
    ((1.0, 1e-5), 4.0, 1e-5), ((3.0, 1e-5), 1.0, 3.33333333333e-6),
])  # fmt: skip
def test_the_share_of_delta_is_rounded_down(total, eps, share):
    assert dpreg.Budget(*total).delta_for(eps) == share


def test_without_a_budget_delta_is_as_ever(diamonds):
    fit = dpreg.dp_lm("price ~ carat", diamonds, 1.0)
    assert fit.privacy.delta == 1e-5


@pytest.mark.parametrize(("arguments", "says"), [
    ({}, "eps: the total is missing; write eps=1.0"),
    ({"eps": 1.0, "mu": 0.5}, "mu: there are two totals, eps and mu; leave mu out"),
    ({"eps": 1.0, "accounting": "GDP"}, "accounting must be one of 'basic', 'gdp', 'zcdp', got "
     "'GDP'; write accounting='gdp'"),
    ({"eps": 1.0, "accounting": 3}, "accounting must be one of 'basic', 'gdp', 'zcdp', got 3"),
    ({"mu": 0.5, "accounting": "zcdp"}, "accounting is 'zcdp', and mu is a total of 'gdp'; "
     "leave accounting out"),
    ({"eps": 1.0, "delta": 0, "accounting": "gdp"}, "delta must be greater than 0 with "
     "accounting 'gdp'; write delta=1e-05"),
    ({"mu": 0.0}, "mu must be between 1e-09 and 30, got 0.0"),
    ({"mu": "a"}, "mu must be a number, got 'a'; write mu=0.5"),
    ({"rho": -1}, "rho must be between 1e-18 and 400, got -1"),
    ({"eps": 1.0, "name": 3}, "name must be a string, got 3"),
    ({"eps": 1.0, "user": ""}, "user must be a name, got ''"),
])  # fmt: skip
def test_wrong_totals(arguments, says):
    with pytest.raises(BudgetError) as refused:
        dpreg.Budget(**arguments)
    assert str(refused.value) == says


@pytest.mark.parametrize(("arguments", "says"), [
    ({"eps": 0.5, "mu": 0.1}, "mu: there are two amounts, eps and mu; leave mu out"),
    ({"mu": 0.1}, "mu: a budget with delta=0 cannot pay for it; write eps=0.5"),
    ({}, "eps must be given, or mu; write eps=0.5"),
])  # fmt: skip
def test_wrong_amounts(arguments, says):
    with pytest.raises(BudgetError) as refused:
        dpreg.Budget(1.0, 0.0).spend("x", **arguments)
    assert str(refused.value) == says


@pytest.mark.parametrize(("budget", "amount", "advice"), [
    ((1.0, 1e-5), {"eps": 2.0}, "write eps=1.0"),
    ((1.0, 1e-5), {"eps": 0.5, "delta": 1e-4}, "write delta=1e-05"),
    ((1.0, 1e-5), {"eps": 1.5, "delta": 1e-4}, "write eps=1.0 and delta=1e-05"),
    ((1.0, 0.0), {"eps": 1.0, "delta": 1e-4}, ""),
])  # fmt: skip
def test_a_refusal_says_what_would_fit(budget, amount, advice):
    kept = dpreg.Budget(*budget)
    with pytest.raises(BudgetError) as refused:
        kept.spend("x", **amount)
    message, _, suggested = str(refused.value).partition("; ")
    assert message.startswith("budget: x needs eps=")
    assert suggested == advice
    if advice:
        fits = {s.argument: s.value for words in refused.value.suggestion for s in words
                if hasattr(s, "argument")}  # fmt: skip
        kept.spend("less", **{**amount, **fits})
    assert kept.remaining[0] == pytest.approx(1.0 - sum(c.epsilon for c in kept.charges))


def test_errors_survive_pickles():
    with pytest.raises(ArgumentError) as refused:
        dpreg.Budget(-1)
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value)
    assert (again.argument, again.suggestion) == ("eps", refused.value.suggestion)
