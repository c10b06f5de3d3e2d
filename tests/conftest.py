"""Fixtures; one thread for BLAS, so that references are the same on every machine."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "tools"))
sys.path.insert(0, str(Path(__file__).parent))

from dpreg import _core, load_diamonds
from dpreg.privacy import pld

try:
    from hypothesis import settings
except ImportError:  # the tests of the site have no examples
    pass
else:
    # The same examples each time; as many more as DPREG_EXAMPLES says are others each time.
    settings.register_profile(
        "dpreg", derandomize="DPREG_EXAMPLES" not in os.environ, database=None, deadline=None
    )
    settings.load_profile("dpreg")

SEED = 20260101
# Half a million objects are made before the first test and stay until the last one.  Were they
# looked through for cycles each time, tests took 2% more of processor time, and collecting 9%.
gc.disable()
# Of the core.  Of several workers each has one: with two, small fits took a tenth more of processor
# time.  Threads are tested where sums are, and test_net.py has as many as users have.
THREADS = 1 if "PYTEST_XDIST_WORKER" in os.environ else 0
_core.use_threads(THREADS)


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_file_is_left_over(tmp_path_factory):
    """Have all temporary files in one folder, which is as empty after the tests as before."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)
        yield
    gc.collect()
    # Other packages give theirs names of their own, and take them away at exit, or never.
    assert [path.name for path in folder.iterdir() if path.name.startswith("tmp")] == []


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    """Have none of one test counted in another: matplotlib warns at the twenty-first."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def bits():
    return _core.TestBits(SEED)


@pytest.fixture
def unread(monkeypatch):
    """Fails the test when a record is read."""
    never = "dpreg.data.problem.read_design"
    monkeypatch.setattr(never, lambda *arguments: pytest.fail("a record was read"))


@pytest.fixture(scope="module")
def coarse_losses():
    """Have DP-SGD add up its losses on a grid ten times as coarse, in a seventh of the time.

    They are rounded up as always, to a noise that is larger by a thousandth at eps = 1.
    """
    pld.noise_multiplier.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pld, "_DISCRETISATION", 10 * pld._DISCRETISATION)
        yield
    pld.noise_multiplier.cache_clear()


@pytest.fixture(scope="session")
def diamonds():
    return load_diamonds()


@pytest.fixture
def use_threads():
    """Return what chooses the number of threads of the core, for one test."""
    yield _core.use_threads
    _core.use_threads(THREADS)
