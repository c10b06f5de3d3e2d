"""What families say of means, links and slopes, against scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from dpreg.errors import ArgumentError
from dpreg.families import (
    BINOMIAL,
    GAUSSIAN,
    POISSON,
    PROBIT,
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
        (POISSON, np.exp),
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


def test_links_are_those_of_statsmodels():
    from statsmodels.genmod import families

    for family, theirs in ((BINOMIAL, families.Binomial()), (POISSON, families.Poisson())):
        assert type(theirs.link).__name__.lower() == family.link
        np.testing.assert_allclose(family.mean(ETA / 2), theirs.link.inverse(ETA / 2), rtol=1e-9)


def test_a_binomial_family_has_two_links():
    assert with_link(BINOMIAL, None) is with_link(BINOMIAL, "logit") is BINOMIAL
    assert with_link(BINOMIAL, "probit") is with_link(PROBIT, None) is PROBIT
    assert with_link(PROBIT, "logit") is BINOMIAL
    for family, link in ((BINOMIAL, "cloglog"), (POISSON, "probit"), (GAUSSIAN, 1), (BINOMIAL, [])):
        with pytest.raises(ArgumentError, match="link"):
            with_link(family, link)


def test_what_stands_for_a_family():
    assert family_from("poisson") is POISSON
    assert family_from(BINOMIAL) is BINOMIAL
    assert family_from("quantile") == family_from(Quantile) == Quantile(0.5)
    assert Quantile(0.9).most_residual == 0.9


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
