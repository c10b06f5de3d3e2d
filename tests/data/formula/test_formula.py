"""What a formula may say, and what it makes of rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import evaluated, schema

from dpreg.base.errors import FormulaError, SchemaError
from dpreg.data import frames, source
from dpreg.data.formula import FormulaSpec, bound_formula


@pytest.fixture
def frame():
    rng = np.random.default_rng(20260101)
    n = 200
    return pd.DataFrame(
        {
            "y": rng.standard_normal(n),
            "a": rng.lognormal(size=n),
            "b": rng.standard_normal(n),
            "my col": rng.standard_normal(n),
            "with.dot": rng.standard_normal(n),
            "größe": rng.standard_normal(n),
            "k": pd.Categorical.from_codes(rng.integers(0, 3, n), ["u", "v", "w"]),
            "o": pd.Categorical.from_codes(rng.integers(0, 2, n), ["lo", "hi"], ordered=True),
            "s": rng.choice(["x", "z"], n),
            "c": rng.integers(4, 7, n),
            "t": pd.date_range("2020-01-01", periods=n),
        }
    )


def spec(formula, frame, levels=None):
    return FormulaSpec(formula, schema(frame).with_levels(levels))


def rows(formula, frame, levels=None):
    return evaluated(spec(formula, frame, levels), frame, response=True)


ROW_BY_ROW = [
    "y ~ a + b",
    "log(a) ~ I(b**2) + a:b",
    "y ~ np.log(a) + `my col`",
    "y ~ `with.dot` + größe + I(`with.dot` ** 2)",
    "y ~ k * b",
    "y ~ 0 + k",
    "y ~ C(c, levels=[4, 5, 6]) + o",
    "y ~ C(k, contr.sum) + C(o, contr.treatment('hi'))",
    "y ~ poly(b, 3, raw=True)",
    "y ~ bs(a, knots=[1, 2], lower_bound=0, upper_bound=4)",
    "y ~ cr(b, knots=[-1, 0, 1], lower_bound=-2, upper_bound=2)",
    "y ~ yeo_johnson(b, 0.5) + clip(a, 0, 3) + I(a > 1)",
    "y ~ 1",
    "y ~ (a + b)**2 - a",
    "y ~ (a + b)**2 / k",
    "y ~ I((k == 'u') + (k != 'v')) + I((c == 4) * b // 2 % 3 / -a)",
    "y ~ maximum(a, b) + minimum(a, 1) + np.clip(a, lower=-1, upper=2)",
    "y ~ bs(a, [1, 2], 0, 4, degree=2, include_intercept=True) + poly(a, degree=2, raw=True)",
]


@pytest.mark.parametrize("formula", ROW_BY_ROW)
def test_each_row_is_evaluated_by_itself(formula, frame):
    """Rows in another order, or with others gone, give the same numbers."""
    whole = rows(formula, frame)
    keep = np.random.default_rng(1).permutation(len(frame))[:70]
    part = rows(formula, frame.iloc[keep].reset_index(drop=True))
    np.testing.assert_array_equal(part.X, whole.X[keep])
    np.testing.assert_array_equal(part.y, whole.y[keep])


@pytest.mark.parametrize("formula", ROW_BY_ROW)
def test_columns_are_known_without_records(formula, frame):
    assert spec(formula, frame.iloc[:0]).names == spec(formula, frame).names


def test_chunks_do_not_matter(frame, monkeypatch):
    whole = rows("y ~ a * k + poly(b, 2, raw=True)", frame)
    monkeypatch.setattr(frames, "BATCH_ROWS", 7)
    monkeypatch.setattr(source, "BATCH_ROWS", 7)
    chunked = rows("y ~ a * k + poly(b, 2, raw=True)", frame)
    np.testing.assert_array_equal(chunked.X, whole.X)
    np.testing.assert_array_equal(chunked.kept, whole.kept)


def test_design_equals_formulaic_on_complete_data(frame):
    from formulaic import model_matrix

    expected = model_matrix("y ~ a * k + log(a) + o", frame)
    found = rows("y ~ a * k + log(a) + o", frame)
    assert ["Intercept", *spec("y ~ a * k + log(a) + o", frame).names] == list(expected.rhs.columns)
    np.testing.assert_allclose(found.X, expected.rhs.to_numpy()[:, 1:])
    np.testing.assert_allclose(found.y, expected.lhs.to_numpy()[:, 0])


def test_dot_is_every_other_column(frame):
    assert spec("y ~ .", frame[["y", "a", "my col"]]).names == ("a", "my col")


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ nope", "there is no column 'nope'"),
        ("y ~ log(", "cannot read"),
        ("y", "one response"),
        ("~ a", "one response"),
        ("", "one response"),
        ("y ~ a | b", "contains |, and random effects"),
        ("k ~ a", "one number in each row"),
        ("y + b ~ a", "one number in each row"),
        ("y ~ 0", "nothing on its right-hand side"),
        ("1 ~ a", "one response"),
        (3, "must be a string"),
        ("y ~ t", "neither numbers nor levels"),
        ("y ~ s", "add levels={'s': ['first', 'second', ...]}"),
        ("y ~ C(c)", "add levels={'c'"),
        ("y ~ log(k)", "'k' has levels, not numbers; write k by itself, or one level: I(k == "),
        ("I(k = 'lo') ~ a", "write == for a comparison"),
        ("y ~ I(k == lo)", "there is no column 'lo'"),
        (
            "y ~ I(k == 'nope')",
            "'k' is compared with 'nope', which is not one of its levels; write",
        ),
        ("y ~ I(k > 'lo')", "'k' has levels, not numbers; write k by itself, or one level: I(k =="),
        ("y ~ I(a - mean(a))", "mean() reads all rows; write the public number itself"),
        ("y ~ a:ns(k, 3)", "the term 'ns(k, 3)' cannot be used: 'k' has levels, not numbers"),
        ("log(k) ~ a", "the term 'log(k)' cannot be used: 'k' has levels, not numbers"),
    ],
)
def test_wrong_formulas_say_what_to_write(formula, says, frame):
    with pytest.raises((FormulaError, SchemaError)) as refusal:
        spec(formula, frame)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    "levels", [{"nope": ["a", "b"]}, {"s": ["x"]}, {"s": ["x", "x"]}, {"s": "xz"}, {"s": [None, 1]}]
)
def test_wrong_levels_are_refused(levels, frame):
    with pytest.raises(SchemaError, match="levels"):
        spec("y ~ a", frame, levels)


def test_levels_are_public_and_a_value_outside_makes_the_row_incomplete(frame):
    found = rows("y ~ s", frame, {"s": ["x", "other"]})
    assert found.kept.tolist() == np.flatnonzero(frame["s"] == "x").tolist()
    assert spec("y ~ s", frame, {"s": ["x", "other"]}).names == ("s[T.other]",)
    in_formula = rows("y ~ C(s, levels=['x', 'other'])", frame)
    assert in_formula.kept.tolist() == found.kept.tolist()


def test_unused_levels_keep_their_columns(frame):
    only_u = frame[frame["k"] == "u"].reset_index(drop=True)
    assert spec("y ~ k", only_u).names == ("k[T.v]", "k[T.w]")
    assert rows("y ~ k", only_u).X.sum() == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_incomplete_rows_are_dropped_one_by_one(bad, frame):
    frame.loc[3, "a"] = bad
    frame.loc[5, "y"] = bad
    frame.loc[7, "k"] = np.nan
    frame.loc[9, "b"] = bad  # not used
    found = rows("y ~ a + k", frame)
    assert sorted(set(range(200)) - set(found.kept.tolist())) == [3, 5, 7]


def test_a_transform_that_is_not_finite_drops_the_row_in_silence(frame):
    frame.loc[[2, 4], "a"] = [0.0, -1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rows("y ~ log(a) + sqrt(a) + I(1 / a)", frame)
    assert sorted(set(range(200)) - set(found.kept.tolist())) == [2, 4]


cells = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True), st.text(max_size=3),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=1), st.integers()),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(cells, st.floats(width=64)), max_size=40))
def test_no_cell_can_raise_or_warn(rows):
    """Long tables: it is evaluating the formula that takes the time, not its rows."""
    column = np.empty(len(rows), dtype=object)
    column[:] = [cell for cell, _ in rows]
    numbers = np.array([number for _, number in rows], dtype=float)
    data = pd.DataFrame({"y": numbers, "x": numbers, "g": pd.Series(column, dtype=object)})
    formula = "y ~ log(x) * g + I(x**3) + bs(x, knots=[0], lower_bound=-1, upper_bound=1)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = bound_formula(formula, schema(data).with_levels({"g": ["a", 1, 2.5, "b"]}))
        found = evaluated(bound, data, response=True)
    assert np.isfinite(found.X).all()
    assert found.X.shape[1] == len(bound.names)


def test_a_formula_is_bound_anew_when_anything_public_differs(frame):
    """1, 1.0 and True are equal, and are different levels all the same."""
    asked = [(formula, schema(frame).with_levels({"c": levels}), weights)
             for formula in ("y ~ a", "y ~ c")
             for levels in ([4, 5], [4, 5.0], [4.0, 5], [5, 4], [1, 2], [True, 2])
             for weights in (None, "b")]  # fmt: skip
    found = [bound_formula(*each) for each in asked]
    assert all(
        bound_formula(*each) is one for each, one in zip(asked[-3:], found[-3:], strict=True)
    )
    for (formula, public, weights), one in zip(asked, found, strict=True):
        assert (one.formula, one.weights) == (formula, weights)
        assert all(repr(one.schema[name]) == repr(public[name]) for name in one.schema.columns)


@pytest.mark.parametrize("formula", [
    "y ~ a + b + k + o", "y ~ 0 + k + a:k + b", "y ~ log(a) + I(b**2) + C(k) + a:b", "y ~ .",
])  # fmt: skip
def test_keeping_some_columns_needs_the_data_of_those_only(formula, frame):
    data = frame[["y", "a", "b", "k", "o"]]
    whole = spec(formula, data)
    X = evaluated(whole, data, response=False).X
    for j, name in enumerate(whole.names):
        reduced = whole.keeping([name])
        assert reduced.names == (name,)
        assert set(reduced.regressors) <= set(whole.regressors)
        short = data[list(reduced.regressors)]
        rows = evaluated(reduced, short, response=False)
        np.testing.assert_array_equal(rows.X[:, 0], X[:, j])
        for other in set(whole.regressors) - set(reduced.regressors):
            gaps = data.assign(**{other: data[other].where(data[other].isna())})
            np.testing.assert_array_equal(evaluated(reduced, gaps, response=False).X, rows.X)
    assert whole.names == spec(formula, data).names
    assert evaluated(whole.keeping([]), data, response=False).X.shape == (len(data), 0)


def test_keeping_interactions_and_dummies_needs_all_their_variables(frame):
    whole = spec("y ~ a + b:k + o", frame)
    assert set(whole.keeping(["a"]).regressors) == {"a"}
    (first,) = [n for n in whole.names if n.startswith("b:k") and n.endswith("v]")]
    assert set(whole.keeping([first]).regressors) == {"b", "k"}
    assert set(whole.keeping(["a", "o[T.hi]"]).regressors) == {"a", "o"}


@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
def test_yeo_johnson_agrees_with_scipy(power):
    from scipy import stats

    from dpreg.data.formula.functions import ROW_FUNCTIONS

    values = np.array([-40.0, -1.0, -1e-9, 0.0, 1e-9, 0.3, 1.0, 700.0])
    yeo_johnson = ROW_FUNCTIONS["yeo_johnson"].function
    ours = yeo_johnson(values, power)
    assert ours == pytest.approx(stats.yeojohnson(values, lmbda=power), rel=1e-6, abs=1e-15)
    # Row by row: a value does not depend on the others, and a missing one stays missing.
    assert yeo_johnson(values[:1], power)[0] == ours[0]
    assert np.isnan(yeo_johnson(np.array([np.nan]), power))[0]


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ a + b", "y ~ 0 + `my col` + a", "y ~ b:b + a", "y ~ 1", "log(a) ~ b + k",
        "y ~ k + o + a", "y ~ 0 + k + o", "y ~ C(o, contr.treatment('hi')) + I(k == 'u')",
        "y ~ C(c, levels=[4, 5]) + C(k) + k:k",
    ],
)  # fmt: skip
def test_columns_that_are_read_are_what_formulaic_makes_of_them(formula, frame, monkeypatch):
    odd = frame.assign(my_col=np.resize([0.0, -0.0, np.nan, np.inf, 5e-324, 1e308], len(frame)))
    odd["my col"] = odd.pop("my_col")
    odd.loc[3:20:4, "k"] = None
    found = [rows(formula, odd)]
    for columns in ("lookups", "dummies"):
        monkeypatch.setattr(f"dpreg.data.formula.spec.{columns}", lambda *anything: {})
    found.append(rows(formula, odd))
    assert [part.kept.tolist() for part in found] == [found[0].kept.tolist()] * 2
    assert found[0].X.tobytes() == found[1].X.tobytes()
    assert found[0].y.tobytes() == found[1].y.tobytes()
    assert found[0].X.flags.c_contiguous
