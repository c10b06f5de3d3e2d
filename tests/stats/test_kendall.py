"""Kendall's correlation: definition, public tools, sensitivity over all neighbours."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from oracles import kendall_by_definition
from scipy import stats

from dpreg import _core

REFERENCE = Path(__file__).parents[1] / "r"
INF, NAN = np.inf, np.nan


def worlds(n, values=3):
    """Every column of n rows on the values 0, ..., values - 1."""
    rows = list(itertools.product(range(values), repeat=n))
    return np.array(rows, dtype=float).reshape(len(rows), n)


@pytest.mark.parametrize("n", range(7))
def test_every_data_set_of_up_to_six_rows_on_three_values(n):
    """Of six rows, those whose first column rises: all others have the same rows in another order,
    and up to five rows there is every order.
    """
    columns = worlds(n)
    for x in columns if n < 6 else columns[(np.diff(columns) >= 0).all(axis=1)]:
        expected = kendall_by_definition(np.broadcast_to(x, columns.shape), columns)
        found = np.array([_core.kendall_tau(x, y) for y in columns])
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("values", [2, 3, 30, 10**6], ids=lambda v: f"{v} values")
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0], ids=lambda v: f"{v} missing")
@pytest.mark.parametrize("n", [2, 7, 33, 300])
def test_definition_with_ties_and_missing_values(n, values, missing):
    rng = np.random.default_rng([n, values, int(10 * missing)])
    for _ in range(20):
        x, y = rng.integers(values, size=(2, n)).astype(float)
        x[rng.random(n) < missing] = NAN
        y[rng.random(n) < missing / 2] = NAN
        assert _core.kendall_tau(x, y) == kendall_by_definition(x, y)
        assert _core.kendall_tau(y, x) == _core.kendall_tau(x, y)


@pytest.mark.parametrize("levels", [(2, 2), (2, 1000), (5, 50), (1000, 1000), (10**6, 3)])
def test_equals_scipy_after_removing_its_tie_factor(levels):
    rng = np.random.default_rng(levels)
    for n in (50, 5000):
        x, y = (rng.integers(v, size=n).astype(float) for v in levels)
        y += np.round(x * levels[1] / levels[0] / 3)
        tau_b = stats.kendalltau(x, y).statistic
        pairs = n * (n - 1) / 2
        untied = [pairs - (c * (c - 1) / 2).sum() for c in
                  (np.unique(v, return_counts=True)[1] for v in (x, y))]  # fmt: skip
        expected = tau_b * np.sqrt(untied[0] * untied[1]) / (n - 1)
        assert _core.kendall_tau(x, y) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["normal", "uniform_weak", "cauchy"])
def test_equals_cor_fk_of_the_r_package_pcapp(name):
    """Without ties; values stored by tests/r/make_kendall.R."""
    data = np.loadtxt(REFERENCE / f"kendall_{name}.csv", delimiter=",", skiprows=1)
    n = len(data)
    (expected,) = (
        float(line.split(",")[1])
        for line in (REFERENCE / "kendall.csv").read_text().splitlines()
        if line.startswith(f'"{name}"')
    )
    found = _core.kendall_tau(data[:, 0], data[:, 1]) / (n / 2)
    assert found == pytest.approx(expected, abs=1e-14)


def keys_that_share_bits():
    """Columns whose values agree in all but their last bits, or differ in every way."""
    rng = np.random.default_rng(5)
    near = 1.0 + rng.integers(0, 50, 400) * 2.0**-52
    yield near
    yield np.concatenate([near, -near, [0.0, -0.0, INF, -INF, 5e-324, -5e-324, 1e308]])
    yield rng.standard_normal(3000) * 10.0 ** rng.integers(-300, 300, 3000)
    yield np.repeat(near[:20], 50)
    yield 1.6e9 + rng.integers(0, 10, 500) / 7
    yield np.array([NAN, 1.0, NAN, -1.0])


@pytest.mark.parametrize("x", list(keys_that_share_bits()), ids=len)
def test_ranks_are_dense_ranks(x):
    ranks = _core.testing.ranks(x)
    present = ~np.isnan(x)
    expected = np.unique(x[present], return_inverse=True)[1]
    np.testing.assert_array_equal(ranks[present], expected)
    assert (ranks[~present] == 2**32 - 1).all()
    np.testing.assert_array_equal(_core.testing.ranks(np.repeat(x, 2)[::2]), ranks)  # strided


def test_only_the_order_matters():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 500)).round(1)
    tau = _core.kendall_tau(x, y)
    assert _core.kendall_tau(np.exp(x), y**3) == tau
    assert _core.kendall_tau(-x, y) == -tau
    shuffle = rng.permutation(500)
    assert _core.kendall_tau(x[shuffle], y[shuffle]) == tau
    assert _core.kendall_tau(x, x) == kendall_by_definition(x, x)


@pytest.mark.parametrize("odd", [0.0, NAN, INF, -INF, 1e308, 5e-324])
@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_constant_columns_score_nothing(odd, n):
    y = np.arange(n, dtype=float)
    assert _core.kendall_tau(np.full(n, odd), y) == 0
    assert _core.kendall_tau(y, np.full(n, odd)) == 0


# What one row changes: over every data set of n rows on the values 0, ..., 3 and NaN, and every
# row that can be added.  Rows may be in any order, so data sets are multisets of rows.


def changes(n):
    """tau before and after each addition of a row to each data set of n rows."""
    cells = [0.0, 1.0, 2.0, 3.0, NAN]
    rows = np.array(list(itertools.product(cells, repeat=2)))
    before, after = [], []
    for world in itertools.combinations_with_replacement(range(len(rows)), n):
        x, y = rows[list(world)].T.reshape(2, n)
        tau = _core.kendall_tau(x, y)
        for row in rows:
            before.append(tau)
            after.append(_core.kendall_tau(np.append(x, row[0]), np.append(y, row[1])))
    return np.array(before), np.array(after)


@pytest.fixture(scope="module")
def all_changes():
    return [changes(n) for n in range(4)]


def test_sensitivity_is_attained_and_never_exceeded(all_changes):
    moves = [np.abs(after - before).max() for before, after in all_changes]
    assert max(moves) == _core.KENDALL_SENSITIVITY


def test_changes_of_the_absolute_value_lie_between_their_ends(all_changes):
    moves = np.concatenate([np.abs(after) - np.abs(before) for before, after in all_changes])
    assert moves.max() == _core.KENDALL_LARGEST_RISE
    assert moves.min() == -_core.KENDALL_SENSITIVITY


def selection_scores(label, columns, chosen):
    """Equation (1) of Dick et al. (2023), by definition; all arguments are lists of columns."""
    tau = kendall_by_definition
    own = np.array([abs(tau(c, label)) for c in columns])
    if not chosen:
        return own
    return own - np.mean([[abs(tau(c, s)) for c in columns] for s in chosen], axis=0)


def test_range_of_round_one_is_attained():
    """One column perfectly concordant before, the other tied in every pair."""
    before = {"y": [0, 1, 2], "a": [0, 1, 2], "b": [0, 0, 0]}
    row = {"y": -1, "a": 3, "b": 1}
    y, a, b = (np.array(v, dtype=float) for v in before.values())
    y2, a2, b2 = (np.append(np.array(before[c], dtype=float), row[c]) for c in before)
    change = selection_scores(y2, [a2, b2], []) - selection_scores(y, [a, b], [])
    assert np.ptp(change) == _core.KENDALL_LABEL_RANGE


def test_range_of_later_rounds_is_attained():
    """y = a and s = b as orders, with as many concordant as discordant pairs between them;
    the new row reverses what was perfect and adds to what was balanced."""
    y, s = np.array([0.0, 1, 2, 3]), np.array([1.0, 3, 0, 2])
    assert kendall_by_definition(y, s) == 0
    a, b = y, s
    y2, a2, s2, b2 = np.append(y, -9), np.append(a, 9), np.append(s, 9), np.append(b, -9)
    change = selection_scores(y2, [a2, b2], [s2]) - selection_scores(y, [a, b], [s])
    assert change.tolist() == [-2.5, 2.5]
    assert np.ptp(change) == _core.KENDALL_SCORE_RANGE


@pytest.mark.parametrize("n", [1, 2, 3])
def test_range_of_later_rounds_is_never_exceeded_on_every_small_world(n):
    """All data sets of (y, s, candidate) on three values and all rows that can be added."""
    cells = np.array(list(itertools.product(range(3), repeat=3)), dtype=float)
    worlds_of_rows = np.array(list(itertools.combinations_with_replacement(range(len(cells)), n)))
    before = cells[worlds_of_rows]
    worst = 0.0
    for row in cells:
        after = np.concatenate([before, np.broadcast_to(row, (len(before), 1, 3))], axis=1)
        change = _score(after) - _score(before)
        worst = max(worst, np.abs(change).max())
    assert worst <= _core.KENDALL_SCORE_RANGE / 2


def _score(worlds):
    y, s, c = np.moveaxis(worlds, -1, 0)
    return np.abs(kendall_by_definition(c, y)) - np.abs(kendall_by_definition(c, s))


def test_larger_random_worlds_stay_within_the_ranges():
    rng = np.random.default_rng(8)
    for _ in range(300):
        n, d, t = int(rng.integers(2, 25)), 5, int(rng.integers(0, 4))
        table = rng.integers(rng.integers(2, 30), size=(n + 1, 1 + t + d)).astype(float)
        table[rng.random(table.shape) < 0.05] = NAN
        columns = list(table.T)
        short = list(table[:-1].T)

        def scores(c):
            return selection_scores(c[0], c[1 + t :], c[1 : 1 + t])  # noqa: B023

        limit = _core.KENDALL_SCORE_RANGE if t else _core.KENDALL_LABEL_RANGE
        assert np.ptp(scores(columns) - scores(short)) <= limit + 1e-12


@pytest.mark.parametrize("levels", [(1, 5), (2, 2), (30, 7), (256, 256), (257, 3), (400, 400)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_columns_of_few_values_and_missing_ones(levels, missing):
    """By the definition, with values of both signs, zeros of both, infinities."""
    rng = np.random.default_rng(sum(levels))
    n = 1500
    x, y = (
        rng.choice(np.append(rng.standard_normal(size - 1), np.inf), n) if size > 2
        else rng.integers(0, size, n) * rng.choice([-1.0, 1.0], n) * 0.0 + rng.integers(0, size, n)
        for size in levels
    )  # fmt: skip
    x[rng.random(n) < missing] = np.nan
    y[rng.random(n) < missing / 2] = np.nan
    with np.errstate(invalid="ignore"):
        a, b = (
            (v[:, None] > v).astype(int) - (v[:, None] < v).astype(int) for v in (x, y)
        )  # NaN is neither
    assert _core.kendall_tau(x, y) == (a * b).sum() / 2 / (n - 1)
