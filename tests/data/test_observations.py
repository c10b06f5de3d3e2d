"""Rows in memory or in a file, in one block or many: the same bits."""

from __future__ import annotations

import errno
import functools
import gc
import itertools
import os
import pickle
import tempfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from unsealed import opened

import dpreg
from dpreg import _core
from dpreg.data.design import Design, Terms
from dpreg.data.observations import Collector, InMemory, RowCount
from dpreg.data.spool import Spool
from dpreg.estimation.releases.quantised import MappedRows, Recipe
from dpreg.estimation.releases.statistics import (
    EventCounts,
    IntervalCounts,
    LevelCounts,
    MagnitudeCounts,
    MomentSums,
    TailVotes,
)

VALUES = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([0.0, -0.0, 1e300, -1e-300, 5e-324]))


@st.composite
def divided(draw):
    """Rows, and the same rows in some order, in blocks of which some may be empty."""
    n, d = draw(st.integers(1, 30)), draw(st.integers(0, 3))
    table = draw(hnp.arrays(np.float64, (n, d + 1), elements=VALUES))
    order = draw(st.permutations(range(n)))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=5)))
    return table[:, :d], table[:, d], np.array(order, dtype=int), [0, *cuts, n]


def collected(X, y, cuts, memory):
    collector = Collector(memory)
    for begin, end in itertools.pairwise(cuts):
        collector.append(np.ascontiguousarray(X[begin:end]), y[begin:end])
    return collector.observations(X.shape[1])


def recipe_of(d):
    ones = np.ones(d)
    rng = np.random.default_rng(d)
    change = rng.normal(size=(d + 1, d + 1))
    return Recipe(
        np.arange(d), -5 * ones, 5 * ones, 0.1 * ones, 2 * ones, 0.5, 3.0, True, 1.5,
        change=change,
    )  # fmt: skip


def statistics(d):
    both, low = np.arange(d + 1), -np.arange(1.0, d + 2)
    sets = np.stack([low, 2 * low, low / 2])
    return [
        RowCount(), MagnitudeCounts(both, np.ones(d + 1)), MagnitudeCounts(both[-1:], np.ones(1)),
        IntervalCounts(low, -low, 8, both, np.ones(d + 1)),
        MomentSums(low / 3, np.ones(d + 1), np.ones(d + 1)),
        EventCounts(), *([LevelCounts((np.arange(d),))] if d else []),
        TailVotes(np.ones(d), 0.5, sets, -sets, 1.0),
    ]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(divided(), st.sampled_from([1e9, 0.0]))
def test_sums_do_not_depend_on_blocks_nor_their_order(rows, memory):
    X, y, order, cuts = rows
    whole, parts = InMemory(X, y), collected(X[order], y[order], cuts, memory)
    assert parts.count == len(y)
    for statistic in statistics(X.shape[1]):
        carried = pickle.loads(pickle.dumps(statistic))  # as to another process
        here, there = parts.total(carried), whole.total(statistic)
        np.testing.assert_array_equal(opened(here), opened(there))
        assert here.sensitivity == there.sensitivity


@settings(max_examples=60, deadline=None)
@given(divided(), st.sampled_from([1e9, 0.0]), st.booleans())
def test_sums_over_mapped_rows_do_not_depend_on_blocks(rows, memory, kept):
    X, y, order, cuts = rows
    d = X.shape[1]
    terms = Terms("y", tuple(f"x{j}" for j in range(d)), True)
    theta = np.linspace(-1, 1, d + 1)

    def sums(observations):
        rows = MappedRows(Design.of_rows(observations, terms), recipe_of(d), kept=kept)
        return [rows.gram(), rows.round(theta, 0.7, 0.2), rows.score(theta, 0.9),
                rows.score_norms(theta), rows.score_products(theta, 0.9)]  # fmt: skip

    parts = collected(X[order], y[order], cuts, memory)
    for one, other in zip(sums(InMemory(X, y)), sums(parts), strict=True):
        np.testing.assert_array_equal(opened(one), opened(other))


def test_rows_and_columns_can_be_chosen_in_a_file_as_in_memory():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    held, spooled = (collected(X, y, [0, 20, 20, 50], memory) for memory in (1e9, 0.0))
    assert isinstance(held, InMemory)
    assert not isinstance(spooled, InMemory)
    chosen = rng.random(50) < 0.5
    for rows in (held, spooled):
        found = rows.where(chosen).columns([3, 1]).columns([1]).arrays()
        np.testing.assert_array_equal(found[0], X[chosen][:, [1]])
        np.testing.assert_array_equal(found[1], y[chosen])


def test_no_rows_are_no_rows():
    nothing = Collector(0.0).observations(3)
    assert nothing.count == 0
    assert nothing.arrays()[0].shape == (0, 3)


def test_quantised_rows_survive_a_pickle_with_their_units():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    how = recipe_of(2).standardisation()
    rows = _core.QuantisedRows(X, y, how, [0, 4, 9], [0, 2, 4, 6, 8, 1, 3, 5, 7])
    again = pickle.loads(pickle.dumps(rows))
    theta = np.ones(3)
    np.testing.assert_array_equal(again.score(theta, 1.0), rows.score(theta, 1.0))
    np.testing.assert_array_equal(again.gram(), rows.gram())
    assert (again.rows, again.width, again.limit) == (rows.rows, rows.width, rows.limit)


