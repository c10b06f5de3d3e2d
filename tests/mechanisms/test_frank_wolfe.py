"""Private Frank-Wolfe: the law of a step, of whole runs, and its guarantee on worst cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from laws import assert_follows, hockey_stick

from dpreg import _core
from dpreg.accounting import bounded_range_epsilon, zcdp_delta, zcdp_rho
from dpreg.mechanisms import Screen, adp_screen, dp_frank_wolfe, rnm_screen
from dpreg.mechanisms.frank_wolfe import allowed_rho
from dpreg.planning.frank_wolfe import plan_frank_wolfe

SEED = 20260101


def gradient(X, y, l1=1.0, start=()):
    X = np.asarray(X, dtype=float)
    start = np.asarray(start, dtype=np.int64)
    return _core.L1Gradient(_core.DenseUnitDesign(X), np.asarray(y, float), l1=l1, start=start)


def vertices(d):
    return [s * (j + 1) for j in range(d) for s in (1, -1)]


def step_law(g, epsilon, l1, active=None):
    """The exponential mechanism on the 2 d vertices, in the order of `vertices`."""
    values = np.repeat(g.values(), 2) * np.tile([-1, 1], len(g.values()))
    logits = epsilon * values / _core.vertex_score_range(l1)
    if active is not None:
        logits[np.repeat(np.asarray(active) == 0, 2)] = -np.inf
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_a_step_follows_the_exponential_mechanism(d, epsilon, bits):
    rng = np.random.default_rng([SEED, d])
    l1 = 3.0
    g = gradient(rng.uniform(-1, 1, (6, d)), rng.uniform(-l1, l1, 6), l1)
    for vertex in vertices(d)[:3]:
        g.step(abs(vertex) - 1, vertex > 0)
    drawn = [_core.draw_vertex(g, np.ones(d), epsilon, bits) for _ in range(20_000)]
    counts = [drawn.count(v) for v in vertices(d)]
    assert_follows(counts, step_law(g, epsilon, l1))


def test_a_step_over_many_groups_of_columns(bits):
    rng = np.random.default_rng(SEED)
    d, active = 200, np.arange(200) % 5 != 0
    g = gradient(rng.uniform(-1, 1, (300, d)), rng.uniform(-1, 1, 300))
    drawn = [_core.draw_vertex(g, active, 2.0, bits) for _ in range(60_000)]
    counts = [drawn.count(v) for v in vertices(d)]
    assert_follows(counts, step_law(g, 2.0, 1.0, active))


def test_without_rows_every_vertex_is_as_likely(bits):
    g = gradient(np.zeros((0, 3)), np.zeros(0))
    drawn = [_core.draw_vertex(g, np.ones(3), 1.0, bits) for _ in range(6000)]
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
            for data in itertools.combinations_with_replacement(records, count):
                laws = []
                for record in (None, *records):
                    rows = np.array([*data, *([] if record is None else [record])]).reshape(-1, 3)
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
            assert np.abs(change).max() <= _core.l1_gradient_sensitivity(1.0)
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
    losses = np.array([
        [sum(ratio[vertices(1).index(_core.draw_vertex(g, [1], epsilon, bits))]
             for _ in range(steps)) for _ in range(runs)]
        for g in pair
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


def data(n=400, d=6, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, np.clip(X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n), -1, 1)


@pytest.mark.parametrize("screen", [None, "rnm", "adp"])
@pytest.mark.parametrize("start", ["zero", "random"])
def test_sparse_and_dense_input_give_the_same_release(screen, start):
    X, y = data()
    X[np.abs(X) < 0.5] = 0
    fits = [
        dp_frank_wolfe(M, y, 5.0, 1e-5, l1=1.0, steps=40, screen=screen, start=start, rng=3)
        for M in (X, sp.csr_matrix(X), sp.csc_array(X), sp.coo_array(X), X.tolist())
    ]
    for fit in fits[1:]:
        assert fit.path.tolist() == fits[0].path.tolist()
        assert fit.weights.tolist() == fits[0].weights.tolist()
        assert fit.screened.tolist() == fits[0].screened.tolist()


def test_it_learns():
    X, y = data(50_000)
    fit = dp_frank_wolfe(X, y, 1.0, 1e-6, l1=1.5, steps=200, rng=1)
    assert 1 - ((X @ fit.weights - y) ** 2).mean() / y.var() > 0.95
    assert np.abs(fit.weights).sum() <= 1.5
    assert fit.support.tolist() == np.flatnonzero(fit.weights).tolist()


def test_certificate():
    X, y = data()
    fit = dp_frank_wolfe(X, y, 1.0, 1e-5, l1=2.0, steps=100, screen="rnm")
    assert (fit.privacy.epsilon, fit.privacy.delta) == (1.0, 1e-5)
    assert fit.privacy.composition == "zCDP"
    steps, screening = fit.privacy.parts
    choices = int(screening.label.split()[2])
    rho = (100 * (steps.sensitivity / steps.scale) ** 2
           + choices * (screening.sensitivity / screening.scale) ** 2) / 8  # fmt: skip
    assert steps.rho + screening.rho == pytest.approx(rho)
    assert zcdp_delta(rho, 1.0) <= 1e-5 < zcdp_delta(1.01 * rho, 1.0)
    assert not fit.privacy.seeded
    assert "NOT PRIVATE" in dp_frank_wolfe(X, y, 1.0, 1e-5, l1=2.0, steps=1, rng=1).privacy.claim


@pytest.mark.parametrize(("eps", "steps", "expected"), [
    (0.1, 1000, 0.001861), (1.0, 100, 0.04944), (1.0, 1000, 0.01564), (4.9, 1000, 0.06524),
])  # fmt: skip
def test_noise_scale_is_that_of_the_design_notes(eps, steps, expected):
    """privacy.md, section 6, and what the paper's composition would give."""
    plan = plan_frank_wolfe(allowed_rho(eps, 1e-5), 5, steps, None)
    assert plan.epsilon_step == pytest.approx(expected, rel=5e-4)
    assert expected > 3.9 * eps / math.sqrt(8 * steps * math.log(1e5))
    fit = dp_frank_wolfe(*data(10), eps, 1e-5, l1=2.0, steps=steps)
    assert f"range {plan.epsilon_step:.4g} each" in fit.privacy.parts[0].noise
    assert f"scale {8 / plan.epsilon_step:.4g} on" in fit.privacy.parts[0].noise


