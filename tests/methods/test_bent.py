"""Where scores are not straight lines, intervals are as long as inverting the score says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import dpreg
from dpreg.families import BINOMIAL, POISSON, PROBIT
from dpreg.inference.bent import bent_factors
from dpreg.sums.two_values import TwoValues


def level(share):
    """An indicator that this share of the rows has, centred."""
    values = np.array([[-share], [1 - share]])
    return TwoValues(np.zeros(1), values, np.array([[1 - share], [share]]))


@pytest.mark.parametrize("family", [BINOMIAL, PROBIT, POISSON], ids=lambda f: f.link)
@pytest.mark.parametrize("slope", [-1.5, 0.0, 1.5])
def test_the_longer_half_is_that_of_the_inverted_score(family, slope):
    regressors, centre, error = level(0.05), -1.0, 0.3
    (factor,) = bent_factors(family, centre, np.array([slope]), regressors, np.array([error]))
    values, shares = regressors.values[:, 0], regressors.shares[:, 0]
    at = centre + slope * values

    def fallen(u):
        return float(shares @ (values * (family.mean(at + u * values) - family.mean(at))))

    wanted = float(shares @ (values**2 * family.slope(at))) * 1.96 * error
    ends = [optimize.brentq(lambda u, s=s: s * fallen(s * u) - wanted, 0, 20) for s in (-1, 1)]
    assert factor == pytest.approx(max(1.0, max(ends) / (1.96 * error)), rel=0.03)


def test_small_errors_keep_their_length_and_those_of_separated_rows_have_no_end():
    slopes, shares = np.array([0.0]), level(0.05)
    assert bent_factors(BINOMIAL, 0.0, slopes, shares, np.array([1e-3]))[0] < 1.01
    # Of the mean .0067 is left, and errors are larger.
    constant = TwoValues(np.ones(1), np.ones((2, 1)), np.full((2, 1), 0.5))
    assert bent_factors(BINOMIAL, 5.0, np.array([5.0]), constant, np.array([0.6]))[0] == 10


def test_a_rare_level_with_most_of_a_rare_outcome_is_found():
    """Steps from the common mean led past the root and back, round after round, and ended nowhere.

    Reference: exact logistic regression of a two-way table, log odds.
    """
    rng = np.random.default_rng(5)
    x, z = (rng.random(100_000) < 0.05), (rng.random(100_000) < 0.5)
    y = rng.random(100_000) < np.where(x, 0.75, 0.013)
    data = {name: column.astype(float) for name, column in (("x", x), ("z", z), ("y", y))}
    fit = dpreg.dp_glm("y ~ x + z", data, 1.0, 1e-6, rng=3)
    odds = [p / (1 - p) for p in (y[~x].mean(), y[x].mean())]
    exact = np.log(odds[1] / odds[0])
    assert fit.bse["x"] < 0.3
    assert abs(fit.params["x"] - exact) < 5 * fit.bse["x"]
