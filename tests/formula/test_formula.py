"""What a formula may say, and what it makes of rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpreg.errors import FormulaError, SchemaError
from dpreg.formula import FormulaSpec
from dpreg.formula import spec as spec_module
from dpreg.frame import Table


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
    return FormulaSpec(formula, Table(frame).schema.with_levels(levels))


def rows(formula, frame, levels=None):
    return spec(formula, frame, levels).rows(Table(frame), response=True)


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
    monkeypatch.setattr(spec_module, "_CHUNK", 7)
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
    ("term", "remedy"),
    [
        ("scale(a)", "I((x - 50) / 10)"),
        ("center(a)", "I(x - 50)"),
        ("standardize(a)", "I((x - 50) / 10)"),
        ("poly(a, 3)", "raw=True"),
        ("poly(a, 3, raw=False)", "raw=True"),
        ("bs(a, df=4)", "knots=[2, 4]"),
        ("bs(a, knots=[1])", "lower_bound=0"),
        ("cr(a, df=3)", "knots=[2, 4]"),
        ("cc(a, df=3)", "knots=[2, 4]"),
        ("lag(a)", "lagged column"),
        ("hashed(s)", "levels"),
    ],
)
def test_terms_that_look_at_other_rows_are_refused(term, remedy, frame):
    with pytest.raises(FormulaError) as refusal:
        spec(f"y ~ b + {term}", frame)
    assert "depends on the other rows" in str(refusal.value)
    assert remedy in str(refusal.value)
    assert term.split("(", maxsplit=1)[0] in str(refusal.value)


# Each was accepted once, and told of other rows, of their number, or of memory that was not theirs.
@pytest.mark.parametrize(
    ("term", "remedy"),
    [
        ("I(a @ b)", "I(x * z)"),
        ("I((a * 0 + 1) @ (a * 0 + 1))", "I(x * z)"),
        ("I(b * (3000 in a))", "(x == 1) + (x == 2)"),
        ("I(3000 not in a)", "(x != 1) * (x != 2)"),
        ("I(a is None)", "make the column"),
        ("I((a, b))", "numbers and columns"),
        ("I([1, 2])", "numbers and columns"),
        ("I(a + (1, 2))", "numbers and columns"),
        ("np.maximum(a, (1, 2))", "numbers and columns"),
        ("np.clip(a, (1, 2), 4)", "clip(x, 0, 100)"),
        ("clip(a, b, 4)", "clip(x, 0, 100)"),
        ("bs(a, knots=[a @ b], lower_bound=-5, upper_bound=5)", "knots=[2, 4]"),
        ("bs(a, knots=a, lower_bound=-1, upper_bound=1)", "knots=[2, 4]"),
        ("bs(a, knots=[5], lower_bound=-1, upper_bound=1)", "knots=[2, 4]"),
        ("cr(a, knots=[1], lower_bound=0, upper_bound=a @ a)", "knots=[2, 4]"),
        ("yeo_johnson(a, a @ a)", "yeo_johnson(x, 0.5)"),
        ("yeo_johnson(a)", "yeo_johnson(x, 0.5)"),
        ("np.maximum(a, b, where=False)", "maximum(x, z)"),
        ("np.maximum(a, b, where=[True, False])", "maximum(x, z)"),
        ("maximum(a, b, b)", "maximum(x, z)"),
        ("log(a, out=a)", "log(x)"),
        ("np.log(a, where=a > 0)", "log(x)"),
        ("abs(a, b)", "abs(x)"),
        ("abs(*[a])", "make the column"),
        ("np.log(1.0)", "it has no column"),
        ("I(None)", "make the column"),
        ("I('a')", "make the column"),
        ("I(1j * a)", "make the column"),
        ("I(~c)", "I(1 - x)"),
        ("I(not c)", "I(1 - x)"),
        ("I((a > 0) & (b > 0))", "(x > 0) * (z > 0)"),
        ("I(a and b)", "(x > 0) * (z > 0)"),
        ("I(0 < a < 2)", "I((1 < x) * (x < 2))"),
        ("poly(a, -1, raw=True)", "poly(x, 3, raw=True)"),
        ("poly(a, b, raw=True)", "poly(x, 3, raw=True)"),
        ("C(c, levels='456')", "levels=['a', 'b']"),
        ("C(c, levels={4, 5, 6})", "levels=['a', 'b']"),
        ("C(c, contr.sum, [4, 5, 6])", "C(x, contr.sum"),
        ("I(C(k) == 'u')", "C() by itself"),
    ],
)
def test_what_is_no_arithmetic_on_one_row_is_refused(term, remedy, frame):
    with pytest.raises(FormulaError) as refusal:
        spec(f"y ~ {term}", frame)
    assert remedy in str(refusal.value)
    assert "term" in str(refusal.value)
    with pytest.raises(FormulaError):
        spec(f"{term} ~ b", frame)


@pytest.mark.parametrize("text", ["y ~ 'a'", "y ~ `a` + {a @ b}", "y ~ {1, 2}", "y ~ {'a'}"])
def test_other_ways_to_write_python_are_read_too(text, frame):
    with pytest.raises(FormulaError):
        spec(text, frame)


ATOMS = st.sampled_from(["a", "b", "c", "k", "2", "0.5", "'u'", "True", "None", "(1, 2)", "[a, b]"])
OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "@",
    "<",
    "<=",
    "==",
    "!=",
    "in",
    "is",
    "&",
    "|",
    "^",
    ">>",
    "and",
]


def call(function, arguments, given):
    return f"{function}({', '.join([*arguments, *(f'{k}={v}' for k, v in given.items())])})"


def written(inner):
    """Python that someone may write, most of which is refused."""
    called = st.sampled_from(
        ["abs", "log", "np.exp", "I", "maximum", "clip", "poly", "bs", "np.sum", "yeo_johnson", "C"]
    )
    names = [
        "where",
        "out",
        "raw",
        "degree",
        "knots",
        "lower_bound",
        "upper_bound",
        "power",
        "axis",
    ]
    keywords = st.dictionaries(st.sampled_from(names), inner, max_size=3)
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("({}{})".format, st.sampled_from(["-", "~", "not "]), inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds(call, called, st.lists(inner, min_size=1, max_size=3), keywords),
    )


@settings(max_examples=300, deadline=None, derandomize=True)
@given(expression=st.recursive(ATOMS, written, max_leaves=6))
def test_whatever_is_accepted_is_a_function_of_the_row(expression):
    """Rows gone, or in another order, leave the others' values: or the term is refused."""
    rng = np.random.default_rng(1)
    n = 23
    frame = pd.DataFrame({
        "y": rng.standard_normal(n), "a": rng.lognormal(size=n), "b": rng.standard_normal(n),
        "c": rng.integers(4, 7, n),
        "k": pd.Categorical.from_codes(rng.integers(0, 3, n), ["u", "v", "w"]),
    })  # fmt: skip
    try:
        formula = FormulaSpec(f"y ~ I({expression})", Table(frame).schema)
    except (FormulaError, SchemaError):
        return
    whole = formula.rows(Table(frame), response=True)
    for keep in ([*range(n - 1)], [*range(1, n)], [3], [11, 2, 5], []):
        part = formula.rows(Table(frame.iloc[keep].reset_index(drop=True)), response=True)
        at = [list(whole.kept).index(i) for i in keep if i in whole.kept]
        np.testing.assert_array_equal(part.X, whole.X[at])
        np.testing.assert_array_equal(part.y, whole.y[at])


