"""A Poisson family fits amounts, most of which may be 0, in any units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import dpreg
from dpreg.estimation.releases.column_sizes import Size
from dpreg.estimation.releases.events import Events

SEEN = Size(low=0.0, high=8.0, centre=0.1, scale=1.0, cells=3)


def amounts(rows=20_000, share=0.3, seed=1):
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(rng.normal(45, 15, rows)), 18, 90)
    spent = np.exp(3 + 0.01 * age + rng.normal(size=rows)) * (rng.random(rows) < share)
    return pd.DataFrame({"age": age, "spent": spent})


@pytest.mark.parametrize("unit", [1e-5, 1e-2, 1.0, 100.0])
def test_errors_do_not_depend_on_the_unit(unit):
    """As if amounts were counts, they were 10 to 10,000 times as long, or there were none."""
    data = amounts()
    exact = sm.GLM(
        data["spent"], sm.add_constant(data["age"]), family=sm.families.Poisson()
    ).fit(cov_type="HC0")  # fmt: skip
    data["spent"] *= unit
    shift = np.array([np.log(unit), 0.0])
    for seed in range(6):
        fit = dpreg.dp_glm("spent ~ age", data, 1.0, 1e-6, family="poisson", rng=seed)
        assert (np.abs(fit.params - exact.params.to_numpy() - shift) < 6 * fit.bse).all()
        assert (fit.bse.to_numpy() < 5 * exact.bse.to_numpy()).all()


def test_amounts_that_noise_hides_are_not_taken_for_counts():
    """Cut at 4, intercepts missed by 50 errors in two fits of three: now noise is all there is."""
    data = amounts(5_000, 0.1)
    data["spent"] *= 100
    for seed in range(12):
        fit = dpreg.dp_glm("spent ~ age", data, 1.0, 1e-6, family="poisson", rng=seed)
        assert not fit.released or "clipped to [0, 4]" not in str(fit.notes)
    assert not Events(5_000.0, 500.0, 30.0).hidden(40.0)
    assert Events(5_000.0, 100.0, 30.0).hidden(40.0)


@pytest.mark.parametrize(
    ("ones", "centre", "counts"),
    [(100, 0.1, True), (100, 0.3, False), (100, 0.04, False), (2, 0.002, False), (2, -1.0, True)],
)
def test_counts_have_about_the_mean_of_a_poisson_law(ones, centre, counts):
    size = Size(SEEN.low, SEEN.high, centre, SEEN.scale, SEEN.cells)
    found = Events(1_000.0, ones, 1.0).response(size, centre, 1.0, None)
    assert found[2] is counts
    assert found[0] == (-np.log1p(-ones / 1_000) if counts else centre)


def test_responses_of_0_and_1_are_counted():
    mean, spread, counts = Events(1_000.0, 200.0, 1.0).response(None, 0.5, 1.0, 1.0)
    assert (mean, counts) == (0.2, True)
    assert spread == pytest.approx(0.4)


@pytest.mark.parametrize("most", [None, 1.0, 5.0])
@pytest.mark.parametrize("units", [1e15, 1e18])
def test_more_events_than_doubles_tell_apart_have_a_mean(units, most):
    """No table has as many, but noise may say so: the logarithm of 0 was taken."""
    for ones in (units, 0.0, -units):
        mean, spread, _ = Events(units, ones, 1.0).response(None, 0.5, 1.0, most)
        assert np.isfinite([mean, spread]).all()
        assert spread > 0
