"""Audits by replays: of each kind of call random ones, with much epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from dpreg.audit._finding import Check, Effort, each_case
from dpreg.audit.recordings import Leak
from dpreg.audit.replay import measure
from dpreg.audit.replay_calls import Generator, PublicCall, one_of
from dpreg.audit.replay_models import random_classes, random_curve, random_effect, random_hazards
from dpreg.audit.replay_options import (
    boosted,
    random_adassp,
    random_auto,
    random_boosted,
    random_dpsgd,
    random_family,
    random_fit,
    random_frank_wolfe,
    random_moments,
    random_rare,
    random_selected,
    random_tukey,
)
from dpreg.audit.replay_tables import MOSTLY_ZERO, random_case
from dpreg.base.families import NegativeBinomial

# At so much tables of a replay reach all stages.
_EPSILON = 100.0

Calls = Callable[[Generator], PublicCall]


def _replays(
    name: str, of: str, calls: Calls, *, delta: float = 1e-2, runs: tuple[int, int] = (300, 30),
    mostly_zero: float = MOSTLY_ZERO,
) -> Check:  # fmt: skip
    """A unit more, with all of its rows: no other row changes, and sums move as stated.

    runs: in full, and at least: seven tenths of these find every mutant of tests/audit.
    """

    @each_case(name, of, "grey box", _EPSILON, delta)
    def pairs(effort: Effort) -> Iterator[tuple[float, str]]:
        for number in range(effort.runs(*runs)):
            rng = np.random.default_rng([effort.seed, number])
            call = replace(calls(rng), claim=(_EPSILON, delta))
            try:
                moves = measure(random_case(rng, call, mostly_zero))
            except Leak as leak:
                yield math.inf, f"{call}: {leak}"
            else:
                if moves is not None:
                    # Losses of sampled steps are rounded up; that they are not more was seen to.
                    yield min(moves[-1][1], 1.0) * _EPSILON, str(call)

    return pairs


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
    calls: Calls = one_of(rng, (random_adassp, random_boosted, random_family))
    return calls(rng)


_EXTRAS = ("fit_stats", "diagnostics", "weights")
ALL = (
    _replays("adassp", "adassp", random_adassp, runs=(300, 60)),
    _replays("boosted_adassp", "boosted_adassp", _having(random_boosted, "inference")),
    _replays("least squares", "least squares with errors", random_boosted),
    _replays("families", "families", random_family),
    _replays("dispersion", "dispersions of counts", _dispersed, runs=(100, 10)),
    _replays("extras and weights", "extras and weights", _having(_any_fit, *_EXTRAS)),
    _replays("limits of predictions", "limits of predictions", _having(random_adassp, "inference"),
             runs=(300, 60)),
    _replays("dpsgd", "dpsgd: what its stages ask for", random_dpsgd, runs=(60, 12)),
    _replays("units", "units of several rows", _having(_any_fit, "unit")),
    _replays("tukey", "tukey: what its stages ask for", random_tukey, runs=(100, 30)),
    _replays("auto", "auto: what its stages ask for", random_auto, runs=(300, 60)),
    _replays("pipelines", "selection, then a fit", random_selected, runs=(300, 40)),
    _replays("split", "selection and fit on different units", _having(random_selected, "split")),
    _replays("moments", "dp_moments", random_moments),
    _replays("frank_wolfe", "frank_wolfe", random_frank_wolfe),
    _replays("exits", "dp_curve: tables of exits and entries", random_curve, delta=0.0),
    _replays("survival", "dp_survival: rows of persons and periods", random_hazards,
             runs=(300, 60)),
    _replays("classes", "dp_ordinal, dp_multinomial: rows of classes", random_classes),
    _replays("effects", "dp_effect: rows and scores of arms", random_effect),
    _replays("effects of units", "dp_effect: units of several rows",
             _having(random_effect, "unit"), runs=(100, 12)),
    _replays("rare columns", "columns that are mostly 0", random_rare, runs=(100, 45),
             mostly_zero=1.0),
)  # fmt: skip
