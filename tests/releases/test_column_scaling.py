"""Where columns lie: counts by their definition, what they find, and what they cost."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from releases.scales import scales_of

from dpreg import _core
from dpreg.base.families import BINOMIAL
from dpreg.data.bounds import Crossed
from dpreg.data.level_tables import LevelTable
from dpreg.estimation.releases.accountant import share_for
from dpreg.estimation.releases.column_sizes import Size
from dpreg.estimation.releases.statistics import EventCounts, LevelCounts, SizeCounts

VALUES = [0.0, -0.0, 1.0, -1.5, 2.0, 1e300, -1e-300, math.inf, -math.inf, math.nan]
SIGNS = "sign and order of magnitude of "
SIZES = f"{SIGNS}each column"
CELLS = _core.magnitude_counts(np.empty((0, 1))).shape[1]
ZERO = CELLS // 2


def cell(value):
    """The cell of a value, by definition; None: it is in none."""
    if not math.isfinite(value):
        return None
    if value == 0:
        return ZERO
    fraction, exponent = math.frexp(abs(value))
    exponent -= fraction == 0.5  # powers of two end their cell
    bins = min(max(exponent - _core.LEAST_EXPONENT, 0), ZERO - 1)
    return ZERO + 1 + bins if value > 0 else ZERO - 1 - bins


def counted(X, y, searched):
    sums = SizeCounts((np.array(searched, dtype=int),))(X, y)
    return sums[0], sums[1:].reshape(len(searched), CELLS)


def test_counts_are_what_they_are_said_to_be():
    rng = np.random.default_rng(1)
    X, y = rng.choice(VALUES, (60, 3)), rng.choice(VALUES, 60)
    searched = [0, 2, 3]
    rows, cells = counted(X, y, searched)
    expected = np.zeros((3, CELLS), dtype=int)
    for k, j in enumerate(searched):
        for value in np.column_stack([X, y])[:, j]:
            if cell(value) is not None:
                expected[k, cell(value)] += 1
    assert rows == 60
    np.testing.assert_array_equal(cells, expected)


def test_a_row_counts_once_and_is_in_one_cell_of_each_column():
    """All worlds of two rows and two columns; what was paid for is attained."""
    world = np.array([[3.0], [-7.0]]), np.array([0.25, math.nan])
    before, cells = counted(*world, [0, 1])
    farthest = 0.0
    for x, y in itertools.product(VALUES, VALUES):
        after, more = counted(np.vstack([world[0], [[x]]]), np.append(world[1], y), [0, 1])
        assert after - before == 1
        change = more - cells
        assert (np.abs(change).sum(axis=1) <= 1).all()
        assert (change.sum(axis=1) == np.isfinite([x, y])).all()
        farthest = max(farthest, float(np.linalg.norm(change)))
    assert farthest == pytest.approx(_core.counts_sensitivity(np.ones(2)))


def test_a_row_with_or_without_an_event_is_counted_once():
    """All worlds of up to two rows; an event is a response of 1/2 or more."""
    sensitivity = _core.counts_sensitivity(np.ones(1))

    def events(y):
        return EventCounts()(np.zeros((len(y), 1)), np.array(y))

    farthest = 0.0
    for before in [(), *((v,) for v in (*VALUES, 0.25, 0.5))]:
        for y in (*VALUES, 0.25, 0.5):
            moved = events([*before, y]) - events(before)
            expected = [0, 0] if math.isnan(y) else [int(y < 0.5), int(y >= 0.5)]
            if math.isfinite(y):
                assert moved.tolist() == expected
            farthest = max(farthest, float(np.linalg.norm(moved)))
    assert farthest == sensitivity


def test_a_row_is_counted_for_at_most_one_level_of_each_factor():
    """All rows of three columns, of which two are levels of one factor, whatever they hold."""
    groups = np.array([0, 1]), np.array([2])
    statistic, farthest = LevelCounts(groups), 0.0
    before = np.array([[0.0, 1.0, 0.0]])
    sensitivity = statistic.seal(statistic(before, np.zeros(1))).sensitivity
    for row in itertools.product(VALUES, repeat=3):
        after = np.vstack([before, [row]])
        moved = statistic(after, np.zeros(2)) - statistic(before, np.zeros(1))
        has = [not math.isnan(value) and value >= 0.5 for value in row]
        none = [not (has[0] or has[1]), not has[2]]
        cells = [has[0], has[1] and not has[0], none[0], has[2], none[1]]
        assert moved.tolist() == [int(cell) for cell in cells]
        farthest = max(farthest, float(np.linalg.norm(moved)))
    assert farthest == pytest.approx(sensitivity)
    assert farthest == pytest.approx(math.sqrt(2))


def test_indicators_of_levels_are_centred_at_their_shares():
    rng = np.random.default_rng(5)
    level = rng.choice(3, 5_000, p=[0.9, 0.09, 0.01])
    X = np.column_stack([level == 1, level == 2]).astype(float)
    bounds = np.array([[0.0, 1.0], [0.0, 1.0], [np.nan, np.nan]])
    scales, noise = scales_of(
        X, rng.standard_normal(5_000), bounds=bounds, levels=(LevelTable.of_factor(np.arange(2)),)
    )
    assert scales.centre[:2] == pytest.approx([0.09, 0.01], abs=0.03)
    assert scales.scale[:2].tolist() == [0.5, 0.5]
    (part,) = [part for part in noise.parts if part.label == "number of rows of each level"]
    assert part.sensitivity == 1


@pytest.mark.parametrize("given", [False, True])
def test_products_with_levels_are_not_counted_and_have_scales_of_what_they_are_made_of(given):
    rng = np.random.default_rng(5)
    level = rng.choice(3, 5_000, p=[0.6, 0.3, 0.1])
    x, b, c = rng.normal(2000.0, 8.0, 5_000), 1.0 * (level == 1), 1.0 * (level == 2)
    X = np.column_stack([x, b, c, x * b, x * c])
    bounds = np.full((6, 2), np.nan)
    bounds[1:3] = 0.0, 1.0
    if given:
        bounds[0] = 1970.0, 2030.0
    crossed = (Crossed(0, np.array([1, 2]), np.array([3, 4])),)
    levels = (LevelTable.of_factor(np.arange(1, 3)),)
    y = rng.standard_normal(5_000)
    scales, noise = scales_of(X, y, bounds=bounds, levels=levels, crossed=crossed)
    part = next(part for part in noise.parts if part.label == SIZES)
    assert part.sensitivity == pytest.approx(_core.counts_sensitivity(np.ones(2 - given)))
    np.testing.assert_array_equal(scales.centre[3:5], scales.centre[1:3] * scales.centre[0])
    assert scales.scale[3:5] == pytest.approx(1_000, rel=0.1)
    assert (scales.low[3:5] == 0).all()
    assert (scales.high[3:5] == scales.high[0]).all()
    assert scales.trusted.all()
    assert (scales.given[3:5] == given).all()


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e9])
@pytest.mark.parametrize("offset", [0.0, 3.0, -300.0])
def test_finds_where_columns_lie(unit, offset):
    rng = np.random.default_rng(2)
    X = unit * (offset + rng.standard_normal((5_000, 3)))
    scales, noise = scales_of(X, rng.standard_normal(5_000))
    assert scales.response_found
    assert scales.seen.all()
    assert scales.trusted.all()
    assert abs(scales.units - 5_000) < 500
    inside = (scales.low[:3] <= X) & (scales.high[:3] >= X)
    assert (inside.mean(axis=0) > 0.9).all()
    # Far from 0 a cell of noise may make the first closer look, with bins of 8, the last.
    assert (np.abs(scales.centre[:3] / unit - offset) < 1 + 0.02 * abs(offset)).all()
    assert (scales.scale[:3] / unit > 0.6).all()
    assert (scales.scale[:3] / unit < 3 + abs(offset) / 12).all()
    assert np.median(scales.scale[:3]) / unit < 3
    assert math.fsum(part.mu**2 for part in noise.parts) < 0.25 * noise.mu**2


def test_noise_in_a_cell_is_a_small_share_of_the_rows():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20_000, 4)), rng.standard_normal(20_000)
    scales, noise = scales_of(X, y)
    part = next(part for part in noise.parts if part.label == SIZES)
    assert part.sensitivity == pytest.approx(_core.counts_sensitivity(np.ones(5)))
    assert part.scale <= scales.units / 40 * (1 + 1e-6)
    share = share_for(noise, part.sensitivity, part.scale)
    assert share == pytest.approx((part.mu / noise.mu) ** 2)


@pytest.mark.parametrize(("low", "high"), [(-3.0, 3.0), (-9.0, 3.0), (-9.0, -1.0), (-9.0, 0.0)])
@pytest.mark.parametrize("count", [0.0, 2.0])
def test_the_mean_count_is_above_0_where_bounds_reach_below(low, high, count):
    X, y = np.empty((500, 0)), np.full(500, count)
    below, _ = scales_of(X, y, bounds=np.array([[low, high]]), family=BINOMIAL)
    assert below.centre[-1] > 0
    if count and high > 0:
        above, _ = scales_of(X, y, bounds=np.array([[0.0, high]]), family=BINOMIAL)
        assert below.centre[-1] == above.centre[-1]


def test_columns_whose_bounds_are_near_cost_nothing():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((5_000, 1)), rng.standard_normal(5_000)
    _, noise = scales_of(X, y, bounds=np.array([[-3.0, 3.0], [-4.0, 4.0]]))
    assert [part.label for part in noise.parts] == ["number of rows"]


def test_bounds_are_believed_where_there_are_few_rows():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((150, 2)), rng.standard_normal(150)
    bounds = np.array([[-3.0, 3.0], [-1.0, 5.0], [0.0, 4.0]])
    scales, noise = scales_of(X, y, bounds=bounds, wide=[0, 1, 2])
    assert [part.label for part in noise.parts] == ["number of rows"]
    np.testing.assert_array_equal(np.column_stack([scales.low, scales.high]), bounds)
    np.testing.assert_array_equal(scales.centre, bounds.mean(axis=1))
    assert scales.given.all()
    bounds[0] = np.nan
    _, noise = scales_of(X, y, bounds=bounds, wide=[1, 2])
    part = next(part for part in noise.parts if part.label == SIZES)
    assert part.sensitivity == pytest.approx(_core.counts_sensitivity(np.ones(1)))


@pytest.mark.parametrize("wide", [1.0, 10.0, 1000.0])
def test_scales_of_columns_with_bounds_do_not_depend_on_how_wide_these_are(wide):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.standard_normal(5_000), rng.random(5_000) < 0.1])
    y = 3 + rng.standard_normal(5_000)
    bounds = wide * np.array([[-6.0, 6.0], [-1.0, 1.0], [-2.0, 9.0]])
    scales, noise = scales_of(X, y, bounds=bounds, wide=[0, 1, 2])
    np.testing.assert_array_equal(np.column_stack([scales.low, scales.high]), bounds)
    np.testing.assert_allclose(scales.scale, [1.0, 0.3, 1.0], rtol=0.5)
    assert np.abs(scales.centre - [0.0, 0.1, 3.0]).max() < 0.5
    part = next(part for part in noise.parts if part.label == f"{SIZES} with bounds")
    assert part.sensitivity == pytest.approx(_core.counts_sensitivity(np.ones(3)))


@pytest.mark.parametrize("value", [-7.0, 7.0])
def test_values_beyond_their_bounds_leave_the_centre_within(value):
    X, y = np.full((5_000, 1), value), np.random.default_rng(5).standard_normal(5_000)
    scales, _ = scales_of(X, y, bounds=np.array([[-1.0, 1.0], [-3.0, 3.0]]), wide=[0])
    assert (scales.low[0], scales.high[0]) == (-1.0, 1.0)
    assert abs(scales.centre[0]) <= 1.0
    assert 0 < scales.scale[0] <= 2.0


def test_a_column_with_bounds_that_looks_like_zeros_has_a_mean_that_noise_hides():
    rng = np.random.default_rng(4)
    X, y = (rng.random((1000, 1)) < 5e-3) * 1.0, rng.standard_normal(1000)
    scales, noise = scales_of(X, y, bounds=np.array([[0.0, 1.0], [-9.0, 9.0]]), wide=[0])
    part = next(part for part in noise.parts if part.label == f"{SIZES} with bounds")
    hidden = part.scale / scales.units
    assert scales.centre[0] == pytest.approx(hidden)
    assert scales.scale[0] == 1.0


@pytest.mark.parametrize("n", [200, 300, 1_000, 5_000])
@pytest.mark.parametrize("columns", [1, 6, 30])
def test_counts_and_looks_at_columns_with_bounds_and_without_cost_so_much(n, columns):
    """What follows has shares of the rest, which would be negative."""
    rng = np.random.default_rng(4)
    X, y = 300 + rng.random((n, 2 * columns)), rng.standard_normal(n)
    bounds = np.full((2 * columns + 1, 2), np.nan)
    bounds[:columns] = 0.0, 1000.0
    _, noise = scales_of(X, y, bounds=bounds, wide=[*range(columns)])
    cells = [part.mu**2 for part in noise.parts if part.label.startswith((SIZES, "closer look"))]
    assert math.fsum(cells) <= 0.2 * noise.mu**2 * (1 + 1e-9)


@pytest.mark.parametrize("n", [500, 5_000, 20_000, 100_000])
@pytest.mark.parametrize("bounded", [0, 2, 5])
def test_rare_columns_cost_no_more_than_is_left_for_them(n, bounded):
    """Columns far from 0, an indicator of 3% and one that it holds, a hidden one, and zeros."""
    rng = np.random.default_rng(5)
    a = rng.random(n) < 0.03
    columns = [300 + rng.random(n), a, a & (rng.random(n) < 0.6), rng.random(n) < 1e-3, 0 * a]
    X, y = np.column_stack(columns) * 1.0, rng.standard_normal(n)
    bounds = np.full((6, 2), np.nan)
    bounds[:bounded] = 0.0, 1000.0
    scales, noise = scales_of(X, y, bounds=bounds, wide=[*range(bounded)])
    counted = {part.label: part.mu**2 for part in noise.parts if part.label != "number of rows"}
    assert math.fsum(counted.values()) <= 0.2 * noise.mu**2 * (1 + 1e-9)
    assert all(label.startswith((SIGNS, "closer look", "rows in which")) for label in counted)
    if n == 100_000:
        assert scales.rare.together[:2] == (1, 2)
        assert "rows in which two rare columns are not 0" in counted


def test_a_column_is_not_narrowed_to_what_cannot_be_divided_by():
    size = Size(-1.0, 0.0, -0.5, 0.3, 2).within(-1e-300, 1.0)
    assert (size.low, size.high) == (-1e-300, 1.0)
    assert size.scale == 0.3


def test_a_unit_of_several_rows_pays_for_all_of_them():
    rng = np.random.default_rng(5)
    X, y = 500 + rng.standard_normal((2_000, 1)), rng.standard_normal(2_000)
    single, several = (
        {part.label: part.sensitivity for part in scales_of(X, y, epsilon=5.0, rows=rows)[1].parts}
        for rows in (1, 3)
    )
    assert single["number of rows"] == pytest.approx(1.0)
    assert any(label.startswith("closer look") for label in single)
    for label in single.keys() & several.keys():
        assert several[label] == pytest.approx(3 * single[label]), label


def wild(n, rng):
    return {
        "zero": np.zeros(n),
        "one": np.ones(n),
        "far": np.full(n, 1e6),
        "huge": np.full(n, 1e300),
        "huge both ways": rng.choice([-1e300, 1e300], n),
        "tiny": np.full(n, 5e-324),
        "missing": np.full(n, np.nan),
        "infinite": np.full(n, -np.inf),
        "any": rng.choice(VALUES, n),
        "cauchy": rng.standard_cauchy(n),
        "nearly constant": 1e9 + 1e-6 * rng.standard_normal(n),
    }


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 100.0])
@pytest.mark.parametrize("n", [0, 1, 400])
def test_wild_columns_are_no_surprise(n, epsilon):
    columns = wild(n, np.random.default_rng(6))
    X = np.column_stack(list(columns.values()))
    for seed in range(8):
        y = X[:, seed]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scales, noise = scales_of(X, y, epsilon=epsilon, seed=seed)
        assert (scales.scale > 0).all()
        assert (scales.low < scales.high).all()
        for of_column in (scales.low, scales.high, scales.centre, scales.scale, scales.units):
            assert np.isfinite(of_column).all()
        assert math.fsum(part.mu**2 for part in noise.parts) <= 0.27 * noise.mu**2


def test_noise_alone_is_nothing():
    found = [
        scales_of(np.empty((0, 1)), np.empty(0), seed=seed)[0].response_found for seed in range(200)
    ]
    # One of 50 is meant; 4 standard errors more are 6%.
    assert sum(found) <= 12
