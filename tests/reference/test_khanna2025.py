"""The published algorithms do what is printed, and say what they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpreg import _core, reference

SEED = 20260101


def problem(n=80, d=6, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


def test_raj_scores_match_equation_1():
    X, y = problem()
    n = len(y)
    for l1 in (0.5, 3.0):
        w = np.array([0.2, -0.1, 0.0, 0.1, 0.0, 0.0])
        u = X @ w
        gradient = (u - y) / n  # of |u - y|^2 / 2n, which is 1/n-smooth and 1/n-convex
        gap = max(
            (u - X @ z) @ gradient
            for j in range(6)
            for z in (l1 * np.eye(6)[j], -l1 * np.eye(6)[j])
        )
        root = math.sqrt(gap / (1 / n))
        expected = [
            abs(X[:, i] @ gradient) + u @ gradient
            + (np.linalg.norm(X[:, i]) + np.linalg.norm(u)) / n * root
            for i in range(6)
        ]  # fmt: skip
        assert reference.raj_scores(X, y, w, l1=l1) == pytest.approx(expected)


def test_np_frank_wolfe_is_frank_wolfe():
    X, y = problem()
    run = reference.np_frank_wolfe(X, y, l1=1.2, steps=300)
    w = np.zeros(6)
    for t in range(1, 301):
        g = X.T @ (X @ w - y)
        j = int(np.argmax(np.abs(g)))
        w *= 1 - 2 / (t + 2)
        w[j] -= 2 / (t + 2) * 1.2 * np.sign(g[j])
    assert run.weights == pytest.approx(w)
    assert run.gaps[-1] < run.gaps[0] / 20
    g = X.T @ (X @ w - y)
    assert run.gaps[-1] == pytest.approx((w @ g + 1.2 * np.abs(g).max()) / len(y))
    assert "not private" in str(run)


def test_core_and_reference_walk_the_same_way():
    X, y = problem()
    X, y = np.round(X * 2**14) / 2**14, np.round(np.clip(y, -1, 1) * 2**16) / 2**16
    gradient = _core.L1Gradient(_core.DenseUnitDesign(X), y, l1=1.0)
    core = _core.frank_wolfe(gradient, steps=200)
    run = reference.np_frank_wolfe(X, y, l1=1.0, steps=200)
    assert core["weights"] == pytest.approx(run.weights, abs=1e-12)


def test_published_results_say_what_they_are():
    X, y = problem()
    eps, delta = (4.9, 0.1), (1e-3, 1e-3)
    runs = [
        reference.dp_frank_wolfe(X, y, 1.0, 1e-3, l1=1.0, steps=5),
        reference.rnm_screen(X, y, eps, delta, l1=1.0, steps=5),
        reference.adp_screen(X, y, eps, delta, l1=1.0, steps=5, after=[5]),
    ]
    for run in runs:
        assert "published calibration, guarantee not claimed" in str(run)


def test_adp_screens_nearly_all_where_rnm_does_not():
    """Figure 1: ADP-Screen after every step leaves next to nothing; RNM-Screen about half."""
    X, y = problem(500, 100)
    eps, delta = (2.5, 2.5), (1e-3, 1e-3)
    adp = reference.adp_screen(X, y, eps, delta, l1=5.0, steps=200, after=range(1, 201), rng=1)
    rnm = reference.rnm_screen(X, y, eps, delta, l1=5.0, steps=200, rng=1)
    assert np.count_nonzero(adp.weights) <= 5
    assert np.count_nonzero(rnm.weights) >= 30


def expected_non_zeros(d, steps):
    """Of the process of Theorem 4.2, exactly: a uniform update, then a uniform screening."""
    p = 0.0
    for _ in range(steps):
        p = (p + (1 - p) / d) * (1 - 1 / d)
    return d * p


@pytest.mark.parametrize(("d", "steps"), [(3, 200), (10, 400), (40, 2000)])
def test_theorem_4_2_has_another_limit(d, steps):
    """d (d - 1) / (2 d - 1), where (d - 1)^2 d / ((d - 1) d + 1) is printed."""
    rng = np.random.default_rng(SEED)
    counts = []
    for _ in range(300):
        alive = np.zeros(d, dtype=bool)
        for j, k in rng.integers(d, size=(steps, 2)):
            alive[j] = True
            alive[k] = False
        counts.append(alive.sum())
    derived, printed = d * (d - 1) / (2 * d - 1), (d - 1) ** 2 * d / ((d - 1) * d + 1)
    assert expected_non_zeros(d, steps) == pytest.approx(derived, rel=1e-6)
    assert stats.ttest_1samp(counts, derived).pvalue > 1e-6
    assert stats.ttest_1samp(counts, printed).pvalue < 1e-6
    # The limit for d is T, where T - 1 is printed.
    assert expected_non_zeros(10**9, 50) == pytest.approx(50, rel=1e-6)
