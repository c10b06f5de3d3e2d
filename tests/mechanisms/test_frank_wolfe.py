"""Private Frank-Wolfe: the law of a step, of whole runs, and its guarantee on worst cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from laws import assert_follows, hockey_stick
from mechanisms.l1 import SEED, data, gradient, step_law, vertex_sampler, vertices

from dpreg import _core
from dpreg.privacy.zcdp import bounded_range_epsilon, zcdp_rho


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
@pytest.mark.parametrize("track", [False, True])
def test_a_step_follows_the_exponential_mechanism(d, epsilon, track, bits):
    rng = np.random.default_rng([SEED, d])
    l1 = 3.0
    g = gradient(rng.uniform(-1, 1, (6, d)), rng.uniform(-l1, l1, 6), l1)
    for vertex in vertices(d)[:3]:
        g.step(abs(vertex) - 1, vertex > 0)
    draw = vertex_sampler(g, epsilon, bits, np.ones(d) if track else None)
    drawn = [draw() for _ in range(20_000)]
    counts = [drawn.count(v) for v in vertices(d)]
    assert_follows(counts, step_law(g, epsilon, l1))


def test_a_step_over_many_groups_of_columns(bits):
    rng = np.random.default_rng(SEED)
    d, active = 200, np.arange(200) % 5 != 0
    g = gradient(rng.uniform(-1, 1, (300, d)), rng.uniform(-1, 1, 300))
    draw = vertex_sampler(g, 2.0, bits, active)
    drawn = [draw() for _ in range(60_000)]
    counts = [drawn.count(v) for v in vertices(d)]
    assert_follows(counts, step_law(g, 2.0, 1.0, active))


def test_without_rows_every_vertex_is_as_likely(bits):
    g = gradient(np.zeros((0, 3)), np.zeros(0))
    draw = vertex_sampler(g, 1.0, bits)
    drawn = [draw() for _ in range(6000)]
    assert_follows([drawn.count(v) for v in vertices(3)], np.full(6, 1 / 6))


def test_the_law_of_a_step_is_private_for_all_neighbours():
    """Every pair of neighbours on a grid, at every point that short walks reach."""
    epsilon, l1, largest = 0.7, 2.0, 0.0
    records = list(itertools.product([-1.0, 1.0], [-1.0, 0.5], [-l1, 0.0, l1]))
    ends = [s * _core.START_WEIGHT * np.eye(2, dtype=np.int64)[j] for s in (-1, 1) for j in (0, 1)]
    for start, walk in itertools.product(
        [np.zeros(2, dtype=np.int64), *ends], [(), (1,), (-2,), (1, 2), (-1, 1)]
    ):
        for count in (0, 1, 2):
            for rest in itertools.combinations_with_replacement(records, count):
                laws = []
                for record in (None, *records):
                    rows = np.array([*rest, *([] if record is None else [record])]).reshape(-1, 3)
                    g = gradient(rows[:, :2], rows[:, 2], l1, start)
                    for vertex in walk:
                        g.step(abs(vertex) - 1, vertex > 0)
                    laws.append(np.log(step_law(g, epsilon, l1)))
                for there in laws[1:]:
                    largest = max(largest, np.ptp(laws[0] - there), np.abs(laws[0] - there).max())
    assert largest <= epsilon + 1e-12
    assert largest > 0.99 * epsilon  # attained


def run_law(X, y, l1, steps, epsilon):
    """Probability of every path of `steps` vertices, by enumeration."""
    law = {}
    for path in itertools.product(vertices(np.shape(X)[1]), repeat=steps):
        g, p = gradient(X, y, l1), 1.0
        for vertex in path:
            p *= step_law(g, epsilon, l1)[vertices(np.shape(X)[1]).index(vertex)]
            g.step(abs(vertex) - 1, vertex > 0)
        law[path] = p
    return law


def worst_neighbours():
    """Data that the last record pulls as far as it can, with and without it."""
    yield "first record", np.array([[1.0, -1.0]]), [1.0]
    yield "against many", np.array([[1.0, 0.5]] * 4 + [[-1.0, 1.0]]), [-1.0] * 5
    yield "opposite", np.array([[1.0, 1.0]] * 2 + [[1.0, -1.0]]), [1.0, 1.0, -1.0]


@pytest.mark.parametrize(("name", "X", "y"), list(worst_neighbours()))
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_law_of_a_run_is_private(name, X, y, steps):
    """Exactly, by enumeration of all paths: at the (eps, delta) that is claimed, both ways."""
    eps, delta = 1.0, 1e-3
    epsilon = bounded_range_epsilon(zcdp_rho(eps, delta), steps)
    here, there = run_law(X, y, 1.0, steps, epsilon), run_law(X[:-1], y[:-1], 1.0, steps, epsilon)
    p, q = np.array(list(here.values())), np.array(list(there.values()))
    assert p.sum() == pytest.approx(1.0)
    assert hockey_stick(p, q, eps) <= delta
    assert hockey_stick(q, p, eps) <= delta
    assert np.abs(np.log(p / q)).max() <= steps * epsilon
    assert hockey_stick(p, q, 0.1 * eps) > 0  # the pair can be told apart


def test_runs_follow_their_law(bits):
    X, y, steps, epsilon = [[1.0, -0.5], [0.2, 1.0]], [0.7, -0.4], 3, 3.0
    law = run_law(X, y, 1.0, steps, epsilon)
    drawn: dict[tuple, int] = {}
    for _ in range(20_000):
        run = _core.dp_frank_wolfe(gradient(X, y), steps=steps, epsilon_step=epsilon, bits=bits)
        path = tuple(run["path"].tolist())
        drawn[path] = drawn.get(path, 0) + 1
    assert_follows([drawn.get(k, 0) for k in law], list(law.values()))


@pytest.mark.parametrize("steps", [5, 50])
@pytest.mark.parametrize(("name", "X", "y"), list(worst_neighbours()))
def test_grey_box_audit_of_runs(name, X, y, steps, bits):
    """Replay drawn paths on both data sets: changes of the gradient, ranges and losses.

    The losses of 300 runs must be as small as the accounting says: E[exp(a L)] is at most
    exp(a (a + 1) rho), here for a = 1, up to four standard errors.
    """
    eps, delta = 2.0, 1e-4
    epsilon = bounded_range_epsilon(zcdp_rho(eps, delta), steps)
    losses = []
    for _ in range(300):
        run = _core.dp_frank_wolfe(gradient(X, y), steps=steps, epsilon_step=epsilon, bits=bits)
        here, there, loss = gradient(X, y), gradient(X[:-1], y[:-1]), 0.0
        for vertex in run["path"]:
            change = here.values() - there.values()
            assert np.abs(change).max() <= _core.testing.l1_gradient_sensitivity(1.0)
            ratios = np.log(step_law(here, epsilon, 1.0) / step_law(there, epsilon, 1.0))
            assert np.ptp(ratios) <= epsilon * (1 + 1e-12)
            loss += ratios[vertices(2).index(vertex)]
            for g in (here, there):
                g.step(abs(int(vertex)) - 1, bool(vertex > 0))
        losses.append(loss)
    moments = np.exp(losses)
    rho = zcdp_rho(eps, delta)
    assert moments.mean() <= math.exp(2 * rho) + 4 * moments.std() / math.sqrt(len(moments))
    assert np.mean(np.array(losses) > eps) <= 0.05


@pytest.mark.parametrize("steps", [10, 50])
def test_audit_of_an_adversary_who_chooses_the_worst_step_each_time(steps, bits):
    """A lower bound on eps that is below the claim and above half of it.

    Each step is drawn at w = -l1 e_1 without rows or with the row (1), y = l1, whose gradient is
    2 l1: the worst there is.  Composed adaptively, as the accounting allows.
    """
    eps, delta, runs = 1.0, 0.02, 4000
    epsilon = bounded_range_epsilon(zcdp_rho(eps, delta), steps)
    start = [-_core.START_WEIGHT]
    pair = [
        gradient(np.ones((1, 1)), [1.0], 1.0, start),
        gradient(np.zeros((0, 1)), [], 1.0, start),
    ]
    ratio = np.log(step_law(pair[0], epsilon, 1.0) / step_law(pair[1], epsilon, 1.0))
    assert np.ptp(ratio) == pytest.approx(epsilon, rel=1e-9)
    draws = [vertex_sampler(g, epsilon, bits) for g in pair]
    losses = np.array([
        [sum(ratio[vertices(1).index(draw())] for _ in range(steps)) for _ in range(runs)]
        for draw in draws
    ])  # fmt: skip
    bounds = []
    for threshold in np.quantile(losses[0], [0.5, 0.8, 0.9, 0.95]):
        hit, false = ((losses[k] >= threshold - 1e-12).mean() for k in (0, 1))
        error = 3 * math.sqrt(0.25 / runs)
        bounds.append(math.log(max(hit - error - delta, 1e-9) / (false + error)))
    assert max(bounds) <= eps
    exact = np.log([step_law(g, epsilon, 1.0) for g in pair])
    k = np.arange(steps + 1)  # how often the first vertex is drawn
    from scipy import stats

    laws = [stats.binom(steps, math.exp(e[0])).pmf(k) for e in exact]
    true = next(e for e in np.linspace(0, 5, 5001) if hockey_stick(*laws, e) <= delta)
    assert 0.5 * eps < true <= eps


def test_published_scale_would_not_be_private():
    """A mutant that pays for the sensitivity 2 l1 and not for the range 4 l1 is caught."""
    epsilon, start = 0.5, [-_core.START_WEIGHT]
    laws = [
        step_law(gradient(X, y, 1.0, start), 2 * epsilon, 1.0)
        for X, y in ((np.ones((1, 1)), [1.0]), (np.zeros((0, 1)), []))
    ]
    # Only its loss is within epsilon here; composed many times it costs (2 epsilon)^2 / 8.
    assert np.ptp(np.log(laws[0] / laws[1])) > 1.9 * epsilon


def test_screening_choice_follows_its_law(bits):
    """One iteration of each rule against the scores, by enumeration."""
    rng = np.random.default_rng(SEED)
    X, y = rng.uniform(-1, 1, (60, 3)), rng.uniform(-1, 1, 60)
    g = gradient(X, y)
    _core.frank_wolfe(g, steps=3)
    scores = _core.screening_scores(g, np.ones(3))
    margin, epsilon = 0.4, 3.0
    slope = epsilon / (_core.SCREENING_RANGE + _core.SCREENING_ROUNDING)
    logits = np.append(slope * scores, margin)
    one = np.exp(logits) / np.exp(logits).sum()
    alone = 1 / (1 + np.exp(margin - slope * scores))
    counts, each = np.zeros(4), np.zeros(3)
    draws = 4000
    path = [int(v) for v in _core.frank_wolfe(gradient(X, y), steps=3)["path"]]
    for rule in (_core.ScreenRule.ONE, _core.ScreenRule.EACH):
        done = 0
        while done < draws:
            # A large epsilon makes the run repeat the exact one but for a few draws.
            run = _core.dp_frank_wolfe(
                gradient(X, y), steps=3, epsilon_step=1000.0, rule=rule, after=[3],
                epsilon_screen=epsilon, margin=margin, bits=bits,
            )  # fmt: skip
            if run["path"].tolist() != path:
                continue
            done += 1
            screened = run["screened"].tolist()
            if rule == _core.ScreenRule.ONE:
                counts[screened[0] if screened else 3] += 1
            else:
                each[screened] += 1
    assert_follows(counts, one)
    from scipy import stats

    for hits, p in zip(each, alone, strict=True):
        assert stats.binomtest(int(hits), draws, p).pvalue > 1e-6


def test_the_law_of_screening_is_private():
    """Random neighbours at random points: ranges of the log-weights with the dummy among them."""
    rng = np.random.default_rng(SEED)
    slope, worst = 1 / (_core.SCREENING_RANGE + _core.SCREENING_ROUNDING), 0.0
    for _ in range(2000):
        n, start = int(rng.integers(1, 30)), _core.START_WEIGHT * rng.choice([-1, 1])
        X, y = rng.choice([-1.0, 0.0, 1.0], (n, 3)), rng.choice([-1.0, 1.0], n)
        logits = [
            np.append(slope * _core.screening_scores(gradient(A, b, 1.0, [start, 0, 0]),
                                                     np.ones(3)), 7.0)
            for A, b in ((X, y), (X[:-1], y[:-1]))
        ]  # fmt: skip
        laws = [a - np.logaddexp.reduce(a) for a in logits]
        worst = max(worst, np.ptp(laws[0] - laws[1]))
    assert 0.7 < worst <= 1.0


@pytest.mark.parametrize("arguments", [
    {"epsilon_step": 1e-12}, {"epsilon_step": math.inf}, {"epsilon_step": math.nan},
    {"epsilon_step": -1.0}, {"steps": 0}, {"after": [1]},
    {"rule": _core.ScreenRule.ONE, "epsilon_screen": 0.0, "after": [1]},
    {"rule": _core.ScreenRule.ONE, "epsilon_screen": 1.0, "margin": -1.0, "after": [1]},
    {"rule": _core.ScreenRule.ONE, "epsilon_screen": 1.0, "after": [2, 1]},
])  # fmt: skip
def test_the_core_checks_public_numbers(arguments, bits):
    call = {"steps": 3, "epsilon_step": 1.0, **arguments}
    with pytest.raises(ValueError, match=r"step|epsilon|margin|rule"):
        _core.dp_frank_wolfe(gradient([[1.0]], [1.0]), bits=bits, **call)


def test_np_frank_wolfe_agrees_with_the_lasso():
    """Its Wolfe gap bounds |X(w - w_lasso)|^2 and the loss above the minimum."""
    from sklearn.linear_model import Lasso

    X, y = data(300, 8)
    X, y = np.round(X * 2**14) / 2**14, np.round(y * 2**16) / 2**16
    for alpha in (0.003, 0.03):
        lasso = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y).coef_
        l1 = float(np.abs(lasso).sum())
        X_, y_ = X, np.clip(y, -l1, l1)
        lasso = l1_reference(X_, y_, l1) if (y_ != y).any() else lasso
        g = gradient(X_, y_, l1)
        run = _core.frank_wolfe(g, steps=30_000)
        gap = l1**2 * g.wolfe_gap(np.ones(8))
        difference = X_ @ (run["weights"] - lasso)
        rounding = 300 * l1 * 2.0**-16  # of y / l1
        assert gap < 1e-3 * len(y)
        assert difference @ difference <= gap + rounding
        loss = [0.5 * np.sum((X_ @ w - y_) ** 2) for w in (run["weights"], lasso)]
        assert -rounding <= loss[0] - loss[1] <= gap + rounding
        assert np.abs(run["weights"] - lasso).max() < 0.02 * l1


def l1_reference(X, y, l1):
    from oracles import l1_least_squares

    return l1_least_squares(X, y, l1)
