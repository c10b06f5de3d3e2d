"""What a reader has to know about how the data were taken, from public things only."""

from __future__ import annotations

from dpreg.data.table import Schema
from dpreg.text import counted

__all__ = ["about_lists", "about_units"]

# Methods that draw rows of a unit, and how many when the options do not say.
_DRAWN = {"boosted_adassp": 1, "adassp": 1, "dpsgd": 1}


def about_units(unit: str | None, method: object, used: str, purpose: str = "") -> tuple[str, ...]:
    """Say how many rows of a unit were used, where not all of them are.

    Parameters
    ----------
    unit : str or None
    method : Method or Selector
        Its option `max_rows` counts.
    used : str
        Name of the method or selector that made the release.
    purpose : str, default ""
        What for, if not for everything.
    """
    rows = getattr(method, "max_rows", _DRAWN.get(used))
    if unit is None or rows is None:
        return ()
    verb = "is" if rows == 1 else "are"
    begin = f"{purpose}of each {unit!r} at most {counted(rows, 'row')} {verb} used"
    if used == "dpsgd":
        return (begin,)
    return (f"{begin}; the option max_rows of {used!r} takes more, with more noise",)


def about_lists(schema: Schema) -> tuple[str, ...]:
    """Say which columns in use were read as numbers though nothing declares them to be."""
    names = [c.name for c in schema.columns.values() if c.dtype == "list" and c.levels is None]
    if not names:
        return ()
    return (
        f"{', '.join(names)} came as lists, which declare no type, and were read as numbers: rows "
        "with a cell that is none are incomplete; an array, or levels=, declares a type",
    )
