"""Check the terms of a formula.

A term is allowed if its value in a row is a function of that row alone: then one unit of the data
is one unit of the design.  The check uses only the text of the formula: a short grammar of
arithmetic on columns and numbers, and a short list of functions with their permitted arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpreg.base.errors import FormulaError
from dpreg.base.levels import Level
from dpreg.data.formula import functions
from dpreg.data.formula.basis_terms import needs_interval
from dpreg.data.schema import Schema, such_bounds

_CONTRASTS = {"Treatment", "Sum", "Helmert", "Diff", "Poly"}
_CATEGORICAL = {"data", "contrasts", "levels", "spans_intercept"}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_SIGNS = (ast.UAdd, ast.USub)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ENDS = {"lower_bound", "upper_bound"}
_WHOLE = {"ceil", "floor", "sign"}


@dataclass(frozen=True, slots=True)
class Basis:
    """A call that takes its interval from public bounds."""

    term: str  # The factor that contains it.
    function: str
    call: str  # As written by formulaic.
    variables: tuple[str, ...]  # The columns that it reads.


@dataclass(frozen=True, slots=True)
class Factor:
    """The columns and levels that one factor of a formula refers to."""

    variables: tuple[str, ...]  # The columns it reads.
    levels: Mapping[str, tuple[Level, ...]]  # Levels declared by `C(column, levels=[...])`.
    # Columns in `C(column)` without levels, which must be categorical already.
    categories: tuple[str, ...]
    offset: bool = False  # The factor is an offset.
    bases: tuple[Basis, ...] = ()
    # Columns, and the texts or numbers they are compared with.
    compared: tuple[tuple[str, Level], ...] = ()
    jumps: bool = False  # It is not continuous: a comparison, or rounding to a whole number.


def read_factor(expression: str) -> Factor:
    """Parse a factor and check that it is allowed.

    expression: Python, with names that are not identifiers in backticks.
    Raises FormulaError with the term, the reason, and an alternative.
    """
    from formulaic.utils.code import sanitize_variable_names

    aliases: dict[str, str] = {}
    try:
        tree = ast.parse(sanitize_variable_names(expression, {}, aliases), mode="eval")
    except (SyntaxError, ValueError):
        raise FormulaError(f"cannot read the term {expression!r}") from None
    reader = _Reader(expression, aliases)
    reader.read(tree.body)
    offset = isinstance(tree.body, ast.Call) and _is_offset(tree.body.func)
    variables, categories = tuple(reader.variables), tuple(reader.categories)
    bases, compared = tuple(reader.bases), tuple(reader.compared)
    levels, jumps = reader.levels, reader.jumps
    return Factor(variables, levels, categories, offset, bases, compared, jumps)


def check_basis(basis: Basis, schema: Schema) -> None:
    """Refuse a basis whose interval is not public."""
    if len(basis.variables) != 1:
        why = f"{basis.function}() has several columns, whose bounds do not give its interval"
        raise functions.refusal(basis.term, why, functions.LEARNS_FROM_DATA[basis.function])
    (name,) = basis.variables
    column = schema[name]
    if column.levels is None and column.bounds is None:
        bounds = (*such_bounds(name), " with public limits")
        other = functions.without_interval(basis.term, basis.function, name)
        raise functions.refusal(basis.term, functions.OTHER_ROWS, bounds, other)


def _is_offset(function: ast.expr) -> bool:
    """Whether a call is an offset; a name with a module prefix is another function."""
    return isinstance(function, ast.Name) and function.id == "offset"


class _Reader:
    def __init__(self, term: str, aliases: Mapping[str, str]) -> None:
        self.term = term
        self.aliases = aliases
        self.variables: dict[str, None] = {}
        self.levels: dict[str, tuple[Level, ...]] = {}
        self.categories: list[str] = []
        self.bases: list[Basis] = []
        self.compared: list[tuple[str, Level]] = []
        self.jumps = False

    def refuse(self, why: str, instead: str) -> FormulaError:
        return functions.refusal(self.term, why, instead)

    def read(self, node: ast.expr) -> None:
        if isinstance(node, ast.Call) and self.called(node.func) == "C":
            self.read_categorical(node)
        elif isinstance(node, ast.Call) and _is_offset(node.func):
            self.read_call(node)
        else:
            self.read_row(node)
        if not self.variables:
            raise self.refuse("it has no column", "write 1 for an intercept, or leave it out")

    def read_row(self, node: ast.expr) -> None:
        """Read an expression with a value in each row, or a constant."""
        match node:
            case ast.Name():
                self.variables[self.aliases.get(node.id, node.id)] = None
            case ast.Constant() if isinstance(node.value, int | float):
                pass
            case ast.UnaryOp(operand=inner) if isinstance(node.op, _SIGNS):
                self.read_row(inner)
            case ast.BinOp(left=left, right=right) if isinstance(node.op, _OPERATORS):
                self.read_row(left)
                self.read_row(right)
                self.jumps |= isinstance(node.op, ast.FloorDiv | ast.Mod)
                if isinstance(node.op, ast.Pow) and functions.is_long(left, right):
                    why = "a power of numbers needs a plain exponent of at most 1,000"
                    raise self.refuse(why, "write the number itself")
            case ast.Compare(left=left, ops=[_], comparators=[right]) if isinstance(
                node.ops[0], _COMPARISONS
            ):
                self.read_compared(left)
                self.read_compared(right)
                self.jumps = True
                if isinstance(node.ops[0], ast.Eq | ast.NotEq):
                    self.note_level(left, right)
                    self.note_level(right, left)
            case ast.Call() if self.called(node.func) == "offset":
                raise self.refuse("an offset is a term by itself", "write offset(log(x))")
            case ast.Call():
                self.read_call(node)
            case _:
                raise self.refuse(*functions.why_not(node))

    def read_compared(self, node: ast.expr) -> None:
        # A level may be text.
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            self.read_row(node)

    def note_level(self, node: ast.expr, other: ast.expr) -> None:
        value = other.value if isinstance(other, ast.Constant) else None
        if isinstance(node, ast.Name) and isinstance(value, str | int | float):
            self.compared.append((self.aliases.get(node.id, node.id), value))

    def read_call(self, node: ast.Call) -> None:
        name = self.called(node.func)
        if name not in functions.ROW_FUNCTIONS:
            learns = self.learns(name, node)
            if learns is not None:
                raise learns
            if name in functions.FOREIGN:
                why, instead = functions.FOREIGN[name]
                raise self.refuse(why, self.about_first(node, instead))
            if name in functions.SUMMARIES:
                raise self.refuse(f"{name}() reads all rows", "write the public number itself")
            allowed = ", ".join(sorted(functions.ROW_FUNCTIONS))
            raise self.refuse(
                f"{name}() is not known to work row by row",
                f"use one of {allowed}, C() by itself, or {functions.MAKE_IT}",
            )
        known = functions.ROW_FUNCTIONS[name]
        self.jumps |= name in _WHOLE
        values = self.read_literals(name, known, node)
        for argument in node.args[: known.columns]:
            self.read_row(argument)
        if needs_interval(name, values):
            from formulaic.utils.code import format_expr

            read = _Reader(self.term, self.aliases)
            read.read_row(node.args[0])
            self.bases.append(Basis(self.term, name, format_expr(node), tuple(read.variables)))

    def read_literals(
        self, name: str, known: functions.RowFunction, node: ast.Call
    ) -> dict[str, Any]:
        """Read the arguments after the columns, which must be literals of their kind."""
        names = known.literals
        positional = node.args[known.columns :]
        wrong = self.refuse(f"{name}() cannot be called like this", f"write {known.usage}")
        if len(node.args) < known.columns or len(positional) > len(names):
            raise wrong
        given = dict(zip(names, positional, strict=False))
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in given:
                raise self.learns(name, node) or wrong
            given[keyword.arg] = keyword.value
        if not known.required <= set(given):
            raise self.learns(name, node) or wrong
        try:
            values = {key: ast.literal_eval(value) for key, value in given.items()}
        except (ValueError, TypeError, SyntaxError, MemoryError):
            raise self.refuse(
                f"what {name}() is given beside columns must be numbers", f"write {known.usage}"
            ) from None
        if not known.allows(values) or len(_ENDS & set(values)) == 1:
            raise wrong
        return values

    def learns(self, name: str, node: ast.Call) -> FormulaError | None:
        if name not in functions.LEARNS_FROM_DATA:
            return None
        return self.refuse(
            functions.OTHER_ROWS, self.about_first(node, functions.LEARNS_FROM_DATA[name])
        )

    def about_first(self, node: ast.Call, advice: str) -> str:
        """Return advice about the column that is the first argument of a call, if there is one."""
        match node.args:
            case [ast.Name(id=name), *_]:
                return functions.about(self.aliases.get(name, name), advice)
        return advice

    def called(self, function: ast.expr) -> str:
        match function:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name):
                return name
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                why = f"{module}.{name}() is not known to work row by row"
                raise self.refuse(why, "write np.log(x), log(x) or another function of the row")
        raise self.refuse("only functions can be called by name", "name the function")

    def read_categorical(self, node: ast.Call) -> None:
        arguments = list(node.args)
        given = {k.arg: k.value for k in node.keywords}
        if len(arguments) > 2 or not set(given) <= _CATEGORICAL:
            like = "write C(x, contr.sum, levels=['a', 'b'])"
            raise self.refuse("C() cannot be called like this", like)
        subject = arguments[0] if arguments else given.get("data")
        if not isinstance(subject, ast.Name):
            raise self.refuse("C() takes a column", functions.MAKE_IT)
        column = self.aliases.get(subject.id, subject.id)
        self.variables[column] = None
        contrasts = arguments[1] if len(arguments) > 1 else given.get("contrasts")
        if contrasts is not None:
            self.check_contrasts(contrasts)
        if not isinstance(given.get("spans_intercept", ast.Constant(True)), ast.Constant):
            raise self.refuse("spans_intercept is not True or False", "leave it out")
        if "levels" not in given:
            self.categories.append(column)
            return
        levels = self.literal_levels(given["levels"])
        if self.levels.get(column, levels) != levels:
            raise self.refuse("the column has other levels in the same formula", "use the same")
        self.levels[column] = levels

    def literal_levels(self, node: ast.expr) -> tuple[Level, ...]:
        try:
            levels = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError):
            levels = None
        if not isinstance(levels, list | tuple) or not all(
            isinstance(level, str | int | float) for level in levels
        ):
            raise self.refuse("its levels are not a list", "write levels=['a', 'b']")
        return tuple(levels)

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
