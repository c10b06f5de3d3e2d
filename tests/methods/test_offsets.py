"""Rates: counts whose offset is the logarithm of an exposure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import statsmodels.api as sm

import dpreg


def test_rates_of_uneven_exposures_have_errors_as_of_maximum_likelihood():
    rng, errors = np.random.default_rng(0), []
    for seed in range(8):
        x, exposure = rng.standard_normal(20_000), rng.lognormal(0, 1.5, 20_000)
        events, t = rng.poisson(np.exp(-0.5 + 0.3 * x) * exposure), np.log(exposure)
        data = pd.DataFrame({"x": x, "t": t, "events": events})
        fit = dpreg.dp_glm("events ~ x + offset(t)", data, 1.0, 1e-6, family="poisson", rng=seed)
        model = sm.GLM(events, sm.add_constant(x), family=sm.families.Poisson(), offset=t)
        errors.append(fit.bse["x"] / model.fit().bse[1])
    assert np.median(errors) < 1.6  # 1.25; begun at the mean of the offset 1.96
