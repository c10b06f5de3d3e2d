"""The published selections do what is printed, and say what may be claimed for them."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from laws import assert_follows
from oracles import largest_value_law, peeling_law
from scipy import stats

from dpreg import _core, mechanisms, reference
from dpreg.reference import selection


def problem(n=200, d=5, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 2] - X[:, 0] + 0.3 * rng.standard_normal(n)


def counts_of(law, draw, draws=6000):
    counts = dict.fromkeys(law, 0)
    for _ in range(draws):
        counts[tuple(draw().columns.tolist())] += 1
    return list(counts.values()), list(law.values())


def test_peel_has_gumbel_noise_of_scale_2_k_sensitivity_over_eps(bits):
    """Which is k rounds of the exponential mechanism with range 2 sensitivity."""
    scores = [0.0, 3.0, 1.0, -1.0]
    law = peeling_law(scores, 2, 2 * 1.5, 2.0)
    assert_follows(*counts_of(law, lambda: reference.peel(scores, 2, 2.0, 1.5, rng=bits)))


def remembered(score):
    """A score of two columns, computed once for each pair of them."""

    @functools.cache
    def of(x, y):
        return score(np.frombuffer(x), np.frombuffer(y))

    return lambda x, y: of(x.tobytes(), y.tobytes())


@pytest.mark.parametrize("scores", ["tau", "tau_b"])
def test_dp_kendall_has_the_law_of_the_published_ranges(scores, bits, monkeypatch):
    """Without ties both scores are the tau of `dpreg.mechanisms`, up to n / (n - 1)."""
    name = f"_{scores}"
    monkeypatch.setattr(selection, name, remembered(getattr(selection, name)))
    X, y = problem(40, 4)
    tau = np.array([abs(_core.kendall_tau(column, y)) for column in X.T])
    between = np.array([[abs(_core.kendall_tau(a, b)) for b in X.T] for a in X.T])
    law = {}
    for one, two in itertools.permutations(range(4), 2):
        first = tau / 3 * 0.8 / 2
        later = (tau - between[one]) / 6 * 0.8 / 2
        rest = [j for j in range(4) if j != one]
        p = np.exp(first) / np.exp(first).sum()
        law[one, two] = p[one] * np.exp(later[two]) / np.exp(later[rest]).sum()
    draw = counts_of(law, lambda: reference.dp_kendall(X, y, 2, 0.8, scores=scores, rng=bits), 3000)
    assert_follows(*draw)


def test_tau_b_lets_a_constant_column_win(bits):
    """scipy gives NaN, and numpy's sort puts NaN last, which is first of the largest."""
    X, y = problem()
    X[:, 4] = 1.0
    for _ in range(20):
        run = reference.dp_kendall(X, y, 1, 100.0, rng=bits)
        assert run.columns.tolist() == [4]
        assert "guarantee not claimed" in str(run)
        assert mechanisms.dp_kendall(X, y, 1, 100.0, rng=bits).tolist() != [4]


def test_tau_of_tied_pairs_counts_them_as_concordant():
    from dpreg.reference.selection import _tau

    for n in (2, 3, 4):
        for x in itertools.product(range(3), repeat=n):
            for y in itertools.product(range(3), repeat=n):
                discordant = sum((x[i] - x[j]) * (y[i] - y[j]) < 0
                                 for i, j in itertools.combinations(range(n), 2))  # fmt: skip
                found = _tau(np.array(x, dtype=float), np.array(y, dtype=float))
                assert found == pytest.approx(n / 2 - 2 * discordant / (n - 1))


def test_sub_lasso_and_two_stage_vote_by_sklearn():
    from sklearn.linear_model import Lasso

    X, y = problem(120)
    blocks = np.split(np.arange(120), np.linspace(0, 120, 11).astype(int)[1:-1])
    fits = np.array([Lasso(alpha=0.1, tol=1e-12).fit(X[b], y[b]).coef_ for b in blocks])
    support = (fits != 0).sum(axis=0)
    run = reference.two_stage(X, y, 2)
    assert sorted(support[run.columns].tolist()) == sorted(support.tolist())[-2:]
    assert "not private" in str(run)
    for seed in range(5):
        assert set(reference.two_stage(X, y, 2, eps=60.0, rng=seed).columns) == {0, 2}
        found = reference.sub_lasso(X, y, 2, 60.0, 10, rng=seed)
        assert set(found.columns) == {0, 2}
        assert "guarantee not claimed" in str(found)


def test_sis_and_dp_sis():
    X, y = problem()
    assert reference.sis(X, y, 2).columns.tolist() == np.argsort(-np.abs(X.T @ y))[:2].tolist()
    assert "not private" in str(reference.sis(X, y, 2))
    for seed in range(5):
        found = reference.dp_sis(X, y, 2, 60.0, rng=seed)
        assert found.columns.tolist() == [0, 2]
        assert "not enforced" in found.claim


def printed_law(scores, k, epsilon, gamma):
    """Definition A.2 as printed: a body may hold the best index that the class lacks."""
    order = np.argsort(-scores, kind="stable")
    x, d = scores[order], len(scores)
    sets, utilities = [], []
    for h, t in [(k - 1, k), *itertools.product(range(k), range(k + 1, d + 1))]:
        size = 1 if t == k else math.comb(t - h - 1, k - h - 1)
        bodies = [()] if t == k else list(itertools.combinations(range(h + 1, t), k - h - 1))
        assert len(bodies) == size
        for body in bodies:
            sets.append(tuple(sorted(int(order[i - 1]) for i in (*range(1, h + 1), *body, t))))
            utilities.append(epsilon / 2 * (gamma * x[t - 1] - (1 - gamma) * x[h]))
    law = dict.fromkeys(sets, 0.0)
    for name, p in zip(sets, largest_value_law(np.array(utilities), "exponential"), strict=True):
        law[name] += p
    return law


@pytest.mark.parametrize("gamma", [0.3, 0.5])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_canonical_lipschitz_as_printed(k, gamma, bits):
    scores = np.array([0.0, 2.0, 1.0, 5.0, -1.0])
    law = printed_law(scores, k, 1.7, gamma)
    draw = counts_of(
        law, lambda: reference.canonical_lipschitz(scores, k, 1.7, 1.0, gamma, rng=bits), 4000
    )
    assert_follows(*draw)


def test_the_printed_noise_of_large_classes_has_its_law(bits):
    """-log(1 - U^(1/m)), patched by Taylor's formula from m = 10^8 on, on both sides of it."""
    from dpreg.reference.selection import _noise

    for m in (1.0, 50.0, 9e7, 2e8, 1e30):
        noise = _noise(np.full(20_000, math.log(m)), bits)
        # Pr[noise <= z] = (1 - e^-z)^m
        uniform = np.exp(m * np.log1p(-np.exp(-noise)))
        assert stats.kstest(uniform, "uniform").pvalue > 1e-6


def test_results_print_their_form():
    run = reference.peel([0.0, 1.0], 1, 50.0, 1.0, rng=1)
    assert str(run) == repr(run)
    assert str(run).startswith("Peel, Dick et al. (2023), Definition 2.3: columns [1]")
