"""What is known of second moments beside what is seen, where coordinates were stretched."""

import numpy as np
import pytest

from dpreg.estimation.newton.coordinates import Moments

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
