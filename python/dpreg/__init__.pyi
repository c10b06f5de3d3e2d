"""What `dpreg` has, and where each name is: read by type checkers, and by `__init__.py`."""

from dpreg._core import EntropyError as EntropyError
from dpreg.base.errors import (
    ArgumentError as ArgumentError,
    BudgetError as BudgetError,
    FormulaError as FormulaError,
    SchemaError as SchemaError,
)
from dpreg.base.families import NegativeBinomial as NegativeBinomial, Quantile as Quantile
from dpreg.base.passes import padded as padded
from dpreg.base.passes import progress as progress
from dpreg.calls.block_test import dp_test as dp_test
from dpreg.calls.classes import dp_multinomial as dp_multinomial, dp_ordinal as dp_ordinal
from dpreg.calls.curve import dp_curve as dp_curve
from dpreg.calls.effect import dp_effect as dp_effect
from dpreg.calls.lm import dp_glm as dp_glm, dp_lm as dp_lm
from dpreg.calls.moments import dp_moments as dp_moments
from dpreg.calls.public_data import public_start as public_start
from dpreg.calls.select import dp_select as dp_select
from dpreg.calls.survival import dp_survival as dp_survival
from dpreg.data.datasets import load_diamonds as load_diamonds
from dpreg.data.source import SourceError as SourceError
from dpreg.estimation.inference.start import Start as Start
from dpreg.estimation.methods import (
    DPSGD as DPSGD,
    AdaSSP as AdaSSP,
    Auto as Auto,
    BoostedAdaSSP as BoostedAdaSSP,
    FrankWolfe as FrankWolfe,
    TukeyEM as TukeyEM,
)
from dpreg.estimation.planning.fit_plan import Plan as Plan
from dpreg.estimation.planning.model_plan import ModelPlan as ModelPlan
from dpreg.estimation.planning.plan import dp_plan as dp_plan
from dpreg.estimation.selection import (
    DPSIS as DPSIS,
    DPKendall as DPKendall,
    SubLasso as SubLasso,
    TwoStage as TwoStage,
)
from dpreg.privacy.budget import Budget as Budget
from dpreg.results.block_test import DPTest as DPTest
from dpreg.results.class_models import DPMultinomial as DPMultinomial, DPOrdinal as DPOrdinal
from dpreg.results.compare import compare as compare
from dpreg.results.curve import DPCurve as DPCurve
from dpreg.results.effect import DPEffect as DPEffect
from dpreg.results.fit import DPResults as DPResults
from dpreg.results.moments import DPMoments as DPMoments
from dpreg.results.not_released import NotReleased as NotReleased
from dpreg.results.selection import SelectionResult as SelectionResult
from dpreg.results.survival import DPSurvival as DPSurvival
from dpreg.version import __version__ as __version__

from . import audit as audit, mechanisms as mechanisms, reference as reference
