"""Functions that a formula may call; reasons why others are refused, and what to write instead.

The value of a function in a row depends on that row alone.  These functions replace formulaic's
transforms of the same name, some of which learn from the whole column.  Each is total on doubles:
where it is undefined it gives NaN, and the row becomes incomplete.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import FormulaError, Words
from dpreg.data.formula.basis_terms import BASES, cr, over_interval

# Largest constant in a formula, and largest degree of a polynomial.
_LARGEST, _MOST_DEGREES = 1e300, 100


def _clip(x: Any, lower: float, upper: float) -> Any:
    return np.clip(np.asarray(x, dtype=float), lower, upper)


def _yeo_johnson(x: Any, power: float) -> Doubles:
    """Yeo and Johnson (2000), eq. 2.1, with a public exponent."""
    values = np.asarray(x, dtype=float)
    upper, lower = np.maximum(values, 0.0), np.minimum(values, 0.0)
    above = np.log1p(upper) if power == 0 else ((1 + upper) ** power - 1) / power
    below = -np.log1p(-lower) if power == 2 else -((1 - lower) ** (2 - power) - 1) / (2 - power)
    return np.where(values >= 0, above, np.where(np.isnan(values), np.nan, below))


def _identity(x: Any) -> Any:
    return x


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _degree(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_DEGREES


def _numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(_number(v) for v in value)


# Checks of literals, by the annotation of the parameter.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "float": _number,
    "int": _degree,
    "bool": lambda value: isinstance(value, bool),
    "Sequence[float]": _numbers,
    # As a positional argument, the number of columns may come in the place of knots.
    "Sequence[float] | int | None": lambda value: _numbers(value) or _degree(value),
    "int | None": _degree,
}


class RowFunction:
    """A function of a formula, an example of its use, and the arguments it accepts.

    Expressions of columns come first: the parameters whose annotation is not in `_KINDS`.  The
    others are literals, which are required if they have no default.
    """

    def __init__(
        self, function: Callable[..., Any], usage: str, columns: int | None = None
    ) -> None:
        self.function, self.usage = function, usage
        found = {} if columns else inspect.signature(function).parameters
        literals = {name: p for name, p in found.items() if p.annotation in _KINDS}
        self.columns = columns or len(found) - len(literals)
        self.literals = list(literals)
        self.required = {n for n, p in literals.items() if p.default is inspect.Parameter.empty}
        self._kinds = {name: _KINDS[p.annotation] for name, p in literals.items()}

    def allows(self, given: Mapping[str, Any]) -> bool:
        """Whether literals have the right kinds, and limits and knots are in order."""
        if not all(self._kinds[name](value) for name, value in given.items()):
            return False
        if "df" in self._kinds and ("df" in given) == ("knots" in given):
            return False  # each determines the number of columns
        low = given.get("lower_bound", given.get("lower"))
        high = given.get("upper_bound", given.get("upper"))
        knots = given.get("knots", ())
        places = [low, *(knots if isinstance(knots, list | tuple) else ()), high]
        places = [p for p in places if p is not None]
        return all(a < b for a, b in itertools.pairwise(places))


_OF_ONE: dict[str, Callable[..., Any]] = {
    "I": _identity, "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "exp": np.exp,
    "expm1": np.expm1, "floor": np.floor, "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "offset": _identity, "sign": np.sign, "sin": np.sin,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
_CR = RowFunction(cr, "cr(x, knots=[2, 4], lower_bound=0, upper_bound=6)")
_BASES = {
    "poly": "poly(x, 3) or poly(x, 3, raw=True)",
    "bs": "bs(x, df=5) or bs(x, knots=[2, 4], lower_bound=0, upper_bound=6)",
    "ns": "ns(x, df=3) or ns(x, knots=[2, 4], lower_bound=0, upper_bound=6)",
}

ROW_FUNCTIONS: dict[str, RowFunction] = {
    **{name: RowFunction(function, f"{name}(x)", 1) for name, function in _OF_ONE.items()},
    "log": RowFunction(np.log, "log(x), log10(x) or log2(x)", 1),
    "maximum": RowFunction(np.maximum, "maximum(x, z)", 2),
    "minimum": RowFunction(np.minimum, "minimum(x, z)", 2),
    "clip": RowFunction(_clip, "clip(x, 0, 100)"),
    "yeo_johnson": RowFunction(_yeo_johnson, "yeo_johnson(x, 0.5)"),
    **{name: RowFunction(BASES[name], usage) for name, usage in _BASES.items()},
    "cr": _CR,
    "cs": _CR,
}

# What to write instead of a function that uses other rows.
LEARNS_FROM_DATA: dict[str, str] = {
    "center": "subtract a public constant: I(x - 50)",
    **dict.fromkeys(("scale", "standardize"), "use public constants: I((x - 50) / 10)"),
    "poly": "write poly(x, 3, raw=True)",
    **{name: f"give knots and bounds: {name}(x, knots=[2, 4], lower_bound=0, upper_bound=6)"
       for name in ("bs", "ns", "cr", "cs")},
    "cc": "give knots and bounds to cr(): cr(x, knots=[2, 4], lower_bound=0, upper_bound=6)",
    "lag": "make the lagged column before the data are protected, one row per unit",
    "hashed": "declare the levels: C(x, levels=[...])",
}  # fmt: skip

SUMMARIES = ("mean", "median", "min", "max", "std", "sd", "var", "sum", "quantile")
_BY_UNIT = "write unit='person' as an argument of the call: standard errors are clustered by unit"
_LEVELS = "write C(g, levels=['a', 'b']), or declare levels= in the call"
_SMOOTH = "write ns(x, 5), with public bounds of x as an argument of the call"
# Functions of other packages: why they are refused here, and what to write.
FOREIGN: dict[str, tuple[str, str]] = {
    "weights": ("weights are not a term", "write weights='w' as an argument of the call"),
    **dict.fromkeys(
        ("factor", "as_factor", "i", "categorical"),
        ("levels must not be read from the data", _LEVELS),
    ),
    **dict.fromkeys(("s", "te"), ("a smooth term chooses its knots from the data", _SMOOTH)),
    **dict.fromkeys(
        ("where", "ifelse"),
        ("conditions are written as comparisons", "write I(x > 0), which is 1 or 0"),
    ),
    "cut": (
        "intervals are written as comparisons",
        "write I(x > 10) + I(x > 20), with public breaks",
    ),
    "Q": ("names that are not identifiers are written in backticks", "write `name of column`"),
    "cluster": ("clusters are not a term", _BY_UNIT),
    "strata": ("strata are not a term", _BY_UNIT),
    "Error": ("error strata are not a term", _BY_UNIT),
    "cbind": ("a model has one response", "fit one response after the other, or use dp_moments"),
    "diff": (
        "its value in one row depends on the other rows",
        "compute the differences before the data are protected, one row per unit",
    ),
}
OTHER_ROWS = "its value in one row depends on the other rows"
MAKE_IT = "make the column before the call"
# Largest exponent of a power of numbers: most larger powers overflow.
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


def quoted(column: str) -> str:
    """Return the name of a column as written in a formula."""
    return column if column.isidentifier() else f"`{column}`"


def about(column: str, advice: str) -> str:
    """Return advice with the user's column in place of x."""
    return re.sub(r"\bx\b", lambda _: quoted(column), advice)


