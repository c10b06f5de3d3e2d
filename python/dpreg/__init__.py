"""Differentially private regression and feature selection.

`dp_lm(formula, data, eps)` and `dp_glm(formula, data, eps)` are the places to start.

Rooms, from the ground up; each imports only from those above it in this list: `privacy` (costs,
budgets, ledgers, certificates), `data` (from tables to rows of numbers), `sums` (exact sums over
rows, and their noise), `inference` (errors from released numbers), `methods` and `selection` (what
draws noise for whom), `planning` (what to expect, without data), `results` (what users see),
`pipeline` (charge, read, release), and the faces: Python, `cli`, `bridge` for R, `sklearn`.

Words of the house
------------------
unit : whoever is protected: one row, or all rows with one value of the column `unit=`
units : their number, exact inside, noisy in what is released
record, row : a row of the table; a row of numbers that the formula makes of it
design : rows of numbers, and which unit each belongs to.  Private
terms, schema : what the formula and the types of the columns say.  Public
pass : over all rows, to read them or to sum something over them
statistic : an exact integer sum over rows, the same however they are divided into blocks
release : noisy numbers, with the scale of the noise; from there on everything is public
mu : what a Gaussian release costs; squares add up, and shares are shares of the square
scales : where the columns lie, as released; standard units: columns divided by that
directions : combinations of columns along which rows have unit second moments
limit : the norm to which a row or a score is shortened before it is summed
score : what a row adds to the estimating equation; of a unit: the sum over its rows
deviation : of the noise, one standard deviation; error: of an estimate
hidden : the part of an error that is bias, from shrinking or from what no release has seen
decline : to release nothing but the reason, when the mechanism itself says so
refuse : to raise an error, for public reasons, before anything is spent
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dpreg.version import __version__

if TYPE_CHECKING:
    from dpreg import audit, mechanisms, reference
    from dpreg._core import EntropyError
    from dpreg.block_test import dp_test
    from dpreg.datasets import load_diamonds
    from dpreg.errors import ArgumentError, BudgetError, FormulaError, SchemaError, SourceError
    from dpreg.families import Quantile
    from dpreg.glm import dp_glm
    from dpreg.lm import dp_lm
    from dpreg.methods import DPSGD, AdaSSP, Auto, BoostedAdaSSP, FrankWolfe, TukeyEM
    from dpreg.moments import dp_moments
    from dpreg.passes import progress
    from dpreg.planning.plan import Plan, dp_plan
    from dpreg.privacy.budget import Budget
    from dpreg.results.block_test import DPTest
    from dpreg.results.compare import compare
    from dpreg.results.fit import DPResults
    from dpreg.results.moments import DPMoments
    from dpreg.results.not_released import NotReleased
    from dpreg.results.selection import SelectionResult
    from dpreg.select import dp_select
    from dpreg.selection import DPSIS, DPKendall, SubLasso, TwoStage

__all__ = [
    "DPSGD",
    "DPSIS",
    "AdaSSP",
    "ArgumentError",
    "Auto",
    "BoostedAdaSSP",
    "Budget",
    "BudgetError",
    "DPKendall",
    "DPMoments",
    "DPResults",
    "DPTest",
    "EntropyError",
    "FormulaError",
    "FrankWolfe",
    "NotReleased",
    "Plan",
    "Quantile",
    "SchemaError",
    "SelectionResult",
    "SourceError",
    "SubLasso",
    "TukeyEM",
    "TwoStage",
    "__version__",
    "audit",
    "compare",
    "dp_glm",
    "dp_lm",
    "dp_moments",
    "dp_plan",
    "dp_select",
    "dp_test",
    "load_diamonds",
    "mechanisms",
    "progress",
    "reference",
]

# Where each name is; it is imported when it is first used, so that `import dpreg` and the shell
# are quick (PEP 562).
_HOMES = {
    "dpreg": ("audit", "mechanisms", "reference"),
    "dpreg._core": ("EntropyError",),
    "dpreg.block_test": ("dp_test",),
    "dpreg.datasets": ("load_diamonds",),
    "dpreg.errors": (
        "ArgumentError", "BudgetError", "FormulaError", "SchemaError", "SourceError",
    ),
    "dpreg.families": ("Quantile",),
    "dpreg.glm": ("dp_glm",),
    "dpreg.lm": ("dp_lm",),
    "dpreg.methods": ("DPSGD", "AdaSSP", "Auto", "BoostedAdaSSP", "FrankWolfe", "TukeyEM"),
    "dpreg.moments": ("dp_moments",),
    "dpreg.passes": ("progress",),
    "dpreg.planning.plan": ("Plan", "dp_plan"),
    "dpreg.privacy.budget": ("Budget",),
    "dpreg.results.block_test": ("DPTest",),
    "dpreg.results.compare": ("compare",),
    "dpreg.results.fit": ("DPResults",),
    "dpreg.results.moments": ("DPMoments",),
    "dpreg.results.not_released": ("NotReleased",),
    "dpreg.results.selection": ("SelectionResult",),
    "dpreg.select": ("dp_select",),
    "dpreg.selection": ("DPSIS", "DPKendall", "SubLasso", "TwoStage"),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dpreg' has no attribute {name!r}")
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
