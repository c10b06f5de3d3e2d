"""Audits of `dp_survival`: replays of fits to rows of persons and periods, and of its tables."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.recordings import Leak
from dpreg.audit.replay import measure
from dpreg.audit.replay_options import random_hazards
from dpreg.audit.replay_tables import random_case

# At this claim tables of a replay reach all stages.
_CLAIM = (100.0, 1e-2)


def survival(effort: Effort) -> Finding:
    """A person more, with rows in all periods: no other row changes, and sums move as stated."""
    epsilon, _ = _CLAIM
    finding = Finding("dp_survival: rows of persons and periods", "grey box", *_CLAIM)
    for number in range(effort.runs(300, 60)):
        rng = np.random.default_rng([effort.seed, number])
        call = replace(random_hazards(rng), claim=_CLAIM)
        try:
            found = measure(random_case(rng, call))
        except Leak as leak:
            return replace(finding, lower=math.inf, runs=number + 1, remark=f"{call}: {leak}")
        if not found.refused:
            finding = finding.after(found.moved[-1][1] * epsilon, str(call))
    return finding


CHECKS = (Check("survival", survival),)
