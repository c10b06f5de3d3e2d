"""Budgets add up, refuse, and survive on disk."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpreg
from dpreg.base.errors import BudgetError
from dpreg.privacy.account import Account
from dpreg.privacy.checks import check_delta, check_epsilon


@pytest.mark.parametrize("eps", [0, -1, math.nan, math.inf, -math.inf, "1", None, True, 1e-12, 1e9,
                                 np.nan, [1.0], 1j, 10**400])  # fmt: skip
def test_wrong_epsilon(eps):
    with pytest.raises(BudgetError, match=r"^eps must be"):
        check_epsilon(eps)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2.0, math.nan, math.inf, "0", None, False, 1e-30])
def test_wrong_delta(delta):
    with pytest.raises(BudgetError, match=r"^delta must be"):
        check_delta(delta)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(2), Fraction(1, 2)])
def test_any_real_number_is_an_epsilon(value):
    assert check_epsilon(value) == float(value)


def test_spending_adds_up_as_decimals():
    budget = dpreg.Budget(1.0, 0.0)
    for _ in range(10):
        budget.spend("a tenth", 0.1)
    assert budget.remaining == (0.0, 0.0)
    with pytest.raises(BudgetError, match="only eps=0, delta=0 is left"):
        budget.spend("more", 1e-9)
    assert len(budget.charges) == 10


def test_a_label_is_a_text():
    """Of a number it was said that the ledger could not be trusted."""
    budget = dpreg.Budget(1.0)
    with pytest.raises(BudgetError, match=r"^label must be a string, got 3$"):
        budget.spend(3, 0.5)
    assert budget.charges == ()


def test_refusal_changes_nothing():
    budget = dpreg.Budget(1.0, 1e-6)
    budget.spend("first", 0.6)
    for eps, delta in [(0.5, 0.0), (0.1, 1e-5)]:
        with pytest.raises(BudgetError, match="second needs"):
            budget.spend("second", eps, delta)
    assert budget.remaining == (0.4, 1e-6)
    assert "0.4" in repr(budget)


@given(st.lists(st.floats(min_value=1e-3, max_value=2.0), max_size=20))
def test_never_overspent(amounts):
    budget = dpreg.Budget(3.0, 0.0)
    for amount in amounts:
        try:
            budget.spend("x", amount)
        except BudgetError:
            continue
    assert sum(Fraction(repr(c.epsilon)) for c in budget.charges) <= 3


def test_ledger_is_shared_and_lasts(tmp_path):
    path = tmp_path / "ledger"
    dpreg.Budget(2.0, 1e-5, ledger=path).spend("a", 0.5, 1e-6)
    again = dpreg.Budget(2.0, 1e-5, ledger=path)
    again.spend("b", 1.0)
    assert [c.label for c in again.charges] == ["a", "b"]
    assert again.remaining == (0.5, 9e-6)


def test_ledger_with_other_totals_is_refused(tmp_path):
    dpreg.Budget(2.0, 0.0, ledger=tmp_path / "ledger")
    with pytest.raises(BudgetError, match=r"made for eps=2\.0"):
        dpreg.Budget(3.0, 0.0, ledger=tmp_path / "ledger")


def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    budget = dpreg.Budget(1.0, 0.0, ledger="p.ledger")
    budget.spend("a", 0.75)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert budget.remaining == (0.25, 0.0)
    assert not (tmp_path / "elsewhere" / "p.ledger").exists()


def without_last_charge(path):
    """All of it made anew, with one charge less."""
    other = path.with_name("other")
    dpreg.Budget(1.0, 0.0, ledger=other).spend("a", 0.3)
    path.write_bytes(other.read_bytes())


def without_charges(path):
    other = path.with_name("other")
    dpreg.Budget(1.0, 0.0, ledger=other)
    path.write_bytes(other.read_bytes())


def another_history(path):
    other = path.with_name("other")
    for label in "xyz":
        dpreg.Budget(1.0, 0.0, ledger=other).spend(label, 0.01)
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize("damage", [
    without_charges, without_last_charge, another_history, type(Path()).unlink,
    lambda path: path.write_bytes(b""),
])  # fmt: skip
def test_charges_that_were_seen_cannot_go(tmp_path, damage):
    path = tmp_path / "ledger"
    budget = dpreg.Budget(1.0, 0.0, ledger=path)
    budget.spend("a", 0.3)
    budget.spend("b", 0.3)
    whole = path.read_bytes()
    damage(path)
    for use in (
        lambda: budget.spend("c", 0.3),
        lambda: budget.remaining,
        lambda: dpreg.Budget(1.0, 0.0, ledger=path).spend("c", 0.3),
    ):
        with pytest.raises(BudgetError, match="are missing from"):
            use()
    path.write_bytes(whole)
    assert budget.remaining == (0.4, 0.0)


def test_a_charge_of_another_process_is_seen_too(tmp_path):
    path = tmp_path / "ledger"
    budget = dpreg.Budget(1.0, 0.0, ledger=path)
    spend = f"import dpreg; dpreg.Budget(1.0, 0.0, ledger={str(path)!r}).spend('b', 0.5)"
    subprocess.run([sys.executable, "-c", spend], check=True)
    assert budget.remaining == (0.5, 0.0)
    without_charges(path)
    with pytest.raises(BudgetError, match="are missing from"):
        budget.spend("c", 0.9)


@pytest.mark.parametrize("ledger", [3, True, 1.5, ["p"]])
def test_a_ledger_is_a_path(ledger):
    with pytest.raises(BudgetError, match="ledger must be the path of a file"):
        dpreg.Budget(1.0, 0.0, ledger=ledger)


def test_one_charge_is_not_many():
    budget = dpreg.Budget(1.0, 0.0)
    budget.spend("a", 0.5)
    assert repr(budget).endswith("left after 1 charge")
    budget.spend("b", 0.5)
    assert repr(budget).endswith("left after 2 charges")


def test_an_unwritable_ledger_says_so(tmp_path):
    with pytest.raises(BudgetError, match="cannot open"):
        dpreg.Budget(1.0, 0.0, ledger=tmp_path / "no" / "such" / "folder")


SPEND_UNTIL_REFUSED = """
import sys, dpreg
budget = dpreg.Budget(1.0, 0.0, ledger=sys.argv[1])
made = 0
try:
    while True:
        budget.spend("x", 0.01)
        made += 1
