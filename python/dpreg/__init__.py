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

import importlib
from typing import TYPE_CHECKING, Any

from dpreg.version import __version__

if TYPE_CHECKING:
    from dpreg import audit, mechanisms, reference
    from dpreg._core import EntropyError
    from dpreg.base.errors import ArgumentError, BudgetError, FormulaError, SchemaError, SourceError
    from dpreg.base.families import NegativeBinomial, Quantile
    from dpreg.base.padding import padded
    from dpreg.base.passes import progress
    from dpreg.calls.block_test import dp_test
    from dpreg.calls.classes import dp_multinomial, dp_ordinal
    from dpreg.calls.curve import dp_curve
    from dpreg.calls.effect import dp_effect
    from dpreg.calls.lm import dp_glm, dp_lm
    from dpreg.calls.moments import dp_moments
    from dpreg.calls.public_data import public_start
    from dpreg.calls.select import dp_select
    from dpreg.calls.survival import dp_survival
    from dpreg.data.datasets import load_diamonds
    from dpreg.estimation.inference.start import Start
    from dpreg.estimation.methods import DPSGD, AdaSSP, Auto, BoostedAdaSSP, FrankWolfe, TukeyEM
    from dpreg.estimation.planning.hazards import SurvivalPlan
    from dpreg.estimation.planning.plan import Plan, dp_plan
    from dpreg.estimation.selection import DPSIS, DPKendall, SubLasso, TwoStage
    from dpreg.privacy.budget import Budget
    from dpreg.results.block_test import DPTest
    from dpreg.results.compare import compare
    from dpreg.results.curve import DPCurve
    from dpreg.results.effect import DPEffect
    from dpreg.results.fit import DPResults
    from dpreg.results.moments import DPMoments
    from dpreg.results.multinomial import DPMultinomial
    from dpreg.results.not_released import NotReleased
    from dpreg.results.ordinal import DPOrdinal
    from dpreg.results.selection import SelectionResult
    from dpreg.results.survival import DPSurvival

__all__ = [
    "DPSGD",
    "DPSIS",
    "AdaSSP",
    "ArgumentError",
    "Auto",
    "BoostedAdaSSP",
    "Budget",
    "BudgetError",
    "DPCurve",
    "DPEffect",
    "DPKendall",
    "DPMoments",
    "DPMultinomial",
    "DPOrdinal",
    "DPResults",
    "DPSurvival",
    "DPTest",
    "EntropyError",
    "FormulaError",
    "FrankWolfe",
    "NegativeBinomial",
    "NotReleased",
    "Plan",
    "Quantile",
    "SchemaError",
    "SelectionResult",
    "SourceError",
    "Start",
    "SubLasso",
    "SurvivalPlan",
    "TukeyEM",
    "TwoStage",
    "__version__",
    "audit",
    "compare",
    "dp_curve",
    "dp_effect",
    "dp_glm",
    "dp_lm",
    "dp_moments",
    "dp_multinomial",
    "dp_ordinal",
    "dp_plan",
    "dp_select",
    "dp_survival",
    "dp_test",
    "load_diamonds",
    "mechanisms",
    "padded",
    "progress",
    "public_start",
    "reference",
]

# Where each name is; it is imported when it is first used, so that `import dpreg` and the shell
# are quick (PEP 562).
_HOMES = {
    "dpreg": ("audit", "mechanisms", "reference"),
    "dpreg._core": ("EntropyError",),
    "dpreg.calls.block_test": ("dp_test",),
    "dpreg.calls.classes": ("dp_multinomial", "dp_ordinal"),
    "dpreg.calls.curve": ("dp_curve",),
    "dpreg.calls.effect": ("dp_effect",),
    "dpreg.data.datasets": ("load_diamonds",),
    "dpreg.base.errors": (
        "ArgumentError",
        "BudgetError",
        "FormulaError",
        "SchemaError",
        "SourceError",
    ),
    "dpreg.base.families": ("NegativeBinomial", "Quantile"),
    "dpreg.calls.lm": ("dp_glm", "dp_lm"),
    "dpreg.estimation.inference.start": ("Start",),
    "dpreg.estimation.methods": (
        "DPSGD",
        "AdaSSP",
        "Auto",
        "BoostedAdaSSP",
        "FrankWolfe",
        "TukeyEM",
    ),
    "dpreg.calls.moments": ("dp_moments",),
    "dpreg.base.padding": ("padded",),
    "dpreg.base.passes": ("progress",),
    "dpreg.estimation.planning.hazards": ("SurvivalPlan",),
    "dpreg.estimation.planning.plan": ("Plan", "dp_plan"),
    "dpreg.privacy.budget": ("Budget",),
    "dpreg.calls.public_data": ("public_start",),
    "dpreg.results.block_test": ("DPTest",),
    "dpreg.results.multinomial": ("DPMultinomial",),
    "dpreg.results.ordinal": ("DPOrdinal",),
    "dpreg.results.compare": ("compare",),
    "dpreg.results.curve": ("DPCurve",),
    "dpreg.results.effect": ("DPEffect",),
    "dpreg.results.fit": ("DPResults",),
    "dpreg.results.moments": ("DPMoments",),
    "dpreg.results.not_released": ("NotReleased",),
    "dpreg.results.selection": ("SelectionResult",),
    "dpreg.calls.select": ("dp_select",),
    "dpreg.calls.survival": ("dp_survival",),
    "dpreg.results.survival": ("DPSurvival",),
    "dpreg.estimation.selection": ("DPSIS", "DPKendall", "SubLasso", "TwoStage"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
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
