"""What counts of levels say of coordinates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.data.bounds import level_places
from dpreg.data.design import Terms
from dpreg.estimation.inference.covariance import hidden_note
from dpreg.estimation.newton.levels import beginning, beside_left_out
from dpreg.estimation.releases.rows import standard_units
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.releases.standardisation import Scales

N = 20_000


def table(shares, rng):
    """Indicators of all levels but the first, in exact shares, and a column beside."""
    level = np.repeat(np.arange(len(shares)), np.rint(np.array(shares) * N).astype(int))
    rng.shuffle(level)
    return np.column_stack(
        [rng.standard_normal(len(level)), *(level == k for k in range(1, len(shares)))]
    )


def begun(shares, X, *, small=False, **known):
    """Return coordinates, and standardised rows."""
    terms, scales, units = standardised(shares, X, **known)
    rows = np.column_stack([np.ones(len(X)), (X - units.centre) / units.scale])
    return beginning(terms, scales, units, small=small), rows


def standardised(shares, X, *, precision=np.inf):
    """Return terms, scales and units."""
    k = len(shares) - 1
    names = ("x", *(f"g{j}" for j in range(k)))
    terms = Terms(
        response="y", names=names, intercept=True, ranges=dict.fromkeys(names[1:], (0.0, 1.0)),
        groups={"x": names[:1], "g": names[1:]},
    )  # fmt: skip
    centre = np.append(X.mean(axis=0), 0.0)
    scale = np.append(np.append(1.0, np.full(k, 0.5)), 1.0)
    spread = np.full(k + 2, np.inf)
    spread[1 : k + 1] = centre[1 : k + 1] * (1 - centre[1 : k + 1]) * precision
    scales = Scales(
        low=centre - 1, high=centre + 1, centre=centre, scale=scale,
        given=np.ones(k + 2, dtype=bool), spread=spread, seen=np.ones(k + 2, dtype=bool),
        response_found=True, units=float(len(X)),
    )  # fmt: skip
    return terms, scales, standard_units(scales, intercept=True)


@pytest.mark.parametrize(
    "shares", [(0.5, 0.3, 0.2), (0.6, 0.39, 0.01), (0.01, 0.6, 0.39), (0.001, 0.499, 0.3, 0.2)]
)
def test_levels_have_unit_second_moments_however_rare_the_reference(shares):
    X = table(shares, np.random.default_rng(1))
    found, rows = begun(shares, X)
    coordinates = rows @ found.change
    places = [0, *range(2, len(shares) + 1)]
    moments = coordinates.T @ coordinates / len(rows)
    np.testing.assert_allclose(moments[np.ix_(places, places)], np.eye(len(places)), atol=1e-9)
    assert found.unseen.shape[1] == 0
    assert found.moments.levels.tolist() == [False, False, *[True] * (len(shares) - 1)]


def test_rows_of_a_rare_level_are_no_longer_than_others():
    shares = (0.6, 0.3, 0.099, 0.001)
    X = table(shares, np.random.default_rng(2))
    found, rows = begun(shares, X)
    squares = ((rows @ found.change * found.sizes) ** 2).sum(axis=1)
    # They have what others have, and as much again.
    assert squares[X[:, 3] == 1].mean() < 2.1 * squares.mean()
    assert ((rows @ found.change) ** 2).sum(axis=1).max() > 200 * squares.mean()


def test_levels_of_several_classes_have_unit_second_moments():
    """The information of classes with these probabilities, whatever the covariates of a record."""
    X = table((0.6, 0.39, 0.01), np.random.default_rng(11))
    found, rows = begun((0.6, 0.39, 0.01), X)
    information = np.array([[0.2, -0.06], [-0.06, 0.16]])
    turn = symmetric_root(information, centred=False)
    blocks = found.of_blocks(turn)
    moments = blocks.change.T @ np.kron(information, rows.T @ rows / len(X)) @ blocks.change
    places = [2, 3, 6, 7]
    np.testing.assert_allclose(moments[np.ix_(places, places)], np.eye(4), atol=1e-9)
    assert np.flatnonzero(blocks.moments.levels).tolist() == places
    # Others are as they were.
    np.testing.assert_array_equal(blocks.change[:4, :2], found.change[:, :2])
    assert blocks.shares.tolist() == [*found.shares, *found.shares]
    other = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
    beside = found.beside(2.0, other)
    np.testing.assert_array_equal(beside.change[:3, :3], 2 * found.change[1:, 1:])
    np.testing.assert_array_equal(beside.change[3:, 3:], other)
    assert not beside.change[:3, 3:].any()
    assert not beside.change[3:, :3].any()
    assert beside.moments.levels.tolist() == [False, True, True, False, False, False]
    assert np.isinf(beside.moments.variance[3:]).all()


def test_what_is_not_told_of_levels_is_not_told_of_any_class():
    shares = (0.7, 0.299, 0.001)
    found, _ = begun(shares, table(shares, np.random.default_rng(3)), precision=1 / 0.002)
    blocks, beside = found.of_blocks(np.eye(2)), found.beside(1.0, np.eye(2))
    for made, unseen in ((blocks, 2), (beside, 1)):
        assert made.unseen.shape == (len(made.change), unseen)
        assert made.change.shape[1] + unseen == len(made.change)


@pytest.mark.parametrize("shares", [(0.7, 0.299, 0.001), (0.001, 0.7, 0.299), (0.3, 0.699, 0.001)])
def test_a_level_that_is_not_told_is_as_others_are_on_average(shares):
    X = table(shares, np.random.default_rng(3))
    found, rows = begun(shares, X, precision=1 / 0.002)
    assert found.unseen.shape[1] == 1
    rare = int(np.flatnonzero(np.isclose(shares, 0.001))[0])
    has = X[:, rare] == 1 if rare else ~X[:, 1:].any(axis=1)
    # Left out, it has an effect on its rows, and none on others but by the mean: of a mean square
    # of 1 where a deviation of the noise more have it.
    effect = rows @ found.unseen[:, 0]
    np.testing.assert_allclose(np.sqrt(0.001 + 0.002) * effect, has - 0.001, atol=1e-9)
    told = (rows @ found.change)[:, 2:]
    np.testing.assert_allclose(told[has], 0.0, atol=1e-2)
    assert np.abs(effect @ told).max() / N < 1e-4


@pytest.mark.parametrize("noise", [0.002, 0.115])
def test_slopes_have_some_of_the_effect_of_levels_that_are_left_out(noise):
    """Of what explains all residuals, but is no more than three of their deviations."""
    shares = (0.7, 0.298, 0.001, 0.001)
    X = table(shares, np.random.default_rng(3))
    found = beside_left_out(*standardised(shares, X, precision=1 / noise), small=False)
    may_have = 0.001 + noise
    few = 2 * min(may_have, (3 * may_have) ** 2)
    np.testing.assert_allclose(found, 0.3 * np.sqrt(few) * np.eye(5)[:, [1]], rtol=1e-9)
    assert not beside_left_out(*standardised(shares, X), small=False).any()


def test_a_slope_beside_a_level_that_is_left_out_is_not_said_to_be_what_it_would_be_with_it():
    away = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rare, x = rng.random(2_000) < 0.012, rng.standard_normal(2_000)
        x = x + rare
        y = x - 3 * rare + 0.5 * rng.standard_normal(len(x))
        level = np.where(rare, "few", np.where(rng.random(len(x)) < 0.5, "a", "b"))
        data = pd.DataFrame({"y": y, "x": x, "g": pd.Categorical(level, ["a", "b", "few"])})
        fit = dpreg.dp_lm("y ~ x + g", data, 1.0, 1e-6, rng=seed)
        away.append((fit.params["x"] - 1) / fit.bse["x"])
    assert np.nanmax(np.abs(away)) < 3


def test_without_noise_in_counts_nothing_is_doubted():
    shares = (0.6, 0.39, 0.01)
    found, _ = begun(shares, table(shares, np.random.default_rng(4)))
    assert found.moments.variance[2:, 2:].max() == 0.0
    assert np.isinf(found.moments.variance[1]).all()


@pytest.mark.parametrize(
    ("shares", "noise", "left_out"),
    [((0.7, 0.299, 0.001), 0.002, True), ((0.6, 0.2, 0.2), 0.1, False)],
)
def test_in_a_small_study_levels_that_are_not_told_are_left_out_if_few_rows_have_them(
    shares, noise, left_out
):
    X = table(shares, np.random.default_rng(5))
    found, _ = begun(shares, X, precision=1 / noise, small=True)
    assert found.unseen.shape[1] == left_out
    if not left_out:
        np.testing.assert_array_equal(found.change, np.eye(4))
        assert not found.moments.levels.any()


@pytest.mark.parametrize(
    ("shares", "noise", "left_out"),
    [
        ((0.88, 0.12), 0.05, 0),
        ((0.98, 0.02), 0.03, 1),
        ((0.76, 0.12, 0.12), 0.05, 2),
    ],
)
def test_a_single_level_that_many_rows_may_have_is_not_left_out(shares, noise, left_out):
    """Rows of a unit count together: noise may be as large as the share of a common level."""
    found, _ = begun(shares, table(shares, np.random.default_rng(5)), precision=1 / noise)
    assert found.unseen.shape[1] == left_out
    width = len(shares) + 1
    assert found.change.shape == (width, width - left_out)


def test_slopes_of_fifty_levels_have_errors_of_their_size():
    """Widths beside least squares of a factor whose rarest level has one row in a thousand."""
    widths = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shares = np.arange(1, 51.0) ** -1.5
        level = rng.choice(50, 300_000, p=shares / shares.sum())
        other = rng.choice(6, len(level), p=[0.5, 0.3, 0.15, 0.04, 0.008, 0.002])
        x = rng.standard_normal((len(level), 2))
        y = x[:, 0] + np.linspace(-0.7, 0.7, 50)[level] + other / 4 + rng.standard_normal(len(x))
        names = {"g": (level, 50), "h": (other, 6)}
        factors = {
            name: pd.Categorical.from_codes(codes, [f"{name}{j}" for j in range(k)])
            for name, (codes, k) in names.items()
        }
        data = pd.DataFrame({"y": y, "x": x[:, 0], "z": np.exp(x[:, 1]), **factors})
        fit = dpreg.dp_lm("y ~ x + z + C(g) + C(h)", data, 1.0, 1e-6, rng=seed)
        count = np.bincount(level)[1:]
        least = np.sqrt(1 / count + 1 / np.bincount(level)[0])
        widths.append(fit.bse[[name for name in fit.bse.index if name.startswith("C(g)")]] / least)
    assert np.isfinite(widths).all()
    assert np.median(widths) < 3.5


def test_counts_of_twenty_levels_have_errors_of_their_size():
    """Before steps were likely ones, .26 of these had no error, and others errors 3 to 19 times
    those of maximum likelihood, for 2."""
    blank, errors = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shares = 1 / np.arange(1, 21) ** 1.5
        level = rng.choice(20, 100_000, p=shares / shares.sum())
        means = np.exp(np.linspace(-1.2, 0.2, 20))[level]
        data = {"level": [f"l{j:02d}" for j in level], "y": rng.poisson(means).astype(float)}
        schema = {"level": sorted(set(data["level"]))}
        fit = dpreg.dp_glm("y ~ level", data, 1.0, family="poisson", levels=schema, rng=seed)
        events = np.bincount(level, data["y"])
        exact = np.sqrt(1 / events[1:] + 1 / events[0])
        found = fit.bse.to_numpy()[1:]
        off = fit.params.to_numpy()[1:] - np.linspace(0.0, 1.4, 20)[1:]
        assert np.nanmax(np.abs(off) / found) < 4
        blank.append(np.isnan(found).mean())
        errors.append(np.nanmedian(found / exact))
    assert np.mean(blank) < 0.05
    assert np.median(errors) < 2.6


def test_means_that_are_far_apart_are_reached_from_a_reference_that_falls():
    """Before short steps were left as they are, .58 of these had no error, for none."""
    blank, errors = [], []
    steps, shares = np.array([0.0, 0.7, 1.3, 2.0, 2.7, 3.3, 4.0]), 1 / np.arange(1, 8) ** 0.3
    for seed in range(50, 56):
        rng = np.random.default_rng(seed)
        level = rng.choice(7, 100_000, p=shares / shares.sum())
        a = rng.standard_normal(100_000)
        y = np.exp(0.4 * a - 1 + steps[level]) * rng.standard_gamma(1.0, 100_000)
        data = {"a": a, "level": [f"l{j}" for j in level], "y": y}
        schema = {"level": sorted(set(data["level"]))}
        fit = dpreg.dp_glm("y ~ a + level", data, 3.0, family="gamma", levels=schema, rng=seed)
        blank.append(fit.bse.isna().mean())
        errors.extend(np.abs(fit.params.to_numpy()[2:] - steps[1:]))
    assert np.mean(blank) < 0.2
    assert np.median(errors) < 0.02


def by_year(n, rng):
    white, year = 1.0 * (rng.random(n) < 0.7), rng.integers(1997, 2003, n) * 1.0
    odds = np.exp(0.5 + 0.2 * (year - 2000) + white * (0.5 - 0.25 * (year - 2000)))
    group = pd.Categorical(np.where(white == 1, "w", "b"), ["b", "w"])
    y = 1.0 * (rng.random(n) < odds / (1 + odds))
    return pd.DataFrame({"y": y, "group": group, "year": year})


def test_slopes_over_years_of_two_groups_have_an_honest_error_or_none():
    """That of the difference was told with z of up to 2,900."""
    for seed in range(12):
        data = by_year(20_000, np.random.default_rng(seed))
        fit = dpreg.dp_glm("y ~ group*year", data, 1.0, 1e-6, rng=seed)
        off, error = fit.params["group[T.w]:year"] + 0.25, fit.bse["group[T.w]:year"]
        assert np.isnan(error) or abs(off) < 5 * error


def test_a_level_of_one_row_in_fifty_costs_others_nothing():
    """One in a thousand made errors of the intercept six times those of least squares."""
    rng = np.random.default_rng(9)
    n = 60_000
    place = rng.random(n)
    g = np.where(place < 0.02, "c", np.where(place < 0.05, "b", "a"))
    x = rng.standard_normal(n)
    y = 1 + 0.5 * x + 1.5 * (g == "b") - 2.0 * (g == "c") + rng.standard_normal(n)
    df = pd.DataFrame({"y": y, "x": x, "g": pd.Categorical(g, categories=list("abc"))})
    fit = dpreg.dp_lm("y ~ x + g", df, 1.0, 1e-6, levels={"g": ["a", "b", "c"]}, rng=1)
    exact = np.array([1 / np.sqrt(0.95), 1.0, 1 / np.sqrt(0.03), 1 / np.sqrt(0.02)]) / np.sqrt(n)
    assert (fit.bse.to_numpy() / exact < [1.5, 1.5, 2.5, 2.5]).all()
    truth = np.array([1.0, 0.5, 1.5, -2.0])
    assert (np.abs(fit.params.to_numpy() - truth) < 4 * fit.bse.to_numpy()).all()


def test_bases_and_columns_with_bounds_are_no_levels():
    names = ("bs(x, 2)[1]", "bs(x, 2)[2]", "g[T.b]", "flag")
    ranges = dict.fromkeys(names, (0.0, 1.0))
    groups = {"bs(x, 2)": names[:2], "g": names[2:3], "flag": names[3:]}
    terms = Terms(
        response="y", names=names, intercept=True, ranges=ranges, groups=groups,
        data_bounds={"x": (0.0, 1.0)}, bounds={"flag": (0.0, 1.0)},
    )  # fmt: skip
    assert [places.tolist() for places in level_places(terms)] == [[2]]


def test_a_reference_that_few_rows_have_is_said():
    rng = np.random.default_rng(10)
    n = 20_000
    g = np.where(np.arange(n) < 5, "a", np.where(rng.random(n) < 0.5, "b", "c"))
    df = pd.DataFrame({"y": rng.standard_normal(n) + (g == "b"), "g": g})
    fit = dpreg.dp_lm("y ~ g", df, 1.0, 1e-6, levels={"g": ["a", "b", "c"]}, rng=1)
    assert fit.bse.isna().all()
    assert fit.notes == (
        "the standard errors are not estimable at this eps; the reference level of a factor may "
        "have few rows: make another level the first",
    )
    fit = dpreg.dp_lm("y ~ g", df, 1.0, 1e-6, levels={"g": ["b", "a", "c"]}, rng=1)
    assert fit.bse.isna().tolist() == [False, True, False]
    assert fit.notes == (
        "standard errors not estimable at this eps: g[T.a]; other coefficients may contain part of "
        "the effects of such terms, and a level with too few rows is assigned the mean effect of "
        "its factor: merge it with another, or use fewer columns, more rows or a larger eps",
    )
    names, factor = ("Intercept", "x", "g[T.b]", "g[T.c]"), [np.array([2, 3])]
    both = hidden_note(np.array([False, True, True, True]), names, inference=True, levels=factor)
    assert "reference" not in both[0]
    assert both[0].endswith("such terms: use fewer columns, more rows or a larger eps")
    few = hidden_note(np.arange(10) > 0, tuple("abcdefghij"), inference=True)
    assert few[0].startswith("standard errors not estimable at this eps: b, c, d, e, f, g and 3 ")
