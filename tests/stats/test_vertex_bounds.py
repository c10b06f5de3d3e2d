"""Bounds of groups of columns: valid after any walk; the law of a draw from them is exact."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from laws import assert_follows
from mechanisms.l1 import SEED, dense, sparse, step_law, vertices

from dpreg import _core

CELLS = (0.0, 0.06, -1.0)


def gradient(X, y, make=dense):
    return _core.L1Gradient(make(X), np.asarray(y, dtype=float), l1=1.0)


def walk(g, bounds, path):
    """Make steps, and let the bounds follow them."""
    for vertex in path:
        g.step(abs(vertex) - 1, vertex > 0)
        bounds.follow(g.total, g.touched)


def bounds_of(g, epsilon, whole):
    """Bounds that track all columns, or those that need it for draws with this epsilon."""
    if whole:
        return _core.VertexBounds(g, active=np.ones(len(g.values())))
    return _core.VertexBounds(g, epsilon)


def groups_of(bounds):
    """The bound of each group, and its columns with their numerators."""
    return [(bound, bounds.numerators(g)) for g, bound in enumerate(bounds.bounds())]


def grouped_law(bounds, g, epsilon):
    """The law of proposals from these bounds, enumerated over all they may be refreshed to.

    A candidate of group h is proposed with probability proportional to exp(bound of h) and
    accepted with probability exp(log-weight - bound); else a tracked group gets the largest
    size in it for its bound, and all begins again.
    """
    slope = epsilon / (_core.vertex_score_range(1.0) * g.denominator)
    groups = groups_of(bounds)
    attained = [max((abs(m) for m in columns.values()), default=-1) for _, columns in groups]

    def law(refreshed):
        now = [attained[h] if h in refreshed else groups[h][0] for h in range(len(groups))]
        top = max(now)
        proposed = [math.exp(slope * (bound - top)) for bound in now]
        total = sum(2 * len(columns) * p for (_, columns), p in zip(groups, proposed, strict=True))
        accepted, elsewhere, again = dict.fromkeys(vertices(bounds_cols(groups)), 0.0), 0.0, {}
        for h, (_, columns) in enumerate(groups):
            kept = 0.0
            for j, m in columns.items():
                for vertex, score in ((j + 1, -m), (-j - 1, m)):
                    weight = math.exp(slope * (score - top))
                    assert weight <= proposed[h] * (1 + 1e-12)
                    accepted[vertex] += weight / total
                    kept += weight / total
            rejected = 2 * len(columns) * proposed[h] / total - kept
            if h < bounds.fixed or h in refreshed:
                elsewhere += rejected  # the same again
            elif rejected > 1e-15:
                again[h] = rejected
        for h, p in again.items():
            for vertex, q in law(refreshed | {h}).items():
                accepted[vertex] += p * q
        return {vertex: p / (1 - elsewhere) for vertex, p in accepted.items()}

    return law(frozenset())


def bounds_cols(groups):
    return 1 + max(j for _, columns in groups for j in columns)


def small_worlds():
    """All tables of two rows and three columns over `CELLS`, but for the order of the rows."""
    for rows in itertools.combinations_with_replacement(
        itertools.product(CELLS, repeat=3), 2
    ):  # fmt: skip
        yield np.array(rows)


@pytest.mark.parametrize("whole", [False, True])
def test_the_grouped_draw_is_the_exponential_mechanism_in_small_worlds(whole):
    """Enumerated, with bounds that earlier steps have left loose."""
    epsilon, y, loose, fixed = 9.0, [1.0, -0.4], 0, []
    for X in small_worlds():
        g = gradient(X, y, sparse)
        bounds = bounds_of(g, epsilon, whole)
        fixed.append(bounds.fixed)
        walk(g, bounds, (1, -2, 1, 3))
        loose += sum(
            h >= bounds.fixed and bound > max(map(abs, columns.values()))
            for h, (bound, columns) in enumerate(groups_of(bounds))
            if columns
        )
        found = grouped_law(bounds, g, epsilon)
        expected = step_law(g, epsilon, 1.0)
        np.testing.assert_allclose([found[v] for v in vertices(3)], expected, rtol=1e-9)
    assert loose > 100
    assert set(fixed) == {0 if whole else 1}


def test_the_grouped_draw_is_the_exponential_mechanism_with_listed_columns():
    """The same with all three kinds of groups."""
    d, epsilon = 200, 2.0
    X = np.zeros((6, d))
    X[np.arange(d) % 6, np.arange(d)] = np.linspace(0.05, 0.95, d)
    X[3, 7] = X[5, 7] = X[:, 20] = X[:4, 40] = -1.0
    g = gradient(X, [1.0, -0.4, 0.3, 1.0, -1.0, 1.0], sparse)
    bounds = bounds_of(g, epsilon, False)
    walk(g, bounds, (21, -8, 21, 41, -3, 21))
    sizes = [len(columns) for _, columns in groups_of(bounds)]
    assert bounds.fixed > 1
    assert len(sizes) > bounds.fixed
    assert min(sizes) > 0
    found = grouped_law(bounds, g, epsilon)
    np.testing.assert_allclose(
        [found[v] for v in vertices(d)], step_law(g, epsilon, 1.0), rtol=1e-9
    )


@pytest.mark.parametrize("make", [dense, sparse])
@pytest.mark.parametrize("whole", [False, True])
def test_bounds_are_valid_after_any_walk(make, whole):
    """Each column stands in one group, its numerator is the exact one, below the bound."""
    rng = np.random.default_rng(SEED)
    n, d, epsilon = 40, 60, 1.0
    size = rng.uniform(0.01, 1.0, d)
    X = np.where(rng.random((n, d)) < size / 2, rng.uniform(-1, 1, (n, d)) * size, 0.0)
    y = rng.uniform(-1, 1, n)
    g, fresh = gradient(X, y, make), gradient(X, y, make)
    bounds, removed = bounds_of(g, epsilon, whole), set()
    for t in range(60):
        vertex = int(rng.integers(1, d + 1)) * int(rng.choice([-1, 1]))
        walk(g, bounds, [vertex])
        fresh.step(abs(vertex) - 1, vertex > 0)
        if whole and t % 9 == 0:
            j = int(rng.integers(d))
            g.drop(j)
            fresh.drop(j)
            bounds.follow(g.total, g.touched)
            bounds.remove(j)
            removed.add(j)
        exact, seen = fresh.numerators(), []
        for bound, columns in groups_of(bounds):
            for j, numerator in columns.items():
                assert numerator == exact[j]
                assert abs(numerator) <= bound
                seen.append(j)
        assert sorted(seen) == [j for j in range(d) if j not in removed]
    assert (bounds.fixed == 0) == whole
    assert len(bounds.bounds()) > bounds.fixed
    for h in range(bounds.fixed, len(bounds.bounds())):
        bounds.refresh(h)
        sizes = [abs(m) for m in bounds.numerators(h).values()]
        assert bounds.bounds()[h] == max(sizes, default=-1)


def test_groups_have_about_the_square_root_of_the_columns():
    rng = np.random.default_rng(SEED)
    g = gradient(rng.uniform(-1, 1, (5, 1000)), np.ones(5))
    bounds = _core.VertexBounds(g, active=np.ones(1000))
    sizes = [len(columns) for _, columns in groups_of(bounds)]
    assert len(sizes) == pytest.approx(math.sqrt(1000), rel=0.1)
    assert max(sizes) <= math.isqrt(1000)


def test_reach_is_attained_and_never_exceeded():
    """Over all vertices and sign patterns: |numerator| <= W reach, with equality somewhere."""
    worst = 0.0
    for X in small_worlds():
        for y in itertools.product([-1.0, 0.5], repeat=2):
            for j, sign in itertools.product(range(3), (-1, 1)):
                start = np.zeros(3, dtype=np.int64)
                start[j] = sign * _core.START_WEIGHT
                g = _core.L1Gradient(sparse(X), np.array(y), l1=1.0, start=start)
                for k, numerator in enumerate(g.numerators()):
                    limit = g.total * g.reach(k)
                    assert abs(numerator) <= limit
                    worst = max(worst, abs(numerator) / limit if limit else 0.0)
    assert worst == 1.0


def test_draws_from_loose_bounds_follow_the_law(bits):
    """One draw from each of many sets of bounds that four steps have left as they are."""
    X = np.array([[1.0, 0.06, -1.0, 0.5, 0.02], [-1.0, 0.06, 0.0, 1.0, 0.01]])
    y, epsilon, drawn = [1.0, -0.4], 6.0, []
    for turn in range(10_000):
        g = gradient(X, y, sparse)
        bounds = bounds_of(g, epsilon, turn % 2)
        walk(g, bounds, (1, -3, 1, 4))
        drawn.append(_core.draw_vertex(g, bounds, epsilon, bits))
    assert_follows([drawn.count(v) for v in vertices(5)], step_law(g, epsilon, 1.0))


@pytest.mark.parametrize("steps", [1, 60])
def test_a_seeded_run_is_the_same_for_dense_and_sparse_rows(steps):
    """Down to the columns that are tracked, with few of them and with all."""
    rng = np.random.default_rng(SEED)
    X = np.where(rng.random((300, 400)) < np.linspace(0.002, 0.6, 400), 1.0, 0.0)
    y = np.clip(X[:, -1] - 0.5 * X[:, -2] + 0.1 * rng.standard_normal(300), -1, 1)
    counts = []
    for epsilon in (0.02, 0.3, 20.0):
        runs = []
        for make in (dense, sparse):
            g = gradient(X, y, make)
            run = _core.dp_frank_wolfe(
                g, steps=steps, epsilon_step=epsilon, bits=_core.TestBits(SEED)
            )
            runs.append((run["path"].tolist(), run["weights"].tolist(), g.tracked.tolist()))
        assert runs[0] == runs[1]
        counts.append(len(runs[0][2]))
    assert counts[0] < counts[-1] <= 400


def test_wrong_groups_are_refused():
    g = gradient(np.eye(2), [1.0, 1.0])
    bounds = _core.VertexBounds(g, active=np.ones(2))
    for call in (bounds.refresh, bounds.numerators):
        with pytest.raises(ValueError, match="no such group"):
            call(7)
    with pytest.raises(ValueError, match="tracked"):
        _core.VertexBounds(g, 1.0).remove(0)


@pytest.mark.parametrize(
    "change",
    [lambda g: g.step(0, True), lambda g: g.drop(0),
     lambda g: _core.VertexBounds(g, active=np.ones(3))],
    ids=["a step", "a drop", "other bounds"],
)  # fmt: skip
def test_bounds_that_have_not_followed_are_not_drawn_from(change, bits):
    """Of a stale bound the law would be another one, and slots would be of other columns."""
    g = gradient(np.eye(3), [1.0, -0.5, 0.25])
    bounds = _core.VertexBounds(g, active=np.array([1.0, 0.0, 1.0]))
    walk(g, bounds, (1, -3))
    kept = change(g)
    calls = (
        lambda: _core.draw_vertex(g, bounds, 1.0, bits), lambda: bounds.numerators(0),
        lambda: bounds.refresh(0), lambda: bounds.remove(0),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match="follow each step"):
            call()
    del kept


def test_two_steps_cannot_be_followed_at_once():
    """What the first of them touched is no longer known, however often they try."""
    g = gradient(np.eye(3), [0.0, -0.5, 0.25])
    bounds = _core.VertexBounds(g, active=np.ones(3))
    g.step(0, True)
    g.step(1, False)
    for _ in range(3):
        with pytest.raises(ValueError, match="follow each step"):
            bounds.follow(g.total, g.touched)
    with pytest.raises(ValueError, match="follow each step"):
        bounds.numerators(0)


def test_other_bounds_cannot_be_followed():
    """Slots are of other columns then."""
    g = gradient(np.eye(3), [0.0, -0.5, 0.25])
    bounds = _core.VertexBounds(g, active=np.ones(3))
    kept = _core.VertexBounds(g, active=np.array([0.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="follow each step"):
        bounds.follow(g.total, g.touched)
    walk(g, kept, (1, -3))
