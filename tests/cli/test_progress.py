"""What the shell shows of long work: late, on a terminal only, and gone afterwards."""

from __future__ import annotations

import io
import sys
import time

from dpreg.base.passes import passed, starting
from dpreg.faces.cli import shell


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, patience, seconds):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(shell, "_PATIENCE", patience)
    with shell.working("fitting"):
        starting()
        passed()
        time.sleep(seconds)
    return stream.getvalue()


def test_long_work_on_a_terminal_is_shown(monkeypatch):
    assert "fitting, pass 1 over the rows" in shown(monkeypatch, Terminal(), 0.01, 0.4)


def test_short_work_is_not(monkeypatch):
    assert "fitting" not in shown(monkeypatch, Terminal(), 5.0, 0.01)


def test_nothing_is_written_to_files(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), 0.01, 0.2) == ""
