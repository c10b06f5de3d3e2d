"""What families say of means, links and slopes, against scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from dpreg.base.errors import ArgumentError
from dpreg.base.families import (
    BINOMIAL,
    CLOGLOG,
    FAMILIES,
    GAMMA,
    GAUSSIAN,
    POISSON,
    PROBIT,
    NegativeBinomial,
    Quantile,
    family_from,
    with_link,
)

ETA = np.linspace(-30, 30, 61)


@pytest.mark.parametrize(
    ("family", "mean"),
    [
        (GAUSSIAN, lambda e: e),
        (BINOMIAL, special.expit),
        (PROBIT, special.ndtr),
        (CLOGLOG, lambda e: -np.expm1(-np.exp(e))),
        (POISSON, np.exp),
        (GAMMA, np.exp),
        (NegativeBinomial(0.5), np.exp),
        (Quantile(), lambda e: e),
    ],
)
def test_means_slopes_and_links(family, mean):
    np.testing.assert_allclose(family.mean(ETA), mean(ETA), rtol=1e-12, atol=1e-16)
    step = 1e-5
    slope = (family.mean(ETA + step) - family.mean(ETA - step)) / (2 * step)
    np.testing.assert_allclose(family.slope(ETA), slope, rtol=1e-4, atol=1e-9)
    for predictor in (-3.0, -0.5, 0.0, 2.0):
        at = float(family.mean(np.array([predictor]))[0])
        assert family.predictor(at) == pytest.approx(predictor, abs=1e-12)


def test_far_out_a_probit_is_flat():
    """Squares of what is predicted from cells near the largest double overflow."""
    far = np.array([-1e308, -1e200, -40.0, 40.0, 1e160, np.inf])
    with np.errstate(all="raise", under="ignore"):
        assert PROBIT.slope(far).tolist() == [0.0] * 6
        assert np.abs(PROBIT.bend(far)).tolist() == [0.0] * 6


def test_far_out_a_complementary_log_log_is_flat():
    far = np.array([-np.inf, -1e308, -800.0, 40.0, 1e160, np.inf])
    with np.errstate(all="raise", under="ignore"):
        assert CLOGLOG.slope(far).max() < 1e-300
        assert np.abs(CLOGLOG.bend(far)).max() < 1e-300
        np.testing.assert_array_equal(CLOGLOG.mean(far) > 0.5, [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("family", [BINOMIAL, PROBIT, CLOGLOG, POISSON], ids=lambda f: f.link)
def test_bends_are_derivatives_of_slopes(family):
    step = 1e-5
    bend = (family.slope(ETA / 5 + step) - family.slope(ETA / 5 - step)) / (2 * step)
    np.testing.assert_allclose(family.bend(ETA / 5), bend, rtol=1e-6, atol=1e-9)


def test_links_are_those_of_statsmodels():
    from statsmodels.genmod import families

    theirs = families.links.CLogLog()
    np.testing.assert_allclose(CLOGLOG.mean(ETA / 9), theirs.inverse(ETA / 9), rtol=1e-9)
    np.testing.assert_allclose(CLOGLOG.slope(ETA / 9), theirs.inverse_deriv(ETA / 9), rtol=1e-9)

    for family, theirs in ((BINOMIAL, families.Binomial()), (POISSON, families.Poisson())):
        assert type(theirs.link).__name__.lower() == family.link
        np.testing.assert_allclose(family.mean(ETA / 2), theirs.link.inverse(ETA / 2), rtol=1e-9)


@pytest.mark.parametrize("family", [BINOMIAL, POISSON, GAMMA, NegativeBinomial(0.7)], ids=str)
def test_scores_and_variances_are_those_of_statsmodels(family):
    """Their weights are the derivative of the mean over variance, for a score in the predictor."""
    from statsmodels.genmod import families

    theirs = {
        "binomial": families.Binomial(),
        "poisson": families.Poisson(),
        "gamma": families.Gamma(families.links.Log()),
        "negativebinomial": families.NegativeBinomial(alpha=0.7),
    }[family.name]
    mean, slope = family.mean(ETA / 9), family.slope(ETA / 9)
    np.testing.assert_allclose(family.variance(mean), theirs.variance(mean), rtol=1e-9)
    np.testing.assert_allclose(family.weight(ETA / 9), slope / theirs.variance(mean), rtol=1e-9)
    np.testing.assert_allclose(family.curvature(ETA / 9), theirs.weights(mean), rtol=1e-9)


@pytest.mark.parametrize("family", [*FAMILIES.values(), PROBIT, CLOGLOG], ids=str)
def test_curvature_is_minus_the_derivative_of_the_expected_score(family):
    predictor, mean, step = ETA / 9, family.mean(np.full_like(ETA, 0.4)), 1e-6

    def score(at):
        return (mean - family.mean(at)) * family.weight(at)

    slope = (score(predictor - step) - score(predictor + step)) / (2 * step)
    np.testing.assert_allclose(family.curvature(predictor, mean), slope, rtol=1e-6, atol=1e-8)
    at_it = family.curvature(predictor, family.mean(predictor))
    np.testing.assert_allclose(family.curvature(predictor), at_it, rtol=1e-12)


def test_a_binomial_family_has_three_links():
    assert with_link(BINOMIAL, "cloglog") is with_link(PROBIT, "cloglog") is CLOGLOG
    assert with_link(BINOMIAL, None) is with_link(BINOMIAL, "logit") is BINOMIAL
    assert with_link(BINOMIAL, "probit") is with_link(PROBIT, None) is PROBIT
    assert with_link(PROBIT, "logit") is BINOMIAL
    wrong = (
        (BINOMIAL, "cauchit"),
        (POISSON, "cloglog"),
        (GAMMA, "inverse"),
        (GAUSSIAN, 1),
        (BINOMIAL, []),
    )
    for family, link in wrong:
        with pytest.raises(ArgumentError, match="link"):
            with_link(family, link)


def test_what_stands_for_a_family():
    assert family_from("poisson") is POISSON
    assert family_from(BINOMIAL) is BINOMIAL
    assert family_from("quantile") == family_from(Quantile) == Quantile(0.5)
    assert Quantile(0.9).most_residual == 0.9
    assert family_from("gamma") is GAMMA
    assert family_from("negativebinomial") == family_from(NegativeBinomial) == NegativeBinomial()
    assert NegativeBinomial().dispersed
    assert not NegativeBinomial(1).dispersed
    assert with_link(GAMMA, "log") is GAMMA


@pytest.mark.parametrize("alpha", [0, -1.0, 1e4, "1", True, np.nan])
def test_dispersions_that_are_none(alpha):
    with pytest.raises(ValueError, match=r"alpha must be a number in \[0.001, 1000\]"):
        NegativeBinomial(alpha)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ("binomal", "write family='binomial'"),
        (3, "must be one of"),
        (None, "must be one of"),
    ],
)
def test_what_does_not(family, message):
    with pytest.raises(ValueError, match=message):
        family_from(family)


@pytest.mark.parametrize("q", [0, 1, 0.999, "0.5", True, np.nan])
def test_quantiles_that_cannot_be_told(q):
    with pytest.raises(ValueError, match=r"q must be a number in \[0.01, 0.99\]"):
        Quantile(q)
