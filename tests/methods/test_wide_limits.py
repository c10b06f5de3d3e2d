"""Scores whose thresholds grow along the path: earlier ones have another solution."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.estimation.newton.matrix_errors import MatrixErrors
from dpreg.estimation.newton.secant import Observation, Path


@pytest.mark.parametrize(
    ("limit", "residual", "weight"), [(4.0, 1.0, 0.0), (6.0, 1.0, 0.8), (4.0, 0.05, 0.8)]
)
def test_a_score_with_a_low_threshold_counts_only_if_the_others_are_useless(
    limit, residual, weight
):
    """Errors are .2 without it: useless if residuals are .05, as their squares are 16 times."""
    path = Path(
        np.ones(1), MatrixErrors.of_entries(np.full((1, 1), 1e-6)), np.zeros(1), residual=residual
    )
    path.add(Observation(np.zeros(1), np.full(1, 0.1), np.full(1, 0.1), limit))
    path.add(Observation(np.zeros(1), np.full(1, 0.6), np.full(1, 0.2), 10.0))
    assert path.weights[0] == pytest.approx(weight, abs=0.05)


def test_means_of_counts_with_a_long_tail_are_not_too_small():
    # Doctor visits: many have none, and a few have dozens.
    rng, ratios = np.random.default_rng(0), []
    for seed in range(12):
        x = rng.standard_normal(2_000)
        visits = rng.poisson(3 * np.exp(0.2 * x - 0.02) * rng.gamma(0.45, 1 / 0.45, 2_000))
        data = pd.DataFrame({"x": x, "visits": visits})
        fit = dpreg.dp_glm("visits ~ x", data, 1.0, 1e-6, family="poisson", rng=seed)
        ratios.append(np.exp(fit.params["Intercept"]) / (3 * np.exp(-0.02)))
    assert 0.95 < np.median(ratios) < 1.05  # .99; with all scores .91
