"""Which method fits which family."""

from __future__ import annotations

from dpreg.errors import ArgumentError, Setting
from dpreg.families import Family
from dpreg.methods.auto import Auto
from dpreg.methods.base import Method
from dpreg.methods.boosted_adassp import BoostedAdaSSP

__all__ = ["method_for"]


def method_for(family: Family, method: Method) -> Method:
    """Return the method for a family: of those for linear models only `auto` stands for another.

    Raises
    ------
    ValueError
        If the method fits linear models only.
    """
    if family.least_squares or isinstance(method, BoostedAdaSSP):
        return method
    if isinstance(method, Auto):
        return BoostedAdaSSP(max_rows=method.max_rows)
    problem = f"{method.name!r} fits linear models only"
    raise ArgumentError("method", problem, ("write ", Setting("method", "auto")))
