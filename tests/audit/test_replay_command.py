"""What `dpreg audit --replay` says and does."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from dpreg.audit import ReplayReport
from dpreg.faces.cli.commands import main

# Of which `dpreg.audit.replay` is the function.
MODULE = sys.modules["dpreg.audit.replay"]


def test_the_command(capsys, tmp_path):
    path = tmp_path / "replay.json"
    call = ["audit", "--replay", "--pairs", "2", "--seed", "5"]
    assert main([*call, "--json", str(path)]) == 0
    said = capsys.readouterr().out
    assert "2 pairs of neighbouring tables" in said
    assert json.loads(path.read_text())["pairs"] == 2
    assert main([*call, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"]
    assert main([*call, "--full"]) == 2
    assert "--full cannot be used together with --replay" in capsys.readouterr().err
    assert main([*call, "--first", "3"]) == 2
    assert "--first 3 is after the last of --pairs 2" in capsys.readouterr().err
    for option in (["--pairs", "3"], ["--first", "2"], ["--seconds", "1"], ["--json", "-"]):
        assert main(["audit", *option]) == 2
        assert "needs --replay" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_reports_when_it_is_stopped(number, monkeypatch, capsys):
    usual, cases = signal.getsignal(signal.SIGTERM), []

    def stopped(case):
        cases.append(case)
        if len(cases) == 3:
            signal.raise_signal(number)
        return []

    monkeypatch.setattr(MODULE, "measure", stopped)
    monkeypatch.setattr(MODULE, "_TESTS", 0.0)
    assert main(["audit", "--replay", "--pairs", "9", "--first", "4"]) == 130
    said = capsys.readouterr().out
    assert "2 pairs of neighbouring tables" in said
    assert "the first is pair 4" in said
    assert "interrupted" in said
    assert signal.getsignal(signal.SIGTERM) is usual


def test_the_command_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(MODULE, "measure", lambda case: [])
    monkeypatch.setattr(MODULE, "_TESTS", 0.0)
    assert main(["audit", "--replay", "--pairs", "250", "--first", "40"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert [line.rpartition(",")[0] for line in said] == [
        "dpreg: 139 of 250 pairs", "dpreg: 239 of 250 pairs",
    ]  # fmt: skip


def test_the_command_fails_when_a_claim_is_broken(monkeypatch, capsys):
    import dpreg.audit as module

    def broken(pairs, **options):
        report = ReplayReport(1)
        from dpreg.audit.replay_report import Failure

        report.failures.append(Failure(None, "dp_test: 3 rows", 1))
        return report

    monkeypatch.setattr(module, "replay", broken)
    assert main(["audit", "--replay"]) == 1
    assert "FAILED at pair 1: dp_test: 3 rows" in capsys.readouterr().out
