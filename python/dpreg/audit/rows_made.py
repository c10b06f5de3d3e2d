"""Audits by replays: of calls whose rows are made of records, and of rare columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.recordings import Leak
from dpreg.audit.replay import measure
from dpreg.audit.replay_calls import PublicCall
from dpreg.audit.replay_models import random_classes, random_curve, random_effect, random_hazards
from dpreg.audit.replay_options import random_rare
from dpreg.audit.replay_tables import MOSTLY_ZERO, random_case

# At so much tables of a replay reach all stages.
_EPSILON = 100.0


@dataclass(frozen=True, slots=True)
class _Replays:
    """A person more, with all of its rows: no other row changes, and sums move as stated."""

    of: str
    calls: Callable[[np.random.Generator], PublicCall]
    delta: float = 1e-2
    runs: tuple[int, int] = (300, 60)  # In full, and at least.
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
                finding = finding.after(found.moved[-1][1] * _EPSILON, str(call))
        return finding


EXITS = Check("exits", _Replays("dp_curve: tables of exits and entries", random_curve, delta=0.0))
SURVIVAL = Check("survival", _Replays("dp_survival: rows of persons and periods", random_hazards))
CLASSES = Check("classes", _Replays("dp_ordinal, dp_multinomial: rows of classes", random_classes))
EFFECTS = Check("effects", _Replays("dp_effect: rows and scores of arms", random_effect))
RARE = _Replays("columns that are mostly 0", random_rare, runs=(100, 30), mostly_zero=1.0)
RARE_COLUMNS = Check("rare columns", RARE)
