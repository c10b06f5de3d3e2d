"""Norms of scores in half octaves, read through noise."""

from __future__ import annotations

import numpy as np
import pytest

from dpreg import _core
from dpreg.estimation.newton.scores import ScoreNorms

BINS = 121


def counts_of(norms):
    bins = np.floor(2 * np.log2(norms)).astype(int) - _core.LEAST_SCORE_BIN
    return np.bincount(np.clip(bins, 0, BINS - 1), minlength=BINS).astype(float)


def test_norms_in_noise():
    rng = np.random.default_rng(7)
    norms = np.abs(rng.standard_normal(50_000)) * 8
    exact = counts_of(norms)
    for deviation, hidden in ((1.0, 0.02), (300.0, 0.15)):  # bins that noise hides are of all norms
        noisy = ScoreNorms(exact + rng.normal(0, deviation, BINS), deviation)
        assert noisy.three_quarters == pytest.approx(np.quantile(norms, 0.75), rel=0.5)
        rms = np.sqrt((norms**2).mean())
        assert noisy.root_mean_square() == pytest.approx(rms, rel=0.25)
        for limit in (1.0, 4.0, 12.0):
            left = np.minimum(1, limit / norms).mean()
            assert noisy.left(limit) == pytest.approx(left, rel=hidden)


def test_all_is_left_of_norms_that_cannot_be_told():
    assert ScoreNorms(np.zeros(BINS), 1.0).left(1.0) == 1.0
    assert ScoreNorms(counts_of(np.ones(9)), 0.0).left(1e9) == 1.0


def test_noise_alone_gives_a_number():
    rng = np.random.default_rng(8)
    noisy = ScoreNorms(rng.normal(0, 1e6, BINS), 1e6)
    for number in (noisy.three_quarters, noisy.root_mean_square()):
        assert np.isfinite(number)
        assert number > 0
    assert ScoreNorms(np.full(BINS, -5.0), 1.0).root_mean_square() > 0
