"""Scores with and without noise, and where they lead."""

from __future__ import annotations

import numpy as np
import pytest

from dpreg.estimation.newton.matrix_errors import MatrixErrors
from dpreg.estimation.newton.secant import Observation, Path


def errors_of(width, variance):
    return MatrixErrors.of_entries(np.full((width, width), 2 * variance))


def path_of(width, doubt, sizes=None):
    """From 0, the curvature being 1 up to as much."""
    sizes = np.ones(width) if sizes is None else sizes
    return Path(sizes, errors_of(width, doubt), np.zeros(width))


def seen(at, score, deviation):
    return Observation(at, score, np.full(len(at), deviation), 1.0)


def wrong_by(width, share, rng):
    """A true curvature, no eigenvalue further from 1 than `share`."""
    turn, _ = np.linalg.qr(rng.standard_normal((width, width)))
    return (turn * (1 + share * rng.uniform(-1, 1, width))) @ turn.T


def walk(path, true, root, steps, deviation, rng=None):
    for _ in range(steps):
        score = true @ (root - path.theta)
        if rng is not None:
            score = score + deviation * rng.standard_normal(len(root))
        path.add(seen(path.theta, score, deviation))
    return path


@pytest.mark.parametrize("width", [1, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_exact_scores_lead_to_the_root(width, seed):
    rng = np.random.default_rng(seed)
    true, root = wrong_by(width, 0.3, rng), rng.standard_normal(width)
    path = walk(path_of(width, 0.01), true, root, 10, 1e-12)
    assert np.abs(path.theta - root).max() < 1e-6
    # One pair of scores is enough for one coefficient.
    if width == 1:
        short = walk(path_of(1, 0.01), true, root, 3, 1e-12)
        assert np.abs(short.theta - root).max() < 1e-6


def test_the_true_curvature_needs_one_score():
    rng = np.random.default_rng(1)
    true, root = wrong_by(4, 0.3, rng), rng.standard_normal(4)
    path = path_of(4, 1e-4)
    path.curvature = true
    walk(path, true, root, 1, 1e-12)
    np.testing.assert_allclose(path.theta, root, atol=1e-12)
    assert path.weights.tolist() == [1.0]


@pytest.mark.parametrize("width", [1, 5])
def test_weights_are_shares_and_favour_quiet_scores(width):
    rng = np.random.default_rng(2)
    true, root = wrong_by(width, 0.2, rng), rng.standard_normal(width)
    path = path_of(width, 0.01)
    for steps, deviation in [(2, 0.3), (3, 0.05), (1, 0.001)]:
        for _ in range(steps):
            walk(path, true, root, 1, deviation, rng)
            assert len(path.weights) == len(path.observations)
            assert (path.weights >= 0).all()
            assert path.weights.sum() == pytest.approx(1)
    assert path.weights.argmax() == len(path.weights) - 1
    np.testing.assert_allclose(path.curvature, path.curvature.T)
    assert np.linalg.eigvalsh(path.curvature).min() >= 0.1 - 1e-12


def test_errors_are_as_large_as_is_said():
    """Four scores of like noise, the curvature wrong by as much as is doubted."""
    squares = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        wrong = 0.1 * rng.standard_normal((3, 3)) / np.sqrt(2)
        true, root = np.eye(3) + wrong + wrong.T, rng.standard_normal(3)
        path = walk(path_of(3, 0.01), true, root, 4, 0.02, rng)
        squares.append(np.mean((true @ (path.theta - root)) ** 2) / path.variance)
    assert 0.6 < np.mean(squares) < 1.4


def test_a_score_that_does_not_fall_is_unsettled():
    path, root = path_of(3, 0.01), np.array([0.5, 0.0, -0.5])
    assert not path.unsettled.any()
    for _ in range(3):
        score = root - path.theta
        score[1] = 0.7  # of clipped rows
        path.add(seen(path.theta, score, 0.01))
        if len(path.observations) > 1:
            assert path.unsettled.tolist() == [False, True, False]


@pytest.mark.parametrize(("doubt", "unsettled"), [(0.02, False), (1e-4, True)])
def test_what_a_wrong_curvature_leaves_is_unsettled_only_where_it_was_not_doubted(doubt, unsettled):
    """A long step along one coordinate, with a curvature that moves the score of the other."""
    path, true = path_of(2, doubt), np.array([[1.0, 0.15], [0.15, 1.0]])
    walk(path, true, np.linalg.solve(true, [1.3, 0.3]), 2, 1e-3)
    assert path.unsettled.tolist() == [False, unsettled]


def test_noise_alone_is_not_unsettled():
    rng = np.random.default_rng(3)
    path = walk(path_of(40, 0.01), np.eye(40), np.zeros(40), 6, 0.5, rng)
    assert not path.unsettled.any()


def test_noise_of_a_loud_step_is_not_unsettled():
    """The last score is quiet, and sees what noise the one before put into the step."""
    flagged = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        path = path_of(8, 1e-4)
        for deviation in (0.02, 0.005, 0.0008):
            walk(path, np.eye(8), np.zeros(8), 1, deviation, rng)
        flagged += path.unsettled.any()
    # Each of 8 entries with a probability of at most .0027, most of them less; 29 of these when the
    # last was compared with its own noise alone.
    assert flagged <= 10


def test_noise_over_short_steps_is_no_curvature():
    """The curvature is right; with false alarms in one pair of fifty it was .1 to 2.4."""
    worst, missed = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        path = walk(path_of(1, 1e-3), np.eye(1), np.full(1, 0.05), 5, 0.004, rng)
        worst.append(abs(path.curvature[0, 0] - 1))
        missed.append(abs(path.theta[0] - 0.05))
    assert np.mean(np.array(worst) > 0.2) < 0.02
    assert max(missed) < 0.02


def test_one_loud_difference_over_a_short_step_is_no_curvature():
    """Noise of 3.5 deviations, of a mean of 5,000 scores: the curvature was 55."""
    path = Path(np.ones(1), errors_of(1, 0.01), np.zeros(1), still=0.01)
    path.add(Observation(np.array([0.21]), np.array([1.57]), np.array([0.54]), 18.0))
    path.add(Observation(np.array([0.24]), np.array([-0.63]), np.array([0.27]), 18.0))
    assert 1 <= path.curvature[0, 0] < 2


@pytest.mark.parametrize("width", [1, 4])
def test_what_is_wrong_with_a_curvature_as_a_share_is_wrong_with_that_it_changes_to(width):
    """However steep: added up, a curvature of 2 for 1 would be 1.01 where it is .01."""
    rng = np.random.default_rng(width)
    before, after = wrong_by(width, 0.3, rng), wrong_by(width, 0.3, rng) / 100
    for times in (1.0, 2.0):
        path = path_of(width, 0.01)
        path.curvature = times * before
        path.bend(before, after)
        np.testing.assert_allclose(path.curvature, times * after, rtol=1e-9, atol=1e-12)


def test_the_curvature_of_levels_is_added_up():
    path = Path(np.ones(2), errors_of(2, 0.01), np.zeros(2), told=np.array([True, False]))
    path.curvature = np.diag([1.5, 1.0])
    path.bend(np.eye(2), np.diag([0.5, 1.0]))
    np.testing.assert_allclose(path.curvature, np.eye(2), atol=1e-12)


def test_the_end_is_at_the_root_where_the_curvature_fell_along_one_direction():
    root = np.array([3.0, 0.4])

    def score(at):  # the first entry flattens out as probabilities do near 0
        return np.array([np.exp(-at[0]) - np.exp(-root[0]), root[1] - at[1]])

    path = path_of(2, 1e-4)
    for at in (0.0, 1.0, 2.0):
        path.add(seen(np.array([at, 0.3]), score(np.array([at, 0.3])), 1e-3))

    def off():
        error = np.sqrt(path.inverse @ path.errors @ path.inverse)[0, 0]
        return abs(path.theta[0] - root[0]), error

    before, error = off()
    assert before > 3 * error
    path.end(np.diag([np.exp(-path.theta[0]), 1.0]))
    after, error = off()
    assert after < before / 2
    assert after < error < 2 * before
    assert path.theta[1] == pytest.approx(root[1], abs=1e-6)


def test_errors_of_the_end_are_those_of_noise_and_no_larger_where_nothing_changed():
    rng, off, one = np.random.default_rng(3), [], []
    for _ in range(400):
        path = walk(path_of(3, 1e-6), np.eye(3), np.full(3, 0.05), 4, 0.02, rng)
        path.end(path.curvature)
        error = np.sqrt(np.diag(path.inverse @ path.errors @ path.inverse))
        off.append((path.theta - 0.05) / error)
        one.append(error / 0.02)
    assert np.sqrt(np.mean(np.square(off))) == pytest.approx(1, abs=0.08)
    assert np.mean(one) == pytest.approx(0.5, abs=0.05)  # four scores together
