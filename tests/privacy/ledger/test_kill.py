"""A ledger survives what kills the processes that write it, and refuses what is not one."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.ledger.kill_rounds import run

import dpreg
from dpreg.base.errors import BudgetError
from dpreg.privacy import ledger


def test_nothing_is_lost_and_nothing_overspent_under_kill_9(tmp_path):
    """60 rounds here, 1,000 in `make audit`."""
    tally = run(60, tmp_path)
    assert not tally.lost, tally
    assert tally.overspent == 0, tally
    assert tally.told > 60, tally
    assert tally.torn > 0, tally


@pytest.fixture
def spent(tmp_path):
    path = tmp_path / "ledger"
    budget = dpreg.Budget(2.0, 1e-5, ledger=path)
    for number in range(4):
        budget.spend(f"release {number}", 0.25, 1e-6)
    return path


def opened_elsewhere(paths):
    """Return what a process that has not seen the charges says of each ledger."""
    run = (
        "import sys, dpreg\n"
        "for path in sys.argv[1:]:\n"
        "    try: print(len(dpreg.Budget(2.0, 1e-5, ledger=path).charges))\n"
        "    except dpreg.BudgetError: print('refused')"
    )
    done = subprocess.run(
        [sys.executable, "-c", run, *map(str, paths)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def copies(spent, cases):
    """One copy of a ledger for each case, and the ledger itself last."""
    paths = [spent.with_name(f"ledger {number}") for number in range(len(cases))]
    for path in paths:
        path.write_bytes(spent.read_bytes())
    return [*paths, spent]


@pytest.fixture
def forgotten(monkeypatch):
    """As in a process that has not seen any ledger."""
    monkeypatch.setattr(ledger, "_SEEN", {})
    return ledger._SEEN


def test_any_changed_byte_is_refused_or_costs_nothing(spent, forgotten):
    """Whatever byte is changed, the ledger is refused or has all of its charges."""
    whole, chance = spent.read_bytes(), random.Random(1)
    refused = 0
    for place in chance.sample(range(len(whole)), 1200):
        spent.write_bytes(
            whole[:place] + bytes([whole[place] ^ chance.randrange(1, 256)]) + whole[place + 1 :]
        )
        forgotten.clear()
        try:
            assert len(dpreg.Budget(2.0, 1e-5, ledger=spent).charges) == 4
        except BudgetError:
            refused += 1
    assert refused > 50


def test_bytes_removed_from_the_end_are_noticed_by_another_process(spent):
    """With lines of text, the last newline refunded the last charge."""
    cuts = (1, 2, 7, 100, 4095, 4096, 5000)
    paths = copies(spent, cuts)
    for path, cut in zip(paths[:-1], cuts, strict=True):
        path.write_bytes(path.read_bytes()[:-cut])
    said = dict(zip((*cuts, 0), opened_elsewhere(paths), strict=True))
    assert said == {**dict.fromkeys(cuts, "refused"), 0: "4"}


def changed(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


CHANGES = (
    "DELETE FROM entries WHERE number = 4", "DELETE FROM entries WHERE number = 1",
    "DELETE FROM entries", "DELETE FROM ledger", "DROP TABLE entries", "DROP TABLE ledger",
    "UPDATE ledger SET entries = 3", "UPDATE entries SET number = 9 WHERE number = 4",
    "UPDATE entries SET content = replace(content, '0.25', '0.01')",
    "UPDATE entries SET content = (SELECT content FROM entries WHERE number = 1)",
    "UPDATE entries SET certificate = '{}' WHERE number = 2",
    "UPDATE ledger SET header = replace(header, '2.0', '200.0')", "PRAGMA user_version = 99",
    "INSERT INTO entries SELECT 5, content, certificate, hash FROM entries WHERE number = 4",
    "UPDATE entries SET content = 7", "UPDATE ledger SET entries = 'x'",
    "UPDATE entries SET content = x'00' WHERE number = 1",
)  # fmt: skip


def test_a_changed_table_is_refused_by_another_process(spent):
    paths = copies(spent, CHANGES)
    for path, statement in zip(paths[:-1], CHANGES, strict=True):
        changed(path, statement)
    said = dict(zip((*CHANGES, "none"), opened_elsewhere(paths), strict=True))
    assert said == {**dict.fromkeys(CHANGES, "refused"), "none": "4"}


COST = {"epsilon": 0.1, "delta": 0.0, "mu": 0.2, "rho": 0.1, "failure": 0.0, "discreteness": 0.0}
TOLD = dict.fromkeys(("time", "user", "data", "formula", "method"), "")


def entered(path, *contents):
    """Write entries with right hashes, as whoever can write the file may."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        ((number, last),) = database.execute("SELECT entries, last FROM ledger")
        for content in contents:
            text, number = json.dumps(content), number + 1
            last = ledger._digest(last, text, "")
            database.execute("INSERT INTO entries VALUES (?, ?, '', ?)", (number, text, last))
            database.execute("UPDATE ledger SET entries = ?, last = ?", (number, last))


