"""Where a fit may start, as a user gives it: refused where it is of another model."""

from __future__ import annotations

from dpreg.data.design import Terms
from dpreg.data.schema import Schema
from dpreg.inference.start import Start
from dpreg.methods.base import Method
from dpreg.results.fit import DPResults

__all__ = ["Origin", "start_for"]

Origin = DPResults | Start


def start_for(
    start: Origin | None, terms: Terms, schema: Schema, method: Method, *, inference: bool
) -> Start | None:
    """Return where a fit of `terms` starts."""
    if isinstance(start, DPResults):
        return start.start
    return start
