"""Rows of persons and periods: by definition, silent, and of one record each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from methods.tables import rows_by_hand as by_hand
from methods.tables import survivors as cohort
from unsealed import arrays_of, opened, rows_of, units_of

import dpreg
from dpreg.data.design import Design, Terms, Units
from dpreg.data.expanded import expanded
from dpreg.data.observations import Collector, RowCount
from dpreg.data.periods import EXPOSURE, Periods, RowsOfPeriods

CUTS = [0.5, 1.0, 1.5, 2.0]
EDGES = (0.0, 1.0, 2.0, 4.0)
# Times on and off the edges, some of which cannot be.
TIMES = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0)


@pytest.mark.parametrize("entry", [False, True])
def test_rows_are_those_of_the_definition(entry):
    starts = TIMES if entry else (-np.inf,)
    records = list(itertools.product(starts, TIMES, (0.0, 1.0, 2.0, 0.5)))
    start, stop, event = np.array(records).T
    X = np.column_stack([*([start] if entry else []), event, np.arange(len(stop))])
    expansion = RowsOfPeriods(Periods(edges=EDGES, covariates=("x",)), entry, (1 + entry,), ())
    rows, response, counts = expansion(X, stop)
    wanted = [by_hand(*record, EDGES) for record in records]
    assert counts.tolist() == [len(each) for each in wanted]
    assert sum(map(len, wanted)) > 30 * (1 + entry)
    flat = [(record, *row) for record, of in enumerate(wanted) for row in of]
    record, interval, exposure, happened = np.array(flat).T
    np.testing.assert_array_equal(rows[:, 0], record)
    np.testing.assert_array_equal(rows[:, 1:3], interval[:, None] == [1, 2])
    np.testing.assert_allclose(rows[:, 3], np.log(exposure), rtol=1e-14)
    np.testing.assert_array_equal(response, happened)


def test_wild_cells_are_not_heard_of():
    periods = Periods(edges=(0.0, 1.0, 1e308), covariates=("x",), varying=("x",))
    expansion = RowsOfPeriods(periods, False, (1,), ())
    X = np.array([[1.0, 1.7e308], [0.0, -np.inf], [1.0, np.nan]])
    with np.errstate(all="raise"):
        rows, _, counts = expansion(X, np.full(3, np.inf))
    assert counts.tolist() == [2, 2, 2]
    assert np.isfinite(rows[:, -1]).all()  # of exposure


def test_a_caller_who_wants_warnings_raised_is_told_nothing_of_a_cell():
    # numpy keeps what it warns of for each thread.
    table, seen = cohort(300), []
    wild = table.assign(x=np.where(np.arange(300) == 7, 1.7e308, table["x"]))
    for data in (table, wild):
        with np.errstate(all="raise"):
            fit = dpreg.dp_survival(
                "Surv(time, event) ~ x", data, 5.0, 1e-5, cuts=CUTS, time_varying=["x"], rng=1
            )
        seen.append(type(fit))
    assert seen[0] is seen[1]


def _designs(rng, n, *, spilled):
    """Return a design of records, some of units with several, in memory or not."""
    X = np.column_stack([rng.choice(TIMES, n), rng.choice([0.0, 1.0, 2.0], n), rng.normal(size=n)])
    y, labels = rng.choice(TIMES, n), rng.integers(0, max(n // 2, 1), n)
    terms = Terms("t", ("s", "e", "x"), intercept=True)
    if not spilled:
        return Design.of(X, y, terms, Units.from_labels(labels)), labels
    collector = Collector(0.0)
    for part in np.array_split(np.arange(n), 3):
        collector.append(X[part], y[part])
    return Design.of_rows(collector.observations(3), terms, Units.from_labels(labels)), labels


@pytest.mark.parametrize("spilled", [False, True])
def test_groups_are_the_rows_of_units_and_totals_those_of_all(spilled, monkeypatch):
    monkeypatch.setattr("dpreg.data.expanded._ROWS", 9)
    rng = np.random.default_rng(3)
    expansion = RowsOfPeriods(Periods(edges=EDGES, covariates=("x",)), True, (2,), ())
    design, labels = _designs(rng, 40, spilled=spilled)
    made = expanded(design, expansion, 3, 4, Terms("t", ("x", "a", "b", EXPOSURE), intercept=True))
    rows, units = rows_of(made), units_of(made)
    assert units.most == 12
    X, y, counts = expansion(*arrays_of(design))
    of = np.repeat(labels, counts)
    all_x, all_y = rows.arrays()
    np.testing.assert_array_equal(np.column_stack([all_x, all_y]), np.column_stack([X, y]))
    seen = set()
    for block in rows.groups(units.offsets, units.rows):
        for k, (a, b) in enumerate(itertools.pairwise(block.offsets.astype(int))):
            label = np.unique(labels)[block.first + k]
            seen.add(label)
            own = block.rows[a:b].astype(int)
            found = np.column_stack([block.X[own], block.y[own]])
            np.testing.assert_array_equal(found, np.column_stack([X, y])[of == label])
    assert seen == set(labels)
    assert opened(rows.total(RowCount())).tolist() == [len(y)]
    assert rows.count == len(y)
    half = np.arange(len(y)) % 2 == 0
    np.testing.assert_array_equal(rows.where(half).arrays()[1], y[half])
    np.testing.assert_array_equal(rows.columns([0]).arrays()[0], X[:, :1])


def test_records_of_a_unit_are_in_the_order_of_their_entry():
    expansion = RowsOfPeriods(Periods(edges=EDGES, covariates=("x",)), True, (2,), ())
    rng = np.random.default_rng(8)
    design, labels = _designs(rng, 40, spilled=False)
    X, y = arrays_of(design)
    X[3, 0] = np.nan
    made = expanded(design, expansion, 3, 4, Terms("t", ("x", "a", "b", EXPOSURE), intercept=True),
                    order=0)  # fmt: skip
    seen = 0
    for block in rows_of(made).groups(units_of(made).offsets, units_of(made).rows):
        for k, (a, b) in enumerate(itertools.pairwise(block.offsets.astype(int))):
            own = np.flatnonzero(labels == np.unique(labels)[block.first + k])
            own = own[np.argsort(X[own, 0], kind="stable")]
            wanted, response, _ = expansion(X[own], y[own])
            np.testing.assert_array_equal(block.X[a:b], wanted)
            np.testing.assert_array_equal(block.y[a:b], response)
            seen += len(own) > 1
    assert seen > 5


@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_more_is_so_many_rows_more_and_no_other_row_changes(most):
    expansion = RowsOfPeriods(Periods(edges=EDGES, covariates=("x",)), True, (2,), ())
    few = [(s, e) for s in (-1.0, 0.5, 2.0, 9.0) for e in (0.0, 1.0, 2.0)]
    others = np.array([[0.0, 1.0, 7.0], [1.0, 0.0, 8.0]])
    alone, y_alone, _ = expansion(others, np.array([3.0, 9.0]))
    for own in itertools.product(few, repeat=most):
        for stop in itertools.product((0.0, 1.0, 3.0, 9.0), repeat=most):
            more = np.column_stack([np.array(own), np.zeros(most)])
            X, y, _ = expansion(np.vstack([more, others]), np.array([*stop, 3.0, 9.0]))
            assert len(y) - len(y_alone) <= 3 * most
            np.testing.assert_array_equal(X[len(y) - len(y_alone) :], alone)
            np.testing.assert_array_equal(y[len(y) - len(y_alone) :], y_alone)
