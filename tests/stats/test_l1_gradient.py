"""Frank-Wolfe's gradient: exact, the same for dense and sparse records, and its sensitivity."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from mechanisms.l1 import dense, sparse
from oracles import exact_gradient, unit_cells

from dpreg import _core
from dpreg.mechanisms.frank_wolfe import _unit_design as unit_design

SEED = 20260101


def fractions_of(gradient):
    return [Fraction(m, int(gradient.denominator)) for m in gradient.numerators()]


class NaiveWalk:
    """w <- (1 - 2/(t+2)) w + 2/(t+2) (+-e_j) in fractions, in units of l1."""

    def __init__(self, start):
        self.w, self.t = [Fraction(int(s), _core.START_WEIGHT) for s in start], 0

    def step(self, j, positive):
        self.t += 1
        gamma = Fraction(2, self.t + 2)
        self.w = [(1 - gamma) * v for v in self.w]
        self.w[j] += gamma * (1 if positive else -1)

    def drop(self, j):
        self.w[j] = Fraction(0)


@pytest.mark.parametrize("make", [dense, sparse])
@pytest.mark.parametrize("shape", [(0, 1), (1, 1), (7, 1), (9, 4), (3, 8)])
@pytest.mark.parametrize("random_start", [False, True])
def test_gradient_is_exact_after_any_walk(make, shape, random_start, bits):
    """Lazy scaling is naive recomputation, to the last digit."""
    rng = np.random.default_rng(SEED)
    n, d = shape
    X = rng.uniform(-1.2, 1.2, shape) * (rng.random(shape) < 0.6)
    y, l1 = rng.uniform(-3, 3, n), 2.5
    start = _core.random_start(d, bits) if random_start else np.zeros(d, dtype=np.int64)
    gradient = _core.L1Gradient(make(X), y, l1=l1, start=start)
    walk = NaiveWalk(start)
    for _ in range(25):
        j, positive = int(rng.integers(d)), bool(rng.integers(2))
        gradient.step(j, positive)
        walk.step(j, positive)
        if rng.random() < 0.2:
            j = int(rng.integers(d))
            gradient.drop(j)
            walk.drop(j)
        expected = exact_gradient(X, y, l1, walk.w)
        assert fractions_of(gradient) == expected
    assert gradient.weights() == pytest.approx([l1 * float(v) for v in walk.w], rel=1e-15)
    assert gradient.values() == pytest.approx([l1 * float(g) for g in expected], rel=1e-15)
    assert np.abs(gradient.weights()).sum() <= l1 * (1 + 1e-12)
    active = np.ones(d)
    gap = sum(w * g for w, g in zip(walk.w, expected, strict=True)) + max(map(abs, expected))
    assert gradient.wolfe_gap(active) == pytest.approx(float(gap), abs=1e-12)


def test_long_walks_do_not_drift():
    """32000 steps on cells at the ends of their range, against the closed form."""
    X, y = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 0.5]]), np.array([1.0, -1.0, 1.0])
    gradient = _core.L1Gradient(dense(X), y, l1=1.0)
    v = np.zeros(2, dtype=object)
    for t in range(1, _core.testing.MAX_STEPS + 1):
        gradient.step(t % 2, t % 3 == 0)
        v[t % 2] += (t + 1) if t % 3 == 0 else -(t + 1)
    total = (_core.testing.MAX_STEPS + 1) * (_core.testing.MAX_STEPS + 2) // 2
    assert fractions_of(gradient) == exact_gradient(X, y, 1.0, [Fraction(a, total) for a in v])
    with pytest.raises(ValueError, match="too many steps"):
        gradient.step(0, True)


def test_cells_are_clipped_and_nan_is_zero():
    X = np.array([[np.nan, np.inf, -np.inf, 1e300, -5e-324, 0.3, 1.0, -1.0, 2**-15, -(2**-15)]])
    gradient = _core.L1Gradient(dense(X), np.array([1.0]), l1=1.0)
    cells = [-m // 2**30 / 2**16 for m in gradient.numerators()]
    assert cells == unit_cells(X)[0].tolist()
    assert cells == [0, 2**14, -(2**14), 2**14, 0, 4915, 2**14, -(2**14), 1, -1]


@pytest.mark.parametrize("y", [np.nan, np.inf, -np.inf, 7.0, -7.0, 1e-300])
def test_responses_are_clipped_and_nan_is_zero(y):
    gradient = _core.L1Gradient(dense([[1.0]]), np.array([y]), l1=2.0)
    expected = 0.0 if np.isnan(y) else float(np.clip(y, -2, 2))
    assert -gradient.values()[0] == pytest.approx(expected, abs=2**-15)


def odd_sparse_matrices():
    """The same matrix in every way a sparse matrix can be odd."""
    rng = np.random.default_rng(SEED)
    n, d = 30, 12
    rows = []
    for i in range(n):
        count = 0 if i % 7 == 0 else int(rng.integers(1, 9))
        c = rng.choice(d, count, replace=False)
        v = rng.uniform(-1, 1, count)
        rows.append((c, v))
    plain = np.zeros((n, d))
    for i, (c, v) in enumerate(rows):
        plain[i, c] = v
    yield "unsorted", plain, rows
    zeros = [(np.append(c, [11, 0]) if not {0, 11} & set(c) else c, v) for c, v in rows]
    zeros = [(c, np.append(v, [0.0] * (len(c) - len(v)))) for c, v in zeros]
    yield "explicit zeros", plain, zeros
    # 0.25 + 0.5 is exact; the sum of 0.75 and 0.75 has to be clipped after it is made.
    twice = [(np.append(c, [3, 3, 5, 5]), np.append(v, [0.25, 0.5, 0.75, 0.75])) for c, v in rows]
    added = plain.copy()
    for i, (c, v) in enumerate(twice):
        added[i] = 0
        for j, x in zip(c, v, strict=True):
            added[i, j] += x
    yield "duplicates", added, twice


@pytest.mark.parametrize(
    ("name", "plain", "rows"), list(odd_sparse_matrices()), ids=lambda v: v if isinstance(v, str)
    else ""
)  # fmt: skip
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_is_dense(name, plain, rows, index, bits):
    columns = np.concatenate([c for c, _ in rows]).astype(index)
    values = np.concatenate([v for _, v in rows])
    starts = np.concatenate([[0], np.cumsum([len(c) for c, _ in rows])]).astype(index)
    X = sp.csr_array((values, columns, starts), shape=plain.shape)
    y = np.random.default_rng(1).uniform(-1, 1, len(plain))
    start = _core.random_start(plain.shape[1], bits)
    a = _core.L1Gradient(dense(plain), y, l1=1.0, start=start)
    b = _core.L1Gradient(unit_design(X), y, l1=1.0, start=start)
    assert a.numerators() == b.numerators()
    for j in range(plain.shape[1]):
        a.step(j, j % 2 == 0)
        b.step(j, j % 2 == 0)
        assert a.numerators() == b.numerators()


def test_cells_that_are_there_twice_since_a_matrix_was_looked_at_are_added():
    X = sp.csr_array(([0.75, 0.75], [0, 1], [0, 2]), shape=(1, 2))
    assert X.has_canonical_format
    X.indices[:] = 1
    gradient = _core.L1Gradient(unit_design(X), np.array([1.0]), l1=1.0)
    assert gradient.values().tolist() == [0.0, -1.0]
    assert X.nnz == 2


def test_cells_at_the_edge_of_the_grid_are_the_same_in_rows_and_columns():
    """Half a unit less the least there is rounds up to one, as the sum of two halves does."""
    half, below = 2.0**-15, np.nextafter(2.0**-15, 0)
    X = np.ones((5, 2))
    X[:, 0] = half, below, -np.nextafter(half, 1), np.nextafter(below, 0), np.nextafter(1, 0)
    pair = [_core.L1Gradient(make(X), np.ones(5), l1=1.0) for make in (dense, sparse)]
    for j in (0, 1):
        for gradient in pair:
            gradient.step(j, True)
        assert pair[0].numerators() == pair[1].numerators()


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float32, bool])
def test_other_dtypes(dtype):
    X = np.array([[0, 1], [1, 1], [1, 0]], dtype=dtype)
    y = np.array([1.0, 0.5, 0.0])
    rows = sp.csr_array(X)
    expected = _core.L1Gradient(dense(X), y, l1=1.0).numerators()
    assert _core.L1Gradient(_core.DenseUnitDesign(X), y, l1=1.0).numerators() == expected
    design = _core.SparseUnitDesign(rows.indptr, rows.indices, rows.data, 2)
    assert _core.L1Gradient(design, y, l1=1.0).numerators() == expected


def test_any_layout_of_a_dense_matrix():
    X = np.random.default_rng(SEED).uniform(-1, 1, (40, 12))
    y = X[:, 0]
    expected = _core.L1Gradient(dense(X), y, l1=1.0).numerators()
    wide = np.zeros((80, 24))
    wide[::2, ::2] = X
    for view in (np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1]):
        assert _core.L1Gradient(_core.DenseUnitDesign(view), y, l1=1.0).numerators() == expected


@pytest.mark.parametrize(("starts", "columns", "values", "cols"), [
    ([0, 2], [0], [1.0], 2), ([0, 2, 1], [0, 1], [1.0, 1.0], 2), ([1, 2], [0, 1], [1.0, 1.0], 2),
    ([0, 1], [2], [1.0], 2), ([0, 1], [-1], [1.0], 2), ([0, 1], [0, 1], [1.0], 2), ([], [], [], 2),
    ([0, 1], [0], [1.0], 0), ([0, 5], [0, 1], [1.0, 1.0], 2),
])  # fmt: skip
def test_arrays_that_are_no_matrix_are_refused(starts, columns, values, cols):
    with pytest.raises(ValueError, match="X"):
        _core.SparseUnitDesign(
            np.array(starts, dtype=np.int64), np.array(columns, dtype=np.int32), values, cols
        )


@pytest.mark.parametrize("l1", [0.0, -1.0, np.nan, np.inf])
def test_radius_must_be_positive(l1):
    with pytest.raises(ValueError, match="l1"):
        _core.L1Gradient(dense([[1.0]]), np.array([1.0]), l1=l1)


def test_start_must_lie_in_the_ball():
    for start in ([_core.START_WEIGHT + 1, 0], [_core.START_WEIGHT, 1], [1]):
        with pytest.raises(ValueError, match="start"):
            _core.L1Gradient(dense([[1.0, 0.0]]), np.array([1.0]), l1=1.0, start=start)


def test_sensitivity_is_attained_and_never_exceeded():
    """All records of a grid against points reached by all short walks, for several l1."""
    largest, widest = 0.0, 0.0
    records = list(itertools.product([-1.0, 0.0, 0.5, 1.0], [-1.0, 1.0], [-1.0, 0.3, 1.0]))
    walks = [w for k in range(3) for w in itertools.product([-2, -1, 1, 2], repeat=k)]
    ends = [s * _core.START_WEIGHT * np.eye(2, dtype=np.int64)[j] for s in (-1, 1) for j in (0, 1)]
    for l1, walk, start in itertools.product(
        [0.5, 1.0, 30.0], walks, [np.zeros(2, dtype=np.int64), *ends]
    ):
        for a, b, c in records:
            change = np.zeros(2)
            base = [[0.3, -0.8]], [0.4 * l1]
            for X, y, sign in (
                ([*base[0], [a, b]], [*base[1], c * l1], 1),
                (base[0], base[1], -1),
            ):
                g = _core.L1Gradient(dense(X), np.array(y), l1=l1, start=start)
                for vertex in walk:
                    g.step(abs(vertex) - 1, vertex > 0)
                change += sign * g.values()
            scores = np.concatenate([change, -change])
            largest = max(largest, np.abs(change).max() / _core.testing.l1_gradient_sensitivity(l1))
            widest = max(widest, np.ptp(scores) / _core.vertex_score_range(l1))
    assert largest == pytest.approx(1.0, rel=1e-12)
    assert widest == pytest.approx(1.0, rel=1e-12)


def test_random_start_is_uniform_on_the_ball(bits):
    """In the l1 ball of R^d, ||w||_1^d is uniform and so is |w_1| / ||w||_1's Beta(1, d - 1)."""
    from laws import ALPHA
    from scipy import stats

    d = 5
    w = np.array([_core.random_start(d, bits) for _ in range(5000)]) / _core.START_WEIGHT
    norms = np.abs(w).sum(axis=1)
    assert norms.max() <= 1
    assert stats.kstest(norms**d, "uniform").pvalue > ALPHA
    assert stats.kstest(np.abs(w[:, 0]) / norms, stats.beta(1, d - 1).cdf).pvalue > ALPHA
    assert stats.binomtest(int((w > 0).sum()), w.size).pvalue > ALPHA
