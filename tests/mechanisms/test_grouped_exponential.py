"""The exponential mechanism by proposals from groups: its law, and input at the ends of doubles."""

from __future__ import annotations

import numpy as np
import pytest
from laws import assert_follows

from dpreg import _core

DRAWS = 40_000


def law(log_weights):
    weights = np.exp(np.asarray(log_weights) - np.max(log_weights))
    return weights / weights.sum()


def vectors():
    rng = np.random.default_rng(20260101)
    yield "one", np.zeros(1)
    yield "uniform over three groups", np.zeros(150)
    yield "one weight in the last group", np.append(np.full(200, -2.0), 5.0)
    yield "one heavy weight a group", np.where(np.arange(200) % 64 == 7, 0.0, -6.0)
    yield "spread", rng.standard_normal(130) * 3
    yield "far from 0", rng.standard_normal(70) - 1e6
    yield "some impossible", np.where(np.arange(140) % 3 == 0, -np.inf, 0.5)
    yield "a group that is impossible", np.append(np.full(64, -np.inf), np.zeros(10))


@pytest.mark.parametrize(("name", "log_weights"), list(vectors()), ids=lambda v: v if isinstance(
    v, str) else "")  # fmt: skip
def test_sampler_follows_the_law(name, log_weights, bits):
    drawn = [_core.testing.choose_among(log_weights, bits) for _ in range(DRAWS)]
    counts = np.bincount(drawn, minlength=len(log_weights))
    if len(log_weights) == 1:
        assert counts[0] == DRAWS
    else:
        assert_follows(counts, law(log_weights))


@pytest.mark.parametrize("low", [-1e308, -1e6, -750.0, -1e-300])
def test_extreme_differences(low, bits):
    drawn = [_core.testing.choose_among([0.0, low, low], bits) for _ in range(2000)]
    assert (np.array(drawn) == 0).all() == (low < -700)


def test_nothing_to_choose_from_is_refused(bits):
    for log_weights in ([], [-np.inf, -np.inf]):
        with pytest.raises(ValueError, match="possible"):
            _core.testing.choose_among(log_weights, bits)


def test_agrees_with_the_exact_integer_sampler(bits):
    """The same law as `choose_index`, whose weights are integers."""
    log_weights = np.log(np.arange(1.0, 81.0))
    drawn = [_core.choose_index(log_weights, bits) for _ in range(DRAWS)]
    assert_follows(np.bincount(drawn, minlength=80), law(log_weights))
    drawn = [_core.testing.choose_among(log_weights, bits) for _ in range(DRAWS)]
    assert_follows(np.bincount(drawn, minlength=80), law(log_weights))
