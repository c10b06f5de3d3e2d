"""Private standardisation: what it finds, and that it is harmless where it finds nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpreg
from dpreg import _core
from dpreg.base.errors import ArgumentError
from dpreg.data.bounds import checked_bounds, column_bounds
from dpreg.data.design import Terms
from dpreg.data.observations import InMemory
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.moments import found_columns, without_columns
from dpreg.estimation.releases.rows import standard_units
from dpreg.estimation.releases.standardisation import (
    Standardisation,
    column_weights,
    magnitude,
    narrowed,
)

pytestmark = pytest.mark.usefixtures("coarse_losses")

UNKNOWN = np.nan


def scales_of(X, y=None, *, epsilon=1.0, bounds=None, seed=1, how=None):
    y = np.random.default_rng(5).standard_normal(len(X)) if y is None else y
    noise = GaussianReleases(epsilon, 1e-5, _core.TestBits(seed))
    bounds = np.full((X.shape[1] + 1, 2), UNKNOWN) if bounds is None else bounds
    scales = (how or Standardisation()).release(InMemory(X, y), noise, bounds)
    return scales, noise


@pytest.mark.parametrize("unit", [1e-30, 1e-6, 1.0, 1e9, 1e30])
@pytest.mark.parametrize("offset", [0.0, 3.0, -300.0])
def test_finds_centre_and_scale_in_any_unit(unit, offset):
    rng = np.random.default_rng(20260101)
    X = unit * (offset + rng.standard_normal((20_000, 4)))
    scales, noise = scales_of(X, epsilon=3.0)
    assert scales.identified.all()
    assert abs(scales.units - 20_000) < 1000
    assert np.abs(scales.centre[:4] / unit - offset).max() < 0.5 + 0.01 * abs(offset)
    assert (scales.scale[:4] / unit > 0.7).all()
    assert (scales.scale[:4] / unit < 2.5).all()
    assert (scales.low[:4] < X.mean(axis=0)).all()
    assert (X.mean(axis=0) < scales.high[:4]).all()
    spent = sum(part.mu**2 for part in noise.parts) / noise.mu**2
    assert spent == pytest.approx(Standardisation().share, rel=1e-6)


def test_years_and_dummies():
    rng = np.random.default_rng(20260101)
    year = rng.integers(1990, 2021, 20_000).astype(float)
    dummy = (rng.random(20_000) < 0.1).astype(float)
    scales, _ = scales_of(np.column_stack([year, dummy]))
    assert scales.identified.all()
    assert abs(scales.centre[0] - 2005) < 5
    assert scales.scale[0] < 30
    assert scales.low[1] <= 0 <= 1 <= scales.high[1]


def odd_columns(n):
    yield "constant", np.full(n, 7.0)
    yield "zero", np.zeros(n)
    yield "huge constant", np.full(n, 1e300)
    yield "almost always zero", np.where(np.arange(n) < 3, 5.0, 0.0)
    yield "denormal", np.full(n, 5e-324)


@pytest.mark.parametrize(
    ("name", "column"), list(odd_columns(5000)), ids=lambda v: v if isinstance(v, str) else ""
)
def test_columns_without_information_are_not_identified(name, column):
    found = [scales_of(column.reshape(-1, 1), seed=s)[0] for s in range(20)]
    # The variance is compared with one standard deviation of its noise: 16% by chance.
    assert sum(s.identified[0] for s in found) < 12
    for s in found:
        assert np.isfinite([*s.low, *s.high, *s.centre, *s.scale]).all()
        assert (s.low < s.high).all()
        assert (s.scale > 0).all()


@pytest.mark.parametrize("column", [
    np.random.default_rng(1).standard_cauchy(20_000),
    np.exp(3 * np.random.default_rng(1).standard_normal(20_000)),
    np.random.default_rng(1).standard_normal(20_000) * 1e300,
    np.where(np.random.default_rng(1).random(20_000) < 0.5, -1e6, 1e6),
])  # fmt: skip
def test_heavy_and_huge_columns_give_finite_scales(column):
    scales, _ = scales_of(column.reshape(-1, 1))
    assert np.isfinite([*scales.low, *scales.high, *scales.centre, *scales.scale]).all()


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_hardly_any_rows(n):
    X = np.random.default_rng(3).standard_normal((n, 3))
    for seed in range(5):
        scales, _ = scales_of(X, seed=seed)
        assert scales.units >= 1
        assert np.isfinite([*scales.centre, *scales.scale]).all()


def test_a_column_that_is_not_clear_of_noise_gets_a_second_look():
    """Its variance in the Gram matrix decides, which is more precise."""
    found = scales_of(np.random.default_rng(1).standard_normal((5000, 4)))[0]
    scales = replace(found, spread=np.array([9.0, 1.5, 1.5, -1.0, 9.0]))
    for intercept in (True, False):
        units = standard_units(scales, intercept=intercept)
        squares = np.array([7.0] * intercept + [0.0, 2.1, 1.9, 2.1])
        gram = np.diag(squares) + np.arange(16 + 9 * intercept).reshape((4 + intercept,) * 2) / 99
        gram[np.diag_indices(len(gram))] = squares
        np.testing.assert_array_equal(
            found_columns(scales, units, gram, 1.0), [True, True, False, True]
        )
        found_of = np.array([True, True, False, True])
        kept = [k for k in range(4 + intercept) if k != 2 + intercept]
        left = without_columns(gram, found_of, intercept=intercept)
        np.testing.assert_array_equal(left, gram[np.ix_(kept, kept)])
        np.testing.assert_array_equal(units.keeping(found_of).columns, [0, 1, 3])


def test_limits_are_trusted_where_they_are_public_or_have_a_spread_in_them():
    scales, _ = scales_of(np.random.default_rng(1).standard_normal((5000, 3)))
    odd = replace(
        scales,
        given=np.array([True, False, False, False]),
        seen=np.array([True, True, False, True]),
        spread=np.array([0.5, 0.5, 9.0, 9.0]),
    )
    assert odd.trusted.tolist() == [True, False, False, True]
    assert odd.identified.tolist() == [False, False, True, True]


def test_bounds_are_taken_and_save_budget():
    X = np.random.default_rng(1).uniform(0, 10, (5000, 2))
    all_given = np.array([[0.0, 10.0]] * 2 + [[-5.0, 5.0]])
    scales, noise = scales_of(X, bounds=all_given)
    np.testing.assert_array_equal(scales.low, all_given[:, 0])
    np.testing.assert_array_equal(scales.high, all_given[:, 1])
    assert [part.label for part in noise.parts] == ["number of rows, means and variances"]
    one_given = np.array([[0.0, 10.0], [UNKNOWN] * 2, [UNKNOWN] * 2])
    scales, noise = scales_of(X, bounds=one_given)
    assert scales.high[0] == 10.0
    assert noise.parts[0].sensitivity == _core.counts_sensitivity([1.0, 1.0])


def test_bounded_columns_are_not_looked_at():
    """Histograms of bounded columns are never released: other values, the same result."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (3000, 2))
    bounds = np.array([[0.0, 10.0], [UNKNOWN] * 2, [UNKNOWN] * 2])
    other = X.copy()
    other[:, 0] = 5.0
    a, b = (scales_of(table, bounds=bounds)[0] for table in (X, other))
    np.testing.assert_array_equal(a.low, b.low)
    np.testing.assert_array_equal(a.high, b.high)