def screening_problem(n=400_000):
    """y = sign(x_0), so that w* is a vertex and the other scores lead by n l1^2 / 144."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(-1, 1, (n, 8))
    return X, np.sign(X[:, 0])


@pytest.mark.parametrize("run", [rnm_screen, adp_screen])
def test_screening_acts_with_many_rows_and_is_right(run):
    X, y = screening_problem()
    fit = run(X, y, 2.0, 1e-6, l1=1.0, steps=60, rng=1)
    assert len(fit.screened) >= 5
    assert 0 not in fit.screened
    assert (fit.weights[fit.screened] == 0).all()
    assert fit.weights[0] > 0.9
    last = {int(j): int(t) for j, t in zip(fit.screened, fit.screened_at, strict=True)}
    for t, vertex in enumerate(fit.path, start=1):
        assert t <= last.get(abs(int(vertex)) - 1, len(fit.path))


@pytest.mark.parametrize("run", [rnm_screen, adp_screen])
def test_screening_is_silent_with_few_rows(run):
    X, y = data(300)
    screened = sum(
        len(run(X, y, 1.0, 1e-6, l1=1.0, steps=40, rng=seed).screened) for seed in range(200)
    )
    # At most false_screens = 0.05 are expected in a run: 10 in all, 30 with probability 1e-7.
    assert screened < 30


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


def odd_data():
    X, y = data(30, 3)
    yield "empty", X[:0], y[:0]
    yield "one row", X[:1], y[:1]
    yield "one column", X[:, :1], y
    yield "missing", np.full_like(X, np.nan), np.full_like(y, np.nan)
    yield "infinite", np.full_like(X, np.inf), np.full_like(y, -np.inf)
    yield "huge", X * 1e308, y * 1e308
    yield "tiny", X * 5e-324, y * 5e-324
    yield "zero", X * 0, y * 0
    yield "integers", (X * 3).astype(int), (y * 3).astype(int)
    yield "empty rows", sp.csr_array((30, 3)), y
    yield "no rows, sparse", sp.csr_array((0, 3)), y[:0]
    yield "bool", X > 0, y > 0
    yield "beyond doubles", X.astype(np.longdouble) * np.longdouble("1e4000"), y
    yield "half precision", X.astype(np.float16), y.astype(np.float16)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "X", "y"), list(odd_data()), ids=lambda v: v if isinstance(v, str)
                         else "")  # fmt: skip
@pytest.mark.parametrize("screen", [None, "rnm", "adp"])
def test_odd_data_end_in_a_release_of_the_same_shape(name, X, y, screen):
    for eps in (1e-3, 1.0, 500.0):
        fit = dp_frank_wolfe(X, y, eps, 1e-3, l1=0.5, steps=7, screen=screen, rng=1)
        assert fit.weights.shape == (X.shape[1],)
        assert np.isfinite(fit.weights).all()
        assert np.abs(fit.weights).sum() <= 0.5 + 1e-12
        assert len(fit.path) == 7 or len(fit.screened) == X.shape[1]


@pytest.mark.parametrize(("arguments", "match"), [
    ({"l1": 0.0}, "l1"), ({"l1": -1.0}, "l1"), ({"l1": math.nan}, "l1"), ({"l1": "1"}, "l1"),
    ({"l1": math.inf}, "l1"), ({"l1": True}, "l1"), ({"l1": 1e-200}, "l1"),
    ({"steps": 0}, "steps"), ({"steps": 1.5}, "steps"), ({"steps": 10**6}, "steps"),
    ({"steps": True}, "steps"), ({"eps": 0.0}, "eps"), ({"eps": math.nan}, "eps"),
    ({"delta": 0.0}, "delta"), ({"delta": 1.0}, "delta"), ({"screen": "raj"}, "screen"),
    ({"start": "best"}, "start"), ({"rng": -1}, "rng"), ({"X": [1.0, 2.0]}, "X must be a two-dim"),
    ({"X": [["a"]]}, "X .* of numbers"), ({"y": ["a"] * 400}, "y .* of numbers"),
    ({"y": [1.0]}, "same number of rows"),
    ({"X": np.zeros((400, 0))}, "at least one column"),
    ({"eps": 1e-9, "delta": 1e-15}, "eps is too small"),
    ({"X": np.ones((400, 2), dtype=complex)}, "X .* of numbers"),
    ({"y": np.ones((400, 1))}, "y must"),
])  # fmt: skip
def test_wrong_use_names_the_argument(arguments, match):
    X, y = data()
    call = {"X": X, "y": y, "eps": 1.0, "delta": 1e-5, "l1": 1.0, "steps": 10, **arguments}
    with pytest.raises(ValueError, match=match):
        dp_frank_wolfe(**call)


@pytest.mark.parametrize("options", [
    {"rule": "raj"}, {"share": 0.0}, {"share": 1.0}, {"after": (0, 1)}, {"after": (3, 3)},
    {"false_screens": 0.0}, {"false_screens": math.inf},
])  # fmt: skip
def test_wrong_screening_options(options):
    with pytest.raises(ValueError, match="screen"):
        Screen(**options)


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
