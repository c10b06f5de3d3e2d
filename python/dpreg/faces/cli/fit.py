"""`dpreg fit`, `glm` and `select`, and the options objects of their methods, as they were typed."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import click
from click.shell_completion import CompletionItem

from dpreg.base.errors import ArgumentError, Choice, Setting, Value, closest
from dpreg.base.options import alternatives, kind_of
from dpreg.faces.cli.release import fitting, pair, read_saved, shared
from dpreg.faces.cli.shell import Command, Outputs, command, release_and_tell


def methods() -> Mapping[str, Any]:
    """Return what ``--method`` takes."""
    from dpreg.estimation.methods import METHODS

    return METHODS


def selectors() -> Mapping[str, Any]:
    """Return what ``--select`` takes."""
    from dpreg.estimation.selection import SELECTORS

    return SELECTORS


def build(given: dict[str, Any], argument: str, kinds: Mapping[str, Any], settings: str) -> None:
    """Put the options object of a method in the place of its name, if there is something to set.

    given: what was typed, by name; `settings` is taken out of it.
    """
    typed, name = given.pop(settings), given[argument]
    if name is not None:
        given[argument] = _built(name, kinds, typed, f"--{settings.replace('_', '-')}")


def _built(name: str, kinds: Mapping[str, Any], settings: Sequence[str], option: str) -> Any:
    """Return an options object; ``NAME=VALUE`` may be ``standardisation.NAME=VALUE``."""
    if not settings:
        return name
    if name not in kinds:
        raise ArgumentError(option, f"needs a method, and {name!r} is not one")
    given: dict[str, Any] = {}
    nested: dict[str, list[str]] = {}
    for setting in settings:
        key, text = pair(option, setting, "NAME=VALUE")
        outer, dot, inner = key.partition(".")
        if dot:
            nested.setdefault(outer, []).append(f"{inner}={text}")
        else:
            given[key] = _converted(kinds[name], name, option, key, text)
    for outer, inside in nested.items():
        hint = _hint(kinds[name], name, option, outer)
        given[outer] = _built(outer, {outer: hint}, inside, option)
    try:
        return kinds[name](**given)
    except ArgumentError as error:
        if error.argument not in {setting.partition("=")[0] for setting in settings}:
            raise
        typed_as = f"{option} {error.argument}"
        raise ArgumentError(typed_as, error.problem, *error.suggestion) from None


def _fields(kind: Any) -> dict[str, Any]:
    return {f.name: f for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}


def _hint(kind: Any, name: str, option: str, key: str) -> Any:
    fields = _fields(kind)
    if key not in fields:
        meant = closest(key, fields)
        advice = [] if meant is None else [("write ", Setting(option, f"{meant}=..."))]
        problem = (f"{name!r} has no option {key!r}; it has ", Choice(tuple(fields)))
        raise ArgumentError(option, problem, *advice)
    return typing.get_type_hints(kind)[key]


def _converted(kind: Any, name: str, option: str, key: str, text: str) -> Any:
    """Return the value that a text stands for, by the type that the option is annotated with."""
    hint = _hint(kind, name, option, key)
    for one in alternatives(hint):
        read = _READERS.get(typing.get_origin(one) or one)
        try:
            if read is not None:
                return read(text, one)
        except (KeyError, ValueError):
            continue
    if dataclasses.is_dataclass(hint):
        inside = Choice(tuple(f"{key}.{field}=..." for field in _fields(hint)))
        raise ArgumentError(option, (f"{key!r} has options of its own: ", inside))
    kind = kind_of(hint).replace("None", "none").replace("a bool", "yes or no")
    raise ArgumentError(option, (f"{key!r} of {name!r} must be {kind}, got ", Value(text)))


_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
# Of a text and an annotation; KeyError or ValueError for a text that stands for no such value.
_READERS: dict[Any, Any] = {
    bool: lambda text, _: _TRUTHS[text.lower()],
    int: lambda text, _: int(text),
    float: lambda text, _: float(text),
    str: lambda text, _: text,
    Literal: lambda text, hint: {name: name for name in typing.get_args(hint)}[text],
    tuple: lambda text, _: tuple(text.split(",")),
    types.NoneType: lambda text, _: {"none": None}[text.lower()],
}


def described(kinds: Mapping[str, Any]) -> str:
    """List the options of all methods with their defaults, for help."""
    lines = []
    for name, kind in kinds.items():
        fields = [f for f in dataclasses.fields(kind) if f.name != "max_rows"]
        shown = []
        for field in fields:
            if field.default is dataclasses.MISSING:
                shown.append(f"{field.name}.NAME")
            elif isinstance(field.default, tuple):
                shown.append(f"{field.name}={','.join(field.default)}")
            else:
                shown.append(f"{field.name}={field.default}")
        lines.append(f"{name}: {', '.join(shown)}")
    return "\n\n".join(lines)


def offering(names: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Return what completes one of the names, which are looked up when somebody asks."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(begun)]

    return complete


def method_options(argument: str, what: str) -> Callable[[Command], Command]:
    """Return a decorator that adds options of a method."""
    return click.option(
        f"--{argument}", multiple=True, metavar="NAME=VALUE",
        help=f"An option of {what}, see below; may be repeated.",
    )  # fmt: skip


def by_request(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    """Return what `make` makes of a `Request`, as a function of its fields and the data.

    name: of the public function, for the ledger.
    """
    from dpreg.calls.request import Request

    return lambda data, **asked: make(Request.of(name, asked), data)


_FITTING: tuple[Callable[..., Any], ...] = (
    click.option("--method", metavar="NAME", shell_complete=offering(methods),
                 default="auto", show_default=True, help="Method of fitting."),
    method_options("option", "the method"),
    click.option("--select", metavar="NAME", shell_complete=offering(selectors),
                 help="Select terms privately before the fit."),
    click.option("--k", type=int, help="Number of terms that --select keeps."),
    click.option("--split", type=float,
                 help="Probability that a unit is used for selection instead of estimation."),
    method_options("select-option", "the selector"),
    *shared("weights", "weight_limit"),
    click.option("--inference/--no-inference", default=True,
                 help="Release standard errors.  [default: yes]"),
    click.option("--fit-stats/--no-fit-stats", default=False,
                 help="Also release R squared and the residual scale.  [default: no]"),
    click.option("--diagnostics/--no-diagnostics", default=False,
                 help="Also release counts of residuals.  [default: no]"),
    *shared("alpha"),
    click.option("--start", metavar="FILE",
                 help="Fit or moments that --json wrote, of the same formula; their scales cost "
                 "nothing."),
    *shared("memory"),
)  # fmt: skip


@command(
    'dpreg fit "price ~ carat + depth" diamonds.parquet --eps 1',
    'dpreg fit "price ~ carat" diamonds.parquet --eps 1 --budget diamonds.ledger --json -',
    'dpreg fit "y ~ x" visits.parquet --eps 1 --unit person --method adassp --max-rows 3',
    'dpreg fit "y ~ x" d.parquet --eps 1 --method tukey --option models=500',
    'dpreg fit "y ~ ." d.parquet --eps 1 --select kendall --k 5',
    'dpreg fit "y ~ x" november.parquet --eps 1 --start october.json',
    details=("Options of methods", lambda: described(methods())),
)
@fitting(*_FITTING)
def fit(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a linear regression to Parquet files privately.

    FORMULA is a Wilkinson formula such as 'price ~ carat + cut'; DATA is a Parquet file,
    a folder of such files or a pattern.
    """
    return _fitted(given, outputs)


