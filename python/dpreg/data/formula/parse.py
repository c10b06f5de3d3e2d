"""Parse a formula and check it against the schema: sides, factors, and columns in use."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Container, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from dpreg.base.errors import FormulaError, SchemaError, Setting, a_kind, add, closest
from dpreg.base.levels import Level, such_levels
from dpreg.data.formula.functions import quoted
from dpreg.data.formula.terms import Factor, check_basis, read_factor
from dpreg.data.schema import Column, Schema, no_column


def parsed(formula: str, schema: Schema) -> tuple[Any, Any]:
    """Return the response and the terms, as formulaic represents them."""
    from formulaic import SimpleFormula

    if not isinstance(formula, str):
        raise FormulaError(f"must be a string such as 'y ~ x', not {a_kind(formula)}")
    if "|" in re.sub(r"`[^`]*`", "", formula):
        raise FormulaError(
            f"{formula!r} contains |, and random effects are not supported",
            "for effects of the protected unit write 'y ~ x | person' in dp_lm, with unit='person'",
            "for those of declared periods too 'y ~ x | person + period'",
            "for levels that are public write C(g, levels=['a', 'b']) as a term",
        )
    if _ONE_TERM.search(_outside_calls(formula)):
        problem = "x ** 2 is an interaction of x with itself, which is x"
        raise FormulaError(problem, "write I(x ** 2) for the square")
    if _RECIPROCAL.search(_outside_calls(formula)):
        problem = "1 / x is x nested in the intercept, which is x"
        raise FormulaError(problem, "write I(1 / x) for the reciprocal")
    if re.search(r"\bI\([^()=<>!]*[^()=<>!]=[^=]", formula):
        raise FormulaError(f"{formula!r} has = in I()", "write == for a comparison")
    sides = read_terms(formula, schema.columns)
    left, right = getattr(sides, "lhs", None), getattr(sides, "rhs", None)
    simple = isinstance(left, SimpleFormula) and isinstance(right, SimpleFormula)
    if left is None or not simple or not left.required_variables:
        raise FormulaError(f"{formula!r} must have one response and one list of terms: 'y ~ a + b'")
    return left, right


def read_terms(formula: str, columns: Iterable[str] = ()) -> Any:
    """Return formulaic's parse of a formula or of one side; a dot stands for `columns`.

    Errors quote the formula, so calls that rewrite a formula first read what the user wrote.
    """
    from formulaic import Formula

    from dpreg.data.formula.operators import MOST_PRODUCTS, PARSER, TooManyProductsError

    known = {"__formulaic_variables_available__": list(columns)}
    try:
        return Formula(formula, _parser=PARSER, _context=known)
    except TooManyProductsError:
        problem = f"{formula!r} has more than {MOST_PRODUCTS:,} interactions"
        raise FormulaError(problem, "name those that matter: a + b + a:b") from None
    except Exception:
        raise FormulaError(
            f"cannot read {formula!r}",
            "write 'response ~ term + term', with names that are not identifiers in `backticks` "
            "and arithmetic and comparisons in I(): 'I(y / 1000) ~ I(2 * x) + I(z > 0)'",
        ) from None


# A single term that has an exponent.
_ONE_TERM = re.compile(r"(?:^|[~+:*-])\s*[A-Za-z_][\w.]*\s*(?:\*\*|\^)\s*\d")

# A number that is not an exponent, divided by a term.
_RECIPROCAL = re.compile(r"(?:^|[~+:-]|(?<!\*)\*)\s*\d[\d.]*\s*/")


def _outside_calls(formula: str) -> str:
    """Return the formula without quoted text and without the arguments of functions."""
    plain = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\{[^{}]*\}", "x", formula)
    while (inside := re.sub(r"(\w)\([^()]*\)", r"\1", plain)) != plain:
        plain = inside
    return plain


def factors_of(side: Any) -> list[Factor]:
    """Return the factors in the terms of one side."""
    return [factor for term in side for factor in _factors(term)]


# With a factor of 20,000 levels the matrices of a fit took 7 GB; with 50,000 memory ran out.
_MOST_COLUMNS = 20_000


def check_widths(side: Any, schema: Schema) -> None:
    """Refuse terms with so many columns that a fit would run out of memory."""
    for term in side:
        names = {name for f in _factors(term) if not f.compared for name in f.variables}
        width = math.prod(len(schema[name].levels or (1,)) for name in names)
        if width > _MOST_COLUMNS:
            problem = f"the term {str(term)!r} has {width:,} columns, more than {_MOST_COLUMNS:,}"
            advice = "declare fewer levels, those with many rows: rows with others are dropped"
            raise FormulaError(problem, advice)


def _factors(term: Any) -> list[Factor]:
    found = []
    for factor in term.factors:
        if factor.eval_method.value == "lookup":
            found.append(Factor((str(factor.expr),), {}, ()))
        elif factor.eval_method.value == "python":
            found.append(read_factor(factor.expr))
            if found[-1].offset and len(term.factors) > 1:
                # Their order would determine whether its coefficient is 1.
                why = f"{factor.expr} is a term by itself"
                problem = f"the term {str(term)!r} cannot be used: {why}"
                raise FormulaError(problem, "write offset(x * z) for a product")
    return found


def schema_of(factors: Sequence[Factor], schema: Schema) -> Schema:
    """Return the schema of the columns in use, with the levels that the formula declares.

    Columns that the formula expands in a basis keep their bounds.
    """
    declared: dict[str, Sequence[Level]] = {}
    for factor in factors:
        for name in factor.variables:
            if name not in schema.columns:
                known = {
                    level for column in schema.columns.values() for level in column.levels or ()
                }
                quotes = [f"for the level write {name!r} in quotes"] if name in known else []
                raise FormulaError(*no_column(name, schema), *quotes)
        declared.update(factor.levels)
    schema = schema.with_levels(declared)
    used = {name: schema.columns[name] for factor in factors for name in factor.variables}
    categories = {name for factor in factors for name in factor.categories}
    _check_kinds(used.values(), categories)
    for factor in factors:
        for name, level in factor.compared:
            _check_level(schema.columns[name], level)
    bases = [basis for factor in factors for basis in factor.bases]
    for basis in bases:
        check_basis(basis, schema)
    bounded = {name for basis in bases for name in basis.variables}
    return Schema(
        {name: c if name in bounded else replace(c, bounds=None) for name, c in used.items()}
    )


def _check_level(column: Column, level: Level) -> None:
    """Refuse to compare a column with a level it does not have: the result would be constant."""
    if not column.levels or level in column.levels:
        return
    meant = closest(level, (known for known in column.levels if isinstance(known, str)))
    other = repr(meant) if meant else f"one of {', '.join(map(repr, column.levels))}"
    problem = f"{column.name!r} is compared with {level!r}, which is not one of its levels"
    raise FormulaError(problem, f"write {other}")


# Example levels in messages, for text and for numbers.
_LIKE: tuple[list[Any], list[Any]] = (["first", "second", ...], [1, 2, ...])


def _check_kinds(columns: Collection[Column], categories: AbstractSet[str]) -> None:
    """Refuse columns that are neither numbers nor levels; one message per kind."""
    undeclared = [
        column for column in columns
        if column.kind == "text" or (column.name in categories and column.levels is None)
    ]  # fmt: skip
    if undeclared:
        held: dict[str | None, list[str]] = {}
        for c in undeclared:
            held.setdefault(c.holds, []).append(repr(c.name))
        holding = " and ".join(
            f"column {names[0]} holds {what}" if len(names) == 1
            else f"columns {', '.join(names[:-1])} and {names[-1]} hold {what}"
            for what, names in held.items()
        )  # fmt: skip
        levels = {c.name: _LIKE[c.kind == "numeric"] for c in undeclared}
        texts = sum(c.kind == "text" for c in undeclared)
        them = "a column" if texts < len(undeclared) else "it" if texts == 1 else "them"
        raise SchemaError(
            "levels",
            f"{holding} without declared levels, which must not be read from the data",
            (*add("levels", levels), " to the call"),
            *([f"convert {them} to numbers before the call"] if texts else []),
        )
    for column in columns:
        if column.kind == "other":
            timed = column.holds in ("dates", "times", "timestamps", "durations")
            such = "days since a fixed date" if timed else "numbers of type float"
            holds = f"holds {column.holds}, which are neither numbers nor levels"
            advice = f"convert it before the call, for example to {such}"
            raise SchemaError("formula", f"column {column.name!r} {holds}", advice)
        if column.levels == ():
            problem = f"column {column.name!r} is a category without levels"
            raise SchemaError("levels", problem, such_levels(column.name, "first", "second"))


def lookups(side: Any, schema: Schema) -> dict[int, str]:
    """Return which columns of a model matrix are numeric data columns, by index."""
    found = {}
    for structure in side.structure:
        factors = structure.term.factors
        name = str(factors[0].expr)
        numeric = name in schema and schema[name].levels is None
        if len(factors) == 1 and factors[0].eval_method.value == "lookup" and numeric:
            (column,) = structure.columns
            found[list(side.column_names).index(column)] = name
    return found


# A bar and names at the end, in backticks where they are not identifiers.
_NAME = r"(?:\w+|`[^`]+`)"
_AT_END = re.compile(rf"^(?P<rest>[^|]*[^|\s(])\s*\|\s*(?P<groups>{_NAME}(?:\s*\+\s*{_NAME})*)\s*$")


def split_effects(formula: object) -> tuple[object, tuple[str, ...]]:
    """Split a formula at its bar; return the formula before it, and the names after it.

    If something other than names follows the bar, it stays in the formula, which is then refused.
    """
    found = _AT_END.match(formula) if isinstance(formula, str) else None
    if found is None:
        return formula, ()
    groups = (name.strip("`") for name in re.findall(_NAME, found["groups"]))
    return found["rest"], tuple(dict.fromkeys(groups))


def unit_of_effects(formula: str, schema: Container[str]) -> str | None:
    """Return the unit whose fixed effects the formula asks for; None if there is none."""
    return next((group for group in split_effects(formula)[1] if group not in schema), None)


def effects_as_terms(formula: str, groups: Iterable[str], schema: Schema) -> str:
    """Return a formula with a dummy for each declared level of `groups` except the first.

    With effects of units there is always an intercept: dummies of all levels would add up to 1,
    whose deviations from unit means are 0.
    """
    terms = []
    for name in groups:
        if name not in schema.columns:
            raise FormulaError(*no_column(name, schema))
        # C() of a column without levels is refused; the message says how to declare them.
        terms.append(quoted(name) if schema.columns[name].levels else f"C({quoted(name)})")
    return " + ".join([formula, "1", *terms]) if terms else formula


def effects_of_unit(formula: str, unit: str | None, schema: Schema) -> tuple[str, bool]:
    """Return a formula without fixed effects of the protected unit, and whether it had any.

    Effects of other groups, such as periods, become terms.
    """
    rest, groups = split_effects(formula)
    if not groups:
        return formula, False
    if unit not in groups:
        group = groups[0]
        raise FormulaError(
            f"fixed effects of {group!r} are not supported because a level contains rows of "
            "several units",
            ("add ", Setting("unit", group), " if that is the protected unit"),
            f"write C({group}, levels=[...]) as a term if its levels are public",
        )
    return effects_as_terms(str(rest), (g for g in groups if g != unit), schema), True
