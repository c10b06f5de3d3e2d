"""What is known of second moments beside what is seen."""

import numpy as np
import pytest

from dpreg.estimation.newton.second_moments import Moments, shrunken

PLACES = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
ALIKE = np.array([1.0 if i == j else 0.5 for i, j in PLACES])  # variances of symmetric noise


def entries(matrix):
    return np.array([matrix[i, j] for i, j in PLACES])


def turning(by):
    """Return what the entries of E are multiplied by to give those of by.T E by."""
    units = [np.zeros((3, 3)) for _ in PLACES]
    for unit, (i, j) in zip(units, PLACES, strict=True):
        unit[i, j] = unit[j, i] = 1.0
    return np.column_stack([entries(by.T @ unit @ by) for unit in units])


@pytest.mark.parametrize("seed", range(5))
def test_seen_and_known_count_by_their_noise_along_stretched_coordinates(seed):
    """Reference: the mean of a normal distribution, of all entries at once, given a noisy look."""
    rng = np.random.default_rng(seed)
    by = np.diag([1.0, 1.3, 6.0]) @ rng.standard_normal((3, 3))
    # Entries of coordinates that are shorter where rows are added up have more noise.
    first, second = (size * np.outer(*[rng.uniform(1, 9, 3)] * 2) for size in (0.02, 0.05))
    rows, seen = rng.standard_normal((9, 3)), rng.standard_normal((3, 3))
    known = Moments(rows.T @ rows, first, np.arange(3) == 2).turned(by)
    seen = seen + seen.T
    found = known.seen(seen, second)

    before = turning(by) @ np.diag(ALIKE * entries(first)) @ turning(by).T
    gain = before @ np.linalg.inv(before + np.diag(ALIKE * entries(second)))
    expected = entries(known.matrix) + gain @ entries(seen - known.matrix)
    np.testing.assert_allclose(entries(found.matrix), expected, rtol=1e-9, atol=1e-9)

    # Their errors, of entries and along any vector.
    after = before - gain @ before
    vectors = rng.standard_normal((3, 4))
    weights = np.array([turning(v[:, None] @ np.ones((1, 3)))[0] for v in vectors.T])
    deviations = np.sqrt(np.einsum("vi,ij,vj->v", weights, after, weights))
    np.testing.assert_allclose(found.along(vectors), deviations, rtol=1e-7)
    np.testing.assert_allclose(np.diag(found.variance), np.diag(after)[[0, 3, 5]], rtol=1e-7)


def test_second_moments_of_columns_are_taken_as_they_are():
    rng = np.random.default_rng(6)
    seen = rng.standard_normal((4, 4))
    seen, noise = seen + seen.T, np.full((4, 4), 0.01)
    unknown = Moments(np.eye(4), np.full((4, 4), np.inf), np.zeros(4, dtype=bool))
    found = unknown.seen(seen, noise)
    np.testing.assert_allclose(found.matrix, seen, rtol=1e-14)
    np.testing.assert_array_equal(found.variance, noise)


def test_second_moments_that_are_known_and_seen_count_by_their_noise():
    """Reference: the mean of two numbers with these variances, weighted by their inverses."""
    rng = np.random.default_rng(9)
    known, seen, first, second = rng.random((4, 3, 3)) + 0.1
    found = Moments(known, first, np.zeros(3, dtype=bool)).seen(seen, second)
    weights = 1 / first, 1 / second
    total = weights[0] + weights[1]
    np.testing.assert_allclose(found.matrix, (known * weights[0] + seen * weights[1]) / total)
    np.testing.assert_allclose(found.variance, 1 / total)


def test_second_moments_turn_with_the_coordinates_and_those_of_levels_stay():
    rng = np.random.default_rng(10)
    rows, by = rng.standard_normal((50, 3)), rng.standard_normal((3, 3))
    columns, levels = np.zeros(3, dtype=bool), np.array([False, True, False])
    found = Moments(rows.T @ rows, np.ones((3, 3)), columns).turned(by)
    np.testing.assert_allclose(found.matrix, (rows @ by).T @ (rows @ by))
    beside = Moments(rows.T @ rows, np.ones((3, 3)), levels).turned(by)
    np.testing.assert_array_equal(beside.matrix[1], [0, 1, 0])
    assert np.isfinite(beside.of_levels().variance).tolist() == [
        [False, True, False], [True, True, True], [False, True, False],
    ]  # fmt: skip