def test_what_is_entered_below_is_what_a_budget_enters(tmp_path):
    path = tmp_path / "ledger"
    dpreg.Budget(2.0, ledger=path)
    entered(path, {"charge": "x", "cost": COST, **TOLD})
    assert dpreg.Budget(2.0, ledger=path).remaining[0] == 1.9


@pytest.mark.parametrize("wrong", [
    {"epsilon": "much"}, {"epsilon": -5.0}, {"delta": -1.0}, {"mu": -0.1}, {"rho": float("nan")},
    {"epsilon": float("inf")}, {"epsilon": 10**400}, {"epsilon": True}, {"other": 0.0}, None,
])  # fmt: skip
def test_a_charge_with_a_right_hash_and_a_wrong_cost_is_refused(tmp_path, wrong):
    """A negative charge would be money."""
    path = tmp_path / "ledger"
    dpreg.Budget(2.0, ledger=path)
    entered(path, {"charge": "x", "cost": wrong and {**COST, **wrong}, **TOLD})
    with pytest.raises(BudgetError, match="charge 1 is not a charge"):
        dpreg.Budget(2.0, ledger=path)


@pytest.mark.parametrize("content", [
    [], "text", None, 3, {}, {"charge": "x"}, {"charge": 3, "cost": COST, **TOLD},
    {"charge": "x", "cost": COST, **TOLD, "user": 5}, {"charge": "x", "cost": COST},
])  # fmt: skip
def test_an_entry_that_is_no_charge_is_refused(tmp_path, content):
    path = tmp_path / "ledger"
    dpreg.Budget(2.0, ledger=path)
    entered(path, content)
    with pytest.raises(BudgetError, match="charge 1 is not a charge"):
        dpreg.Budget(2.0, ledger=path)


@pytest.mark.parametrize("outcome", [
    {"outcome": 1, "status": "released", "cost": {**COST, "epsilon": 0.2}},
    {"outcome": 1, "status": "undone", "cost": COST}, {"outcome": 2, "status": "released",
    "cost": COST}, {"outcome": "1", "status": "released", "cost": COST},
    {"outcome": 1, "status": "released"}, {"outcome": [1], "status": "released", "cost": COST},
])  # fmt: skip
def test_an_outcome_that_is_not_one_of_its_charge_is_refused(tmp_path, outcome):
    """Dearer than charged, of no charge, or of no known kind."""
    path = tmp_path / "ledger"
    dpreg.Budget(2.0, ledger=path)
    entered(path, {"charge": "x", "cost": COST, **TOLD}, outcome)
    with pytest.raises(BudgetError, match="charge 2 is not a charge"):
        dpreg.Budget(2.0, ledger=path)


def test_a_charge_has_one_outcome(tmp_path):
    """A second one would bring its cost down again."""
    path = tmp_path / "ledger"
    dpreg.Budget(2.0, ledger=path)
    outcome = {"outcome": 1, "status": "released", "cost": COST}
    entered(path, {"charge": "x", "cost": COST, **TOLD}, outcome)
    assert dpreg.Budget(2.0, ledger=path).charges[0].status == "released"
    entered(path, outcome)
    with pytest.raises(BudgetError, match="charge 3 is not a charge"):
        dpreg.Budget(2.0, ledger=path)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_rubbish_is_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    path.write_bytes(content)
    with pytest.raises(BudgetError, match="cannot be trusted"):
        dpreg.Budget(2.0, 0.0, ledger=path)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=50))
def test_any_label_comes_back(tmp_path_factory, label):
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    dpreg.Budget(2.0, 0.0, ledger=path).spend(label, 0.5)
    assert [c.label for c in dpreg.Budget(2.0, 0.0, ledger=path).charges] == [label]


def test_a_full_disk_is_refused_before_a_record_is_read(spent, unread, monkeypatch, diamonds):
    """A limit on the size of files stands for the disk."""
    budget = dpreg.Budget(2.0, 1e-5, ledger=spent)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        with pytest.raises(BudgetError, match="ledger: cannot use"):
            dpreg.dp_lm("price ~ carat", diamonds, 0.5, 1e-6, budget=budget)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert len(dpreg.Budget(2.0, 1e-5, ledger=spent).charges) == 4


def test_a_ledger_that_only_others_may_write_can_be_read(spent):
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    spent.chmod(0o400)
    budget = dpreg.Budget(2.0, 1e-5, ledger=spent)
    assert len(budget.charges) == 4
    with pytest.raises(BudgetError, match="cannot use"):
        budget.spend("one more", 0.1)


def test_a_ledger_that_is_locked_for_too_long_is_refused(spent, monkeypatch):
    budget = dpreg.Budget(2.0, 1e-5, ledger=spent)
    monkeypatch.setattr(ledger, "_PATIENCE", 0.1)
    with contextlib.closing(sqlite3.connect(spent, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BudgetError) as refused:
            budget.spend("one more", 0.1)
    assert str(refused.value) == (
        f"ledger: {str(spent)!r} was locked by another process for 0.1 seconds, and nothing "
        "was written to it; try again when that process has finished"
    )
    assert len(budget.charges) == 4


def test_nothing_is_left_beside_a_ledger(spent):
    assert [path.name for path in spent.parent.iterdir()] == ["ledger"]
