"""Which terms are refused: all that is no function of one row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import evaluated, schema

from dpreg.base.errors import FormulaError, SchemaError
from dpreg.data.formula import FormulaSpec
from dpreg.data.formula import spec as spec_module


@pytest.fixture
def frame():
    rng = np.random.default_rng(20260101)
    n = 40
    return pd.DataFrame({
        "y": rng.standard_normal(n), "a": rng.lognormal(size=n), "b": rng.standard_normal(n),
        "c": rng.integers(4, 7, n), "s": rng.choice(["x", "z"], n),
        "k": pd.Categorical.from_codes(rng.integers(0, 3, n), ["u", "v", "w"]),
    })  # fmt: skip


def spec(formula, frame):
    return FormulaSpec(formula, schema(frame))


@pytest.mark.parametrize(
    ("term", "remedy"),
    [
        ("scale(a)", "I((a - 50) / 10)"),
        ("center(a)", "I(a - 50)"),
        ("standardize(a)", "I((a - 50) / 10)"),
        ("poly(a, 3)", "raw=True"),
        ("poly(a, 3, raw=False)", "raw=True"),
        ("bs(a, df=4)", "knots=[2, 4]"),
        ("bs(a, knots=[1])", "lower_bound=0"),
        ("ns(a, 3)", "bounds={'a': (low, high)}"),
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
        formula = FormulaSpec(f"y ~ I({expression})", schema(frame))
    except (FormulaError, SchemaError):
        return
    whole = evaluated(formula, frame, response=True)
    for keep in ([*range(n - 1)], [*range(1, n)], [3], [11, 2, 5], []):
        part = evaluated(formula, frame.iloc[keep].reset_index(drop=True), response=True)
        at = [list(whole.kept).index(i) for i in keep if i in whole.kept]
        np.testing.assert_array_equal(part.X, whole.X[at])
        np.testing.assert_array_equal(part.y, whole.y[at])


def test_a_row_that_fails_is_dropped_by_itself(frame, monkeypatch):
    """No such term is known; if there is one, the other rows stay."""
    formula = spec("y ~ I(2 * a)", frame)
    encode = spec_module.encoded

    def fails(side, part):
        if {3, 17} & set(part.index):
            raise ValueError(f"{len(part)} rows")
        return encode(side, part)

    monkeypatch.setattr(spec_module, "encoded", fails)
    found = evaluated(formula, frame, response=True)
    assert found.kept.tolist() == [i for i in range(40) if i not in (3, 17)]
    np.testing.assert_array_equal(found.X[:, 0], 2 * frame["a"].drop([3, 17]))
    assert evaluated(formula, frame, response=False).kept.tolist() == found.kept.tolist()


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
