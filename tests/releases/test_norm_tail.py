"""Norms beyond what noisy counts show: known tails, clusters, and noise alone."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from dpreg import _core
from dpreg.estimation.newton.norm_tail import NormTail, best_limit, bins_around, norm_of

UNITS = 20_000


def counts_of(norms, starts):
    """Numbers of norms from one start to the next; bin k ends at 2^((least + k + 1) / 2)."""
    half_octaves = np.floor(2 * np.log2(norms)) - _core.LEAST_SCORE_BIN
    places = np.searchsorted(starts, half_octaves, side="right") - 1
    return np.bincount(places, minlength=len(starts)).astype(float)


def tail_of(norms, deviation, *, octaves=2, seed=None, typical=None):
    typical = float(np.sqrt(np.mean(np.square(norms)))) if typical is None else typical
    starts = bins_around(typical, octaves)
    counts = counts_of(norms, starts)
    if seed is not None:
        counts += deviation * np.random.default_rng(seed).standard_normal(len(counts))
    return NormTail(counts, starts, deviation)


def chi(d, n=UNITS):
    rng = np.random.default_rng(d)
    return np.linalg.norm(rng.standard_normal((n, d)), axis=1)


def times_residual(d, n=UNITS):
    """Norms of scores: of a row, times a residual."""
    return chi(d, n) * np.abs(np.random.default_rng(99).standard_normal(n))


def pareto(n=UNITS):
    return np.random.default_rng(3).random(n) ** (-1 / 2.5)


SHAPES = {
    "chi 2": chi(2),
    "chi 10": chi(10),
    "scores 3": times_residual(3),
    "scores 30": times_residual(30),
    "pareto": pareto(),
}


@pytest.mark.parametrize("norm", [1e-12, 1e-3, 1.0, 37.0, 1e6, 1e15])
@pytest.mark.parametrize("octaves", [2, 3])
def test_bins_begin_at_0_and_rise(norm, octaves):
    starts = bins_around(norm, octaves)
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    assert starts[-1] < _core.SCORE_BINS


def test_bins_are_narrow_around_the_norm_and_wider_above():
    for norm in (0.3, 1.0, 25.0):
        starts = bins_around(norm, 2)
        begin = 2.0 ** ((_core.LEAST_SCORE_BIN + starts) / 2)
        near = (begin >= norm / 32) & (begin < 2.8 * norm)
        assert (np.diff(starts)[near[:-1]] == 1).all()
        assert begin[-1] > 100 * norm
        assert (np.diff(np.diff(starts)[1:]) >= 0).all()


@pytest.mark.parametrize("name", SHAPES)
def test_root_mean_square_of_exact_counts(name):
    norms = SHAPES[name]
    if name == "pareto":  # what is beyond all that is seen is left out
        norms = norms[norms < 16]
    tail = tail_of(norms, 0.5)
    assert tail.root_mean_square == pytest.approx(np.sqrt(np.mean(norms**2)), rel=0.1)


def ratios(name, levels):
    """What norms are told to exceed their quantiles by, and what they do."""
    norms, tail = SHAPES[name], tail_of(SHAPES[name], 0.5)
    limits = [float(np.quantile(norms, level)) for level in levels]
    return np.array([tail.excess(limit) / np.maximum(norms - limit, 0).sum() for limit in limits])


@pytest.mark.parametrize("name", ["scores 3", "scores 30", "pareto"])
def test_what_exact_counts_say_of_scores(name):
    assert np.abs(np.log(ratios(name, (0.8, 0.9, 0.95, 0.98)))).max() < math.log(1.5)
    tail = tail_of(SHAPES[name], 0.5)
    assert tail.squares == pytest.approx(np.sum(SHAPES[name] ** 2), rel=0.2)


@pytest.mark.parametrize("name", ["chi 2", "chi 10"])
def test_tails_that_fall_faster_than_all_shapes_are_taken_for_longer(name):
    found = ratios(name, (0.8, 0.9, 0.95, 0.98))
    assert (found >= 1).all()
    assert found[0] < 1.5


@pytest.mark.parametrize("name", SHAPES)
def test_excess_falls_and_less_noise_takes_longer_limits(name):
    tail = tail_of(SHAPES[name], 20.0, seed=1)
    limits = np.geomspace(0.1, 1e3, 50)
    excess = [tail.excess(limit) for limit in limits]
    assert (np.diff(excess) <= 1e-9).all()
    best = [tail.limit(mu) for mu in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)]
    assert (np.diff(best) >= 0).all()
    assert best[-1] > best[0]


@pytest.mark.parametrize("d", [2, 5, 10, 30])
def test_limits_of_many_rows_are_near_the_best(d):
    """Rows whose tail lies between two shapes looked like either with a few rows far beyond."""
    norms, mu = times_residual(d, 100_000), 0.5
    limits = np.geomspace(np.sqrt(np.mean(norms**2)), norms.max(), 200)
    lost = [(limit / mu) ** 2 + (0.7 * np.maximum(norms - limit, 0).sum()) ** 2 for limit in limits]
    best = limits[np.argmin(lost)]
    found = [tail_of(norms, 10.0, seed=seed).limit(mu, 0.1) / best for seed in range(10)]
    assert np.exp(np.mean(np.log(found))) < 1.4
    assert np.min(found) > 0.8


def test_the_limit_is_where_what_is_lost_is_least():
    tail, mu = tail_of(SHAPES["scores 3"], 20.0, seed=1), 0.2

    def loss(limit):
        return (limit / mu) ** 2 + (0.7 * tail.excess(limit)) ** 2

    best = loss(tail.limit(mu))
    assert all(best <= loss(tail.limit(mu) * by) * 1.01 for by in (0.5, 0.7, 0.9, 1.1, 1.5, 2.0))


def test_units_far_out_are_seen_by_themselves():
    """200 of 20,000 units at 40 times the norm, with noise of 20."""
    norms = np.append(chi(3), np.full(200, 70.0))
    for seed in range(5):
        tail = tail_of(norms, 20.0, seed=seed, typical=math.sqrt(3))
        assert tail.excess(10.0) > 0.5 * 200 * 60.0
        assert tail.excess(10.0) < 2.5 * 200 * 60.0
        without = tail_of(chi(3), 20.0, seed=seed, typical=math.sqrt(3))
        assert without.excess(10.0) < 0.1 * tail.excess(10.0)


def test_what_a_limit_cuts_off():
    norms = SHAPES["scores 3"]
    for seed in range(5):
        tail = tail_of(norms, 10.0, seed=seed)
        limit = float(np.quantile(norms, 0.98))
        cut = tail.cut(limit)
        assert cut.excess >= tail.excess(limit)
        assert cut.excess < 3 * np.maximum(norms - limit, 0).sum()


@pytest.mark.parametrize("share", [0.0, 0.003, 0.2])
def test_units_beyond_a_limit_are_between_two_and_three_deviations(share):
    """Exactly where nothing is noisy, and else in 97.7% of 100 counts and in 99.9%."""
    norms = SHAPES["scores 3"]
    limit = float(np.quantile(norms, 1 - share)) * (1.2 if share == 0 else 1)
    true = int((norms > limit).sum())
    exact = tail_of(norms, 1e-9).cut(limit)
    assert exact.surely <= true <= exact.units + 1e-6
    cuts = [tail_of(norms, 30.0, seed=seed).cut(limit) for seed in range(100)]
    fewest = stats.binom.ppf(1e-6, len(cuts), stats.norm.cdf([2, 3]))
    assert sum(true <= cut.units for cut in cuts) >= fewest[0]
    assert sum(cut.surely <= true for cut in cuts) >= fewest[1]
    # Units of a bin that the limit divides are not surely beyond it.
    assert share < 0.2 or np.mean([cut.surely for cut in cuts]) > 0.4 * true


@pytest.mark.parametrize("deviation", [1e-3, 1.0, 1e3, 1e9])
def test_noise_alone_and_nothing_at_all_are_finite(deviation):
    starts = bins_around(1.7, 2)
    rng = np.random.default_rng(8)
    noise = deviation * rng.standard_normal((20, len(starts)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for counts in [np.zeros(len(starts)), -np.abs(noise[0]), *noise]:
            tail = NormTail(counts, starts, deviation)
            for mu in (1e-4, 1.0, 1e3):
                limit = tail.limit(mu)
                found = (tail.root_mean_square, tail.squares, limit, tail.excess(limit))
                assert np.isfinite(found).all()
                assert min(found) >= 0
                assert limit > 0
                cut = tail.cut(limit)
                assert np.isfinite([cut.excess, cut.units]).all()


def test_units_that_are_seen_in_a_wide_bin_may_be_at_its_end():
    """182 responses of 0 among 10,000 years were cut off in the middle of their octave."""
    starts = bins_around(0.02, 2)
    wide = int(np.argmax(np.diff(starts) > 1))
    counts = np.zeros(len(starts))
    counts[int(np.argmax(starts)) // 2], counts[wide] = 9_800, 180
    tail, end = NormTail(counts, starts, 13.0), norm_of(float(starts[wide + 1]))
    assert tail.excess(0.99 * end) > 0
    assert tail.limit(0.05) > 0.9 * end


def test_only_the_last_bin_has_units_and_not_clearly():
    starts = bins_around(1.0, 3)
    counts = np.zeros(len(starts))
    counts[-1] = 1.0
    tail = NormTail(counts, starts, 10.0)
    assert tail.squares > 0
    assert 0 < tail.root_mean_square < np.inf


def test_no_tail_goes_beyond_the_longest_norm():
    """Tails that go on as powers said that 30 errors may have been clipped, where rows ended."""
    starts = bins_around(2.0, 2)
    counts = counts_of(SHAPES["scores 3"], starts) + 100 * np.random.default_rng(2).normal(
        size=len(starts)
    )
    most = 6.0
    free, ended = NormTail(counts, starts, 100.0), NormTail(counts, starts, 100.0, most)
    assert ended.excess(1.0) <= free.excess(1.0)
    assert free.excess(1.01 * most) > 0
    assert ended.excess(1.1 * most) == 0
    assert ended.limit(0.1) <= free.limit(0.1)


def test_the_best_limit_is_that_of_all():
    rng = np.random.default_rng(3)
    limits = np.sort(rng.random(50))
    excess = np.sort(rng.random((3, 2, 50)))[..., ::-1]
    found = best_limit(limits, excess, 0.7)
    for k in np.ndindex(3, 2):
        losses = [
            (limit / 0.7) ** 2 + (0.7 * e) ** 2 for limit, e in zip(limits, excess[k], strict=True)
        ]
        assert found[k] == limits[np.argmin(losses)]