@pytest.mark.parametrize("memory", [0.0, 1e5, 1e9])
def test_a_spool_is_read_block_by_block(memory):
    blocks = [np.arange(size) for size in (3, 2000, 1, 0, 9000, 5, 5, 5, 7000)]
    kept = Spool(memory)
    for block in blocks:
        kept.append(block, block.nbytes)
    for found in (
        [block for part in list(kept.parts()) for block in part()],
        list(kept),
        [kept[k] for k in range(9)],
    ):
        for one, other in zip(found, blocks, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("memory", [0.0, 1e5, 1e9])
def test_a_spool_that_is_cleared_takes_other_blocks(memory):
    kept = Spool(memory)
    for size in (5000, 9000, 400, 60, 7):
        kept.clear()
        assert len(kept) == 0
        blocks = [np.full(size + k, size + k) for k in range(6)]
        for block in blocks:
            kept.append(block, block.nbytes)
        for one, other in zip(kept, blocks, strict=True):
            np.testing.assert_array_equal(one, other)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 3000), max_size=12))
def test_blocks_come_back_in_order_however_they_lie_in_the_file(sizes):
    kept = Spool(0.0)
    for k, size in enumerate(sizes):
        kept.append(np.full(size, k), 8 * size + 1)
    found = [(len(block), set(block.tolist())) for block in kept]
    assert found == [(size, {k} if size else set()) for k, size in enumerate(sizes)]
    assert [len(kept[k]) for k in range(len(sizes))] == sizes


def test_a_spool_goes_to_a_file_without_a_name_and_that_goes_too(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = Spool(10.0)
    for k in range(5):
        spool.append(k, 4)
        assert (spool.held is None) == (k >= 2)
    assert list(spool) == list(spool) == [0, 1, 2, 3, 4]
    first, second = iter(spool), iter(spool)
    assert [next(first), next(second), next(first)] == [0, 0, 1]
    if os.name == "posix":
        assert not list(tmp_path.iterdir())
    del spool, first, second
    gc.collect()
    assert not list(tmp_path.iterdir())


def no_room(*args, **options):
    raise OSError(errno.EROFS, "Read-only file system")


def line(rows):
    return pd.DataFrame({"x": np.arange(float(rows)), "y": np.arange(float(rows))})


@pytest.mark.parametrize("rows", [0, 1, 31_249, 31_250, 31_251, 100_000])
def test_no_folder_for_temporary_files_is_told_before_the_charge_however_many_rows(
    rows, monkeypatch
):
    # 16 bytes a row, and half of the memory: with one row more they would go to a file.
    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(ValueError, match=r"^memory needs a temporary file.*set TMPDIR") as refused:
        dpreg.dp_lm("y ~ x", line(rows), 1.0, 1e-5, budget=budget, memory=1e6)
    assert "Read-only file system" in str(refused.value)
    assert budget.remaining[0] == 1.0


@pytest.mark.parametrize("call", ["dp_lm", "dp_moments"])
def test_without_a_folder_for_temporary_files_rows_stay_in_memory(call, monkeypatch):
    fits = [getattr(dpreg, call)("y ~ x", line(300), 1.0, 1e-5, rng=1).to_json()]
    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    fits.append(getattr(dpreg, call)("y ~ x", line(300), 1.0, 1e-5, rng=1).to_json())
    assert fits[0] == fits[1]


@pytest.mark.parametrize("rows", [0, 1, 100_000])
def test_a_folder_that_goes_after_the_charge_does_not_tell_how_many_rows_there_are(
    rows, monkeypatch
):
    there = iter([True])
    file = tempfile.TemporaryFile
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda **how: file() if next(there, False) else no_room()
    )
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(dpreg.SourceError, match=r"TMPDIR.*memory=") as raised:
        dpreg.dp_lm("y ~ x", line(rows), 1.0, 1e-5, budget=budget, memory=1e6)
    assert raised.value.__cause__ is None
    assert budget.remaining[0] == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_full_disk_says_what_to_do_after_the_charge(monkeypatch):
    full = functools.partial(open, "/dev/full", "r+b")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(dpreg.SourceError, match=r"No space left.*TMPDIR.*memory=") as raised:
        dpreg.dp_lm("y ~ x", line(100_000), 1.0, 1e-5, budget=budget, memory=1e6)
    assert raised.value.__cause__ is None
    assert budget.remaining[0] == 0


def test_the_file_is_closed_when_nobody_needs_it(monkeypatch):
    files, opened = [], tempfile.TemporaryFile
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda **how: files.append(opened(**how)) or files[-1]
    )
    spool = Spool(0.0)
    for k in range(5):
        spool.append(np.full(3, k), 24)
    assert [int(block.sum()) for block in spool] == [0, 3, 6, 9, 12]
    assert [file.closed for file in files] == [False]
    del spool
    gc.collect()
    assert [file.closed for file in files] == [True]
