"""The mechanisms on arrays: they are the selections, and refuse what they cannot use."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from laws import assert_follows
from oracles import canonical_law, peeling_law

import dpreg
from dpreg import _core, mechanisms

pytestmark = pytest.mark.usefixtures("coarse_losses")

N, D = 3000, 5
BOUNDS = {"x_bounds": (-4, 4), "y_bounds": (-15, 15)}
ON_DATA = {
    "dp_kendall": (mechanisms.dp_kendall, {}),
    "sub_lasso": (mechanisms.sub_lasso, {}),
    "sub_lasso, n/k": (mechanisms.sub_lasso, {"models": "n/k"}),
    "sub_lasso, n/d": (mechanisms.sub_lasso, {"models": "n/d"}),
    "dp_sis": (mechanisms.dp_sis, BOUNDS),
    "dp_sis, peel": (mechanisms.dp_sis, {**BOUNDS, "top_k": "peel"}),
}
ON_SCORES = {"peel": mechanisms.peel, "canonical_lipschitz": mechanisms.canonical_lipschitz}
on_data = pytest.mark.parametrize(("call", "options"), list(ON_DATA.values()), ids=list(ON_DATA))
on_scores = pytest.mark.parametrize("call", list(ON_SCORES.values()), ids=list(ON_SCORES))


def problem(n=N):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, D))
    return X, 3 * X[:, 3] - 2 * X[:, 1] + rng.standard_normal(n)


@pytest.mark.parametrize("name", [name for name in ON_DATA if name != "sub_lasso, n/k"])
def test_finds_the_columns(name):
    call, options = ON_DATA[name]
    found = call(*problem(), 2, 5.0, **options, rng=1)
    assert found.dtype == np.intp
    assert sorted(found.tolist()) == [1, 3]


@on_data
def test_the_longest_text_is_not_told(call, options):
    """Types of text of numpy have its length: <U7."""
    for text in ([["a"], ["bb"]], [["a"], ["bbbbbbb"]]):
        with pytest.raises(ValueError, match=r"^X must be .* of numbers, not of type text$"):
            call(np.array(text), np.zeros(2), 1, 1.0, **options)


@pytest.mark.parametrize(("call", "options", "selector"), [
    (mechanisms.dp_kendall, {"ranges": "published"}, dpreg.DPKendall(ranges="published")),
    (mechanisms.sub_lasso, {"penalty": 0.3}, dpreg.TwoStage(penalty=0.3)),
    (mechanisms.sub_lasso, {"models": "n/k"}, dpreg.SubLasso()),
    (mechanisms.sub_lasso, {"models": 40, "partition": "independent"},
     dpreg.TwoStage(models=40, partition="independent")),
    (mechanisms.dp_sis, {**BOUNDS, "top_k": "peel"}, dpreg.DPSIS(top_k="peel")),
])  # fmt: skip
def test_equals_the_selection_on_a_table(call, options, selector):
    X, y = problem(200)
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]).assign(y=y)
    bounds = {**dict.fromkeys(data.columns, (-4, 4)), "y": (-15, 15)}
    bounds = bounds if selector.uses_bounds else None
    for seed in range(10):
        array = call(X, y, 3, 0.4, **options, rng=seed)
        table = dpreg.dp_select("y ~ .", data, 3, 0.4, method=selector, bounds=bounds, rng=seed)
        assert [f"x{j}" for j in array] == list(table.selected)


@on_data
@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, 1e308, 5e-324, 0.0])
@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_any_cells_give_a_valid_choice(call, options, cell, n):
    X, y = problem(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for matrix, response in ((np.full_like(X, cell), y), (X, np.full_like(y, cell))):
            for k in (1, D):
                assert len(set(call(matrix, response, k, 0.5, **options).tolist())) == k


def test_kinds_of_arrays_are_the_same():
    X, y = problem(100)
    expected = mechanisms.dp_kendall(X, y, 3, 0.5, rng=1).tolist()
    other = np.asarray(np.repeat(X, 2, axis=0)[::2], order="F"), pd.Series(y)
    assert mechanisms.dp_kendall(*other, 3, 0.5, rng=1).tolist() == expected
    mixed = np.zeros(100, dtype=[("a", "i1"), ("y", "f8")])  # a stride that is no multiple of 8
    mixed["y"] = y
    assert mechanisms.dp_kendall(X, mixed["y"], 3, 0.5, rng=1).tolist() == expected
    small = (np.abs(X) * 10).astype(np.uint8)
    assert len(mechanisms.dp_kendall(small, y > 0, 2, 0.5)) == 2


@on_data
@pytest.mark.parametrize("dtype", ["boolean", "Int64", "bool[pyarrow]"])
@pytest.mark.parametrize("missing", [False, True])
def test_whether_a_cell_is_missing_decides_no_error(call, options, dtype, missing):
    # numpy makes objects of a nullable boolean column only if it has a missing cell.
    response = pd.Series([True, None if missing else False, True, False, True], dtype=dtype)
    for arguments in (
        {"X": np.zeros((5, 5)), "y": response},
        {"X": pd.concat([response] * 5, axis=1), "y": np.zeros(5)},
    ):
        with pytest.raises(ValueError, match=r"write np\.array"):
            call(**arguments, k=2, eps=1.0, **options)


def test_data_frames_of_numpy_types_are_arrays():
    X, y = problem(100)
    frame = pd.DataFrame(X, columns=["dtype", "dtypes", "b", "c", "d"])  # names are not types
    expected = mechanisms.dp_kendall(X, y, 3, 0.5, rng=1).tolist()
    assert mechanisms.dp_kendall(frame, pd.Series(y), 3, 0.5, rng=1).tolist() == expected


@on_data
@pytest.mark.parametrize(("changes", "says"), [
    ({"k": 0}, "k must"), ({"k": 6}, "k must"), ({"k": 2.0}, "k must"),
    ({"eps": 0.0}, "eps"), ({"eps": np.nan}, "eps"), ({"eps": np.inf}, "eps"),
    ({"X": np.zeros(5)}, "X must"), ({"X": np.zeros((4, 5))}, "same number of rows"),
    ({"X": np.zeros((5, 0))}, "nothing to choose"),
    ({"X": np.array([["a"] * 5] * 5)}, "X must"), ({"y": np.array([1, 2, 3, 4, None])}, "y must"),
    ({"y": np.zeros((5, 1))}, "y must"), ({"rng": "seed"}, "rng"),
    ({"X": [[0.0] * 5] * 5}, "not a list"),
])  # fmt: skip
def test_wrong_use(call, options, changes, says):
    arguments = {"X": np.zeros((5, 5)), "y": np.zeros(5), "k": 2, "eps": 1.0, **options, **changes}
    with pytest.raises(ValueError, match=says):
        call(**arguments)


@pytest.mark.parametrize(("call", "options", "says"), [
    (mechanisms.dp_kendall, {"ranges": "wide"}, "ranges"),
    (mechanisms.sub_lasso, {"models": "n"}, "models"),
    (mechanisms.sub_lasso, {"models": 0}, "models"),
    (mechanisms.sub_lasso, {"penalty": np.nan}, "penalty"),
    (mechanisms.dp_sis, {"y_bounds": (-1, 1)}, "x_bounds must be given"),
    (mechanisms.dp_sis, {"x_bounds": (-1, 1)}, "y_bounds must be given"),
    (mechanisms.dp_sis, {**BOUNDS, "x_bounds": (1, -1)}, "x_bounds must be finite"),
    (mechanisms.dp_sis, {**BOUNDS, "x_bounds": (0, np.ones(3))}, "x_bounds must be"),
    (mechanisms.dp_sis, {**BOUNDS, "x_bounds": 3}, "x_bounds must be"),
    (mechanisms.dp_sis, {**BOUNDS, "y_bounds": (0, np.inf)}, "y_bounds must be finite"),
    (mechanisms.dp_sis, {**BOUNDS, "gamma": 1.0}, "gamma"),
])  # fmt: skip
def test_wrong_options(call, options, says):
    with pytest.raises(ValueError, match=says):
        call(*problem(5), 2, 1.0, **options)


# -- on scores -----------------------------------------------------------------------------

SCORES = np.array([0.0, 3.0, 1.0, -1.0])


@pytest.mark.parametrize(("options", "length"), [
    ({}, 3.0), ({"one_sided": True}, 1.5), ({"score_range": 2.5}, 2.5),
])  # fmt: skip
def test_noise_is_for_the_range_of_the_changes(options, length, bits):
    source = _core.TestBits(3)
    law = peeling_law(SCORES, 2, length, 2.0)
    counts = dict.fromkeys(law, 0)
    for _ in range(6000):
        counts[tuple(mechanisms.peel(SCORES, 2, 2.0, 1.5, **options, rng=source).tolist())] += 1
    assert_follows(list(counts.values()), list(law.values()))
    for noise in ("exponential", "gumbel"):
        law = canonical_law(np.array(SCORES), 2, length, 2.0, 0.4, noise)
        counts = dict.fromkeys(law, 0)
        for _ in range(6000):
            drawn = mechanisms.canonical_lipschitz(
                SCORES, 2, 2.0, 1.5, 0.4, noise=noise, **options, rng=bits
            )
            counts[tuple(drawn.tolist())] += 1
        assert_follows(list(counts.values()), list(law.values()))


@on_scores
def test_scores_that_are_no_numbers_are_the_lowest_or_highest(call):
    scores = np.array([np.nan, np.inf, 0.0, -np.inf, 1.0, 2.0])
    for seed in range(20):
        assert 1 in call(scores, 2, 50.0, 1.0, rng=seed)
        assert not {0, 3} & set(call(scores, 2, 50.0, 1.0, rng=seed).tolist())
    assert sorted(call(scores, 6, 1.0, 1.0).tolist()) == list(range(6))
    assert call(np.array([np.nan]), 1, 1.0, 1.0).tolist() == [0]


@on_scores
@pytest.mark.parametrize(("options", "says"), [
    ({"k": 0}, "k must"), ({"k": 5}, "k must"), ({"scores": np.zeros(0)}, "nothing to choose"),
    ({"scores": np.ones((1, 1))}, "scores must"),
    ({"scores": np.array(["a"])}, "scores must"), ({"scores": [1.0, 2.0]}, "not a list"),
    ({"eps": 0}, "eps"), ({"eps": np.nan}, "eps"),
    ({"sensitivity": 0.0}, "sensitivity"), ({"sensitivity": -1.0}, "sensitivity"),
    ({"sensitivity": np.nan}, "sensitivity"), ({"sensitivity": np.inf}, "sensitivity"),
    ({"sensitivity": 1e-310}, "sensitivity"), ({"sensitivity": 5e307}, "sensitivity"),
    ({"score_range": 0.5}, "score_range"), ({"score_range": 2.5}, "score_range"),
    ({"score_range": np.nan}, "score_range"), ({"rng": -1}, "rng"),
    ({"score_range": 1.5, "one_sided": True}, "one_sided"),
])  # fmt: skip
def test_wrong_use_with_scores(call, options, says):
    arguments = {"scores": SCORES, "k": 2, "eps": 1.0, "sensitivity": 1.0, **options}
    with pytest.raises(ValueError, match=says):
        call(**arguments)


@pytest.mark.parametrize(("options", "says"), [
    ({"gamma": 1.0}, "gamma"), ({"gamma": -0.1}, "gamma"), ({"gamma": np.nan}, "gamma"),
    ({"noise": "laplace"}, "noise"),
])  # fmt: skip
def test_wrong_options_of_the_canonical_mechanism(options, says):
    with pytest.raises(ValueError, match=says):
        mechanisms.canonical_lipschitz(SCORES, 2, 1.0, 1.0, **options)


# -- TukeyEM ---------------------------------------------------------------------------------


def test_tukey_em_on_arrays_is_dp_lm():
    X, y = problem(20_000)
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]).assign(y=y)
    fit = mechanisms.tukey_em(X, y, 2.0, 1e-6, rng=1)
    other = dpreg.dp_lm("y ~ .", data, 2.0, 1e-6, rng=1, method="tukey")
    pd.testing.assert_series_equal(fit.params, other.params)
    pd.testing.assert_series_equal(fit.bse, other.bse)
    assert abs(fit.params["x3"] - 3) < 0.2
    with pytest.raises(ValueError, match="multiply new rows"):
        fit.predict(data)
    small = mechanisms.tukey_em(X[:50], y[:50], 0.1)
    assert not small.released
    with pytest.raises(ValueError, match="delta"):
        mechanisms.tukey_em(X, y, 1.0, 0.0)
    with pytest.raises(ValueError, match="at least one column"):
        mechanisms.tukey_em(X[:, :0], y, 1.0, intercept=False)


@pytest.mark.parametrize("name", ["adassp", "boosted_adassp", "dpsgd"])
def test_noisy_sums_on_arrays_are_dp_lm(name):
    X, y = problem(5_000)
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]).assign(y=y)
    fit = getattr(mechanisms, name)(X, y, 2.0, 1e-6, rng=1)
    other = dpreg.dp_lm("y ~ .", data, 2.0, 1e-6, rng=1, method=name)
    pd.testing.assert_series_equal(fit.params, other.params)
    assert fit.privacy.parts == other.privacy.parts
    assert fit.no_errors == other.no_errors
    assert bool(fit.no_errors) == (fit.covariance is None)
    through_origin = getattr(mechanisms, name)(X, y, 2.0, 1e-6, intercept=False, rng=1)
    assert "Intercept" not in through_origin.names
    with pytest.raises(ValueError, match="delta"):
        getattr(mechanisms, name)(X, y, 2.0, 0.0)
    with pytest.raises(ValueError, match="same number of rows"):
        getattr(mechanisms, name)(X, y[:-1], 2.0)
