"""Columns mapped to [-1, 1] and coefficients mapped back."""

from __future__ import annotations

import numpy as np
import pytest

from dpreg.data.bounds import column_bounds
from dpreg.data.design import Terms
from dpreg.estimation.releases.scaling import scaling_from_bounds, scaling_from_scales
from dpreg.estimation.releases.standardisation import Scales

BOUNDS = {"y": (-10.0, 30.0), "x0": (0.0, 10.0), "x1": (-5.0, 5.0), "x2": (100.0, 300.0)}


@pytest.mark.parametrize("intercept", [True, False])
def test_scaling_from_bounds_goes_there_and_back(intercept):
    bounds = column_bounds(Terms("y", ("x0", "x1", "x2"), intercept, bounds=BOUNDS))
    scaling = scaling_from_bounds(bounds, intercept=intercept)
    X = np.array([[0.0, 1.0, 100.0], [10.0, -5.0, 300.0], [4.0, 5.0, 170.0]])
    unit = scaling.scale_columns(X)
    assert np.abs(unit).max() <= 1
    assert unit[0, [0, 2]].tolist() == ([-1, -1] if intercept else [0, 1 / 3])
    assert_there_and_back(scaling, X, intercept)


@pytest.mark.parametrize("intercept", [True, False])
def test_scaling_from_scales_goes_there_and_back(intercept):
    scales = Scales(
        given=np.zeros(4, dtype=bool),
        seen=np.ones(4, dtype=bool),
        response_found=True,
        low=np.array([0.0, -9.0, -1.0, 0.0]),
        high=np.array([10.0, 9.0, 1.0, 50.0]),
        centre=np.array([4.0, 0.5, 0.0, 20.0]),
        scale=np.array([1.0, 8.0, 0.0, 5.0]),
        spread=np.array([9.0, 9.0, 0.5, 9.0]),
        units=100.0,
    )
    scaling = scaling_from_scales(scales, 2.0, intercept=intercept)
    # The end of the values is nearer than two standard deviations in the second column.
    expected = [2.0, 9.5, 1.0] if intercept else [2 * 17**0.5, 9.0, 1.0]
    assert scaling.scale[:3] == pytest.approx(expected)
    X = np.array([[3.0, 1.0, 7.0], [5.0, -5.0, -7.0], [4.0, 5.0, 0.0]])
    unit = scaling.scale_columns(X)
    assert np.abs(unit).max() <= 1
    assert (unit[:, 2] == 0).all()
    assert scaling.slopes(np.ones(3))[2] == 0.0
    assert_there_and_back(scaling, X, intercept)


def assert_there_and_back(scaling, X, intercept):
    weights, constant = np.array([0.3, -0.4, 0.2]), 0.2 if intercept else 0.0
    slopes = scaling.slopes(weights)
    level = scaling.intercept(slopes, constant) if intercept else 0.0
    fitted = scaling.scale_columns(X) @ weights + constant
    expected = scaling.centre[-1] + scaling.scale[-1] * fitted
    assert X @ slopes + level == pytest.approx(expected)
    assert scaling.slopes(np.zeros(3)).tolist() == [0.0] * 3
