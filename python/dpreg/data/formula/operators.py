"""Products of terms as in formulaic, formed step by step and limited in number."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from formulaic.parser import DefaultFormulaParser, DefaultOperatorResolver
from formulaic.parser.types import Operator, OrderedSet

Terms: TypeAlias = Any  # an OrderedSet of its terms

# Most products that one operator may form: enough for the square of 141 columns, whose 10,012 terms
# took 4 seconds before the charge and 8 after it. formulaic forms all products before it removes
# duplicates: with ten columns and ** 9 it did not end.
MOST_PRODUCTS = 20_000


class TooManyProductsError(Exception):
    """An operator would form more products than `MOST_PRODUCTS`."""


def _each(left: Terms, right: Terms) -> Terms:
    if len(left) * len(right) > MOST_PRODUCTS:
        raise TooManyProductsError
    return OrderedSet(x * y for x in left for y in right)


def _power(terms: Terms, exponent: Terms) -> Terms:
    written = [str(term) for term in exponent]
    if len(written) != 1 or not re.fullmatch("0*[1-9][0-9]*", written[0]):
        raise ValueError("an exponent must be a positive integer")
    found = terms
    for _ in range(int(written[0]) - 1):
        more = _each(found, terms)
        # A term times itself is the same term, in any order, so products soon repeat.
        if list(map(str, more)) == list(map(str, found)):
            break
        found = more
    return found


_OWN = {":": _each, "*": lambda a, b: a | b | _each(a, b), "**": _power, "^": _power}


class _Operators(DefaultOperatorResolver):  # type: ignore[misc]
    @property
    def operators(self) -> list[Any]:
        """Return formulaic's operators, with our own for products."""
        return [
            Operator(
                known.symbol, arity=2, precedence=known.precedence,
                associativity=known.associativity, to_terms=_OWN[known.symbol],
            ) if known.symbol in _OWN else known
            for known in super().operators
        ]  # fmt: skip


PARSER = DefaultFormulaParser(operator_resolver=_Operators())
