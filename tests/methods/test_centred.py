"""Squares and products about means: regressors by definition, and errors that cover."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.data.bounds import crossed_columns
from dpreg.data.design import Terms
from dpreg.data.problem import pose
from dpreg.estimation.newton.centred import regressors
from dpreg.estimation.newton.levels import beginning
from dpreg.estimation.releases.rows import StandardUnits, standard_units
from dpreg.estimation.releases.standardisation import Scales

LEVELS = {"g[b]": (0.0, 1.0), "g[c]": (0.0, 1.0)}
CROSSED = ("x", *LEVELS, "x:g[b]", "x:g[c]")


def terms_of(names, levels=LEVELS):
    ranges = {name: levels[name] for name in names if name in levels}
    groups = {"g" if name in ranges else name: (name,) for name in names}
    groups = {term: tuple(ranges) if term == "g" else of for term, of in groups.items()}
    return Terms(response="y", names=names, intercept=True, ranges=ranges, groups=groups)


def found(names, X, centre=None, scale=None, levels=LEVELS):
    """Return regressors, and standardised rows with a 1, of columns with these names."""
    k = len(names)
    centre = X.mean(axis=0) if centre is None else np.asarray(centre, dtype=float)
    scale = X.std(axis=0) if scale is None else np.asarray(scale, dtype=float)
    low, high = X.min(axis=0), X.max(axis=0)
    scales = Scales(
        low=np.append(low, -1), high=np.append(high, 1), centre=np.append(centre, 0),
        scale=np.append(scale, 1), given=np.ones(k + 1, dtype=bool), spread=np.full(k + 1, np.inf),
        seen=np.ones(k + 1, dtype=bool), response_found=True, units=float(len(X)),
    )  # fmt: skip
    units = standard_units(scales, intercept=True)
    with np.errstate(all="ignore"):
        rows = np.column_stack([np.ones(len(X)), (X - units.centre) / units.scale])
    return regressors(terms_of(names, levels), units), rows, scales, units


def crossed_table(n=2_000, seed=1):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(2000.0, 8.0, n), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    b, c = 1.0 * (g == 1), 1.0 * (g == 2)
    return np.column_stack([x, b, c, x * b, x * c])


def test_a_square_is_taken_about_the_mean():
    x = np.random.default_rng(1).normal(40.0, 8.0, 500)
    table = np.column_stack([x, x**2, x])
    of, rows, _, _ = found(("x", "I(x ** 2)", "z"), table, [40.0, 1664.0, 40.0], [8.0, 640.0, 8.0])
    expected = ((x - 40) ** 2 - 64) / (64 * np.sqrt(2))
    np.testing.assert_allclose((rows @ of.rows)[:, 2], expected, atol=1e-9)
    np.testing.assert_array_equal(of.rows[:, [0, 1, 3]], np.eye(4)[:, [0, 1, 3]])


@pytest.mark.parametrize(
    "names",
    [
        ("x", *(f"I(x ** {k})" for k in (2, 3, 4))),
        tuple(f"poly(x, 4, raw=True)[{k}]" for k in (1, 2, 3, 4)),
        ("x", *(f"I(x^{k})" for k in (2, 3, 4))),  # R's names
        tuple(f"poly(x, 4, raw = TRUE){k}" for k in (1, 2, 3, 4)),
    ],
)
def test_powers_are_polynomials_about_the_mean_that_are_uncorrelated_where_normal(names):
    x = np.random.default_rng(1).normal(40.0, 8.0, 200_000)
    of, rows, _, _ = found(names, np.column_stack([x, x**2, x**3, x**4]))
    t = (x - x.mean()) / x.std()
    expected = (t**3 - 3 * t) / np.sqrt(6), (t**4 - 6 * t**2 + 3) / np.sqrt(24)
    np.testing.assert_allclose((rows @ of.rows)[:, 3:], np.column_stack(expected), atol=1e-6)


def test_of_a_product_only_what_is_far_from_0_is_taken_about_its_mean():
    rng = np.random.default_rng(1)
    x, z = rng.normal(40.0, 8.0, 500), rng.normal(0.5, 2.0, 500)
    table = np.column_stack([x, z, x * z])
    of, rows, _, _ = found(("x", "z", "x:z"), table)
    expected = (x - x.mean()) / x.std() * z / np.hypot(z.mean(), z.std())
    np.testing.assert_allclose((rows @ of.rows)[:, 3], expected, atol=1e-9)
    far = np.column_stack([x, x[::-1], x * x[::-1]])
    of, rows, _, _ = found(("x", "z", "x:z"), far)
    own = (x - x.mean()) / x.std()
    np.testing.assert_allclose((rows @ of.rows)[:, 3], own * own[::-1], atol=1e-9)


def test_products_with_levels_are_of_both_in_standard_units():
    table = crossed_table()
    of, rows, _, _ = found(CROSSED, table)
    made = rows @ of.rows
    for level, product in ((2, 4), (3, 5)):
        np.testing.assert_allclose(made[:, product], rows[:, 1] * rows[:, level], atol=1e-6)
    ((levels, products),) = of.crossed
    assert levels.tolist() == [1, 2]
    assert products.tolist() == [4, 5]


def test_slopes_are_those_of_the_regressors():
    of, rows, _, _ = found(CROSSED, crossed_table())
    theta = np.arange(1.0, 7.0)
    np.testing.assert_allclose(rows @ of.rows @ of.slopes(theta), rows @ theta, rtol=1e-6)


def test_two_values_of_a_product_have_its_second_moment():
    table = crossed_table(100_000)
    of, rows, scales, units = found(CROSSED, table, scale=[8.0, 0.5, 0.5, 600.0, 300.0])
    moments = ((rows @ of.rows) ** 2).mean(axis=0)
    _, values, shares = dataclasses.astuple(of.two_values(scales, units))
    told = (shares * values**2).sum(axis=0)
    np.testing.assert_allclose(told[4:], moments[4:], rtol=0.1)
    only = of.only_two(scales, units)
    assert not only[4:].any()
    assert only[2:4].all()


def test_others_are_left_as_they_are():
    x = np.random.default_rng(1).normal(40.0, 8.0, 500)
    z = x - 40
    for names, table in (
        (("x", "I(x ** 3)"), np.column_stack([x, x**3])),  # without the square
        (("x", "I(z ** 2)"), np.column_stack([x, x**2])),
        (("z", "I(z ** 2)"), np.column_stack([z, z**2])),  # near 0
        (("x", "x:z"), np.column_stack([x, x * z])),  # z is not in the model
        (("x", "z", "x:z"), np.column_stack([x, z, 1e3 * x])),  # something else has that name
    ):
        of, _, _, _ = found(names, table)
        np.testing.assert_array_equal(of.rows[:, -1:], np.eye(len(of.rows))[:, -1:])
        assert not of.crossed
    of, _, _, _ = found(CROSSED[:4], crossed_table()[:, :4])  # a product is missing
    assert not of.crossed


def test_levels_that_have_the_names_of_products_stay_levels():
    """As levels of a factor in each of two arms; they were taken about the mean of the arm."""
    names = ("t", "g[b]", "t:g[b]")
    of_g = {"g[b]": (0.0, 1.0), "t:g[b]": (0.0, 1.0)}
    groups = {"t": ("t",), "g": ("g[b]", "t:g[b]")}
    terms = Terms(response="y", names=names, intercept=True, ranges=of_g, groups=groups)
    assert not list(crossed_columns(terms))
    _, _, _, units = found(names, crossed_table()[:, :3], [0.8, 0.1, 0.2], [0.4, 0.5, 0.5])
    np.testing.assert_array_equal(regressors(terms, units).rows, np.eye(4))


def test_crossed_columns_are_found_by_their_names():
    (of,) = crossed_columns(terms_of(CROSSED))
    assert (of.of, of.levels.tolist(), of.products.tolist()) == (0, [1, 2], [3, 4])
    turned = ("g[b]", "g[c]", "x", "g[b]:x", "g[c]:x")
    (of,) = crossed_columns(terms_of(turned))
    assert (of.of, of.levels.tolist(), of.products.tolist()) == (2, [0, 1], [3, 4])
    assert not list(crossed_columns(terms_of(CROSSED[:4])))
    assert not list(crossed_columns(terms_of(CROSSED[1:])))


@pytest.mark.parametrize(("far", "found_there"), [(1e7, 1), (1e15, 0)])
def test_products_of_what_doubles_do_not_tell_from_its_mean_are_columns_like_others(
    far, found_there
):
    """Of a regressor so far from 0 slopes missed by 20 errors."""
    x = np.array([far - 1, far + 1, far, far])
    b, c = np.array([0.0, 1, 0, 0]), np.array([0.0, 0, 1, 0])
    table = np.column_stack([x, b, c, x * b, x * c])
    of, _, _, _ = found(CROSSED, table, scale=[1.0, 0.5, 0.5, far / 2, far / 2])
    assert len(of.crossed) == found_there
    assert np.array_equal(of.rows, np.eye(6)) == (not found_there)


@pytest.mark.parametrize(
    ("formula", "count"),
    [("x * g * h", 3), ("h * x * g", 3), ("g * h * x", 3), ("x * h + g + x:g + x:g:h", 2),
     ("x * z * g", 3), ("h + x * g + x:g:h", 1), ("g * h", 0)],
)  # fmt: skip
def test_no_column_is_found_twice_and_none_of_a_column_that_is_found(formula, count):
    plain = {"x": [0.0], "z": [0.0], "y": [0.0], "g": ["a"], "h": ["u"]}
    terms = pose(f"y ~ {formula}", plain, {"g": list("abc"), "h": list("uvw")}, None).terms
    found = list(crossed_columns(terms))
    assert len(found) == count
    products = [j for of in found for j in of.products]
    assert len(set(products)) == len(products)
    assert not {of.of for of in found} & set(products)


def test_names_of_levels_may_have_colons():
    plain = {"x": [0.0], "y": [0.0], "g": ["a"]}
    terms = pose("y ~ g * x", plain, {"g": ["a", "b:c", "x:d"]}, None).terms
    (of,) = crossed_columns(terms)
    assert [terms.names[j] for j in of.products] == ["g[T.b:c]:x", "g[T.x:d]:x"]


def test_products_of_levels_are_levels():
    """Taken for other products, no coefficient of `y ~ g * h` had an error."""
    names = ("g[b]", "h[v]", "g[b]:h[v]")
    rng = np.random.default_rng(1)
    g, h = 1.0 * (rng.random(500) < 0.8), 1.0 * (rng.random(500) < 0.3)
    levels = dict.fromkeys(names, (0.0, 1.0))
    of, _, _, _ = found(names, np.column_stack([g, h, g * h]), levels=levels)
    np.testing.assert_array_equal(of.rows, np.eye(4))


def test_a_product_of_three_fits():
    """Its scale was taken from one that was not there yet, and no number."""
    rng = np.random.default_rng(1)
    x, g, h = rng.normal(50, 5, 3_000), rng.choice(list("ab"), 3_000), rng.choice(list("uv"), 3_000)
    data = pd.DataFrame({"x": x, "g": g, "h": h, "y": x * (g == "b") + rng.normal(size=len(x))})
    fit = dpreg.dp_lm(
        "y ~ x * h + g + x:g + x:g:h", data, 100.0, 1e-6,
        levels={"g": list("ab"), "h": list("uv")}, rng=1,
    )  # fmt: skip
    assert np.isfinite(fit.bse).all()
    assert abs(fit.params["x:g[T.b]"] - 1) < 5 * fit.bse["x:g[T.b]"]


def test_coordinates_of_products_with_levels_are_uncorrelated_however_rare_the_reference():
    rng = np.random.default_rng(2)
    x, g = rng.normal(2000.0, 8.0, 50_000), rng.choice(3, 50_000, p=[0.02, 0.6, 0.38])
    b, c = 1.0 * (g == 1), 1.0 * (g == 2)
    table = np.column_stack([x, b, c, x * b, x * c])
    _, rows, scales, units = found(CROSSED, table, scale=[8.0, 0.5, 0.5, 1e3, 1e3])
    first = beginning(terms_of(CROSSED), scales, units, small=False)
    made = rows @ first.change
    np.testing.assert_allclose(made.T @ made / len(made), np.eye(6), atol=0.1)
    np.testing.assert_array_equal(first.moments.levels, [False, False, True, True, True, True])
    np.testing.assert_array_equal(first.shares[2:4], first.shares[4:])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "names",
    [("x", *(f"I(x ** {k})" for k in (2, 3, 4))), ("x", "z", "x:z"), CROSSED],
)
def test_released_scales_of_any_size_make_finite_regressors(names):
    """Of each alone, and of powers and products that agree with what they are made of."""
    rng, terms, made = np.random.default_rng(3), terms_of(names), 0
    for trial in range(1_000):
        k = len(names)
        scale = np.abs(rng.normal(size=k)) * 10.0 ** rng.integers(-300, 300, k)
        centre = rng.normal(size=k) * 10.0 ** rng.integers(-300, 300, k)
        if trial % 2:
            own = 10.0 ** rng.integers(-70, 70)
            power = np.arange(1, k + 1) if k == 4 else np.array([1, 1, 2] if k == 3 else [1] * k)
            centre, scale = (3 * own) ** power, np.full(k, own) ** power
            if names == CROSSED:
                centre[1:3], scale[1:3] = rng.random(2) / 2, 0.5
                centre[3:], scale[3:] = centre[1:3] * centre[0], own
        units = StandardUnits(np.arange(k), centre, scale, 0.0, 1.0, intercept=True)
        of = regressors(terms, units)
        made += len(of.products)
        assert np.isfinite(of.rows).all()
        assert np.isfinite(of.slopes(np.ones(k + 1))).all()
    assert made > 400


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_year_and_its_square_have_errors_that_cover(family):
    """With columns as they are no fit of 5,000 rows had errors of these."""
    known, away = [], []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        year = rng.uniform(1980, 2020, 5_000)
        mean = 0.03 * (year - 2000) - 0.003 * (year - 2000) ** 2
        data = pd.DataFrame({"year": year, "y": mean + rng.normal(size=len(year))})
        if family == "binomial":
            data["y"] = (rng.random(len(year)) < 1 / (1 + np.exp(-mean))).astype(int)
        fit = dpreg.dp_glm("y ~ year + I(year ** 2)", data, 1.0, 1e-6, family=family, rng=seed)
        known.append(np.isfinite(fit.bse["I(year ** 2)"]))
        away.append((fit.params["I(year ** 2)"] + 0.003) / fit.bse["I(year ** 2)"])
    away = np.array(away)[known]
    assert np.mean(known) > 0.8
    assert np.mean(np.abs(away) < 1.96) > 0.75


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_year_with_levels_has_errors_that_cover(family):
    """With columns as they are no fit of 20,000 rows had errors of these, of either family."""
    known, away = [], []
    true = np.array([0.05, 0.0, 0.04])
    for seed in range(8):
        rng = np.random.default_rng(seed)
        year, g = (
            rng.integers(1990, 2015, 20_000),
            rng.choice(list("abc"), 20_000, p=[0.6, 0.3, 0.1]),
        )
        mean = 0.05 * (year - 2002) + 0.5 * (g == "b") + 0.04 * (year - 2002) * (g == "c")
        data = pd.DataFrame({"year": year, "g": g, "y": mean + rng.normal(size=len(year))})
        if family == "binomial":
            data["y"] = (rng.random(len(year)) < 1 / (1 + np.exp(-mean))).astype(int)
        fit = dpreg.dp_glm(
            "y ~ year * g", data, 1.0, 1e-6, family=family, levels={"g": list("abc")}, rng=seed
        )
        slopes = [name for name in fit.params.index if "year" in name]
        known.append(np.isfinite(fit.bse[slopes]))
        away.append((fit.params[slopes] - true) / fit.bse[slopes])
    assert np.mean(known) > 0.9
    assert np.mean(np.abs(np.array(away)[np.array(known)]) < 1.96) > 0.75