except dpreg.BudgetError:
    print(made)
"""


def test_processes_cannot_overspend_together(tmp_path):
    command = [sys.executable, "-c", SPEND_UNTIL_REFUSED, str(tmp_path / "ledger")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert sum(int(p.communicate(timeout=60)[0]) for p in running) == 100


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_a_copy_of_a_budget_is_one_with_it_or_refused(copied, tmp_path):
    """As those are that other processes are sent."""
    budget = dpreg.Budget(1.0, 0.0)
    for payer in (budget, budget.partition("region", ["north", "south"])["north"]):
        with pytest.raises(BudgetError, match="does not see charges to a copy"):
            copied(payer)
    on_disk = dpreg.Budget(1.0, 0.0, ledger=tmp_path / "ledger")
    copied(on_disk).spend("there", 0.75)
    assert on_disk.remaining == (0.25, 0.0)


SPEND_IN_A_FORK = """
import os, sys, dpreg
budget = dpreg.Budget(1.0, 0.0, **({"ledger": sys.argv[1]} if len(sys.argv) > 1 else {}))
regions = budget.partition("region", ["north", "south"])
budget.spend("here", 0.25)
child = os.fork()
if child == 0:
    for payer in (budget, regions["north"]):
        try:
            payer.spend("there", 0.25)
            print("charged", flush=True)
        except dpreg.BudgetError as error:
            print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(budget.remaining[0])
"""


def test_a_fork_charges_a_ledger_and_no_copy_of_a_budget(tmp_path):
    """Worker processes of a pool: each would spend all that there is."""

    def said(*arguments):
        command = [sys.executable, "-c", SPEND_IN_A_FORK, *arguments]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        return run.stdout.splitlines()

    *refused, left = said()
    assert len(refused) == 2
    assert all("in memory by the process that made it" in message for message in refused)
    assert left == "0.75"
    assert said(str(tmp_path / "ledger")) == ["charged", "charged", "0.25"]


def test_dp_lm_is_charged_before_a_record_is_read(diamonds, monkeypatch):
    """Whatever happens to the records, the charge is there; a refusal reads nothing."""

    def read(*arguments):
        raise RuntimeError("a record was read")

    monkeypatch.setattr("dpreg.data.problem.read_design", read)
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(RuntimeError, match="failed after the charge"):
        dpreg.dp_lm("price ~ carat", diamonds, 0.7, budget=budget)
    assert budget.remaining == (0.3, 3e-6)
    with pytest.raises(BudgetError):
        dpreg.dp_lm("price ~ carat", diamonds, 0.7, budget=budget)


def test_a_budget_without_delta_says_so_itself(diamonds):
    """Not that the call needs one, which could not be paid for."""
    with pytest.raises(BudgetError, match="but only eps=1, delta=0 is left"):
        dpreg.dp_lm("price ~ carat", diamonds, 0.5, budget=dpreg.Budget(1.0, 0.0))


def test_charges_tell_what_they_were_for(diamonds):
    budget = dpreg.Budget(3.0, 1e-4)
    dpreg.dp_lm("price ~ carat", diamonds, 1.0, method=dpreg.AdaSSP(), budget=budget)
    dpreg.dp_select("price ~ carat", diamonds, 1, 1.0, budget=budget)
    assert [charge.label for charge in budget.charges] == [
        "dp_lm('price ~ carat', method='adassp')",
        "dp_select('price ~ carat', method='kendall')",
    ]


def test_threads_cannot_overspend_together(monkeypatch):
    """A pause between the check and the charge is when another thread would slip in."""
    allows = Account._allows

    def slow(*arguments):
        answer = allows(*arguments)
        time.sleep(0.001)
        return answer

    monkeypatch.setattr(Account, "_allows", slow)
    budget = dpreg.Budget(1.0, 0.0)

    def spend():
        for _ in range(10):
            with contextlib.suppress(BudgetError):
                budget.spend("x", 0.05)

    threads = [threading.Thread(target=spend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(budget.charges) == 20


def test_a_ledger_whose_tables_were_changed_is_refused(tmp_path):
    """A byte of the schema makes a column more; a fuzzer found it to end in a ValueError."""
    path, changed = tmp_path / "ledger", tmp_path / "changed"
    data = {"x": [0.0, 1.0, 2.0], "y": [1.0, 2.0, 3.0]}
    budget = dpreg.Budget(1.0, 1e-5, ledger=path)
    dpreg.dp_lm("y ~ x", data, 0.5, 1e-6, budget=budget, rng=1)
    text = path.read_bytes()
    assert b"content TEXT NOT NULL," in text
    changed.write_bytes(text.replace(b"content TEXT NOT NULL,", b"content TEXT,NOTXNULL,"))
    with pytest.raises(dpreg.BudgetError, match="cannot be trusted"):
        dpreg.Budget(1.0, 1e-5, ledger=changed)
