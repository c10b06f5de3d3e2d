"""`dp_glm` with `Quantile`: what is left of the response when much of it is explained."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import special

import dpreg


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_quantiles_of_a_response_that_is_nearly_explained_are_released(level):
    """With these seeds noise hides all residuals of the first look."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=50_000)
    data = pd.DataFrame({"x": x, "y": 1 + x + 0.28 * rng.normal(size=len(x))})
    fits = [
        dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, family=dpreg.Quantile(level), rng=seed)
        for seed in range(40)
    ]
    assert all(fit.released for fit in fits)
    # With a loss that is as smooth whatever is explained, intercepts missed by 15 errors.
    exact = [1 + 0.28 * special.ndtri(level), 1.0]
    away = np.array([(fit.params - exact) / fit.bse for fit in fits])
    assert np.isfinite(away).mean() > 0.9
    assert np.nanmax(np.abs(away)) < 6
