"""The release of `dp_moments`: what it costs, what it is told, and what it makes of odd data."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.base.errors import ArgumentError, BudgetError, FormulaError, SchemaError
from dpreg.estimation.newton.row_lengths import RowNorms
from dpreg.privacy.gdp import gdp_mu


def table(n=3000, seed=5):
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal((2, n))
    g = pd.Categorical(rng.choice(["a", "b"], n), ["a", "b"])
    y = 10 + 2 * x - z + (g == "b") + rng.standard_normal(n)
    return pd.DataFrame({"y": y, "x": x, "z": z, "g": g, "id": np.arange(n) // 3})


@pytest.fixture(scope="module")
def data():
    return table()


def test_shares_add_up_to_the_whole(data):
    m = dpreg.dp_moments("y ~ x + z + g", data, 1.0, 1e-6, rng=1)
    spent = math.fsum(part.mu**2 for part in m.privacy.parts)
    mu = gdp_mu(1.0, 1e-6)
    assert 0.99 * mu**2 < spent <= mu**2
    assert (m.privacy.epsilon, m.privacy.delta, m.privacy.unit) == (1.0, 1e-6, "one row")


def test_it_is_charged_once_and_before_a_row_is_read(data):
    budget = dpreg.Budget(1.0, 1e-5)
    m = dpreg.dp_moments("y ~ x", data, 1.0, budget=budget, rng=1)
    m.lm("y ~ x")
    m.lm("x ~ y")
    assert len(budget.charges) == 1
    with pytest.raises(BudgetError):
        dpreg.dp_moments("y ~ x", data, 1.0, budget=budget)


FORMS = [
    "y ~ x + g",
    "~ y + x + g",
    "y + x + g",
    ["y", "x", "g"],
    ("y", "x", "g"),
]


@pytest.mark.parametrize("columns", FORMS, ids=str)
def test_columns_may_be_written_in_several_ways(data, columns):
    m = dpreg.dp_moments(columns, data, 5.0, rng=1)
    assert m.names == ("y", "x", "g[T.b]")
    assert m.to_json() == dpreg.dp_moments(FORMS[0], data, 5.0, rng=1).to_json()


def test_a_dot_is_all_columns_but_the_unit(data):
    m = dpreg.dp_moments("~ .", data, 5.0, unit="id", rng=1)
    assert m.names == ("y", "x", "z", "g[T.b]")
    assert m.privacy.unit == "all rows of one 'id'"
    assert any("independent" in note for note in m.notes)


def test_names_with_blanks_and_factors_alone(data):
    odd = data.rename(columns={"x": "a b"})
    m = dpreg.dp_moments(["y", "a b"], odd, 5.0, rng=1)
    assert m.names == ("y", "a b")
    assert m.lm("y ~ `a b`").names == ("Intercept", "a b")
    assert dpreg.dp_moments("~ g", data, 5.0, rng=1).names == ("g[T.b]",)


@pytest.mark.parametrize(
    ("columns", "error", "says"),
    [
        ("y ~ x - 1", FormulaError, "must include the intercept"),
        ("~ nope", FormulaError, "no column 'nope'"),
        ("~ y + scale(x)", FormulaError, "scale"),
        ([], ArgumentError, "formula must be"),
        (3, ArgumentError, "formula must be"),
        (["y", 3], ArgumentError, "formula must be"),
        ("y ~", FormulaError, "cannot read|nothing|must have"),
    ],
)
def test_columns_that_cannot_be_used(data, columns, error, says):
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(error, match=says):
        dpreg.dp_moments(columns, data, 1.0, budget=budget)
    assert budget.charges == ()


def test_other_arguments_that_cannot_be_used(data):
    with pytest.raises(ArgumentError, match="max_rows"):
        dpreg.dp_moments("y ~ x", data, 1.0, max_rows=0)
    with pytest.raises(ArgumentError, match="bounds"):
        dpreg.dp_moments("y ~ x", data, 1.0, bounds={"w": (0, 1)})
    with pytest.raises(BudgetError, match="delta"):
        dpreg.dp_moments("y ~ x", data, 1.0, 0.0)
    with pytest.raises(SchemaError, match="levels"):
        dpreg.dp_moments("y ~ t", data.assign(t="a"), 1.0)


def test_bounds_hold_for_both_copies_of_a_column(data):
    bounds = {"y": (-10.0, 30.0), "x": (-5.0, 5.0)}
    m = dpreg.dp_moments("y ~ x", data, 1.0, bounds=bounds, rng=1)
    (found,) = [part for part in m.privacy.parts if "magnitude" in part.label]
    assert found.label.endswith("with bounds")
    assert found.scale * found.mu == pytest.approx(np.sqrt(2.0), rel=1e-3)  # of two columns
    assert m.limits.tolist() == [[-10.0, 30.0], [-5.0, 5.0]]


@pytest.mark.parametrize(
    "odd",
    [
        {"y": np.zeros(0), "x": np.zeros(0)},
        {"y": np.ones(500), "x": np.ones(500)},
        {"y": np.full(500, np.nan), "x": np.ones(500)},
        {"y": np.arange(500.0), "x": np.zeros(500)},
        {"y": np.arange(500.0), "x": np.arange(500.0)},
        {"y": np.array([1e300, -1e300] * 250), "x": np.arange(500.0)},
        {"y": np.array([5e-324] * 500), "x": np.arange(500.0) * 1e-300},
        {"y": np.arange(3.0), "x": np.arange(3.0)},
    ],
)
def test_odd_columns_come_out_as_a_release(odd):
    m = dpreg.dp_moments("y ~ x", odd, 1.0, rng=1)
    again = dpreg.DPMoments.from_json(m.to_json())
    str(again)
    again.corr_errors()
    try:
        again.lm("y ~ x").summary()
        again.vif("y ~ x")
        again.compare(["y ~ x", "y ~ 1"])
    except ArgumentError as refusal:
        # A function of what was released.
        assert "the scale of 'y' is not estimable" in str(refusal)  # noqa: PT017


def test_a_large_eps_gives_least_squares(data):
    import statsmodels.formula.api as smf

    m = dpreg.dp_moments("y ~ x + z + g", data, 200.0, 1e-3, rng=1)
    fit, plain = m.lm("y ~ x + z + g"), smf.ols("y ~ x + z + g", data).fit()
    assert (np.abs(fit.params - plain.params) < 0.3 * plain.bse).all()
    assert fit.nobs == pytest.approx(len(data), rel=0.01)
    np.testing.assert_allclose(fit.bse, plain.bse[list(fit.names)], rtol=0.1)


def test_intervals_cover_and_noise_is_counted():
    """60 fits at 4 slopes: with coverage .95, fewer than 212 has a probability below 1e-6."""
    covered = 0
    for seed in range(60):
        frame = table(4000, seed)
        m = dpreg.dp_moments("y ~ x + z + g", frame, 1.0, 1e-6, rng=seed)
        table_of = m.lm("y ~ x + z + g").conf_int()
        truth = {"Intercept": 10.0, "x": 2.0, "z": -1.0, "g[T.b]": 1.0}
        covered += sum(table_of.loc[n, 0] <= t <= table_of.loc[n, 1] for n, t in truth.items())
    assert covered >= 212


def test_a_person_moves_as_much_as_its_rows(data):
    one = dpreg.dp_moments("y ~ x", data, 1.0, unit="id", max_rows=1, rng=1)
    three = dpreg.dp_moments("y ~ x", data, 1.0, unit="id", max_rows=3, rng=1)
    moves = [{p.label: p.scale * p.mu for p in m.privacy.parts} for m in (one, three)]
    for label in (
        "number of rows",
        "second moments of rows, 1",
        "norms of rows",
        "sums of products",
    ):
        assert moves[1][label] == pytest.approx(3 * moves[0][label], rel=1e-3)


def test_a_copy_of_a_column_costs_nothing(data):
    """The response of the problem that is posed is a column once more."""
    parts = dpreg.dp_moments("~ y", data, 1.0, 1e-6, rng=1).privacy.parts
    (magnitudes,) = [part for part in parts if part.label.startswith("sign and order")]
    assert magnitudes.scale * magnitudes.mu == pytest.approx(1.0, rel=1e-3)


def test_few_noisy_steps(data):
    for columns in ("y ~ x", "y ~ x + z + g"):
        parts = dpreg.dp_moments(columns, data, 1.0, 1e-6, rng=1).privacy.parts
        assert len(parts) <= 9


def test_rows_of_a_rare_level_are_not_left_too_long():
    """Each matrix before the last would else take them for short, and stretch them."""
    rng = np.random.default_rng(1)
    x = (rng.random(20_000) < 0.05) * 1.0
    y = x + rng.standard_normal(20_000)
    m = dpreg.dp_moments("y ~ x", {"x": x, "y": y}, 1.0, 1e-6, rng=2)
    assert np.linalg.eigvalsh(m.matrix).max() < 1.8 * m.units


# Norms of rows


def norms_of(rows, width, deviation=0.0):
    """Exact counts of norms, in half octaves."""
    place = np.floor(2 * np.log2(rows)).astype(int) + 40
    counts = np.bincount(place, minlength=100) * 1.0
    middles = 2.0 ** ((np.arange(len(counts)) - 39.5) / 2)
    return RowNorms(counts, middles, deviation, width, len(rows) * 1.0)


@pytest.mark.parametrize("width", [3, 10, 40])
def test_normal_rows_have_a_kurtosis_of_1_and_are_hardly_cut(width):
    rng = np.random.default_rng(1)
    rows = np.sqrt(rng.chisquare(width, 100_000))
    norms = norms_of(rows, width)
    limit = norms.limit(mu=0.2)
    assert norms.kurtosis(limit) == pytest.approx(1.0, abs=0.12)
    assert (rows > limit).mean() < 0.03
    assert limit < 3 * np.sqrt(width)


def test_heavy_tails_have_a_wide_limit_and_their_kurtosis():
    """Rows of a multivariate t with 9 degrees of freedom: (9 - 2) / (9 - 4) times the normal."""
    rng = np.random.default_rng(2)
    width = 6
    rows = np.sqrt(rng.chisquare(width, 400_000) * 7 / rng.chisquare(9, 400_000))
    norms = norms_of(rows, width)
    assert norms.limit(mu=0.5) > 3 * np.sqrt(width)
    assert norms.kurtosis(1e3) == pytest.approx(7 / 5, rel=0.1)
    noisier = norms_of(rows, width, deviation=1000.0)
    assert noisier.limit(mu=0.5) <= norms.limit(mu=0.5)


def test_nothing_counted_is_no_kurtosis():
    empty = RowNorms(np.zeros(100), np.ones(100), 1.0, 3, 1.0)
    assert empty.kurtosis(1.0) == 1.0
    assert empty.limit(0.1) > 0


def test_a_stratum_is_used_alone_and_charged_alone(data):
    budget = dpreg.Budget(2.0, 1e-5)
    strata = budget.partition("g", ["a", "b"])
    m = dpreg.dp_moments("~ y + x + z", data, 2.0, 1e-6, budget=strata["b"], rng=1)
    assert m.nobs == pytest.approx((data["g"] == "b").sum(), rel=0.1)
    assert m.lm("y ~ x + z").params["Intercept"] == pytest.approx(11.0, abs=0.5)
    assert "g[T.b]" not in dpreg.dp_moments("~ .", data, 1.0, budget=strata["a"], rng=1).names


def test_without_columns_there_are_no_moments(diamonds):
    budget = dpreg.Budget(1.0)
    with pytest.raises(dpreg.FormulaError, match="has no column"):
        dpreg.dp_moments("~ 1", diamonds, 1.0, budget=budget)
    assert budget.charges == ()


def test_a_term_may_be_the_first_column_by_itself(data):
    m = dpreg.dp_moments("~ I(y) + x", data, 1.0)
    assert m.names == ("I(y)", "x")
