"""The released numbers of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpreg.base.arrays import Doubles
from dpreg.base.families import GAUSSIAN, Family
from dpreg.estimation.inference.estimand import Estimand
from dpreg.estimation.inference.law import NORMAL, TailLaw
from dpreg.estimation.inference.residuals import Diagnostics, FitStats
from dpreg.estimation.inference.start import Start
from dpreg.privacy.certificate import Certificate


# Without slots: with them Python 3.11 raises a TypeError when an unknown attribute is set.
@dataclass(frozen=True, eq=False)
class Fitted:
    """Fields of `DPResults`, which describes them."""

    formula: str
    response: str
    names: tuple[str, ...]
    method: str
    estimates: Doubles
    covariance: Doubles | None
    sampling: Doubles | None
    units: float
    privacy: Certificate
    schema: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    law: TailLaw = NORMAL
    notes: tuple[str, ...] = ()
    selected: tuple[str, ...] | None = None
    limits: Doubles | None = None
    no_errors: str = ""
    family: Family = GAUSSIAN
    stats: FitStats | None = None
    diagnostics: Diagnostics | None = None
    clipping: Doubles | None = None
    estimand: Estimand | None = None
    start: Start | None = None
