"""Audits by replays: of each kind of call random ones, with much epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.recordings import Leak
from dpreg.audit.replay import measure
from dpreg.audit.replay_calls import Generator, PublicCall, one_of
from dpreg.audit.replay_models import random_classes, random_curve, random_effect, random_hazards
from dpreg.audit.replay_options import (
    FAMILIES,
    boosted,
    random_auto,
    random_dpsgd,
    random_fit,
    random_frank_wolfe,
    random_moments,
    random_rare,
    random_selected,
    random_tukey,
)
from dpreg.audit.replay_tables import MOSTLY_ZERO, random_case
from dpreg.base.families import NegativeBinomial
from dpreg.estimation.methods import AdaSSP

# At so much tables of a replay reach all stages.
_EPSILON = 100.0

Calls = Callable[[Generator], PublicCall]


@dataclass(frozen=True, slots=True)
class _Replays:
    """A unit more, with all of its rows: no other row changes, and sums move as stated."""

    of: str
    calls: Calls
    delta: float = 1e-2
    # In full, and at least: seven tenths of these find every mutant of tests/audit.
    runs: tuple[int, int] = (300, 30)
    mostly_zero: float = MOSTLY_ZERO

    def __call__(self, effort: Effort) -> Finding:
        claim = _EPSILON, self.delta
        finding = Finding(self.of, "grey box", *claim)
        for number in range(effort.runs(*self.runs)):
            rng = np.random.default_rng([effort.seed, number])
            call = replace(self.calls(rng), claim=claim)
            try:
                found = measure(random_case(rng, call, self.mostly_zero))
            except Leak as leak:
                return replace(finding, lower=math.inf, runs=number + 1, remark=f"{call}: {leak}")
            if not found.refused:
                # Losses of sampled steps are rounded up; that they are not more was seen to.
                share = min(found.moved[-1][1], 1.0)
                finding = finding.after(share * _EPSILON, str(call))
        return finding


def _adassp(rng: Generator) -> PublicCall:
    return random_fit(rng, "dp_lm", AdaSSP())


def _boosted(rng: Generator) -> PublicCall:
    return random_fit(rng, "dp_lm", boosted(rng))


def _of_family(rng: Generator) -> PublicCall:
    return random_fit(rng, "dp_glm", boosted(rng), one_of(rng, FAMILIES))


def _dispersed(rng: Generator) -> PublicCall:
    return random_fit(rng, "dp_glm", boosted(rng), NegativeBinomial())


def _having(calls: Calls, *names: str) -> Calls:
    """Draw calls until one has one of these options."""

    def drawn(rng: Generator) -> PublicCall:
        while True:
            call = calls(rng)
            if not call.options.keys().isdisjoint(names):
                return call

    return drawn


def _any_fit(rng: Generator) -> PublicCall:
    calls: Calls = one_of(rng, (_adassp, _boosted, _of_family))
    return calls(rng)


_EXTRAS = ("fit_stats", "diagnostics", "weights")
ADASSP = Check("adassp", _Replays("adassp", _adassp, runs=(300, 60)))
BOOSTED = Check("boosted_adassp", _Replays("boosted_adassp", _having(_boosted, "inference")))
LEAST_SQUARES = Check("least squares", _Replays("least squares with errors", _boosted))
OTHER_FAMILIES = Check("families", _Replays("families", _of_family))
DISPERSION = Check("dispersion", _Replays("dispersions of counts", _dispersed, runs=(100, 10)))
EXTRAS = Check("extras and weights", _Replays("extras and weights", _having(_any_fit, *_EXTRAS)))
PREDICTIONS = Check(
    "limits of predictions",
    _Replays("limits of predictions", _having(_adassp, "inference"), runs=(300, 60)),
)
DPSGD_ = Check("dpsgd", _Replays("dpsgd: what its stages ask for", random_dpsgd, runs=(60, 12)))
UNITS = Check("units", _Replays("units of several rows", _having(_any_fit, "unit")))
TUKEY = Check("tukey", _Replays("tukey: what its stages ask for", random_tukey, runs=(100, 30)))
AUTO = Check("auto", _Replays("auto: what its stages ask for", random_auto, runs=(300, 60)))
PIPELINES = Check("pipelines", _Replays("selection, then a fit", random_selected, runs=(300, 40)))
SPLIT = Check(
    "split", _Replays("selection and fit on different units", _having(random_selected, "split"))
)
MOMENTS = Check("moments", _Replays("dp_moments", random_moments))
FRANK_WOLFE = Check("frank_wolfe", _Replays("frank_wolfe", random_frank_wolfe))
EXITS = Check("exits", _Replays("dp_curve: tables of exits and entries", random_curve, delta=0.0))
SURVIVAL = Check(
    "survival", _Replays("dp_survival: rows of persons and periods", random_hazards, runs=(300, 60))
)
CLASSES = Check("classes", _Replays("dp_ordinal, dp_multinomial: rows of classes", random_classes))
EFFECTS = Check("effects", _Replays("dp_effect: rows and scores of arms", random_effect))
UNIT_EFFECTS = Check(
    "effects of units",
    _Replays("dp_effect: units of several rows", _having(random_effect, "unit"), runs=(100, 12)),
)
RARE = _Replays("columns that are mostly 0", random_rare, runs=(100, 45), mostly_zero=1.0)
RARE_COLUMNS = Check("rare columns", RARE)