def test_column_bounds_by_name():
    terms = Terms("y", ("a", "b"), True, {"b": (0.0, 1.0)})
    assert np.isnan(column_bounds(terms)[0]).all()
    given = replace(terms, bounds=checked_bounds({"a": (1, 2), "y": (-1, 1)}, terms))
    np.testing.assert_array_equal(column_bounds(given), [[1, 2], [0, 1], [-1, 1]])
    # Those of columns that are not there any more are kept, and of no use.
    kept = column_bounds(given.keeping([1]))
    np.testing.assert_array_equal(kept, [[0, 1], [-1, 1]])


def test_bounds_of_a_term_are_of_all_its_columns_without_their_own():
    terms = Terms("y", ("g1", "g2", "x"), True, groups={"g": ("g1", "g2"), "x": ("x",)})
    found = checked_bounds({"g2": (0, 3), "g": (-1, 1)}, terms)
    assert found == {"g1": (-1.0, 1.0), "g2": (0.0, 3.0)}
    assert all(type(limit) is float for pair in found.values() for limit in pair)


@pytest.mark.parametrize("bounds", [{"nope": (0, 1)}, {"a": (1, 0)}, {"a": (0, np.inf)}, {"a": 3},
                                    {"a": (1, 1)}, {"a": ("x", 2)}, {"a": (1, 2, 3)},
                                    {"a": (-1e308, 1e308)}, {"a": (1e308, 1.5e308)},
                                    {"a": (0, np.nan)}, {1: (0, 1)}, [("a", 0, 1)], 3,
                                    "a"])  # fmt: skip
