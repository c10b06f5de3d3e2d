"""A ledger survives what kills the processes that write it, and refuses what is not one."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.ledger.kill_rounds import run

import dpreg
from dpreg.errors import BudgetError
from dpreg.privacy.ledger import _line


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


def test_any_changed_byte_is_refused_or_costs_nothing(spent):
    """Whatever byte is changed, the ledger is refused; only a torn end may be cut off."""
    whole = spent.read_bytes()
    for place in range(len(whole)):
        for byte in (0x00, 0x0A, 0x20, 0x39, 0xFF):
            if whole[place] == byte:
                continue
            spent.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            try:
                budget = dpreg.Budget(2.0, 1e-5, ledger=spent)
            except BudgetError:
                continue
            # The newline at the end is the commit; without it the last charge was never made.
            assert place == len(whole) - 1
            assert len(budget.charges) == 3


@pytest.mark.parametrize("content", [
    [], "text", {"label": "x"}, {"label": "x", "eps": "much", "delta": 0},
    {"label": "x", "eps": -5.0, "delta": 0.0}, {"label": "x", "eps": 0.1, "delta": -1.0},
    {"label": "x", "eps": float("nan"), "delta": 0.0}, None, 3,
    {"label": "x", "eps": 10**400, "delta": 0.0},
])  # fmt: skip
def test_a_line_with_a_right_hash_and_wrong_content_is_refused(tmp_path, content):
    """A negative charge would be money."""
    path = tmp_path / "ledger"
    dpreg.Budget(2.0, ledger=path)
    first = path.read_bytes()
    digest = first.decode().rstrip("\n").partition("\t")[2]
    path.write_bytes(first + _line(digest, content)[0])
    with pytest.raises(BudgetError, match="line 2"):
        dpreg.Budget(2.0, ledger=path)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_rubbish_is_refused_or_is_a_torn_first_line(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    path.write_bytes(content)
    try:
        assert dpreg.Budget(2.0, ledger=path).remaining == (2.0, 0.0)
    except BudgetError:
        assert b"\n" in content
    else:
        assert b"\n" not in content


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=50))
def test_any_label_comes_back(tmp_path_factory, label):
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    dpreg.Budget(2.0, ledger=path).spend(label, 0.5)
    assert [c.label for c in dpreg.Budget(2.0, ledger=path).charges] == [label]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), 5])
def test_a_full_disk_is_refused_before_a_record_is_read(spent, monkeypatch, failure, diamonds):
    real = os.write

    def write(file, data):
        if isinstance(failure, OSError):
            raise failure
        return real(file, data[:failure])

    from dpreg import lm

    budget = dpreg.Budget(2.0, 1e-5, ledger=spent)
    monkeypatch.setattr(lm, "read_design", None)
    monkeypatch.setattr(os, "write", write)
    with pytest.raises(BudgetError, match="ledger: "):
        dpreg.dp_lm("price ~ carat", diamonds, 0.5, 1e-6, budget=budget)
    monkeypatch.undo()
    assert len(dpreg.Budget(2.0, 1e-5, ledger=spent).charges) == 4


def test_a_ledger_is_json_lines_that_a_person_can_read(spent):
    lines = [json.loads(line.partition("\t")[0]) for line in spent.read_text().splitlines()]
    assert lines[0] == {"dpreg_ledger": 1, "eps": 2.0, "delta": 1e-5}
    assert lines[1] == {"label": "release 0", "eps": 0.25, "delta": 1e-6}
