"""The sound screening rule, and what is wrong with the published one (screening.md)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from oracles import l1_least_squares

from dpreg import _core
from dpreg.reference import raj_scores, screening_sensitivity

SEED = 20260101
RANGE = _core.SCREENING_RANGE
ROUNDING = 1e-11  # of a score, for the numbers of rows here; the bound for all is 2^-15


def gradient_at(X, y, l1, w):
    """A gradient at a point w of the ball, as near as the grid of starts allows."""
    start = np.trunc(np.asarray(w) / l1 * _core.START_WEIGHT).astype(np.int64)
    X = np.asarray(X, dtype=float)
    return _core.L1Gradient(_core.DenseUnitDesign(X), np.asarray(y, float), l1=l1, start=start)


def scores_at(X, y, l1, w):
    d = np.shape(X)[1]
    return l1**2 * _core.screening_scores(gradient_at(X, y, l1, w), np.ones(d))


def scores_by_definition(X, y, l1, w):
    n = len(y)
    if n == 0:
        return np.zeros(np.shape(X)[1])
    g = X.T @ (X @ w - y)
    gap = w @ g + l1 * np.abs(g).max()
    return (np.abs(g).max() - np.abs(g)) ** 2 / (4 * n) - gap


def on_grid(X, y, l1):
    """Round records as the mechanism does, so that definitions see the same ones."""
    return np.round(X * 2**14) / 2**14, np.round(y / l1 * 2**16) * l1 / 2**16


def random_point(rng, d, l1):
    w = rng.exponential(size=d) * rng.choice([-1, 0, 1], d)
    return w / max(np.abs(w).sum(), 1e-9) * l1 * rng.choice([0.0, 0.3, 0.99, 1 - 1e-9])


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_scores_match_the_definition(n):
    rng = np.random.default_rng(SEED)
    for l1 in (0.3, 1.0, 20.0):
        X, y = on_grid(rng.uniform(-1, 1, (n, 4)), rng.uniform(-l1, l1, n), l1)
        w = random_point(rng, 4, l1)
        w = np.trunc(w / l1 * _core.START_WEIGHT) * l1 / _core.START_WEIGHT
        expected = scores_by_definition(X, y, l1, w)
        assert scores_at(X, y, l1, w) == pytest.approx(expected, abs=1e-12 * l1**2 * (n + 1))


def test_screened_columns_are_out_of_the_problem():
    rng = np.random.default_rng(SEED)
    X, y = on_grid(rng.uniform(-1, 1, (50, 4)), rng.uniform(-1, 1, 50), 1.0)
    some = _core.screening_scores(gradient_at(X, y, 1.0, np.zeros(4)), [1, 0, 1, 1])
    rest = _core.screening_scores(gradient_at(X[:, [0, 2, 3]], y, 1.0, np.zeros(3)), np.ones(3))
    assert some[1] == -np.inf
    assert some[[0, 2, 3]].tolist() == rest.tolist()


def changes(X, y, l1, w, before=None):
    """Changes of all scores, and of a constant, when the last record comes.

    before: the scores without it.
    """
    after = scores_at(X, y, l1, w)
    if before is None:
        before = scores_at(X[:-1], y[:-1], l1, w)
    return np.append(after - before, 0.0) / l1**2


def worst_cases():
    """Families that approach the ends of Theorem 2 as n grows."""
    for n in (1, 10, 100_000):
        # All residuals 2 l1, the lead is 2 l1 n; one record takes 2 l1 off and gives it to x_1.
        X = np.vstack([np.tile([1.0, 0.0], (n, 1)), [[-1.0, 1.0]]])
        yield "fall, others still", X, np.append(-np.ones(n), 1.0), np.array([1.0, 0.0])
        X = np.vstack([np.tile([1.0, 0.0], (n, 1)), [[1.0, 1.0]]])
        yield "fall of the gap", X, np.append(-np.ones(n), -1.0), np.array([1.0, 0.0])
        X = np.tile([[1.0, 1.0]], (n + 1, 1))
        X[-1] = -1.0
        yield "rise", X, np.append(-np.ones(n), -1.0), np.array([0.0, 0.0])


@pytest.mark.parametrize(("name", "X", "y", "w"), list(worst_cases()))
def test_range_of_worst_cases(name, X, y, w):
    change = changes(X, y, 1.0, w)
    assert np.ptp(change) <= RANGE + ROUNDING
    assert change.min() >= -_core.testing.SCREENING_FALL - ROUNDING
    assert change.max() <= _core.testing.SCREENING_RISE + ROUNDING
    if name.startswith("fall") and len(y) > 1000:
        assert change.min() < -_core.testing.SCREENING_FALL + 1e-3
        assert np.ptp(change) > RANGE - 1e-3
    if name == "rise" and len(y) > 1000:
        assert change.max() > _core.testing.SCREENING_RISE - 1e-3


def test_range_is_never_exceeded():
    """Every record of a grid beside every small data set of it, and many larger random ones."""
    values = (-1.0, 0.0, 1.0)
    records = list(itertools.product(values, values, values))
    points = [np.array(w) for w in itertools.product((-1.0, 0.0, 0.5, 1.0), repeat=2)]
    points = [w for w in points if np.abs(w).sum() <= 1]
    worst = np.zeros(3)
    for w in points:
        for count in range(3):
            for data in itertools.combinations_with_replacement(records, count):
                rows = np.array([*data, records[0]])
                before = scores_at(rows[:-1, :2], rows[:-1, 2], 1.0, w)
                for record in records:
                    rows[-1] = record
                    change = changes(rows[:, :2], rows[:, 2], 1.0, w, before)
                    least, most = change.min(), change.max()
                    worst = np.maximum(worst, [most - least, -least, most])
    rng = np.random.default_rng(SEED)
    for _ in range(3000):
        n, d, l1 = int(rng.integers(1, 60)), int(rng.integers(1, 5)), float(rng.choice([0.2, 1, 9]))
        X = rng.choice([-1.0, 0.0, 1.0], (n, d)) if rng.random() < 0.5 else rng.uniform(
            -1, 1, (n, d)
        )  # fmt: skip
        y = l1 * rng.choice([-1.0, 1.0], n)
        change = changes(X, y, l1, random_point(rng, d, l1))
        worst = np.maximum(worst, [np.ptp(change), -change.min(), change.max()])
    assert worst[0] <= RANGE + ROUNDING
    assert worst[1] <= _core.testing.SCREENING_FALL + ROUNDING
    assert worst[2] <= _core.testing.SCREENING_RISE + ROUNDING
    assert worst[0] > 4  # small data come near as well


@pytest.mark.slow
def test_no_coordinate_of_an_optimum_is_screened():
    """1,500 random problems, each at a random point and along a run that approaches w*."""
    rng = np.random.default_rng(SEED)
    screened = published = wrong = wrong_published = 0
    for _ in range(1_500):
        n, d = int(rng.integers(8, 200)), int(rng.integers(2, 7))
        l1 = float(np.exp(rng.uniform(-2, 3)))
        X = np.clip(rng.standard_normal((n, d)) @ (np.eye(d) + rng.uniform(-0.5, 0.5)) / 2, -1, 1)
        noise = rng.uniform(0, 1) * rng.standard_normal(n)
        y = np.clip(X @ rng.standard_normal(d) * l1 * rng.uniform(0.1, 3) + noise, -l1, l1)
        X, y = on_grid(X, y, l1)
        optimum = l1_least_squares(X, y, l1)
        zero = np.abs(optimum) < 1e-9 * l1
        gradient = _core.L1Gradient(_core.DenseUnitDesign(X), y, l1=l1)
        for steps in (1, 3, 30, 300):
            _core.frank_wolfe(gradient, steps=steps)
            found = _core.screening_scores(gradient, np.ones(d)) > 1e-9
            screened += int(found.sum())
            wrong += int((found & ~zero).sum())
        found = raj_scores(X, y, gradient.weights(), l1=l1) < 0
        published += int(found.sum())
        wrong_published += int((found & ~zero).sum())
    assert screened > 1_500  # or there is nothing to be wrong about
    assert wrong == 0
    assert wrong_published > 0.01 * published > 0


def test_published_rule_screens_active_coordinates():
    """X = I, y = (2, 2), l1 = 2: w* = (1, 1), and both coordinates are screened."""
    X, y = np.eye(2), np.array([2.0, 2.0])
    # Optimal: both gradients are the largest ones, and ||w||_1 = l1.
    assert (X.T @ (X @ [1.0, 1.0] - y)).tolist() == [-1.0, -1.0]
    assert (raj_scores(X, y, [1.0, 1.0], l1=2.0) < 0).all()
    # On the unit ball, for which the rule was made, it is silent there.
    assert (raj_scores(X, y, [0.5, 0.5], l1=1.0) > -1e-12).all()
    assert (scores_at(X, y, 2.0, [1.0, 1.0]) <= 0).all()


@pytest.mark.parametrize(("n", "l1"), [(100, 1.0), (3000, 50.0), (100_000, 5.0)])
def test_published_sensitivity_is_too_small(n, l1):
    """One record moves the score by about 2 l1 (1 + l1) / sqrt(n), not 4 l1 (1 + l1) / n."""
    # w = 0 fits the first n rows, so their gap is 0; ||x_1|| is sqrt(n), and so is ||Xw|| / l1 ...
    w = np.array([l1])
    X, y = np.ones((n + 1, 1)), np.full(n + 1, l1)
    y[-1] = -l1
    moved = raj_scores(X, y, w, l1=l1) - raj_scores(X[:-1], y[:-1], w, l1=l1)
    claimed = screening_sensitivity(n, l1)
    assert claimed == pytest.approx(4 * l1 * (1 + l1) / n)
    assert moved[0] == pytest.approx(2 * l1 * (1 + l1) / np.sqrt(n), rel=0.15)
    assert moved[0] > 4 * claimed


def report_noisy_min_law(scores, scale):
    """Pr[argmin of scores + Laplace(scale)], by numerical integration."""
    from scipy import integrate, stats

    laws = [stats.laplace(s, scale) for s in scores]

    def density(z, i):
        rest = np.prod([law.sf(z) for k, law in enumerate(laws) if k != i], axis=0)
        return laws[i].pdf(z) * rest

    ends = sorted([*scores, min(scores) - 60 * scale, max(scores) + 60 * scale])
    return np.array([
        sum(integrate.quad(density, a, b, args=(i,), epsabs=0, epsrel=1e-10)[0]
            for a, b in itertools.pairwise(ends) if b > a)
        for i in range(len(scores))
    ])  # fmt: skip


def test_published_noise_is_half_of_what_is_needed():
    """Report noisy min with Laplace(Delta / eps): the log ratio goes to 2 eps, not eps."""
    eps, delta = 0.5, 1.0
    ratios = []
    for d in (2, 50, 2000):
        law = [
            report_noisy_min_law_of_one(first, others, d, delta / eps)
            for first, others in ((-delta, delta), (0.0, 0.0))
        ]
        ratios.append(np.log(law[0] / law[1]))
    assert ratios[-1] > 1.7 * eps
    assert max(ratios) <= 2 * eps + 1e-9
    # Each score moved by Delta at most, so with scale 2 Delta / eps the ratio is within eps.
    law = [
        report_noisy_min_law_of_one(a, b, 2000, 2 * delta / eps) for a, b in ((-1.0, 1.0), (0, 0))
    ]
    assert np.log(law[0] / law[1]) <= eps


def report_noisy_min_law_of_one(first, others, d, scale):
    """Pr[the first of d is the noisy minimum], the others sharing one score."""
    from scipy import integrate, stats

    one, rest = stats.laplace(first, scale), stats.laplace(others, scale)

    def density(z):
        return one.pdf(z) * np.exp((d - 1) * rest.logsf(z))

    points = sorted({first, others, min(first, others) - scale * np.log(d)})
    ends = [points[0] - 60 * scale, *points, points[-1] + 60 * scale]
    return sum(
        integrate.quad(density, a, b, epsrel=1e-10, limit=200)[0]
        for a, b in itertools.pairwise(ends)
    )


def test_closed_form_of_the_law_agrees():
    law = report_noisy_min_law(np.array([0.0, 1.0, 1.0]), 2.0)
    assert law.sum() == pytest.approx(1.0)
    assert law[0] == pytest.approx(report_noisy_min_law_of_one(0.0, 1.0, 3, 2.0))


def test_published_threshold_is_not_paid_for():
    """ "Screen only if the noisy minimum is below 0": "none" loses up to d eps, not eps."""
    from scipy import stats

    eps, delta, d = 0.5, 1.0, 20
    noise = stats.laplace(scale=delta / eps)
    none = [d * noise.logsf(-score) for score in (-5.0, -4.0)]  # d scores alike
    assert none[1] - none[0] == pytest.approx(d * eps)


def test_published_noise_hides_the_scores():
    """In the experiment of Table 1 the noise scale is 1e5 times the spread of the scores."""
    rng = np.random.default_rng(SEED)
    n, d, l1, steps = 3000, 600, 50.0, 1000
    X = rng.standard_normal((n, d))
    X /= np.abs(X).max()
    y = X[:, :70] @ np.repeat([1.0, -1.0], 35)
    scale = screening_sensitivity(n, l1) / (0.1 / np.sqrt(8 * steps * np.log(12_000)))
    spread = np.ptp(raj_scores(X, y, np.repeat([0.5, -0.5, 0.0], [35, 35, 530]), l1=l1))
    assert scale == pytest.approx(9320, rel=0.01)
    assert spread < 1e-4 * scale