def test_wrong_bounds(bounds):
    with pytest.raises(ArgumentError, match="bounds") as refused:
        checked_bounds(bounds, Terms("y", ("a",), True))
    assert refused.value.argument == "bounds"


@pytest.mark.parametrize("options", [{"zoom_share": 0.5}, {"bins": 1}, {"zooms": -1},
                                     {"moment_share": 0.0}])  # fmt: skip
def test_wrong_options(options):
    with pytest.raises(ValueError, match="standardisation"):
        Standardisation(**options)


def test_limits_stay_wide_enough_to_divide_by():
    """However many zooms there are, and however often the values are all in the first bin."""
    zooms = Standardisation(zooms=200, zoom_share=0.001)
    noise = GaussianReleases(500.0, 0.1, _core.TestBits(3))
    unknown = np.full((1, 2), UNKNOWN)
    y = np.full(5000, 1e-310)
    scales = zooms.release(InMemory(np.empty((len(y), 0)), y), noise, unknown)
    assert scales.high[0] - scales.low[0] > 1e-100
    assert np.isfinite(1 / scales.scale).all()


def test_narrowed_is_the_shortest_run_with_nearly_all():
    rng = np.random.default_rng(4)
    kept = 0
    for _ in range(300):
        counts = np.round(np.exp(rng.normal(0, 3, 8))) + rng.integers(-2, 3, 8)
        low, high = narrowed(np.append(counts, 0.0), 0.0, 8.0, 1.0)
        clear = np.flatnonzero(counts > 3.5)
        if len(clear) == 0:
            assert (low, high) == (0.0, 8.0)
            continue
        runs = [
            (k - i, i, k + 1)
            for i in range(clear[0] + 1)
            for k in range(clear[-1], 8)
            if counts.sum() - counts[i : k + 1].sum() <= 0.02 * counts[i : k + 1].sum()
        ]
        assert high - low == min(runs)[0] + 1 if runs else 8
        kept += high - low < 8
    assert kept > 100


def test_narrowed_keeps_zeros_that_are_seen():
    counts = np.array([0.0, 0, 0, 0, 0, 0, 500, 0, 100])
    assert narrowed(counts, -4.0, 4.0, 1.0) == (0.0, 3.0)
    assert narrowed(np.append(counts[:-1], 1.0), -4.0, 4.0, 1.0) == (2.0, 3.0)


def test_magnitude_needs_a_clear_lead():
    counts = np.zeros(257)
    assert magnitude(counts, 1.0) is None
    counts[130] = 6.1
    assert magnitude(counts, 1.0) == 4.0
    counts[130], counts[132] = 3.5, 5.0  # 1.5 is taken off for each cell of a run
    assert magnitude(counts, 1.0) is None
    counts[131] = 4.0
    assert magnitude(counts, 1.0) == 16.0


def test_the_response_counts_as_much_as_a_third_of_the_others():
    np.testing.assert_allclose(column_weights(np.arange(13), 13) ** 2, [1.0] * 12 + [4.0])
    np.testing.assert_array_equal(column_weights(np.arange(12), 13), np.ones(12))
    np.testing.assert_array_equal(column_weights(np.array([3]), 4), [1.0])