def test_what_fails_on_the_records_alone_leaves_no_trace(frame, monkeypatch):
    """No such term is known; if there is one, its rows are incomplete."""
    formula = spec("y ~ a", frame)

    def fails(*_, **__):
        raise ValueError("200 rows")

    monkeypatch.setattr(spec_module, "_encode", fails)
    found = formula.rows(Table(frame), response=True)
    assert found.X.shape == (0, 1)


@pytest.mark.parametrize(
    "term",
    ["a.mean()", "np.mean(a)", "np.random.rand(3)", "__import__('os').getpid()", "a[0]", "len(a)",
     "I(a - a.min())", "{[x for x in a]}", "I((lambda: 1)())", "open('f')", "sum(a)",
     "np.cumsum(a)", "C(k, a)", "C(a + b)", "C(k, levels=b)", "pd.Series(a)",
     "getattr(a, 'mean')()"],
)  # fmt: skip
def test_anything_that_is_not_known_is_refused(term, frame):
    with pytest.raises((FormulaError, SchemaError)):
        spec(f"y ~ {term}", frame)


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ nope", "there is no column 'nope'"),
        ("y ~ log(", "cannot read"),
        ("y", "one response"),
        ("~ a", "one response"),
        ("", "one response"),
        ("y ~ a | b", "one response"),
        ("k ~ a", "one number in each row"),
        ("y + b ~ a", "one number in each row"),
        ("y ~ 0", "nothing on its right-hand side"),
        ("1 ~ a", "one response"),
        (3, "must be a string"),
        ("y ~ t", "neither numeric nor categorical"),
        ("y ~ s", "add levels={'s': ['first', 'second', ...]}"),
        ("y ~ C(c)", "add levels={'c'"),
        ("y ~ log(k)", "cannot evaluate"),
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


