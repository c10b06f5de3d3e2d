"""Errors of symmetric matrices.  Reference: each independent entry by itself, added up."""

import numpy as np
import pytest

from dpreg.estimation.newton.matrix_errors import MatrixErrors


def worlds(seed):
    """Return errors of a matrix of 3, and what one deviation of each entry of E makes of it."""
    rng = np.random.default_rng(seed)
    by, variance = rng.standard_normal((4, 3)), rng.uniform(0.1, 2.0, (4, 4))
    errors = MatrixErrors(by, variance + variance.T)
    if seed % 2:
        more = rng.uniform(0.1, 1.0, (3, 3))
        errors = errors.beside(more + more.T)
    parts = []
    for i in range(len(errors.by)):
        for j in range(i, len(errors.by)):
            unit = np.zeros((len(errors.by), len(errors.by)))
            unit[i, j] = unit[j, i] = np.sqrt(errors.variance[i, j] / (1 if i == j else 2))
            parts.append(errors.by.T @ unit @ errors.by)
    return errors, np.array(parts), rng


@pytest.mark.parametrize("seed", range(4))
def test_second_moments_are_those_of_all_entries(seed):
    errors, parts, rng = worlds(seed)
    way, other = rng.standard_normal((2, 3))
    np.testing.assert_allclose(errors.times(way), np.einsum("pi,pj->ij", parts @ way, parts @ way))
    squares = rng.uniform(0.1, 1.0, 3)
    half = errors.variance / 2
    apart = np.einsum("ai,ab,bj->iabj", errors.by, np.sqrt(half), errors.by)  # of each E_ab alone
    of_way, of_other = apart @ way, apart @ other
    np.testing.assert_allclose(errors.apart(way), (of_way**2).sum(axis=(1, 2)))
    each = np.array([errors.apart(unit) for unit in np.eye(3)])
    np.testing.assert_allclose(errors.apart_of(squares), squares @ each)
    added = np.einsum("i,iab,iab->", squares, of_way, of_other)
    np.testing.assert_allclose(way @ errors.added(squares) @ other, added)
    vectors = rng.standard_normal((3, 2))
    between = np.einsum("ia,pij,jb->pab", vectors, parts, vectors)
    variance = (between**2).sum(axis=0)
    np.testing.assert_allclose(np.diag(errors.between(vectors)), np.diag(variance))


@pytest.mark.parametrize("seed", range(4))
def test_likely_errors_are_those_of_a_normal_law_given_a_noisy_product(seed):
    errors, parts, rng = worlds(seed)
    way, seen = rng.standard_normal((2, 3))
    spread = errors.times(way) + np.diag(rng.uniform(0.1, 1.0, 3))
    gain = (parts @ way) @ np.linalg.solve(spread, seen)  # of each independent entry
    expected = np.einsum("p,pij->ij", gain, parts)
    np.testing.assert_allclose(errors.likely(np.linalg.solve(spread, seen), way), expected)


def test_vectors_of_length_1_have_the_same_errors():
    errors, _, rng = worlds(2)
    even, way = errors.even(), rng.standard_normal(3)
    np.testing.assert_allclose(np.linalg.norm(even.by, axis=1), 1)
    np.testing.assert_allclose(even.times(way), errors.times(way))
    np.testing.assert_allclose(even.entries, errors.entries)
