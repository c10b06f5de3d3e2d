"""Small patches: a line of a Python function changed, or a function of the core replaced."""

from __future__ import annotations

import contextlib
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from unittest.mock import patch

from dpreg import _core

REAL = {
    name: getattr(owner, name)
    for owner in (_core, _core.testing)
    for name in dir(owner)
    if not name.startswith("__")
}


# What a mutant writes to read what is sealed: its text has the names of the module only.
OPEN = "__import__('unsealed').opened"
EXACT_GRAM = "__import__('unsealed').symmetric_of(rows.gram())"


@dataclass(frozen=True)
class Mutant:
    """A defect, where it was found, and the checks of which at least one must reject it."""

    name: str
    apply: Callable[[contextlib.ExitStack], None]
    checks: tuple[str, ...]


def edited(owner, name, *changes):
    """Compile `name` of a module or class anew, each (old, new) replaced exactly once."""

    def apply(stack):
        function = inspect.unwrap(owner.__dict__[name])
        source = textwrap.dedent(inspect.getsource(function))
        for old, new in changes:
            assert source.count(old) == 1, f"{name}: {old!r} occurs {source.count(old)} times"
            source = source.replace(old, new)
        module = owner if isinstance(owner, ModuleType) else inspect.getmodule(owner)
        scope = {}
        code = "from __future__ import annotations\n" + source
        exec(compile(code, f"<mutant of {name}>", "exec"), module.__dict__, scope)
        _replace_everywhere(stack, owner, name, scope[name])

    return apply


def _replace_everywhere(stack, owner, name, value):
    """Also where a module has imported the name."""
    real = owner.__dict__[name]
    owners = [owner]
    if isinstance(owner, ModuleType) and owner is not _core:
        dpreg = (m for key, m in sorted(sys.modules.items()) if key.partition(".")[0] == "dpreg")
        owners = [m for m in dpreg if m.__dict__.get(name) is real]
    for one in owners:
        stack.enter_context(patch.object(one, name, value))


def swapped(owner, name, make):
    """Replace `name` by ``make(real)``."""

    def apply(stack):
        real = owner.__dict__[name]
        _replace_everywhere(stack, owner, name, make(real))

    return apply


def both(*patches):
    def apply(stack):
        for each in patches:
            each(stack)

    return apply
