"""A regressor far from 0 and its square: coordinates by definition, and errors that cover."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.base.families import BINOMIAL, GAUSSIAN
from dpreg.estimation.newton.squares import square_coordinates
from dpreg.estimation.releases.rows import StandardUnits


def coordinates(names, x, centre, scale, family=GAUSSIAN):
    """Coordinates, and standardised rows with a 1, of columns with these names."""
    columns = np.arange(len(names))
    units = StandardUnits(
        columns, x.mean(axis=0) + 1, 2 * x.std(axis=0), y_centre=0.0, y_scale=1.0, intercept=True
    )
    scales = SimpleNamespace(centre=np.array(centre), scale=np.array(scale))
    rows = np.column_stack([np.ones(len(x)), (x - units.centre) / units.scale])
    return dict(
        square_coordinates(SimpleNamespace(names=names, family=family), scales, units)
    ), rows


def test_the_square_is_taken_about_the_released_mean():
    x = np.random.default_rng(1).normal(40.0, 8.0, 500)
    table = np.column_stack([x, x**2, x**2])
    found, rows = coordinates(["x", "I(x ** 2)", "z"], table, [40.0, 1664.0, 0.0], [8.0, 640.0, 1])
    assert list(found) == [2]
    expected = ((x - 40) ** 2 - 64) / (64 * np.sqrt(2))
    np.testing.assert_allclose(rows @ found[2], expected, atol=1e-9)


def test_others_are_left_as_they_are():
    x = np.random.default_rng(1).normal(40.0, 8.0, 500)
    table = np.column_stack([x, x**2, x**3])
    names = ["x", "I(x ** 2)", "I(x ** 3)"]
    at = [40.0, 1664.0, 1.0]
    assert not coordinates(names, table, at, [8.0, 640.0, 1.0])[0]  # beside a cube
    assert not coordinates(["x", "I(z ** 2)"], table[:, :2], at[:2], [8.0, 640.0])[0]
    assert not coordinates(names[:2], table[:, :2], [40.0, 0.0], [8.0, 1.0])[0]  # not found
    assert not coordinates(names[:2], table[:, :2], [4.0, 80.0], [8.0, 640.0])[0]  # near 0
    year = [2000.0, 4e6], [10.0, 4e4]
    assert coordinates(names[:2], table[:, :2], *year)[0]
    assert not coordinates(names[:2], table[:, :2], *year, BINOMIAL)[0]


def test_a_year_and_its_square_have_errors_that_cover():
    """Without coordinates of their own no fit of 5,000 rows had errors of these."""
    known, away = [], []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        year = rng.uniform(1980, 2020, 5_000)
        y = 0.1 * (year - 2000) - 0.01 * (year - 2000) ** 2 + rng.normal(size=len(year))
        data = pd.DataFrame({"year": year, "y": y})
        fit = dpreg.dp_lm("y ~ year + I(year ** 2)", data, 1.0, 1e-6, rng=seed)
        known.append(np.isfinite(fit.bse["I(year ** 2)"]))
        away.append((fit.params["I(year ** 2)"] + 0.01) / fit.bse["I(year ** 2)"])
    away = np.array(away)[known]
    assert np.mean(known) > 0.5
    assert np.mean(np.abs(away) < 1.96) > 0.75


@pytest.mark.filterwarnings("error")
def test_released_scales_of_any_size_make_finite_coordinates():
    rng = np.random.default_rng(3)
    x = np.column_stack([np.arange(9.0), np.arange(9.0)])
    for _ in range(2_000):
        centre, scale = rng.normal(size=2), np.abs(rng.normal(size=2))
        powers = 10.0 ** rng.integers(-300, 300, 2)
        if rng.random() < 0.5:  # of x and its square
            powers = np.array([1.0, 1.0]) * 10.0 ** rng.integers(-150, 150)
            centre, scale = np.array([3.0, 10.0 * powers[0]]), np.array([1.0, 6.0 * powers[0]])
        found, _ = coordinates(["x", "I(x ** 2)"], x, centre * powers, scale * powers)
        assert all(np.isfinite(row).all() for row in found.values())
