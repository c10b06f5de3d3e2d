"""Covariances from noisy sums, and how estimates are shrunk: exact properties and means."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from dpreg.estimation.inference.covariance import sandwich
from dpreg.estimation.inference.normal_equations import NoisyMoments
from dpreg.estimation.inference.shrinkage import kept_shares, likely_shares


def symmetric_noise(size, deviation, rng):
    noise = np.triu(rng.normal(0, deviation / math.sqrt(2), (size, size)), 1)
    return noise + noise.T + np.diag(rng.normal(0, deviation, size))


def a_gram(size, rng):
    rows = rng.standard_normal((500, size))
    return rows.T @ rows


def test_sandwich_without_noise_is_the_product():
    rng = np.random.default_rng(1)
    gram = a_gram(4, rng)
    scatter = a_gram(4, rng) * 3.0
    bread = np.linalg.inv(gram)
    found = sandwich(bread, gram, scatter, 1e-9)
    np.testing.assert_allclose(found, bread @ scatter @ bread, rtol=1e-6)


def test_sandwich_in_noise_is_that_of_constant_variance():
    rng = np.random.default_rng(2)
    gram = a_gram(4, rng)
    bread = np.linalg.inv(gram)
    scatter = gram + symmetric_noise(4, 1e5, rng)
    found = sandwich(bread, gram, scatter, 1e5)
    np.testing.assert_allclose(np.diag(found), np.diag(bread), rtol=0.05)


@pytest.mark.parametrize("level", [0.1, 0.5, 2.0])
def test_sandwich_is_about_right_on_average_and_a_covariance(level):
    """Held to positive eigenvalues, the same scatter gives up to 3 times the variance."""
    rng = np.random.default_rng(3)
    size, units = 20, 1000.0
    bread, gram = np.eye(size) / units, np.eye(size) * units
    held, found = [], []
    for _ in range(50):
        scatter = gram + symmetric_noise(size, level * units, rng)
        covariance = sandwich(bread, gram, scatter, level * units)
        assert np.linalg.eigvalsh(covariance).min() > -1e-15
        found.append(np.diag(covariance).mean() * units)
        values, vectors = np.linalg.eigh(scatter)
        held.append(((vectors**2) @ np.maximum(values, 0)).mean() / units)
    assert abs(np.mean(found) - 1) < 0.1
    assert np.mean(held) > np.mean(found) - 0.01
    assert level < 2 or np.mean(held) > 3


@pytest.mark.parametrize("level", [0.1, 0.3])
def test_joint_tests_hold_in_the_noise_of_a_scatter(level):
    """Tests of all of ten coefficients at .05.

    With noise of .3, those by the scatter with positive eigenvalues alone reject more than all but
    1e-6 of true tests of .1 would.
    """
    rng = np.random.default_rng(8)
    size, runs = 10, 1000
    bread, truth = np.eye(size), np.diag(np.linspace(0.7, 2.0, size))
    rejected = 0
    for _ in range(runs):
        noisy = truth + symmetric_noise(size, level, rng)
        covariance = sandwich(bread, np.eye(size), noisy, level)
        off = rng.multivariate_normal(np.zeros(size), truth)
        rejected += stats.chi2.sf(off @ np.linalg.solve(covariance, off), size) < 0.05
    assert stats.binom.ppf(1e-6, runs, 0.03) <= rejected <= stats.binom.isf(1e-6, runs, 0.1)


def test_sandwich_sees_variances_that_differ():
    rng = np.random.default_rng(4)
    size, units = 10, 1000.0
    bread, gram = np.eye(size) / units, np.eye(size) * units
    truth = gram * np.where(np.arange(size) == 0, 2.5, 1.0)
    found = [
        np.diag(sandwich(bread, gram, truth + symmetric_noise(size, 0.2 * units, rng), 0.2 * units))
        for _ in range(200)
    ]
    ratio = np.mean(found, axis=0) * units
    assert abs(ratio[0] - 2.5) < 0.15
    assert np.abs(ratio[1:] - 1).max() < 0.1


def test_little_noise_shrinks_nothing():
    gram = np.diag([100.0, 50.0])
    kept = kept_shares(gram, 100.0, np.array([0.5, 0.5]), np.diag([1e-3, 1e-3]))
    np.testing.assert_array_equal(kept, np.eye(2))
    assert kept_shares(np.zeros((0, 0)), 1.0, np.zeros(0), np.zeros((0, 0))).shape == (0, 0)


@pytest.mark.parametrize("size", [1, 3, 12])
@pytest.mark.parametrize("level", [0.3, 3.0, 300.0])
def test_noise_left_in_predictions_is_less_than_the_response(size, level):
    """x / w of noise along each of w directions, kept by 1.5 / (1 + x), leaves at most 9/16 / w."""
    rng = np.random.default_rng(size)
    gram = a_gram(size, rng)
    noise = np.linalg.inv(gram) * level * 500
    kept = kept_shares(gram, 500.0, np.zeros(size), noise)
    left = np.trace(gram @ kept @ noise @ kept) / 500
    assert left < 9 / 16 + 1e-9
    assert left <= np.trace(gram @ noise) / 500 + 1e-9


def test_what_explains_too_much_counts_as_noise():
    gram = np.eye(2) * 100.0
    kept = kept_shares(gram, 100.0, np.array([5.0, 5.0]), np.eye(2) * 1e-6)
    assert 0.0 < kept[0, 0] < 0.1


def error_of_predictions(gram, units, theta, estimate):
    return (estimate - theta) @ gram @ (estimate - theta) / units


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("size", [4, 20])
@pytest.mark.parametrize("level", [0.01, 0.3, 3.0])
def test_likely_shares_are_nearly_as_good_as_knowing_the_prior(power, size, level):
    """The oracle knows the variance of what each direction explains; noise adds `level` of that."""
    rng = np.random.default_rng(11)
    values, units = np.geomspace(30.0, 300.0, size), 300.0
    prior = (values / 300.0) ** power
    prior *= 0.1 / prior.sum()
    noise = level * 0.1 / size * units / values
    lost, best, plain = [], [], []
    for _ in range(300):
        theta = rng.normal(0, np.sqrt(prior * units / values))
        found = theta + rng.normal(0, np.sqrt(noise))
        gram = np.diag(values)
        kept = likely_shares(gram, units, found, np.diag(noise))
        known = prior / (prior + noise * values / units)
        lost.append(error_of_predictions(gram, units, theta, kept @ found))
        best.append(error_of_predictions(gram, units, theta, known * found))
        plain.append(error_of_predictions(gram, units, theta, found))
    # James and Stein (1961) lose 2 level / size of it as they do not know the variance; finding the
    # power too costs another 1 / size here.
    assert np.mean(lost) < (1 + (1 + 2 * level) / size) * np.mean(best)
    assert np.mean(lost) < 1.01 * np.mean(plain)


def test_likely_shares_of_noise_alone_and_of_hardly_any_noise():
    rng = np.random.default_rng(12)
    gram = a_gram(12, rng)
    # A tenth of the variance of the response.
    noise = np.linalg.inv(gram) * 500 * 0.1 / 12
    drawn = rng.multivariate_normal(np.zeros(12), noise, 200)
    left = [
        error_of_predictions(gram, 500.0, 0, likely_shares(gram, 500.0, theta, noise) @ theta)
        for theta in drawn
    ]
    assert np.mean(left) < 0.15 * np.mean([error_of_predictions(gram, 500.0, 0, t) for t in drawn])
    theta = rng.standard_normal(12) * 0.1
    kept = likely_shares(gram, 500.0, theta, noise * 1e-8)
    np.testing.assert_allclose(kept, np.eye(12), atol=1e-4)
    assert likely_shares(np.zeros((0, 0)), 1.0, np.zeros(0), np.zeros((0, 0))).shape == (0, 0)
    assert np.array_equal(likely_shares(gram, 500.0, np.zeros(12), noise), np.eye(12))


def test_moments_without_noise_are_least_squares():
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((300, 3))
    response = rows @ [0.5, -0.2, 0.1] + 0.5 * rng.standard_normal(300)
    table = np.column_stack([rows, response])
    moments = NoisyMoments(table.T @ table, 1e-9, 300.0)
    theta, error = moments.solution(bootstrap=False)
    exact, residual = np.linalg.lstsq(rows, response)[:2]
    np.testing.assert_allclose(theta, exact, rtol=1e-9)
    np.testing.assert_allclose(error.sampling, residual[0] / 300 * np.linalg.inv(rows.T @ rows))


def test_a_coefficient_that_is_not_identified_is_none_of_a_scatter_that_was_not_seen():
    """No warning: 0 times an infinite deviation.  Found by `dpreg audit --replay`."""
    bread = np.array([[0.0, 0.0], [1.0, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sandwich(bread, np.eye(2), 2 * np.eye(2), math.inf)
    # Of errors of constant variance, as nothing is seen of others.
    np.testing.assert_allclose(found, [[0.0, 0.0], [0.0, 5.0]])
