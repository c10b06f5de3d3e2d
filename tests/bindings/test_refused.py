"""What the core cannot use it refuses, and reads no memory that is not its own."""

from __future__ import annotations

import numpy as np
import pytest
from bindings.arrays import D, N, table
from bindings.calls import bits, recipe

from dpreg import _core

testing = _core.testing


def how_of(**options):
    return (*table(), recipe(D, **options))


def rows():
    return _core.QuantisedRows(*table(), recipe(D))


def gradient():
    return _core.L1Gradient(_core.DenseUnitDesign(table()[0]), table()[1], l1=1.0)


def fitted(members, offsets=None, order=None):
    x, y = table()
    return _core.fit_lasso_batches(
        x, y, _core.fixed_assignment(members, [0, len(members)]), penalty=0.1,
        unit_offsets=offsets, unit_rows=order,
    )  # fmt: skip


def split(starts, columns, values, cols=2):
    return _core.SparseUnitDesign(np.array(starts), np.array(columns), np.array(values), cols)


def restored(q, y):
    parts = (np.zeros(0, np.uint64), _core.Loss(), np.zeros(0), np.zeros(0))
    return _core.QuantisedRows.__new__(_core.QuantisedRows).__setstate__((1, 1.0, q, y, *parts))


REFUSED = {
    "a vector for a matrix": lambda: _core.magnitude_counts(np.zeros(3)),
    "a matrix for a vector": lambda: _core.kendall_tau(*(table()[0],) * 2),
    "rows of other lengths": lambda: _core.QuantisedRows(table()[0], np.zeros(3), recipe(D)),
    "a unit that is not there": lambda: fitted([N]),
    "a grouped unit that is not there": lambda: fitted([2], [0, 3, N], range(N)),
    "a record that is not there": lambda: fitted([0], [0, 1], [N]),
    "a record before the first": lambda: fitted([0], [0, 1], np.array([-1])),
    "units that do not begin at 0": lambda: fitted([0], [1, 2], [0, 1]),
    "units that end early": lambda: fitted([0], [0, 1], [0, 1]),
    "units that go back": lambda: _core.QuantisedRows(*how_of(), [0, 2, 1, 3], [0, 1, 2]),
    "units that leave out the first": lambda: _core.QuantisedRows(*how_of(), [1, 3], [0, 1, 2]),
    "members that are not there": lambda: _core.fixed_assignment([0, 1], [0, 3]),
    "a column that is not there": lambda: _core.QuantisedRows(*how_of(columns=[D + 1] * D)),
    "a column before the first": lambda: how_of(columns=[-1] * D),
    "a column between two": lambda: how_of(columns=[0.5] * D),
    "a weight that is not there": lambda: _core.QuantisedRows(*how_of(weight=D)),
    "a map of another size": lambda: _core.mapped_gram(*how_of(map=np.ones((3, 3)))),
    "a coefficient too many": lambda: rows().score(np.zeros(D + 2), 1.0),
    "a coefficient too few": lambda: rows().round(np.zeros(D), 1.0),
    "a limit of 0": lambda: rows().curvature(np.zeros(D + 1), 0.0),
    "limits of other columns": lambda: _core.moment_sums(table()[0], [0.0], [1.0]),
    "no bins": lambda: _core.interval_counts(np.zeros((2, 1)), [0.0], [1.0], 0),
    "more bins than there are numbers": lambda: _core.interval_counts(
        np.zeros((2, 1)), [0.0], [1.0], 2**61 - 2
    ),
    "more bins than fit": lambda: _core.interval_counts(np.zeros((2, 1)), [0.0], [1.0], 2**64 - 2),
    "columns of other lengths": lambda: _core.side_by_side([np.zeros(3), np.zeros(2)], 3),
    "one set of limits": lambda: _core.tail_votes(
        np.zeros((1, 0)), np.zeros(1), [], 0.0, low=[[0.0]], high=[[1.0]], unit=1.0
    ),
    "a depth that is not there": lambda: _core.DepthRegions(table()[0], 0).log_volume(N),
    "a side that is not there": lambda: _core.DepthRegions(table()[0], 0).side(1, D),
    "no points": lambda: _core.DepthRegions(np.zeros((0, 1)), 0),
    "a depth of 0": lambda: testing.draw_deep_point(
        _core.DepthRegions(table()[0], 0), 1.0, 0, bits()
    ),
    "a noise that is too wide": lambda: _core.discrete_gaussian(2**44 + 1, bits(), 1),
    "a noise without scale": lambda: _core.discrete_laplace(np.nan, bits(), 1),
    "a test without epsilon": lambda: _core.release_threshold(1e-300, 0.1),
    "a test with every epsilon": lambda: _core.release_threshold(np.inf, 0.1),
    "a rate of 0": lambda: _core.poisson_rate(0.0),
    "no numbers": lambda: testing.uniform_below(0, bits(), 1),
    "no fractions": lambda: testing.bernoulli_exp(1, 0, bits(), 1),
    "a subset larger than its set": lambda: _core.random_subset(1, 2, bits()),
    "no models": lambda: _core.assign_independently(3, 0, bits()),
    "more slots than fit": lambda: _core.assign_to_slots(3, 2**40, 2**40, bits()),
    "a votes' matrix of no columns": lambda: _core.count_votes(np.zeros((3, 0)), 1),
    "more columns than there are": lambda: _core.dp_kendall(
        *table(), k=D + 1, epsilon_round=1.0, first_range=2.5, later_range=5.0, bits=bits()
    ),
    "groups that go back": lambda: _core.dp_kendall(
        *table(), k=1, epsilon_round=1.0, first_range=2.5, later_range=5.0, bits=bits(),
        groups=[0, 2, 1],
    ),
    "nothing to choose": lambda: _core.choose_index(np.zeros(0), bits()),
    "nothing that may be chosen": lambda: testing.choose_by_gap(
        np.array([np.inf]), 1.0, 1.0, bits()
    ),
    "no scores": lambda: _core.peel(np.zeros(0), k=1, range=1.0, epsilon=1.0, bits=bits()),
    "row starts that go back": lambda: split([0, 2, 1, 3], [0, 1, 0], [1.0] * 3),
    "row starts beyond the entries": lambda: split([0, 4], [0, 1, 0], [1.0] * 3),
    "no row starts": lambda: split(np.zeros(0, int), [], []),
    "a column index beyond the last": lambda: split([0, 1], [2], [1.0]),
    "a column index below 0": lambda: split([0, 1], [-1], [1.0]),
    "a cell that is there twice": lambda: split([0, 2], [1, 1], [1.0] * 2),
    "columns that fall": lambda: split([0, 2], [1, 0], [1.0] * 2),
    "an index without a value": lambda: split([0, 1], [0], []),
    "no columns": lambda: split([0], [], [], 0),
    "a step along no column": lambda: gradient().step(D, True),
    "a reach of no column": lambda: gradient().reach(D),
    "a drop of no column": lambda: gradient().drop(D),
    "a start beyond the ball": lambda: _core.L1Gradient(
        _core.DenseUnitDesign(table()[0]), table()[1], l1=1.0, start=[2**31] * D
    ),
    "a mask of other columns": lambda: gradient().wolfe_gap(np.ones(D - 1, np.uint8)),
    "a mask of large numbers": lambda: gradient().wolfe_gap([256] * D),
    "a group that is not there": lambda: _core.VertexBounds(gradient(), 1.0).numerators(99),
    "a slot that is not there": lambda: _core.VertexBounds(gradient(), 1.0).follow(1, [99]),
    "a removed column that is not there": lambda: _core.VertexBounds(gradient(), 1.0).remove(D),
    "no steps": lambda: _core.frank_wolfe(gradient(), steps=0),
    "an epsilon that is not a number": lambda: _core.dp_frank_wolfe(
        gradient(), steps=1, epsilon_step=np.nan, bits=bits()
    ),
    "a state without its parts": lambda: restored(np.zeros(8, np.int16), np.zeros(2)),
    "a state of smaller numbers": lambda: restored(np.zeros(8, np.int8), np.zeros(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    with pytest.raises(ValueError, match=r"[a-z]"):
        REFUSED[name]()


def test_no_model_is_as_deep_as_a_number_can_be():
    regions = _core.DepthRegions(table()[0], 0)
    for t in (N, 2**63, 2**64 - 1):
        assert _core.distance_to_unsafety(regions, 1.0, t, 0.1) == -1
