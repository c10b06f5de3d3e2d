"""Messages as users of the command line read them: arguments are options, and values are typed."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dpreg.base.errors import Argument, Blank, Choice, Code, Names, Options, Setting, Value

if TYPE_CHECKING:
    from dpreg.results.summary import Summary

# Arguments of the Python functions that a command takes by position; others are options of that
# name, or options of a method.
_POSITIONAL = {"formula": "FORMULA", "data": "DATA", "statistic": "STATISTIC", "ledger": "ledger"}
# Names of the options of all commands.
_options: set[str] = set()
# Attributes and methods of a result that its summary refers to.
_ATTRIBUTES = {"fit.clipping": "clipping in --json", "in fit.notes": "in the JSON (--json)",
               ".lm('y ~ a + b'), .iv, .anova, .rsquared, .compare, .subsets, .vif and .corr cost":
               "dpreg lm, on what --json writes, costs"}  # fmt: skip

# An argument without a value, and an option of a method, in the notes of a result.
_ARGUMENT = re.compile(r"(?<![\w.'\"`-])([a-z]\w*)=(?![^\s,;:.)])|\bthe option (\w+) of '\w+'")


def know_options(command: click.Command) -> None:
    """Take note of the options of a command and of those in it: messages spell them as such."""
    _options.update(str(one.name) for one in command.params if isinstance(one, click.Option))
    for inner in getattr(command, "commands", {}).values():
        know_options(inner)


def shell(code: Code) -> str:
    """Return what a user of the command line would type or read."""
    match code:
        case Argument(name):
            return _name(name)
        case Setting(argument, value):
            return _setting(argument, value)
        case Value(value):
            return repr(value) if isinstance(value, str) else _plain(value)
        case Choice(values) | Names(values):
            return ", ".join(map(_plain, values))
        case Options(_, _, "Budget", _):
            return "dpreg budget new"
        case Options(argument, name, _, settings):
            chosen = [f"--{argument} {name}"] if argument else []
            return " ".join([*chosen, *(_setting(*s) for s in settings.items())])


def in_shell(summary: Summary) -> Summary:
    """Return a summary whose notes are in the words of the shell.

    They refer to the JSON instead of attributes of the fit, and to options instead of arguments.
    """
    return replace(summary, notes=tuple(map(_note, summary.notes)))


def _note(text: str) -> str:
    for attribute, place in _ATTRIBUTES.items():
        text = text.replace(attribute, place)
    return _ARGUMENT.sub(
        lambda found: _name(name) if (name := found[1] or found[2]) in _options else found[0], text
    )


def _name(argument: str) -> str:
    if argument.startswith("-") or argument.isupper():
        return argument
    if argument in _POSITIONAL:
        return _POSITIONAL[argument]
    dashed = argument.replace("_", "-")
    return f"--{dashed}" if argument in _options else f"--option {argument}"


def _setting(argument: str, value: Any) -> str:
    name = _name(argument)
    if isinstance(value, Options):
        return shell(value)
    if isinstance(value, bool) and argument in _options:
        return name if value else f"--no-{name[2:]}"
    if isinstance(value, dict):
        pairs = (f"{_plain(k)}={_plain(v)}" for k, v in value.items() if k is not ...)
        return " ".join(f"{name} {shlex.quote(pair)}" for pair in pairs)
    between = "=" if name.startswith("--option ") else " "
    return f"{name}{between}{shlex.quote(_plain(value))}"


def _plain(value: Any) -> str:
    """Return a value as an option takes it."""
    if value is ...:
        return "..."
    if isinstance(value, Blank):
        return value.name.upper()
    if isinstance(value, (list, tuple)):
        return ",".join(map(_plain, value))
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value) if isinstance(value, float) else str(value)
