"""Products of terms: those of formulaic, formed in steps, and an end to them."""

from __future__ import annotations

import numpy as np
import pytest
from formulaic import Formula

import dpreg
from dpreg.base.errors import FormulaError
from dpreg.data.formula.operators import PARSER
from dpreg.data.formula.parse import read_terms

CONTEXT = {"__formulaic_variables_available__": list("yabcd")}


@pytest.mark.parametrize("right", [
    "(a + b + c)**2", "(a + b*c)^3", "(a:b + c)**4 - a", "a*b*c*d", "(a + b):(c + d)*a", ".**2",
    "(a*b)/(c + d)", "(a + b) %in% (c + d)**2", "(a + C(b) + log(c))**3 + d:a",
])  # fmt: skip
def test_terms_and_their_order_are_those_of_formulaic(right):
    formula = f"y ~ {right}"
    found, wanted = Formula(formula, _parser=PARSER, _context=CONTEXT), Formula(
        formula, _context=CONTEXT
    )  # fmt: skip
    assert [str(term) for term in found.rhs] == [str(term) for term in wanted.rhs]


@pytest.mark.parametrize("right", ["(a + b + c)**111111", "((a + b + c)**9)^9", "(a + b*c)**999"])
def test_a_high_exponent_is_as_good_as_the_number_of_terms(right):
    """formulaic forms all products of so many terms first, and did not end."""
    assert len(read_terms(f"y ~ {right}", "yabc").rhs) == 1 + 7


@pytest.mark.parametrize("right", [
    "(.)**9", ".*.*.", ".:.", "(.):(.):(.)", "*".join(f"I(a + {i})" for i in range(20)),
])  # fmt: skip
def test_more_interactions_than_anybody_wants_are_refused(right):
    with pytest.raises(FormulaError, match="more than 20,000 interactions; name those"):
        read_terms(f"y ~ {right}", ["y", *(f"x{i}" for i in range(400))])


@pytest.mark.parametrize("exponent", ["0", "-1", "2.5", "1e9", "a", "(3*1000)", "9" * 5000, "'2'"])
def test_an_exponent_is_a_positive_integer(exponent):
    with pytest.raises(FormulaError, match="cannot read"):
        read_terms(f"y ~ (a + b)**{exponent}", "yab")


def test_a_dot_to_a_power_is_refused_before_a_charge():
    data, budget = {f"x{i}": np.zeros(3) for i in range(400)}, dpreg.Budget(1.0, 1e-5)
    with pytest.raises(FormulaError, match="interactions"):
        dpreg.dp_select("x0 ~ .**3", data, 2, 1.0, budget=budget)
    assert not budget.charges
