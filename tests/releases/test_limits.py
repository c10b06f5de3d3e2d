"""Limits of predictions: how they are widened, and that the rows beyond them choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpreg
from dpreg import _core
from dpreg.data.design import Design, Terms
from dpreg.estimation.methods import BoostedAdaSSP
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.scaling import prediction_limits, widened
from dpreg.estimation.releases.standardisation import Scales

pytestmark = pytest.mark.usefixtures("coarse_losses")

N = 20_000


def scales(**changes):
    """Of a regressor and a response that were searched for within [-1, 3] and [0, 10]."""
    found = Scales(
        low=np.array([-1.0, 0.0]),
        high=np.array([3.0, 10.0]),
        centre=np.array([1.0, 5.0]),
        scale=np.array([1.0, 2.0]),
        given=np.array([False, False]),
        spread=np.array([9.0, 9.0]),
        seen=np.array([True, True]),
        response_found=True,
        units=float(N),
    )
    return replace(found, **changes)


def test_limits_widen_about_their_middle_and_stay_on_their_side_of_zero():
    np.testing.assert_array_equal(widened(scales(), 2.0), [[-3.0, 5.0], [0.0, 15.0]])
    np.testing.assert_array_equal(widened(scales(), 1.0), [[-1.0, 3.0], [0.0, 10.0]])
    negative = scales(low=np.array([-4.0, 1.0]), high=np.array([-1.0, 3.0]))
    np.testing.assert_array_equal(widened(negative, 4.0), [[-8.5, 0.0], [0.0, 6.0]])


def test_public_bounds_stay_as_they_are():
    found = widened(scales(given=np.array([True, False])), 2.0)
    np.testing.assert_array_equal(found, [[-1.0, 3.0], [0.0, 15.0]])


def chosen(x, y, *, epsilon=1.0, **changes):
    design = Design.of(x.reshape(-1, 1), y, Terms("y", ("x",), True))
    noise = GaussianReleases(epsilon, 1e-5, _core.TestBits(1))
    limits = prediction_limits(design, scales(**changes), np.array([5.0, 1.0]), noise, 0.02)
    return limits, noise


def test_rows_on_the_line_choose_far_limits():
    x = np.linspace(-5, 8, N)
    limits, noise = chosen(x, 5 + x)
    np.testing.assert_array_equal(limits, [[-7.0, 9.0], [0.0, 25.0]])
    assert [part.label for part in noise.parts] == ["vote on the limits of predictions"]
    assert noise.parts[0].mu == pytest.approx(noise.share(0.02), rel=1e-6)


def test_rows_off_the_line_choose_near_limits():
    x = np.linspace(-5, 8, N)
    limits, _ = chosen(x, 5 + np.clip(x, -1, 3))
    np.testing.assert_array_equal(limits, [[-1.0, 3.0], [0.0, 10.0]])


def test_where_noise_hides_the_votes_limits_are_a_quarter_wider():
    x = np.linspace(-5, 8, 40)
    limits, _ = chosen(x, 5 + x, epsilon=0.05)
    np.testing.assert_array_equal(limits, [[-1.5, 3.5], [0.0, 11.25]])


def test_with_bounds_of_all_columns_there_is_no_vote():
    x = np.linspace(-5, 8, N)
    limits, noise = chosen(x, 5 + x, given=np.array([True, True]))
    np.testing.assert_array_equal(limits, [[-1.0, 3.0], [0.0, 10.0]])
    assert noise.parts == []


@pytest.mark.parametrize("method", ["adassp", "boosted_adassp", "dpsgd"])
def test_every_method_of_sums_lets_the_rows_vote(method):
    """A heavy tail on a line: its far end is beyond what the histograms can see."""
    rng = np.random.default_rng(1)
    x = rng.exponential(1.0, 40_000) ** 1.5
    data = {"x": x, "y": 2 * x + 0.1 * rng.standard_normal(len(x))}
    far = {"x": np.array([40.0])}
    fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, method=method, inference=False, rng=1)
    assert any("vote" in part.label for part in fit.privacy.parts)
    near = dpreg.dp_lm("y ~ x", data | {"y": np.minimum(data["y"], 12.0)}, 1.0, 1e-6,
                       method=method, inference=False, rng=1)  # fmt: skip
    assert fit.predict(far)[0] > 1.5 * near.predict(far)[0]


def test_predictions_stay_where_the_response_lies():
    """Counts are not negative, and neither are their predictions."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(20_000)
    data = {"x": x, "y": rng.poisson(np.exp(0.5 + 0.7 * x)).astype(float)}
    fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, method="boosted_adassp", rng=1)
    new = {"x": np.array([-4.0, 0.0, 400.0])}
    low, high = fit.limits[-1]
    assert low == 0.0
    assert fit.predict(new, winsorise=False)[0] < 0
    assert fit.predict(new)[0] == 0.0
    assert fit.predict(new).max() <= high
    intervals = fit.predict(new, interval="confidence")
    np.testing.assert_array_equal(intervals["mean"], fit.predict(new))
    assert (intervals["lower"] <= intervals["mean"]).all()
    assert (intervals["mean"] <= intervals["upper"]).all()
    assert (intervals["lower"] < intervals["upper"]).all()
    assert intervals["lower"].min() < 0  # the interval is that of the line


def test_predictions_keep_to_public_bounds():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, 5_000)
    data = {"x": x, "y": x + rng.standard_normal(5_000)}
    bounds = {"x": (0.0, 10.0), "y": (-5.0, 15.0)}
    fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, method=BoostedAdaSSP(), bounds=bounds, rng=1)
    np.testing.assert_array_equal(fit.limits, [[0.0, 10.0], [-5.0, 15.0]])
    assert not any("vote" in part.label for part in fit.privacy.parts)
