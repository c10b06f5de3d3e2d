"""Audits of calls that fit rows made of records: periods of persons, classes, and arms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.recordings import Leak
from dpreg.audit.replay import measure
from dpreg.audit.replay_calls import PublicCall
from dpreg.audit.replay_options import random_classes, random_effect, random_hazards
from dpreg.audit.replay_tables import random_case

# At this claim tables of a replay reach all stages.
_CLAIM = (100.0, 1e-2)


@dataclass(frozen=True, slots=True)
class _Replays:
    """A person more, with all of its rows: no other row changes, and sums move as stated."""

    of: str
    calls: Callable[[np.random.Generator], PublicCall]

    def __call__(self, effort: Effort) -> Finding:
        epsilon, _ = _CLAIM
        finding = Finding(self.of, "grey box", *_CLAIM)
        for number in range(effort.runs(300, 60)):
            rng = np.random.default_rng([effort.seed, number])
            call = replace(self.calls(rng), claim=_CLAIM)
            try:
                found = measure(random_case(rng, call))
            except Leak as leak:
                return replace(finding, lower=math.inf, runs=number + 1, remark=f"{call}: {leak}")
            if not found.refused:
                finding = finding.after(found.moved[-1][1] * epsilon, str(call))
        return finding


CHECKS = (
    Check("survival", _Replays("dp_survival: rows of persons and periods", random_hazards)),
    Check("classes", _Replays("dp_ordinal, dp_multinomial: rows of classes", random_classes)),
    Check("effects", _Replays("dp_effect: rows and scores of arms", random_effect)),
)
