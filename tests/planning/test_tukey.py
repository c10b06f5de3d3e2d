"""Plans of TukeyEM, and what small batches do to spreads."""

import math

import numpy as np
import pytest

import dpreg
from dpreg import _core
from dpreg.estimation.planning.tukey import plan_tukey, small_batch_factor


@pytest.mark.parametrize("d", [1, 2, 5, 10])
@pytest.mark.parametrize("spare", [2, 3, 5, 10, 40])
def test_spreads_of_small_batches(d, spare, bits):
    """The median spread, corrected, is the standard deviation of slopes of Gaussian batches."""
    models, batch = 20_000, d + 2 + spare
    rng = np.random.default_rng(20260101)
    fits = _core.fit_batches(
        rng.standard_normal((models * batch, d)), rng.standard_normal(models * batch),
        _core.assign_to_slots(models * batch, models, batch, bits),
        unit_offsets=None, unit_rows=None, ridge=1e-12, refinements=0, intercept=True,
        log_spreads=True,
    )  # fmt: skip
    deviation = np.quantile(np.abs(fits[:, 0]), 0.6827)
    spread = math.exp(np.median(fits[:, 2 * d + 1])) / 0.6745
    assert deviation / spread == pytest.approx(small_batch_factor(batch, d), rel=0.06)


def test_batches_without_residuals_have_no_plan():
    least = plan_tukey(10_000, 5, 17, 1.0, 1e-6)
    assert math.isinf(plan_tukey(least.models * 8, 5, 17, 1.0, 1e-6, models=least.models).error)
    assert math.isfinite(plan_tukey(least.models * 10, 5, 17, 1.0, 1e-6, models=least.models).error)


def test_inference_declines_where_spreads_are_not_told():
    rng = np.random.default_rng(1)
    data = {f"x{j}": rng.standard_normal(5_000) for j in range(5)} | {
        "y": rng.standard_normal(5_000)
    }
    formula = "y ~ " + " + ".join(f"x{j}" for j in range(5))
    fit = dpreg.dp_lm(formula, data, 1.0, 1e-6, method="tukey", rng=1)
    assert not fit.released
