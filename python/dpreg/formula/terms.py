"""Which terms a formula may have.

A term is allowed when its value in one row is a function of that row alone: then one
unit of the data is one unit of the design.  What decides is the text of the formula: a
short list of names that may be called, arithmetic, and constants.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from dpreg.errors import FormulaError
from dpreg.formula.functions import LEARNS_FROM_DATA, ROW_FUNCTIONS
from dpreg.frame import Level

__all__ = ["Factor", "read_factor"]

_CONTRASTS = {"Treatment", "Sum", "Helmert", "Diff", "Poly"}
_ARITHMETIC = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.Load, ast.keyword,
    ast.List, ast.Tuple, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_NEEDS_BOUNDS = {"bs", "cr", "cs"}


@dataclass(frozen=True, slots=True)
class Factor:
    """What one factor of a formula refers to.

    Attributes
    ----------
    variables : tuple of str
        The columns it reads.
    levels : mapping of str to tuple
        The levels that `C(column, levels=[...])` declares.
    categories : tuple of str
        The columns it encodes with `C(column)`, which must be categorical already.
    """

    variables: tuple[str, ...]
    levels: Mapping[str, tuple[Level, ...]]
    categories: tuple[str, ...]


def read_factor(expression: str) -> Factor:
    """Parse a factor and check that it is allowed.

    Parameters
    ----------
    expression : str
        Python, with names that are not identifiers in backticks.

    Raises
    ------
    FormulaError
        Naming the term, why it is refused, and a public alternative.
    """
    from formulaic.utils.code import sanitize_variable_names

    aliases: dict[str, str] = {}
    try:
        tree = ast.parse(sanitize_variable_names(expression, {}, aliases), mode="eval")
    except SyntaxError:
        raise FormulaError(f"formula: cannot read the term {expression!r}") from None
    reader = _Reader(expression, aliases)
    reader.visit(tree)
    return Factor(tuple(reader.variables), reader.levels, tuple(reader.categories))


class _Reader(ast.NodeVisitor):
    def __init__(self, term: str, aliases: Mapping[str, str]) -> None:
        self.term = term
        self.aliases = aliases
        self.variables: dict[str, None] = {}
        self.levels: dict[str, tuple[Level, ...]] = {}
        self.categories: list[str] = []

    def refuse(self, why: str, instead: str) -> FormulaError:
        return FormulaError(f"formula: the term {self.term!r} cannot be used: {why}; {instead}")

    def visit_Name(self, node: ast.Name) -> None:
        self.variables[self.aliases.get(node.id, node.id)] = None

    def visit_Call(self, node: ast.Call) -> None:
        name = self.called(node.func)
        if name == "C":
            self.read_categorical(node)
            return
        if not self.is_row_function(name, node):
            if name in LEARNS_FROM_DATA:
                raise self.refuse(
                    "its value in one row depends on the other rows", LEARNS_FROM_DATA[name]
                )
            allowed = ", ".join(sorted(ROW_FUNCTIONS))
            raise self.refuse(
                f"{name}() is not known to work row by row",
                f"use one of {allowed}, C(), or make the column before the call",
            )
        for argument in (*node.args, *(k.value for k in node.keywords)):
            self.visit(argument)

    def is_row_function(self, name: str, node: ast.Call) -> bool:
        if name not in ROW_FUNCTIONS:
            return False
        given = {k.arg: k.value for k in node.keywords}
        if name == "poly":
            raw = given.get("raw")
            return isinstance(raw, ast.Constant) and raw.value is True
        if name in _NEEDS_BOUNDS:
            return {"knots", "lower_bound", "upper_bound"} <= set(given) and "df" not in given
        return True

    def called(self, function: ast.expr) -> str:
        if isinstance(function, ast.Name):
            return function.id
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            if function.value.id == "np":
                return function.attr
            raise self.refuse(
                f"{function.value.id}.{function.attr}() is not known to work row by row",
                "write np.log(x), log(x) or another function of the row",
            )
        raise self.refuse("it calls something that has no name", "name the function")

    def read_categorical(self, node: ast.Call) -> None:
        arguments = list(node.args)
        given = {k.arg: k.value for k in node.keywords}
        subject = arguments[0] if arguments else given.get("data")
        if not isinstance(subject, ast.Name):
            raise self.refuse("C() takes a column", "make the column before the call")
        self.visit(subject)
        column = self.aliases.get(subject.id, subject.id)
        contrasts = arguments[1] if len(arguments) > 1 else given.get("contrasts")
        if contrasts is not None:
            self.check_contrasts(contrasts)
        if "levels" not in given:
            self.categories.append(column)
            return
        try:
            levels = tuple(ast.literal_eval(given["levels"]))
        except (ValueError, TypeError):
            raise self.refuse("its levels are not a list", "write levels=['a', 'b']") from None
        if self.levels.get(column, levels) != levels:
            raise self.refuse("the column has other levels in the same formula", "use the same")
        self.levels[column] = levels

    def check_contrasts(self, node: ast.expr) -> None:
        function = node.func if isinstance(node, ast.Call) else node
        arguments = [*node.args, *(k.value for k in node.keywords)] if isinstance(
            node, ast.Call
        ) else []  # fmt: skip
        named = (isinstance(function, ast.Name) and function.id in _CONTRASTS) or (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id == "contr"
        )
        if not named or not all(isinstance(a, ast.Constant) for a in arguments):
            raise self.refuse(
                "its contrasts are not known", "use contr.treatment, contr.sum, contr.helmert, "
                "contr.diff or contr.poly",
            )  # fmt: skip

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, _ARITHMETIC):
            raise self.refuse(
                f"{type(node).__name__} is not arithmetic on one row",
                "make the column before the call",
            )
        super().generic_visit(node)
