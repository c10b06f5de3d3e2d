"""Why an expression cannot be a term, and what to write instead."""

from __future__ import annotations

import ast

from dpreg.base.errors import FormulaError, Words

OTHER_ROWS = "its value in one row depends on the other rows"
MAKE_IT = "make the column before the call"
# Of a power of numbers: hardly any with a larger one fits a double.
_LARGEST_EXPONENT = 1000
# Why something else cannot be used, and what to write.
_INSTEAD: dict[type[ast.AST], tuple[str, str]] = {
    ast.MatMult: (OTHER_ROWS, "write I(x * z) for the product in each row"),
    ast.In: (OTHER_ROWS, "write I((x == 1) + (x == 2))"),
    ast.NotIn: (OTHER_ROWS, "write I((x != 1) * (x != 2))"),
    ast.BitXor: ("^ is not arithmetic on numbers", "write ** for a power: I(x ** 2)"),
    ast.Subscript: ("it has an index", "write the name of the column alone"),
    ast.Attribute: ("it has an attribute", "write the name of the column alone"),
    ast.IfExp: ("it has a condition", "write I(x > 0), which is 1 or 0"),
    ast.Lambda: ("it defines a function", MAKE_IT),
    ast.Invert: ("~ is not arithmetic on numbers", "write I(1 - x)"),
    ast.Not: ("'not' is not arithmetic on numbers", "write I(1 - x)"),
    ast.BitAnd: ("& is not arithmetic on numbers", "write I((x > 0) * (z > 0))"),
    ast.BitOr: ("| is not arithmetic on numbers", "write I((x > 0) + (z > 0) > 0)"),
    ast.BoolOp: ("'and' and 'or' are not arithmetic", "write I((x > 0) * (z > 0))"),
    ast.List: ("lists are not supported", "write numbers and columns only"),
    ast.Tuple: ("lists are not supported", "write numbers and columns only"),
}


def refusal(term: str, why: str, *instead: Words) -> FormulaError:
    """Return the refusal of a term."""
    return FormulaError(f"the term {term!r} cannot be used: {why}", *instead)


def why_not(node: ast.expr) -> tuple[str, str]:
    """Return why an expression is not arithmetic on one row, and what to write."""
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return "chained comparisons are not supported", "write I((1 < x) * (x < 2))"
    what: ast.AST = node
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        what = node.op
    elif isinstance(node, ast.Compare):
        what = node.ops[0]
    name = type(what).__name__
    return _INSTEAD.get(type(what), (f"{name} is not arithmetic on one row", MAKE_IT))


def is_long(base: ast.expr, exponent: ast.expr) -> bool:
    """Whether a power is of numbers and may have more digits than there is memory for: 9**9**9."""
    inside = (*ast.walk(base), *ast.walk(exponent))
    if any(isinstance(node, ast.Name) for node in inside):
        return False
    match exponent.operand if isinstance(exponent, ast.UnaryOp) else exponent:
        case ast.Constant(value=int() | float() as value) if value <= _LARGEST_EXPONENT:
            return any(isinstance(node, ast.Pow) for node in inside)
    return True