@pytest.mark.parametrize("method", ["adassp", "boosted_adassp", "dpsgd", "frank_wolfe"])
def test_where_the_response_is_not_found_nothing_is_released(method):
    """Clipped to [-1, 1] a response in the thousands is constant, and its error looks tiny."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(60)
    data = {"x": x, "y": 3000 + 100 * x + rng.standard_normal(60)}
    fits = [dpreg.dp_lm("y ~ x", data, 0.2, 1e-6, method=method, rng=s) for s in range(20)]
    declined = [fit for fit in fits if not fit.released]
    assert len(declined) > 10
    assert "bounds of the response" in declined[0].advice
    assert declined[0].privacy.epsilon == 0.2
    for fit in fits:
        if fit.released and not fit.bse.isna().all():
            low, high = fit.conf_int().iloc[0]
            assert np.isnan(low) or low < 3000 < high


def test_with_so_few_rows_that_noise_hides_a_third_of_them_nothing_is_released():
    """Though order of magnitude and spread of the response are clear."""
    how = Standardisation(magnitude_share=0.4, zoom_share=5e-4, moment_share=0.4)
    rng = np.random.default_rng(1)
    declined = 0
    for n in (600, 800, 1_000, 1_500, 2_000):
        X, y = rng.standard_normal((n, 1)), 2.0 * rng.standard_normal(n)
        scales, noise = scales_of(X, y, epsilon=3.0, how=how)
        histogram = next(p for p in noise.parts if p.label.startswith("histogram 3"))
        assert scales.seen[-1]
        assert scales.spread[-1] > 3
        assert scales.response_found == (scales.units >= 12.5 * histogram.scale)
        declined += not scales.response_found
        bounds = np.array([[UNKNOWN] * 2, [-9.0, 9.0]])
        assert scales_of(X, y, epsilon=3.0, how=how, bounds=bounds)[0].response_found
    assert 0 < declined < 5


@pytest.mark.parametrize("method", ["adassp", "boosted_adassp", "dpsgd"])
def test_a_constant_response_is_declined_without_errors(method):
    rng = np.random.default_rng(1)
    data = {"x": rng.standard_normal(5000), "y": np.full(5000, 7.0)}
    fits = [
        dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, method=method, inference=False, rng=seed)
        for seed in range(10)
    ]
    assert sum(fit.released for fit in fits) <= 1


@pytest.mark.parametrize(("method", "most"), [("adassp", 2e-3), ("boosted_adassp", 2e-2)])
def test_errors_of_a_constant_response_are_of_the_responses_that_noise_may_hide(method, most):
    """Others may be 7 away: noise in a mean of these is .006 for all of the budget."""
    data = {"x": np.random.default_rng(1).standard_normal(5000), "y": np.full(5000, 7.0)}
    known = 0
    for seed in range(10):
        fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, method=method, rng=seed)
        known += int(fit.bse.notna().sum())
        assert not (fit.bse > most).any()
        assert not (np.abs(fit.params - [7.0, 0.0]) > 5 * fit.bse).any()
    # Without a spread of the response one fit in ten has no errors at all.
    assert known >= 16


def test_a_column_that_is_not_seen_is_not_identified():
    rng = np.random.default_rng(1)
    n = 2000
    x = np.zeros(n)
    x[:30] = 500.0 * rng.standard_normal(30)
    data = {"x": x, "z": rng.standard_normal(n)}
    data["y"] = data["z"] + rng.standard_normal(n)
    fit = dpreg.dp_lm("y ~ x + z", data, 0.5, 1e-6, method="adassp", rng=1)
    assert np.isnan(fit.bse["x"])
    assert np.isfinite(fit.bse["z"])


@pytest.mark.parametrize("method", ["adassp", "boosted_adassp"])
def test_rare_dummies_are_seen(method):
    """Nobody says that they are dummies; without them z has a slope of .6 for -1."""
    rng = np.random.default_rng(1)
    n, levels = 20_000, 40
    group = rng.integers(0, levels, n)
    data = {f"g{j}": (group == j).astype(float) for j in range(1, levels)}
    data["z"] = (group > levels / 2) + 0.5 * rng.standard_normal(n)
    data["y"] = 3.0 * (group > levels / 2) - data["z"] + 0.3 * rng.standard_normal(n)
    formula = "y ~ " + " + ".join(name for name in data if name != "y")
    fits = [dpreg.dp_lm(formula, data, 1.0, 1e-6, method=method, rng=seed) for seed in range(1, 6)]
    assert np.median([fit.bse.isna().mean() for fit in fits]) == 0
    assert np.nanmedian([abs(fit.params["z"] + 1) / fit.bse["z"] for fit in fits]) < 3