def without_interval(term: str, function: str, column: str) -> str:
    """Suggest a term that needs no bounds; for powers, the same term without scaling."""
    if term.startswith("poly(") and "False" not in term:
        return f"write {term[:-1]}, raw=True)"
    return about(column, LEARNS_FROM_DATA[function])


def context(*, learn: bool) -> dict[str, Any]:
    """Return the names a formula is evaluated with, besides the columns.

    learn: this is the first evaluation, on a table made from the schema alone.
    """
    functions = {name: known.function for name, known in ROW_FUNCTIONS.items()}
    bases = {name: over_interval(name, learn=learn) for name in BASES}
    # `np.log(x)` and the like, for these functions and no others.
    return {**functions, **bases, "np": SimpleNamespace(**functions)}


def refusal(term: str, why: str, *instead: Words) -> FormulaError:
    """Return the refusal of a term."""
    return FormulaError(f"the term {term!r} cannot be used: {why}", *instead)


def why_not(node: ast.expr) -> tuple[str, str]:
    """Return why an expression is not arithmetic within one row, and what to write."""
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
    """Whether a power of numbers may have more digits than fit in memory, as 9**9**9."""
    inside = (*ast.walk(base), *ast.walk(exponent))
    if any(isinstance(node, ast.Name) for node in inside):
        return False
    match exponent.operand if isinstance(exponent, ast.UnaryOp) else exponent:
        case ast.Constant(value=int() | float() as value) if value <= _LARGEST_EXPONENT:
            return any(isinstance(node, ast.Pow) for node in inside)
    return True
