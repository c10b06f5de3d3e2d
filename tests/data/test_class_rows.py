"""Rows of classes: by definition, finite, and of one record each."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from unsealed import units_of

import dpreg
from dpreg.data.class_steps import RowsOfStep
from dpreg.data.classes import Baseline, Ordered, RowsOfClasses
from dpreg.data.design import Design, Terms
from dpreg.data.expanded import expanded
from dpreg.data.units import Units

CALLS = {"ordinal": dpreg.dp_ordinal, "multinomial": dpreg.dp_multinomial}
both = pytest.mark.parametrize("model", ["ordinal", "multinomial"])


def by_hand(model, x, code, levels, base=0):
    """Return rows of one record: predictors' columns, and the response."""
    if code not in range(levels):
        return []
    if model == "ordinal":
        place = [[-float(k == j) for j in range(levels - 1)] for k in range(levels - 1)]
        return [([x, *own], float(code > k)) for k, own in enumerate(place)]
    others = [k for k in range(levels) if k != base]
    blocks = others if code == base else [code]
    rows = [[v for j in others for v in ([1.0, x] if j == k else [0.0, 0.0])]
            for k in blocks]  # fmt: skip
    return [(row, float(code != base)) for row in rows]


def expansion_of(model, levels, base=0):
    names = tuple(range(levels)), ("x",)
    classes = Ordered(*names) if model == "ordinal" else Baseline(*names, base=base)
    return RowsOfClasses(classes, False, (0.0,), (1.0,))


@pytest.mark.parametrize("levels", [2, 3, 5])
@pytest.mark.parametrize(
    ("model", "base"), [("ordinal", 0), ("multinomial", 0), ("multinomial", 1)]
)
def test_rows_are_those_of_the_definition(model, levels, base):
    codes = np.array([*range(levels), -1.0, 0.5, levels, np.inf, 1.0, 0.0])
    x = np.arange(len(codes), dtype=float)
    X, y, counts = expansion_of(model, levels, base)(x[:, None], codes)
    wanted = [by_hand(model, a, code, levels, base) for a, code in zip(x, codes, strict=True)]
    assert counts.tolist() == [len(each) for each in wanted]
    flat = [row for each in wanted for row in each]
    np.testing.assert_array_equal(X, [row for row, _ in flat])
    np.testing.assert_array_equal(y, [response for _, response in flat])
    assert counts.max() == levels - 1


@pytest.mark.filterwarnings("error")
def test_rows_are_finite_wherever_records_are():
    X = np.array([[1e308], [-1e308]])
    for model in CALLS:
        moved = replace(expansion_of(model, 3), centre=(-1e308,), scale=(1e-3,))
        assert np.isfinite(moved(X, np.array([0.0, 2.0]))[0]).all()


def step_of(levels, base, theta, least=0.0, middle=None):
    classes = Baseline(tuple(range(levels)), ("x",), base=base)
    least = np.full(levels - 1, least)
    middle = theta if middle is None else middle
    return RowsOfStep(classes, False, (0.0,), (1.0,), theta, middle, least)


@pytest.mark.parametrize("least", [0.0, 0.2])
@pytest.mark.parametrize(("levels", "base"), [(2, 0), (2, 1), (3, 0), (4, 1), (4, 3)])
def test_rows_of_a_step_have_the_score_and_the_information_of_the_likelihood(levels, base, least):
    rng = np.random.default_rng(levels)
    theta, middle = rng.normal(size=(2, levels - 1, 2))
    x, codes = rng.normal(size=levels), np.arange(levels, dtype=float)
    X, y, counts = step_of(levels, base, theta, least, middle)(x[:, None], codes)
    assert counts.tolist() == [levels - 1] * levels
    X, y = X.reshape(levels, levels - 1, -1), y.reshape(levels, levels - 1)
    others = [k for k in range(levels) if k != base]
    for i, one in enumerate(np.column_stack([np.ones(levels), x])):
        p, q = (np.exp(at @ one) / (1 + np.exp(at @ one).sum()) for at in (theta, middle))
        happened = np.array([float(codes[i] == k) for k in others])
        np.testing.assert_allclose(y[i] @ X[i], np.kron(happened - p, one), atol=1e-12)
        information = X[i].T @ X[i]
        wanted = np.kron(np.diag(q) - np.outer(q, q), np.outer(one, one))
        if not least:
            np.testing.assert_allclose(information, wanted, atol=1e-12)
        # Where a class is improbable the step is shorter, and no response is longer.
        assert np.linalg.eigvalsh(information - wanted).min() > -1e-12


@pytest.mark.filterwarnings("error")
def test_rows_of_a_step_are_finite_and_those_of_one_record_alone():
    rng = np.random.default_rng(3)
    X = np.append([1e308, -1e308, 0.0], rng.normal(size=40))[:, None]
    codes = np.append([0.0, 2.0, 9.0], rng.integers(-1, 3, 40))
    made = step_of(3, 1, np.array([[1e3, 1e300], [0.1, -1.0]]), 0.01)
    whole = made(X, codes)
    assert all(np.isfinite(part).all() for part in whole)
    places = np.append(0, np.cumsum(whole[2]))
    for i in range(len(codes)):
        alone = made(X[i : i + 1], codes[i : i + 1])
        np.testing.assert_array_equal(alone[0].reshape(-1, 4), whole[0][places[i] : places[i + 1]])
        np.testing.assert_array_equal(alone[1], whole[1][places[i] : places[i + 1]])


@both
@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_more_is_so_many_rows_more_and_no_other_row_changes(model, most):
    expansion, others = expansion_of(model, 3), (np.array([[7.0], [8.0]]), np.array([2.0, 0.0]))
    alone = expansion(*others)
    for codes in itertools.product((-1.0, 0.0, 1.0, 2.0, 0.5), repeat=most):
        X, y, _ = expansion(
            np.vstack([np.zeros((most, 1)), others[0]]), np.append(codes, others[1])
        )
        assert len(y) - len(alone[1]) <= 2 * most
        np.testing.assert_array_equal(X[len(y) - len(alone[1]) :], alone[0])
        np.testing.assert_array_equal(y[len(y) - len(alone[1]) :], alone[1])
    design = Design.of(*others, Terms("y", ("x",), intercept=True), Units.from_labels(np.zeros(2)))
    made = expanded(design, expansion, 2, most, Terms("y", expansion.classes.names, False))
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
    rng, codes = np.random.default_rng(2), np.array([0.0, 1.0, 2.0, 0.0])
    X, plain = rng.normal(40, 3, (4, 1)), expansion_of(model, 3)
    moved = replace(plain, centre=(40.0,), scale=(3.0,))
    theta = rng.normal(size=len(plain.classes.names))
    user = plain.classes.back(np.array([40.0]), np.array([3.0])) @ theta
    np.testing.assert_allclose(plain(X, codes)[0] @ user, moved(X, codes)[0] @ theta, rtol=1e-12)
