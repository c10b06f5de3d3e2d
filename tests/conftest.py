"""Fixtures; one thread for BLAS, so that references are the same on every machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "tools"))
sys.path.insert(0, str(Path(__file__).parent))

from dpreg import _core, load_diamonds

SEED = 20260101


@pytest.fixture
def bits():
    return _core.TestBits(SEED)


@pytest.fixture
def unread(monkeypatch):
    """Fails the test when a record is read."""
    never = "dpreg.data.problem.read_design"
    monkeypatch.setattr(never, lambda *arguments: pytest.fail("a record was read"))


@pytest.fixture(scope="session")
def diamonds():
    return load_diamonds()
