"""A noisy count, and a partition of the units into models whose number comes from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpreg import _core
from dpreg.data.design import Design
from dpreg.estimation.blocks.model_rows import Partition, assigned
from dpreg.estimation.planning.tukey import most_units
from dpreg.estimation.releases.doors import noisy_counts
from dpreg.privacy.certificate import Part
from dpreg.privacy.sealed import Sealed

_MOST_MODELS = 2**20


@dataclass(frozen=True, slots=True)
class Models:
    """A partition."""

    count: int  # How many models.
    batch: int  # How many units each may have, about.
    assignment: Sealed[_core.Assignment]


def noisy_units(design: Design, epsilon: float, bits: _core.BitSource) -> tuple[float, Part]:
    """Release the number of units plus discrete Laplace noise of scale 1 / `epsilon`."""
    (count,), part = noisy_counts("number of units", design.unit_count, epsilon, bits)
    return float(min(max(0, count), most_units(epsilon))), part


def draw_models(
    design: Design, units: float, models: int, partition: Partition, bits: _core.BitSource
) -> Models:
    """Assign the units to `models` models, `units` being their noisy number."""
    models = min(models, _MOST_MODELS)
    batch = max(1, math.ceil(units / models))
    return Models(models, batch, assigned(design, models, batch, partition, bits))
