"""Differentially private linear regression and feature selection.

`dp_lm(formula, data, eps)` is the place to start.
"""

from __future__ import annotations

try:
    from dpreg import _core
except ImportError as error:
    error.add_note("the C++ extension of dpreg is not built; run `pip install .` in its checkout")
    raise

from dpreg.datasets import load_diamonds
from dpreg.errors import BudgetError, FormulaError, SchemaError
from dpreg.lm import dp_lm
from dpreg.methods import DPSGD, AdaSSP, Auto, BoostedAdaSSP, FrankWolfe, TukeyEM
from dpreg.planning.plan import Plan, dp_plan
from dpreg.privacy.budget import Budget
from dpreg.results.compare import compare
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.results.selection import SelectionResult
from dpreg.select import dp_select
from dpreg.selection import DPSIS, DPKendall, SubLasso, TwoStage
from dpreg.version import __version__

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
