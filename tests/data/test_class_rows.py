"""Rows of classes: by definition, finite, and of one record each."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from unsealed import units_of

import dpreg
from dpreg.base.families import BINOMIAL, PROBIT
from dpreg.data.class_likelihoods import CumulativeLikelihood, MultinomialLikelihood, RowsOfStep
from dpreg.data.classes import Baseline, Ordered
from dpreg.data.design import Design, Terms, Units
from dpreg.data.expanded import expanded

CALLS = {"ordinal": dpreg.dp_ordinal, "multinomial": dpreg.dp_multinomial}
FAMILIES = {"logit": BINOMIAL, "probit": PROBIT}
both = pytest.mark.parametrize("model", ["ordinal", "multinomial"])


def step_of(kind, levels, theta, least=0.0, middle=None, base=0):
    names = tuple(range(levels)), ("x",)
    if kind == "multinomial":
        likelihood = MultinomialLikelihood(Baseline(*names, base=base))
    else:
        likelihood = CumulativeLikelihood(Ordered(*names), FAMILIES[kind])
    middle = theta if middle is None else middle
    return RowsOfStep(
        likelihood, False, (0.0,), (1.0,), theta, middle, np.full(levels - 1, least)
    )  # fmt: skip


def chances_of(kind, theta, x, base=0):
    """Return probabilities of the classes by definition."""
    if kind == "multinomial":
        powers = np.exp(theta.reshape(-1, 2) @ [1.0, x])
        return np.insert(powers, base, 1.0) / (1 + powers.sum())
    below = FAMILIES[kind].mean(theta[1:] - theta[0] * x)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def beginnings(kind, levels, rng):
    """Return two vectors of coefficients."""
    if kind == "multinomial":
        return rng.normal(size=(2, 2 * (levels - 1)))
    return np.column_stack([rng.normal(size=2), np.sort(rng.normal(size=(2, levels - 1)))])


def derivatives(function, at):
    steps = 1e-6 * np.eye(len(at))
    return np.array([(function(at + h) - function(at - h)) / 2e-6 for h in steps])


@pytest.mark.parametrize("least", [0.0, 0.2])
@pytest.mark.parametrize(("kind", "levels", "base"), [
    ("multinomial", 2, 0), ("multinomial", 2, 1), ("multinomial", 3, 0), ("multinomial", 4, 1),
    ("multinomial", 4, 3), ("logit", 2, 0), ("logit", 5, 0), ("probit", 3, 0), ("probit", 4, 0),
])  # fmt: skip
def test_rows_of_a_step_have_the_score_and_the_information_of_the_likelihood(
    kind, levels, base, least
):
    rng = np.random.default_rng(levels)
    theta, middle = beginnings(kind, levels, rng)
    x, codes = rng.normal(size=levels), np.arange(levels, dtype=float)
    X, y, counts = step_of(kind, levels, theta, least, middle, base)(x[:, None], codes)
    assert counts.tolist() == [levels - 1] * levels
    X, y = X.reshape(levels, levels - 1, -1), y.reshape(levels, levels - 1)
    for i in range(levels):

        def chances(at, place=i):
            return chances_of(kind, at, x[place], base)

        score = derivatives(lambda at, place=i: np.log(chances(at))[place], theta)
        np.testing.assert_allclose(y[i] @ X[i], score, atol=1e-7)
        slope = derivatives(chances, middle)
        wanted, information = slope / chances(middle) @ slope.T, X[i].T @ X[i]
        if not least:
            np.testing.assert_allclose(information, wanted, atol=1e-7)
        # Where a class is improbable the step is shorter, and no response is longer.
        assert np.linalg.eigvalsh(information - wanted).min() > -1e-7


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("kind", "theta"), [
    ("multinomial", [1e3, 1e300, 0.1, -1.0]), ("logit", [1e300, -1e3, 1e3]),
    ("probit", [-2.0, -1e3, 4.0]), ("logit", [0.5, 2.0, -1.0]),
    ("logit", [1.0, 1e20, 1.0]), ("probit", [1.0, -1e300, -1e300]),
])  # fmt: skip
def test_rows_of_a_step_are_finite_and_those_of_one_record_alone(kind, theta):
    rng = np.random.default_rng(3)
    X = np.append([1e308, -1e308, 0.0], rng.normal(size=40))[:, None]
    codes = np.append([0.0, 2.0, 9.0], rng.integers(-1, 3, 40))
    made = step_of(kind, 3, np.array(theta), 0.01, base=1 if kind == "multinomial" else 0)
    held = made.likelihood.held(made.start, np.array([0.5, 0.3, 0.2]))
    made = replace(made, start=held, middle=held)
    whole = made(X, codes)
    assert all(np.isfinite(part).all() for part in whole)
    places = np.append(0, np.cumsum(whole[2]))
    for i in range(len(codes)):
        alone = made(X[i : i + 1], codes[i : i + 1])
        width = whole[0].shape[1]
        rows = alone[0].reshape(-1, width)
        np.testing.assert_array_equal(rows, whole[0][places[i] : places[i + 1]])
        np.testing.assert_array_equal(alone[1], whole[1][places[i] : places[i + 1]])


@pytest.mark.parametrize("kind", ["logit", "probit"])
def test_a_predictor_that_is_no_number_is_near_a_threshold(kind):
    """Of inf - inf nothing is known, and far from all thresholds a probability would be 0."""
    likelihood = CumulativeLikelihood(Ordered((0, 1, 2), ("x", "z")), FAMILIES[kind])
    theta = likelihood.held(np.array([1e10, 1e10, 5e3, 5e3]), np.full(3, 1 / 3))
    made = RowsOfStep(likelihood, False, (0.0,) * 2, (1.0,) * 2, theta, theta, np.full(2, 0.01))
    for part in made(np.array([[1e300, -1e300]] * 3), np.arange(3.0)):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("kind", ["multinomial", "logit", "probit"])
def test_a_constant_model_has_the_shares_of_classes(kind):
    shares = np.array([0.1, 0.3, 0.55, 0.05])
    likelihood = step_of(kind, 4, np.zeros(0), base=2).likelihood
    theta = likelihood.constant(shares)
    base = 2 if kind == "multinomial" else 0
    np.testing.assert_allclose(chances_of(kind, theta, 3.0, base), shares)
    np.testing.assert_array_equal(likelihood.held(theta, shares), theta)


@pytest.mark.parametrize("kind", ["logit", "probit"])
def test_thresholds_are_as_alike_as_their_columns_are_without_slopes(kind):
    shares = np.array([0.5, 0.25, 0.15, 0.07, 0.03])
    likelihood = step_of(kind, 5, np.zeros(0)).likelihood
    theta = likelihood.constant(shares)
    X, _, _ = step_of(kind, 5, theta)(np.zeros((1, 1)), np.zeros(1))
    _, sizes = likelihood.usual(shares)
    columns = X[:, 1:] / sizes[1:]
    np.testing.assert_allclose(likelihood.alike(shares), columns.T @ columns, atol=1e-12)


def test_thresholds_of_a_start_are_in_order_and_apart():
    likelihood = step_of("logit", 5, np.zeros(0)).likelihood
    shares = np.full(5, 0.2)
    held = likelihood.held(np.array([7.0, 3.0, -1.0, 2.0, 2.0]), shares)
    assert held[0] == 7.0
    gaps = np.diff(likelihood.constant(shares)[1:])
    assert (np.diff(held[1:]) >= gaps / 2 - 1e-12).all()


def rows_of(model):
    """Return what makes rows of three classes, and its coefficients."""
    theta = np.array([0.3, -1.0, 0.2, 0.4] if model == "multinomial" else [0.3, -1.0, 1.0])
    return step_of("multinomial" if model == "multinomial" else "logit", 3, theta)


@both
@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_more_is_so_many_rows_more_and_no_other_row_changes(model, most):
    expansion, others = rows_of(model), (np.array([[7.0], [8.0]]), np.array([2.0, 0.0]))
    alone = expansion(*others)
    for codes in itertools.product((-1.0, 0.0, 1.0, 2.0, 0.5), repeat=most):
        X, y, _ = expansion(
            np.vstack([np.zeros((most, 1)), others[0]]), np.append(codes, others[1])
        )
        assert len(y) - len(alone[1]) <= 2 * most
        np.testing.assert_array_equal(X[len(y) - len(alone[1]) :], alone[0])
        np.testing.assert_array_equal(y[len(y) - len(alone[1]) :], alone[1])
    design = Design.of(*others, Terms("y", ("x",), intercept=True), Units.from_labels(np.zeros(2)))
    made = expanded(
        design, expansion, 2, most, Terms("y", expansion.likelihood.classes.names, False)
    )
    assert units_of(made).most == 2 * most


def test_coefficients_of_rows_compared_with_another_class_are_those_against_the_first():
    # Given any two classes, which of them it is has the difference of their coefficients.
    theta = np.random.default_rng(4).normal(size=(4, 2))
    for base in range(4):
        classes = Baseline(tuple(range(4)), ("x",), base=base)
        rows = np.delete(theta - theta[base], base, axis=0).ravel()
        user = classes.back(np.zeros(1), np.ones(1)) @ rows
        np.testing.assert_allclose(user, (theta[1:] - theta[0]).ravel())


@both
def test_coefficients_of_rows_in_units_are_those_of_covariates(model):
    X, codes = np.random.default_rng(2).normal(40, 3, (4, 1)), np.array([0.0, 1.0, 2.0, 0.0])
    moved = replace(rows_of(model), centre=(40.0,), scale=(3.0,))
    theta = moved.likelihood.classes.back(np.array([40.0]), np.array([3.0])) @ moved.start
    plain = replace(moved, centre=(0.0,), scale=(1.0,), start=theta, middle=theta)
    np.testing.assert_allclose(plain(X, codes)[1], moved(X, codes)[1], atol=1e-9)
