"""Differentially private regression and feature selection.

Start with `dp_lm(formula, data, eps)` and `dp_glm(formula, data, eps)`.  The glossary of the
documentation defines unit, score, release and other terms.

Subpackages; each imports only from those before it: `base` (errors, names, families), `privacy`
(costs, budgets, ledgers, certificates), `data` (from tables to rows of numbers), `estimation` (from
rows to private estimates with standard errors), `results` (fitted models), `calls` (check, charge,
read, release), and the interfaces: `mechanisms`, `sklearn`, `r`, `faces` (shell, R, plots), `audit`
and `reference`.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

from dpreg.version import __version__ as __version__

# Each name is imported when it is first used, so that `import dpreg` and the shell are quick (PEP
# 562); where it is, `__init__.pyi` says, which type checkers read too.
_HOME = {
    name.name: "dpreg" if node.level else str(node.module)
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for name in node.names
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in ("r", "sklearn"):  # They need packages of their own, and are not in `__all__`.
        return importlib.import_module(f"dpreg.{name}")
    home = _HOME.get(name)
    if home is None:
        from dpreg.base.keywords import function_meant_by

        meant = function_meant_by(name, __all__)
        advice = "" if meant is None else f"; write {meant}"
        raise AttributeError(f"module 'dpreg' has no attribute {name!r}{advice}")
    try:
        if home == "dpreg":
            return importlib.import_module(f"dpreg.{name}")
        found = getattr(importlib.import_module(home), name)
    except ImportError as error:
        if "_core" in str(error):
            error.add_note("the C++ extension of dpreg is not built: run `pip install .`")
        raise
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