@settings(max_examples=150, deadline=None)
@given(
    objects=st.lists(cells, min_size=0, max_size=8),
    numbers=st.lists(st.floats(width=64), min_size=8, max_size=8),
)
def test_no_cell_can_raise_or_warn(objects, numbers):
    n = len(objects)
    column = np.empty(n, dtype=object)
    column[:] = objects
    data = pd.DataFrame({"y": numbers[:n], "x": numbers[:n], "g": pd.Series(column, dtype=object)})
    formula = "y ~ log(x) * g + I(x**3) + bs(x, knots=[0], lower_bound=-1, upper_bound=1)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rows(formula, data, {"g": ["a", 1, 2.5, True and "b"]})
    assert np.isfinite(found.X).all()
    assert found.X.shape[1] == len(spec(formula, data, {"g": ["a", 1, 2.5, "b"]}).names)


@pytest.mark.parametrize("formula", [
    "y ~ a + b + k + o", "y ~ 0 + k + a:k + b", "y ~ log(a) + I(b**2) + C(k) + a:b", "y ~ .",
])  # fmt: skip
def test_keeping_some_columns_needs_the_data_of_those_only(formula, frame):
    data = frame[["y", "a", "b", "k", "o"]]
    whole = spec(formula, data)
    X = whole.rows(Table(data), response=False).X
    for j, name in enumerate(whole.names):
        reduced = whole.keeping([name])
        assert reduced.names == (name,)
        assert set(reduced.regressors) <= set(whole.regressors)
        short = data[list(reduced.regressors)]
        rows = reduced.rows(Table(short), response=False)
        np.testing.assert_array_equal(rows.X[:, 0], X[:, j])
        for other in set(whole.regressors) - set(reduced.regressors):
            gaps = data.assign(**{other: data[other].where(data[other].isna())})
            np.testing.assert_array_equal(reduced.rows(Table(gaps), response=False).X, rows.X)
    assert whole.names == spec(formula, data).names
    assert whole.keeping([]).rows(Table(data), response=False).X.shape == (len(data), 0)


def test_keeping_interactions_and_dummies_needs_all_their_variables(frame):
    whole = spec("y ~ a + b:k + o", frame)
    assert set(whole.keeping(["a"]).regressors) == {"a"}
    (first,) = [n for n in whole.names if n.startswith("b:k") and n.endswith("v]")]
    assert set(whole.keeping([first]).regressors) == {"b", "k"}
    assert set(whole.keeping(["a", "o[T.hi]"]).regressors) == {"a", "o"}


@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
def test_yeo_johnson_agrees_with_scipy(power):
    from scipy import stats

    from dpreg.formula.functions import ROW_FUNCTIONS

    values = np.array([-40.0, -1.0, -1e-9, 0.0, 1e-9, 0.3, 1.0, 700.0])
    yeo_johnson = ROW_FUNCTIONS["yeo_johnson"].function
    ours = yeo_johnson(values, power)
    assert ours == pytest.approx(stats.yeojohnson(values, lmbda=power), rel=1e-6, abs=1e-15)
    # Row by row: a value does not depend on the others, and a missing one stays missing.
    assert yeo_johnson(values[:1], power)[0] == ours[0]
    assert np.isnan(yeo_johnson(np.array([np.nan]), power))[0]
