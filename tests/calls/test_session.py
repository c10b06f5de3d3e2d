"""What the caller has asked of numpy decides nothing after the charge."""

from __future__ import annotations

import numpy as np
import pytest

import dpreg


@pytest.mark.parametrize("cell", [0.3, 1.7e308, 5e-324])
def test_numpy_raises_nothing_after_the_charge(cell):
    # It would be about cells, or about noise, and the budget would be spent for nothing.
    rng = np.random.default_rng(3)
    data = {name: rng.normal(size=400) for name in "ab"}
    data["z"] = (rng.normal(size=400) > 0).astype(float)
    data["a"][3] = cell
    with np.errstate(all="raise"):
        fit = dpreg.dp_glm("z ~ a + b", data, 1.0, link="cloglog", family="binomial", rng=1)
        with pytest.raises(FloatingPointError):
            np.float64(1e308) * np.float64(10.0)
    assert fit.released or fit.reason
