"""One person, one cell: tables of exits and entries, against the definition and the exact law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_follows, discrete_laplace

from dpreg import _core
from dpreg.data.design import Design, Terms, Units
from dpreg.estimation.releases.exits import ExitCounts, noisy_exits

EDGES = np.array([0.0, 1.0, 2.0, 4.0])
TIMES = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0, np.inf, -np.inf, np.nan]
ROWS = st.lists(
    st.tuples(st.sampled_from(TIMES), st.sampled_from(TIMES), st.sampled_from([0, 1, 2, np.nan]),
              st.sampled_from([0.0, 1.0, 0.5, 2.0])), max_size=9,
)  # fmt: skip


def cell(start, stop, event, arm, *, entry):
    """What one row adds, by definition: (arm, interval, kind) of its exit, and of its entry."""
    if event not in (0, 1) or arm not in (0, 1):
        return None
    if entry and not (start < stop and start < 4 and stop > 0):
        return None
    if not entry and not (stop > 0 or (stop == 0 and event == 1)):
        return None
    k = next((k for k in range(3) if stop <= EDGES[k + 1]), None)
    if k is None:
        out = (2, 2)
    elif event == 1:
        out = (k, 0)
    else:
        out = (k, 2 if stop == EDGES[k + 1] else 1)
    first = max(start, 0.0)
    at = max(k for k in range(3) if EDGES[k] <= first) if entry else 0
    return (int(arm), *out), (int(arm), at, 3 + (first > EDGES[at]))


def counted(rows, *, entry):
    table = np.array(rows, dtype=float).reshape(-1, 4)
    X = table[:, [0, 2, 3] if entry else [2, 3]]
    return ExitCounts(EDGES, 2, np.ones(1), entry)(X, table[:, 1])


@pytest.mark.parametrize("entry", [False, True])
@given(rows=ROWS)
def test_the_definition(entry, rows):
    wanted = np.zeros((2, 3, 5 if entry else 3), dtype=int)
    for row in rows:
        found = cell(*row, entry=entry)
        if found is not None:
            wanted[found[0]] += 1
            if entry:
                wanted[found[1]] += 1
    assert counted(rows, entry=entry).tolist() == wanted.ravel().tolist()


@pytest.mark.parametrize("entry", [False, True])
@given(rows=ROWS, cut=st.integers(0, 9))
def test_rows_add_up_in_any_order_and_blocks(entry, rows, cut):
    whole = counted(rows, entry=entry)
    parts = counted(rows[cut:][::-1], entry=entry) + counted(rows[:cut], entry=entry)
    assert parts.tolist() == whole.tolist()


TERMS = Terms("t", ("event", "arm"), intercept=True)


def release(rows, epsilon, bits, *, labels=None, max_rows=1):
    table = np.array(rows, dtype=float).reshape(-1, 4)
    units = None if labels is None else Units.from_labels(np.array(labels))
    design = Design.of(table[:, [2, 3]], table[:, 1], TERMS, units)
    statistic = ExitCounts(np.arange(201.0), 2, np.ones(1), entry=False)
    return noisy_exits(design, statistic, max_rows, epsilon, bits)


@pytest.mark.parametrize(("labels", "rows", "each"), [(None, 1, 0.7), ([0, 0, 1], 3, 0.7 / 3)])
def test_the_law_is_discrete_laplace_of_the_scale_that_is_claimed(labels, rows, each):
    """In 12,000 cells, around exact counts; a unit of three rows has three times the scale."""
    world = [(0, 0.5, 1, 0.0), (0, 1.5, 0, 1.0), (0, 3.0, 0, 0.0)]
    bits = _core.TestBits(5)
    found = [release(world, 0.7, bits, labels=labels, max_rows=rows) for _ in range(10)]
    exact = release(world, 400.0 * rows, bits, labels=labels, max_rows=rows).exits
    assert exact.sum() == 3
    noise = np.concatenate([(f.exits - exact).ravel() for f in found])
    values = np.arange(-200, 201)
    assert_follows([(noise == v).sum() for v in values], discrete_laplace(values, each))
    (part,) = found[0].parts
    assert (part.epsilon, part.sensitivity, part.delta) == (0.7, rows, 0.0)
    assert part.scale == pytest.approx(1 / each)
    variance = (values**2 * discrete_laplace(values, each)).sum()
    assert found[0].variances[0] == pytest.approx(variance)


@pytest.mark.parametrize("entry", [False, True])
def test_the_exact_loss_of_every_neighbour_of_a_small_world(entry):
    """Cells are independent: the loss is the sum over cells of |change| times their epsilon."""
    epsilon, worst = 1.0, 0.0
    table = [(0.0, 1.0, 1, 0.0), (0.5, 3.0, 0, 1.0)]
    before = counted(table, entry=entry)
    shares = [2 / 3] * 3 + [1 / 3] * 2 if entry else [1.0] * 3
    scale = np.tile(np.array(shares) * epsilon, 6)
    for start in TIMES:
        for stop in TIMES:
            for event in (0, 1, 2):
                for arm in (0.0, 1.0, 2.0):
                    after = counted([*table, (start, stop, event, arm)], entry=entry)
                    worst = max(worst, float(np.abs(after - before) @ scale))
    assert worst == pytest.approx(epsilon)


def test_shares_of_entries_and_exits_are_no_more_than_epsilon():
    rng = np.random.default_rng(1)
    table = np.zeros((1, 4))
    design = Design.of(table[:, :3], table[:, 3], Terms("t", ("s", "e", "a"), intercept=True))
    statistic = ExitCounts(EDGES, 2, np.ones(1), entry=True)
    for epsilon in rng.uniform(0.001, 30, 50):
        found = noisy_exits(design, statistic, 1, epsilon, _core.TestBits(1))
        assert math.fsum(part.epsilon for part in found.parts) <= epsilon
        assert [p.label.split()[0] for p in found.parts] == ["exits", "entries"]


def test_a_unit_gives_at_most_so_many_rows_and_others_keep_theirs():
    world = [(0, k + 0.5, 1, 0.0) for k in range(9)]
    for rows in (1, 2, 4):
        exact = release(world, 500.0, _core.TestBits(3), labels=[0] * 6 + [1] * 3, max_rows=rows)
        assert exact.exits.sum() == min(rows, 6) + min(rows, 3)


def test_what_a_row_adds_does_not_depend_on_how_many_there_are():
    # What R hands over need not be dummies: with these a product of matrices has 41 of one row and
    # 40.99999999999999 of six.
    codes, row = np.array([5.0, 5.0, 8.0, 3.0, 7.0]), np.array([6.0, 1.0, 4.0, 7.0, 5.0]) / 3
    statistic = ExitCounts(EDGES, 50, codes, entry=False)
    X = np.column_stack([np.ones(9), np.tile(row, (9, 1))])
    one = statistic(X[:1], np.ones(1))
    for n in range(2, 10):
        np.testing.assert_array_equal(statistic(X[:n], np.ones(n)), n * one)
