"""`dpreg fit`, `glm` and `select`, and the options objects of their methods, as they were typed."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from dpreg.base.errors import ArgumentError, Choice, Setting, closest
from dpreg.faces.cli.release import fitting, number, pair, read_saved, shared
from dpreg.faces.cli.shell import Command, Outputs, command, option, release_and_tell


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


def _built(name: str, kinds: Mapping[str, Any], settings: Sequence[str], flag: str) -> Any:
    """Return an options object; ``NAME=VALUE`` may be ``standardisation.NAME=VALUE``."""
    if not settings:
        return name
    if name not in kinds:
        raise ArgumentError(flag, f"needs a method, and {name!r} is not one")
    given: dict[str, Any] = {}
    nested: dict[str, list[str]] = {}
    for setting in settings:
        key, text = pair(flag, setting, "NAME=VALUE")
        outer, dot, inner = key.partition(".")
        field = _field(kinds[name], name, flag, outer)
        if dot:
            nested.setdefault(outer, []).append(f"{inner}={text}")
        else:
            given[outer] = _value(text, several=isinstance(field.default, tuple))
    for outer, inside in nested.items():
        kind = typing.get_type_hints(kinds[name])[outer]
        given[outer] = _built(outer, {outer: kind}, inside, flag)
    try:
        return kinds[name](**given)
    except ArgumentError as error:
        if error.argument not in {setting.partition("=")[0] for setting in settings}:
            raise
        typed_as = f"{flag} {error.argument}"
        raise ArgumentError(typed_as, error.problem, *error.suggestion) from None


def _field(kind: Any, name: str, flag: str, key: str) -> Any:
    known = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    fields = {field.name: field for field in known}
    if key not in fields:
        meant = closest(key, fields)
        advice = [] if meant is None else [("write ", Setting(flag, f"{meant}=..."))]
        problem = (f"{name!r} has no option {key!r}; it has ", Choice(tuple(fields)))
        raise ArgumentError(flag, problem, *advice)
    return fields[key]


_WORDS = {"yes": True, "true": True, "no": False, "false": False, "none": None}


def _value(text: str, *, several: bool) -> Any:
    """Return the value that a text stands for, which the class of options checks."""
    if several:
        return tuple(text.split(","))
    return _WORDS[text.lower()] if text.lower() in _WORDS else number(text)


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
    text = f"An option of {what}, see below; may be repeated."
    return option(argument, str, text, multiple=True, metavar="NAME=VALUE")


def by_request(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    """Return what `make` makes of a `Request`, as a function of its fields and the data.

    name: of the public function, for the ledger.
    """
    from dpreg.calls.request import Request

    return lambda data, **asked: make(Request.of(name, asked), data)


_FITTING: tuple[Callable[..., Any], ...] = (
    option("method", str, "Method of fitting.", metavar="NAME", default="auto",
           shell_complete=offering(methods)),
    method_options("option", "the method"),
    option("select", str, "Select terms privately before the fit.", metavar="NAME",
           shell_complete=offering(selectors)),
    option("k", int, "Number of terms that --select keeps."),
    option("split", float, "Probability that a unit is used for selection instead of estimation."),
    method_options("select-option", "the selector"),
    *shared("weights", "weight_limit"),
    click.option("--inference/--no-inference", default=True,
                 help="Release standard errors.  [default: yes]"),
    click.option("--fit-stats/--no-fit-stats", default=False,
                 help="Also release R squared and the residual scale.  [default: no]"),
    click.option("--diagnostics/--no-diagnostics", default=False,
                 help="Also release counts of residuals.  [default: no]"),
    *shared("alpha"),
    option("start", str, metavar="FILE", text="Fit or moments of the same formula, "
           "written by --json; their scales cost nothing."),
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
    option("family", str, "binomial, poisson, gamma, negativebinomial, gaussian or quantile.",
           metavar="NAME", default="binomial"),
    option("link", str, "logit, probit or cloglog, for binomial.", metavar="NAME"),
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
    option("k", int, "Number of terms to select.", required=True),
    option("method", str, "Method of selection.", metavar="NAME", default="kendall",
           shell_complete=offering(selectors)),
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
