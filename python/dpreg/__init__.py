"""Differentially private linear regression and feature selection.

`dp_lm(formula, data, eps)` is the place to start.
"""

from __future__ import annotations

try:
    from dpreg import _core
except ImportError as error:
    error.add_note("the C++ extension of dpreg is not built; run `pip install .` in its checkout")
    raise

from dpreg._version import __version__
from dpreg.budget import Budget
from dpreg.datasets import load_diamonds
from dpreg.errors import BudgetError, FormulaError, SchemaError
from dpreg.lm import dp_lm
from dpreg.methods import DPSGD, AdaSSP, Auto, BoostedAdaSSP, FrankWolfe, TukeyEM
from dpreg.planning.plan import Plan, dp_plan
from dpreg.released.compare import compare
from dpreg.released.not_released import NotReleased
from dpreg.released.results import DPResults
from dpreg.released.selection_result import SelectionResult
from dpreg.select import dp_select
from dpreg.selection import DPSIS, DPKendall, SubLasso, TwoStage

EntropyError = _core.EntropyError

__all__ = [
    "DPSGD",
    "DPSIS",
    "AdaSSP",
    "Auto",
    "BoostedAdaSSP",
    "Budget",
    "BudgetError",
    "DPKendall",
    "DPResults",
    "EntropyError",
    "FormulaError",
    "FrankWolfe",
    "NotReleased",
    "Plan",
    "SchemaError",
    "SelectionResult",
    "SubLasso",
    "TukeyEM",
    "TwoStage",
    "__version__",
    "compare",
    "dp_lm",
    "dp_plan",
    "dp_select",
    "load_diamonds",
]
