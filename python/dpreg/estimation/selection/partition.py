"""A noisy count, and a partition of the units into models whose number comes from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dpreg import _core
from dpreg.data.design import Design
from dpreg.estimation.planning.tukey import most_units
from dpreg.privacy.certificate import Part

__all__ = ["Models", "Partition", "draw_models", "noisy_units"]

Partition = Literal["slots", "independent"]

_MOST_MODELS = 2**20


@dataclass(frozen=True, slots=True)
class Models:
    """A partition.  Private, all but the two numbers.

    Attributes
    ----------
    count : int
        How many models.
    batch : int
        How many units each may have, about.
    assignment : Assignment
    """

    count: int
    batch: int
    assignment: _core.Assignment


def noisy_units(design: Design, epsilon: float, bits: _core.BitSource) -> tuple[float, Part]:
    """Release the number of units plus discrete Laplace noise of scale 1 / `epsilon`."""
    noise = int(_core.discrete_laplace(epsilon, bits, 1)[0])
    part = Part(
        "number of units",
        epsilon,
        0.0,
        f"discrete Laplace, scale {1 / epsilon:.4g}",
        sensitivity=1.0,
        scale=1 / epsilon,
    )
    units = min(max(0, design.unit_count + noise), most_units(epsilon))
    return float(units), part


def draw_models(
    design: Design, units: float, models: int, partition: Partition, bits: _core.BitSource
) -> Models:
    """Assign the units to `models` models, `units` being their noisy number."""
    models = min(models, _MOST_MODELS)
    batch = max(1, math.ceil(units / models))
    n = design.unit_count
    assignment = (
        _core.assign_to_slots(n, models, batch, bits)
        if partition == "slots"
        else _core.assign_independently(n, models, bits)
    )
    return Models(models, batch, assignment)
