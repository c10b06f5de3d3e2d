"""The rows of models that are fitted to parts of the units, some models at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from dpreg import _core
from dpreg.data.design import Arrays, Design
from dpreg.data.expanded import by_group
from dpreg.data.observations import InMemory
from dpreg.estimation.planning.tukey import most_units
from dpreg.estimation.releases.doors import noisy_counts
from dpreg.privacy.certificate import Part
from dpreg.privacy.sealed import Sealed, opened

Partition = Literal["slots", "independent"]


def assigned(
    design: Design, models: int, batch: int, partition: Partition, bits: _core.BitSource
) -> Sealed[_core.Assignment]:
    """Assign units to models, about `batch` to each."""
    count = opened(design.records).unit_count
    return Sealed(
        _core.assign_to_slots(count, models, batch, bits)
        if partition == "slots"
        else _core.assign_independently(count, models, bits)
    )


def noisy_units(design: Design, epsilon: float, bits: _core.BitSource) -> tuple[float, Part]:
    """Release the number of units plus discrete Laplace noise of scale 1 / `epsilon`."""
    (count,), part = noisy_counts("number of units", design.unit_count, epsilon, bits)
    return float(min(max(0, count), most_units(epsilon))), part


def rows_of_models(
    design: Design, assignment: _core.Assignment
) -> Iterator[tuple[Arrays, _core.Assignment]]:
    """Read rows, and which of their units are of which models: all at once if they are in memory.

    A model has the same rows in the same order either way, and the first of each part has an even
    number, as what is done with a model may depend on whether its number is even.
    """
    records = opened(design.records)
    units = records.units
    if isinstance(records.rows, InMemory):
        yield records.arrays(), assignment
        return
    members = np.asarray(assignment.members, dtype=np.int64)
    models = np.asarray(assignment.offsets, dtype=np.int64)
    ends, rows = np.arange(len(members) + 1), members
    if units is not None:
        starts = units.offsets.astype(np.int64)
        lengths = np.diff(starts)[members]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(starts[members] - ends[:-1], lengths) + np.arange(ends[-1])
        rows = units.rows.astype(np.int64)[rows]
    for block in by_group(records.rows, ends[models], rows, even=True):
        own = models[block.first : block.last + 1]
        numbered = _core.fixed_assignment(range(own[-1] - own[0]), (own - own[0]).tolist())
        if units is None:
            yield Arrays(block.X, block.y), numbered
        else:
            within = (ends[own[0] : own[-1] + 1] - ends[own[0]]).astype(np.uint64)
            yield Arrays(block.X, block.y, within, block.rows), numbered