def test_correlations_of_levels_that_noise_makes_are_left_out_and_others_are_kept():
    rng = np.random.default_rng(7)
    width, deviation = 60, 0.1
    noise = rng.standard_normal((width, width)) * deviation / np.sqrt(2)
    true = np.eye(width)
    true[3, 7] = true[7, 3] = 0.8
    seen = true + np.triu(noise) + np.triu(noise, 1).T
    variance = np.where(np.eye(width, dtype=bool), 0.0, np.inf)
    known = Moments(np.eye(width), variance, np.ones(width, dtype=bool))
    found = known.seen(seen, np.full((width, width), deviation**2))
    error = found.matrix - true
    assert np.abs(np.linalg.eigvalsh(seen - true)).max() > 1.0
    assert np.abs(np.linalg.eigvalsh(error)).max() < 0.75
    assert abs(found.matrix[3, 7] - 0.8) < 0.3
    np.testing.assert_array_equal(np.diag(found.matrix), 1.0)


def test_noise_in_correlations_of_many_levels_leaves_their_coordinates_as_they_were():
    """Coordinates that it turned by its size made steps five times too long."""
    rng, k = np.random.default_rng(5), 60
    unknown = np.where(np.eye(k, dtype=bool), 0.0, np.inf)
    known = Moments(np.eye(k), unknown, np.ones(k, dtype=bool))
    variance = np.full((k, k), 2 * 0.13**2)
    for _ in range(20):
        noise = np.triu(rng.normal(0, 0.13, (k, k)), 1)
        values = np.linalg.eigvalsh(known.seen(np.eye(k) + noise + noise.T, variance).matrix)
        assert values[0] > 0.5
        assert values[-1] < 1.5


def test_what_is_far_beyond_its_noise_is_moved_by_less_than_that():
    """A level and its product with a column far from 0 have a correlation of nearly 1."""
    variance = np.array([[0.0, np.inf], [np.inf, np.inf]])
    known = Moments(np.eye(2), variance, np.array([True, False]))
    seen, deviation = np.array([[1.0, 1.2], [1.2, 1.5]]), 0.05
    found = known.seen(seen, np.full((2, 2), deviation**2))
    assert 0 < 1.2 - found.matrix[0, 1] < deviation / 2


@pytest.mark.filterwarnings("error")
def test_nothing_beside_much_noise_is_shrunk_to_nothing():
    """A few rows by little epsilon: columns have no product with a response that is not there."""
    np.testing.assert_array_equal(shrunken(np.zeros(3), np.array([0.0, 1e-9, 1e9])), 0)
    np.testing.assert_allclose(shrunken(np.array([2e5, -2.0]), np.ones(2)), [1, 0], atol=1e-9)


def test_of_numbers_that_are_noise_one_call_in_twenty_keeps_one():
    rng = np.random.default_rng(9)
    kept = [shrunken(rng.standard_normal(40), np.ones(40)).any() for _ in range(4_000)]
    # A binomial number of 4,000 at 1 - .95 or so, within five deviations.
    assert abs(np.mean(kept) - (1 - (1 - 0.05 / 40) ** 40)) < 5 * np.sqrt(0.05 * 0.95 / 4_000)


def test_errors_along_a_direction_are_those_of_entries():
    """Reference: the variance of v' E v over many symmetric E with independent entries."""
    rng = np.random.default_rng(8)
    deviation = np.array([[0.3, 0.1], [0.1, 0.2]])
    errors = rng.standard_normal((200_000, 2, 2)) * deviation
    errors[:, 0, 1] = errors[:, 1, 0] = errors[:, 0, 1] / np.sqrt(2)
    vector = np.array([[0.6], [0.8]])
    along = (vector.T @ errors @ vector).std()
    found = Moments(np.eye(2), deviation**2, np.zeros(2, dtype=bool)).along(vector)
    assert found[0] == pytest.approx(along, rel=0.02)


def test_what_is_known_of_levels_is_not_believed_along_what_was_hidden():
    """Eight levels, a combination of which is always 0, as none is by itself."""
    k, noise = 8, 0.05
    hidden = np.where(np.arange(k) % 2, 1.0, -1.0)[:, None] / np.sqrt(k)
    alike, variance = np.eye(k) - hidden @ hidden.T, np.full((k, k), noise**2)
    known = Moments(np.eye(k), variance, np.ones(k, dtype=bool))
    found, before = known.doubted(hidden).seen(alike, variance), known.seen(alike, variance)
    left, believed = (float(np.trace(of.matrix @ hidden @ hidden.T)) for of in (found, before))
    assert left < 0.2 < 0.4 < believed
    assert (found.variance <= variance).all()
    np.testing.assert_array_equal(known.doubted(np.zeros((k, 0))).variance, variance)
