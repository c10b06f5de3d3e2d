"""Scores, one after another, with what is left of the squared mu."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpreg import _core
from dpreg.base.families import GAUSSIAN
from dpreg.data.design import Design, Terms
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.limits import FIRST_NORMS, Limits, along, count_norms, of_few
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.matrix_errors import MatrixErrors
from dpreg.estimation.newton.newton import newton
from dpreg.estimation.newton.norm_tail import NormTail, bins_around
from dpreg.estimation.newton.rounds import Rounds
from dpreg.estimation.newton.secant import Path
from dpreg.estimation.newton.second_moments import Moments
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.rows import mapped_rows, standard_units
from dpreg.estimation.releases.standardisation import Scales


def whitening(theta):
    width = len(theta)
    known = Moments(np.eye(width), np.zeros((width, width)), np.zeros(width, dtype=bool))
    return Whitening(np.eye(width), np.zeros((width, 0)), theta, 1.0, known, np.ones(width))


@pytest.mark.parametrize("share", [0.15, 0.2, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_norms_are_not_counted_with_what_scores_need(share, seed):
    # Noise is so large that norms would be counted after each round.
    rng = np.random.default_rng(seed)
    n, d = 300, 5
    ends, ones = np.full(d + 1, 6.0), np.ones(d + 1, dtype=bool)
    scales = Scales(
        low=-ends, high=ends, centre=np.zeros(d + 1), scale=np.ones(d + 1), given=ones,
        spread=np.full(d + 1, np.inf), seen=ones, response_found=True, units=float(n),
    )  # fmt: skip
    terms = Terms(response="y", names=tuple("abcde"), intercept=False)
    design = Design.of(rng.normal(size=(n, d)), rng.normal(size=n), terms)
    units = standard_units(scales, intercept=False)
    rows = mapped_rows(design, scales, units, np.eye(d), 20.0, kept=True, aim=np.zeros(d))
    noise = GaussianReleases(1.0, 1e-5, _core.TestBits(seed))
    expected = Limits(math.inf, None, math.sqrt(d), 0.0, d)
    first = count_norms(rows, np.zeros(d), expected, noise, 0.02, share, FIRST_NORMS)
    path = Path(np.ones(d), MatrixErrors.of_entries(np.zeros((d, d))), np.zeros(d))
    found = whitening(np.zeros(d))
    newton(Rounds(rows, path, float(n), noise, first, Linearised(found, GAUSSIAN)), share)
    spent = [(part.mu / noise.mu) ** 2 for part in noise.parts[1:]]
    assert sum(spent) == pytest.approx(share, rel=1e-3)
    assert sum(spent) <= share
    assert noise.parts[-1].label.startswith("score")


def test_limits_are_wider_where_what_they_take_off_has_one_direction():
    starts = bins_around(2.0, 3)
    ends = np.append(2.0 ** ((starts[1:] + _core.LEAST_SCORE_BIN) / 2), np.inf)
    tail = NormTail(1e4 * np.diff(1 - np.exp(-ends / 2), prepend=0.0), starts, 5.0)
    limits = Limits(math.inf, tail, tail.root_mean_square, tail.squares, 6.0)
    aligned = replace(limits, aligned=True)
    assert aligned.best(0.1, np.zeros(6)) == limits.best(0.1 / along(6.0), np.zeros(6))
    assert aligned.best(0.1, np.zeros(6)) > limits.best(0.1, np.zeros(6))


@pytest.mark.parametrize("seen", [0, 1, 2])
def test_what_is_seen_is_kept_where_all_of_the_intercept_is_hidden(seen):
    # As of nine like rows without noise, from which moments could not be told.
    found = whitening(np.arange(3.0))
    hidden = np.delete(np.eye(3), seen, axis=1)
    left, basis = found.without(hidden, centred=True)
    np.testing.assert_allclose(np.abs(left.change.ravel()), np.eye(3)[seen], atol=1e-12)
    np.testing.assert_allclose(np.abs(basis.ravel()), np.eye(3)[seen], atol=1e-12)
    assert abs(np.linalg.det(np.column_stack([left.change, left.unseen]))) == pytest.approx(1.0)


@pytest.mark.parametrize(("ends", "most"), [(True, 3.0), (False, np.inf)])
def test_limits_of_few_rows_of_0_and_1_are_no_more_than_three_norms(ends, most):
    """Nor less than the score of a rare event; others are as counts say, clear or not."""
    starts = bins_around(2.0, 3)
    counts = np.full(len(starts), 30.0)  # noise of 20 is most of them
    tail = NormTail(counts, starts, 20.0)
    counted = Limits(40.0, tail, tail.root_mean_square, tail.squares, 4.0, least=2.0)
    found = of_few(counted, 1.0, 1000.0, 0.2, ends=ends)
    assert found.limit == min(40.0, most * found.norm)
    rare = of_few(replace(counted, least=30.0), 1.0, 1000.0, 0.2, ends=ends)
    assert rare.limit == (30.0 if ends else 40.0)