@command(
    'dpreg glm "default ~ income + region" loans.parquet --eps 1',
    'dpreg glm "visits ~ age + offset(log(years))" d.parquet --eps 1 --family poisson',
    'dpreg glm "wage ~ age" d.parquet --eps 1 --family quantile',
    details=("Options of methods", lambda: described(methods())),
)
@fitting(
    click.option("--family", metavar="NAME", default="binomial", show_default=True,
                 help="binomial, poisson, gamma, negativebinomial, gaussian or quantile."),
    click.option("--link", metavar="NAME", help="logit, probit or cloglog, for binomial."),
    click.option("--exp/--no-exp", default=False,
                 help="Show exponentials, such as odds ratios.  [default: no]"),
    *_FITTING,
)  # fmt: skip
def glm(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a generalised linear or quantile regression privately.

    FORMULA is a Wilkinson formula such as 'default ~ income'; DATA is a Parquet file,
    a folder of such files or a pattern.  --family is binomial, poisson, gamma and others.
    """
    return _fitted(given, outputs)


def _fitted(given: dict[str, Any], outputs: Outputs) -> int:
    from dpreg.calls.fit import fit as fitted
    from dpreg.calls.starts import origin_from_json

    build(given, "method", methods(), "option")
    build(given, "select", selectors(), "select_option")
    if given["start"] is not None:
        commands = "dpreg fit --json or dpreg moments --json"
        given["start"] = read_saved(
            given["start"], "start", origin_from_json, "a fit or moments", commands
        )
    # A ledger says what was called.
    linear = given.get("family", "gaussian") == "gaussian" and given.get("link") is None
    name = "dp_lm" if linear else "dp_glm"
    return release_and_tell(by_request(name, fitted), given, outputs)


@command(
    'dpreg select "price ~ ." diamonds.parquet --k 5 --eps 0.2',
    'dpreg select "y ~ a + b" d.parquet --k 1 --eps 1 --method sis --bounds a=0,5 '
    "--bounds b=0,9 --bounds y=0,100",
    details=("Options of methods", lambda: described(selectors())),
)
@fitting(
    click.option("--k", type=int, required=True, help="Number of terms to select."),
    click.option("--method", metavar="NAME", shell_complete=offering(selectors),
                 default="kendall", show_default=True, help="Method of selection."),
    method_options("option", "the method"),
)  # fmt: skip
def select(given: dict[str, Any], outputs: Outputs) -> int:
    """Choose terms of a regression privately.

    The terms of FORMULA are the candidates, such as 'price ~ .'; DATA is the path of the file.
    """
    from dpreg.calls.select import selected

    build(given, "method", selectors(), "option")
    if given["delta"] is None:
        given["delta"] = 0.0
    return release_and_tell(by_request("dp_select", selected), given, outputs, "choosing terms")
