"""Ready matrices go the way of a formula and a table."""

from __future__ import annotations

import numpy as np
import pytest
from unsealed import arrays_of

import dpreg
from dpreg.data.design import Terms
from dpreg.data.problem import ModelMatrix, blocks_of
from dpreg.faces.bridge import call as bridge
from dpreg.faces.bridge.answers import plain

FORMULA = "log(price) ~ log(carat) + depth"


def matrix_of(
    diamonds, labels=None, read=None, unit=None, names=("log(carat)", "depth"), intercept=True
):
    def records():
        columns = [np.log(diamonds["carat"]), diamonds["depth"]]
        y = np.log(diamonds["price"].astype(float))
        return blocks_of([c.to_numpy() for c in columns], y.to_numpy(), labels)

    return ModelMatrix(Terms("log(price)", names, intercept), read or records, unit)


def test_same_release_as_a_formula(diamonds):
    ours = dpreg.dp_lm("label", matrix_of(diamonds), 4.0, rng=3)
    theirs = dpreg.dp_lm(FORMULA, diamonds, 4.0, rng=3)
    np.testing.assert_array_equal(ours.estimates, theirs.estimates)
    np.testing.assert_array_equal(ours.covariance, theirs.covariance)
    assert ours.names == theirs.names
    with pytest.raises(ValueError, match="fitted from a matrix"):
        ours.predict(diamonds)


def test_same_release_of_units(diamonds):
    labels = np.arange(len(diamonds)) // 5
    labels[7] = -1
    matrix = matrix_of(diamonds, labels=labels, unit="person")
    ours = dpreg.dp_lm("label", matrix, 4.0, unit="person", rng=3)
    table = diamonds.assign(person=np.where(labels < 0, np.nan, labels))
    theirs = dpreg.dp_lm(FORMULA, table, 4.0, unit="person", rng=3)
    np.testing.assert_array_equal(ours.estimates, theirs.estimates)


@pytest.mark.parametrize("n", [0, 1, 8191, 8192, 8193, 20000])
def test_incomplete_rows_are_dropped(n):
    generator = np.random.default_rng(20260101)
    columns = [generator.normal(size=n) for _ in range(3)]
    y = generator.normal(size=n)
    for column in (*columns, y):
        column[generator.random(n) < 0.1] = generator.choice([np.nan, np.inf, -np.inf])
    matrix = ModelMatrix(Terms("y", ("a", "b", "c"), True), lambda: blocks_of(columns, y))
    design = matrix.design(1e9)
    complete = np.isfinite(np.column_stack([*columns, y])).all(axis=1)
    found = arrays_of(design)
    np.testing.assert_array_equal(found[0], np.column_stack(columns)[complete])
    np.testing.assert_array_equal(found[1], y[complete])


def test_records_are_read_after_the_budget_was_charged(diamonds):
    budget = dpreg.Budget(1.0, 1e-5)

    def never():
        raise AssertionError("the records were read")

    refused = matrix_of(diamonds, read=never)
    with pytest.raises(dpreg.BudgetError):
        dpreg.dp_lm("label", refused, 2.0, budget=budget)
    with pytest.raises(ValueError, match="method"):
        dpreg.dp_lm("label", refused, 1.0, method="magic")
    assert budget.charges == ()

    def charged():
        assert len(budget.charges) == 1
        return matrix_of(diamonds).read()

    dpreg.dp_lm("label", matrix_of(diamonds, read=charged), 1.0, 1e-5, budget=budget)


@pytest.mark.parametrize("names", [("a", "a"), ()])
def test_wrong_names(diamonds, names):
    with pytest.raises(ValueError, match=r"name|nothing"):
        matrix_of(diamonds, names=names, intercept=False)


def test_bridge_answers_with_values():
    assert bridge.call("defaults", {"kind": "Quantile"}) == {"value": {"q": 0.5}}
    assert bridge.call("new_budget", {"eps": -1, "delta": 0})["error"]["kind"] == "budget"
    assert bridge.call("no such function", {})["error"]["kind"] == "python"


@pytest.mark.parametrize("inference", ["yes", None, 1])
def test_inference_is_a_boolean(diamonds, inference):
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(ValueError, match="inference must be True or False"):
        dpreg.dp_lm("price ~ carat", diamonds, 0.5, budget=budget, inference=inference)
    assert budget.charges == ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**40, 2.0**40),
        (np.float64(0.5), 0.5),
        (True, True),
        (("a", None), ["a", None]),
        ({1: np.int64(3)}, {"1": 3.0}),
    ],
)
def test_plain_values(value, expected):
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


def test_arrays_are_packed_by_columns():
    packed = plain(np.array([[1, 2, 3], [4, 5, 6]]))
    assert np.frombuffer(packed["doubles"]).tolist() == [1, 4, 2, 5, 3, 6]
    assert packed["dim"] == [2.0, 3.0]
    assert isinstance(packed["doubles"], bytearray)
