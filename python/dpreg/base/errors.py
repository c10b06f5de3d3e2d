"""The exceptions of dpreg: the argument, the problem and what to write instead, as data.

Python, the shell and R each spell arguments and values in their own way; a message is made of
text and of pieces of code, and a `Face` spells the code.  All of it depends on public things only.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Argument:
    """The name of an argument of the public functions."""

    name: str


@dataclass(frozen=True, slots=True)
class Setting:
    """An argument and a value for it."""

    argument: str
    value: Any


@dataclass(frozen=True, slots=True)
class Value:
    """A value by itself, as the user would type it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """The names of methods or selectors; where there are objects, one of these will do too."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """An options object: the argument it is for, its class, and some of its options."""

    argument: str  # ``"method"`` or ``"select"``; empty where it is chosen already.
    name: str  # What the argument calls it by default, such as ``"tukey"``.
    kind: str  # Its class, such as ``"TukeyEM"``.
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Blank:
    """A place in a value that the user has to fill in."""

    name: str


Code = Argument | Setting | Value | Choice | Names | Options
Pieces = tuple[str | Code, ...]
Words = str | Code | Pieces


# Returns a piece of code as Python, the shell or R spells it.
Face = Callable[[Code], str]


def python(code: Code) -> str:
    """Return what a user of the Python package would type or read."""
    match code:
        case Argument(name):
            return name
        case Setting(argument, value):
            return f"{argument}={_in_python(value)}"
        case Value(value):
            return _in_python(value)
        case Choice(values):
            return ", ".join(map(_in_python, values))
        case Names(values):
            return ", ".join(map(_in_python, values)) + " or an options object"
        case Options(_, _, kind, settings):
            inside = ", ".join(f"{k}={_in_python(v)}" for k, v in settings.items())
            return f"dpreg.{kind}({inside})"


# What a message shows of a value that was given: all else, such as a data frame or a list, may hold
# records, and so may a long text.
_PLAIN = (str, bytes, numbers.Number, type(None))
_LONGEST = 80


def _in_python(value: Any) -> str:
    """Return `repr`, with ``...`` and blanks as they are."""
    if value is ...:
        return "..."
    if isinstance(value, Blank):
        return value.name
    if isinstance(value, Options):
        return python(value)
    if type(value) is dict:
        pairs = (
            "..." if k is ... else f"{_in_python(k)}: {_in_python(v)}" for k, v in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    if type(value) is list:
        return f"[{', '.join(map(_in_python, value))}]"
    if type(value) is tuple:
        inside = ", ".join(map(_in_python, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, numbers.Number) and hasattr(value, "item"):
        return repr(value.item())  # of NumPy: 1.0, not np.float64(1.0)
    return repr(value) if _is_shown(value) else a_kind(value)


def _is_shown(value: object) -> bool:
    return isinstance(value, _PLAIN) or type(value).__module__.startswith("dpreg.")


def a_kind(value: object) -> str:
    """Return the type of a value in words, such as ``"a DataFrame"``; it may contain records."""
    kind = value.__name__ if isinstance(value, type) else type(value).__name__
    if value is None or isinstance(value, type):
        return "None" if value is None else kind
    return f"an {kind}" if kind[0] in "aeiouAEIO" or kind == "ndarray" else f"a {kind}"


def got(value: object) -> Value | str:
    """Return what a message shows of a value that was given for an argument.

    A number, a name, options or None, which somebody typed, is shown.  For everything else only the
    type is shown, and no length: that of ``eps=df["x"].tolist()`` is the number of rows.
    """
    return Value(value) if _is_shown(value) and not _is_long(value) else a_kind(value)


def _is_long(value: object) -> bool:
    try:
        return isinstance(value, _PLAIN) and len(repr(value)) > _LONGEST + len("b''")
    except ValueError:  # Python does not write integers of more than 4,300 digits.
        return True


def shown(value: object) -> str:
    """As `got`, in Python."""
    return told((got(value),))


def told(words: Words, face: Face = python) -> str:
    """Return words as a face spells them."""
    pieces = words if isinstance(words, tuple) else (words,)
    return "".join(piece if isinstance(piece, str) else face(piece) for piece in pieces)


def write(argument: str, value: Any) -> Pieces:
    """Suggest an argument with a value."""
    return ("write ", Setting(argument, value))


def add(argument: str, value: Any) -> Pieces:
    """Suggest one more argument."""
    return ("add ", Setting(argument, value))


def leave_out(argument: str) -> Pieces:
    """Suggest to do without an argument."""
    return ("leave ", Argument(argument), " out")


def unusable(argument: str, wanted: Words, value: object, *suggestion: Words) -> ArgumentError:
    """Return the refusal of a value: the argument must be `wanted`."""
    pieces = wanted if isinstance(wanted, tuple) else (wanted,)
    return ArgumentError(argument, ("must be ", *pieces, ", got ", got(value)), *suggestion)


def unknown_name(argument: str, name: str, known: Iterable[str]) -> ArgumentError:
    """Return the refusal of a name that no method or selector has."""
    names = tuple(known)
    advice = write(argument, closest(name, names) or names[0])
    return unusable(argument, ("one of ", Names(names)), name, advice)


def closest(name: object, known: Iterable[str]) -> str | None:
    """Return the one of the known names that may have been meant, or None."""
    by_lower = {word.lower(): word for word in known}
    found = difflib.get_close_matches(str(name).lower(), by_lower, 1)
    return by_lower[found[0]] if found else None


# With these a problem continues the sentence that the name of the argument begins.
_VERBS = ("and ", "has ", "must ", "is ", "needs ", "says ", "sets ")


class ArgumentError(ValueError):
    """An argument cannot be used.  Raised before a record is read; nothing was spent.

    Attributes
    ----------
    argument : str
        Its name, as the public function has it.
    problem : words
        What is wrong with it: a text, or a tuple of texts and pieces of code.
    suggestion : tuple of words
        What to write instead; of several, any will do.

    Examples
    --------
    >>> import dpreg
    >>> try:
    ...     dpreg.dp_lm("y ~ x", {"y": [], "x": []}, 1.0, method="ols")
    ... except dpreg.ArgumentError as error:
    ...     print(error.argument)
    method
    """

    def __init__(self, argument: str, problem: Words, *suggestion: Words) -> None:
        # These are what pickle and copy make it of again.
        super().__init__(argument, problem, *suggestion)
        self.argument = argument
        self.problem = problem
        self.suggestion = suggestion

    def told(self, face: Face) -> str:
        """Return the message as a face spells it."""
        problem = told(self.problem, face)
        # "eps must be ...", but "levels: there is ..."
        between = " " if problem.startswith(_VERBS) else ": "
        message = face(Argument(self.argument)) + between + problem
        advice = ", or ".join(told(words, face) for words in self.suggestion)
        return f"{message}; {advice}" if advice else message

    def __str__(self) -> str:
        return self.told(python)


class BudgetError(ArgumentError):
    """A privacy parameter is not a valid one, or a budget cannot cover a release.

    Examples
    --------
    >>> import dpreg
    >>> try:
    ...     dpreg.Budget(eps=-1.0)
    ... except dpreg.BudgetError as error:
    ...     print(error.argument)
    eps
    """


class FormulaError(ArgumentError):
    """A formula cannot be used: it does not parse, or a term is not allowed.

    Whether it is raised depends on the text of the formula and on the schema of the
    data (column names, types, declared levels), never on a cell.

    Examples
    --------
    >>> import dpreg
    >>> try:
    ...     dpreg.dp_lm("y ~ z", {"y": [], "x": []}, 1.0)
    ... except dpreg.FormulaError as error:
    ...     print(error.argument)
    formula
    """

    def __init__(self, problem: Words, *suggestion: Words) -> None:
        super().__init__("formula", problem, *suggestion)
        self.args = problem, *suggestion  # see `ArgumentError`


class SchemaError(ArgumentError):
    """The data are not of a kind that can be read: container, column type or levels.

    Examples
    --------
    >>> import dpreg
    >>> try:
    ...     dpreg.dp_lm("y ~ x", "nowhere.parquet", 1.0)
    ... except dpreg.SchemaError as error:
    ...     print(error.argument)
    data
    """


class KeywordError(ArgumentError, TypeError):
    """A function was given an argument that it does not have."""
