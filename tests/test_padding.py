"""Padded calls end at multiples of a public time, whatever becomes of them."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.base import passes
from dpreg.faces.cli.commands import main


class Clock:
    """A clock that moves when it is told to, or by sleeping."""

    def __init__(self, monkeypatch):
        self.now, self.slept = 100.0, []
        monkeypatch.setattr(passes.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(passes.time, "sleep", self.sleep)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += 0.75 * seconds if len(self.slept) == 1 else seconds + 1e-9


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.mark.parametrize(("taken", "ends"), [(0.0, 2), (1.9, 2), (2.0, 2), (2.1, 4), (7.0, 8)])
def test_a_block_ends_at_a_multiple(clock, taken, ends):
    with dpreg.padded(2.0):
        clock.now += taken
    assert clock.now == pytest.approx(100 + ends)


def test_a_block_that_fails_takes_as_long(clock):
    with pytest.raises(KeyError), dpreg.padded(3):
        raise KeyError
    assert clock.now == pytest.approx(103)


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf"), "2", None, True])
def test_wrong_seconds(bad):
    with pytest.raises(ValueError, match="seconds must be greater than 0"), dpreg.padded(bad):
        raise AssertionError("not reached")


@pytest.mark.slow
def test_declining_takes_as_long_as_releasing():
    rng = np.random.default_rng(1)
    few, many = (pd.DataFrame({"y": rng.standard_normal(n)}) for n in (3, 3000))
    for table, kind in ((few, dpreg.NotReleased), (many, dpreg.DPResults)):
        start = time.monotonic()
        with dpreg.padded(8.0):
            found = dpreg.dp_lm("y ~ 1", table, 1.0, method="tukey", inference=False, rng=1)
        assert isinstance(found, kind)
        assert 8.0 <= time.monotonic() - start < 9.0


def test_the_shell_waits_also_when_it_refuses(clock, tmp_path, capsys):
    path = tmp_path / "d.parquet"
    pd.DataFrame({"y": np.arange(50.0), "x": np.arange(50.0)}).to_parquet(path)
    call = ["fit", "y ~ x", str(path), "--eps", "1", "--pad", "5"]
    assert main(call) in (0, 3)
    assert clock.now == pytest.approx(105)
    assert main([*call[:1], "y ~ nothing", *call[2:]]) == 2
    assert clock.now == pytest.approx(110)
    assert "nothing" in capsys.readouterr().err
    assert main([*call[:-1], "0"]) == 2
    assert "seconds must be greater than 0" in capsys.readouterr().err
