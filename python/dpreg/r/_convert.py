"""Plain values and results to and from rpy2, without its converters, which lose missing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import rpy2.rinterface as ri
from numpy.typing import NDArray

from dpreg import DPResults, NotReleased
from dpreg.base.later import pd

_NA_INTEGER = -(2**31)


def from_sexp(value: Any) -> Any:
    """Return the Python value: scalars, bytes, lists, dicts for named lists, callables."""
    if value is ri.NULL:
        return None
    if isinstance(value, ri.ByteSexpVector):
        # As an array at once: a vector of R hands out a byte in a microsecond.
        return np.asarray(value).tobytes()
    if isinstance(value, ri.ListSexpVector):
        items = [from_sexp(item) for item in value]
        names = value.names
        return items if names is ri.NULL else dict(zip(names, items, strict=True))
    if isinstance(value, ri.SexpClosure):
        return lambda *arguments: from_sexp(value(*map(to_sexp, arguments)))
    for kind, missing, plain in _VECTORS:
        if isinstance(value, kind):
            found = [None if v is missing else plain(v) for v in value]
            return found[0] if len(found) == 1 else found
    raise TypeError(f"cannot use an R value of type {type(value).__name__}")


# What is missing in a vector of R, and what its entries are in Python; NA is a NaN among doubles.
_VECTORS: tuple[tuple[Any, object, Callable[[Any], Any]], ...] = (
    (ri.StrSexpVector, ri.NA_Character, str),
    (ri.BoolSexpVector, ri.NA_Logical, bool),
    (ri.IntSexpVector, ri.NA_Integer, int),
    (ri.FloatSexpVector, (), float),
)


def to_sexp(value: Any) -> Any:
    """Return the R value: what reticulate would make of the same Python value."""
    if value is None:
        return ri.NULL
    if isinstance(value, bool):
        return ri.BoolSexpVector([value])
    if isinstance(value, str):
        return ri.StrSexpVector([value])
    if isinstance(value, (int, float)):
        return ri.FloatSexpVector([float(value)])
    if isinstance(value, (bytes, bytearray)):
        return ri.ByteSexpVector(bytes(value))
    if isinstance(value, Mapping):
        items = ri.ListSexpVector([to_sexp(item) for item in value.values()])
        items.do_slot_assign("names", ri.StrSexpVector([str(key) for key in value]))
        return items
    if value and all(isinstance(item, str) for item in value):
        return ri.StrSexpVector(list(value))
    if value and all(isinstance(item, float) for item in value):
        return ri.FloatSexpVector(list(value))
    return ri.ListSexpVector([to_sexp(item) for item in value])


def frame_from_r(frame: Any) -> pd.DataFrame:
    """Return a pandas data frame; nothing in it shares memory with R."""
    if not isinstance(frame, ri.ListSexpVector) or "data.frame" not in frame.rclass:
        raise TypeError(f"from_r needs an R data frame, not {_described(frame)}")
    # A data frame without columns has names all the same, but not always.
    names = [] if frame.names is ri.NULL else [str(name) for name in frame.names]
    again = [name for name in names if names.count(name) > 1]
    if again:
        raise ValueError(f"from_r: two columns are both named {again[0]!r}; rename one in R")
    columns = {}
    for name, column in zip(names, frame, strict=True):
        _check_column(name, column)
        columns[name] = _series(column)
    return pd.DataFrame(columns)


_COLUMNS = (ri.StrSexpVector, ri.BoolSexpVector, ri.IntSexpVector, ri.FloatSexpVector)


def _check_column(name: str, column: Any) -> None:
    classes = set(getattr(column, "rclass", ()))
    plain = isinstance(column, _COLUMNS) and "integer64" not in classes
    if plain and "dim" not in column.list_attrs():
        return
    remedy = "make plain vectors of it in R"
    if "POSIXlt" in classes:
        remedy = f"write {name} <- as.POSIXct({name}) in R"
    elif "integer64" in classes:
        remedy = f"write {name} <- as.double({name}) in R"
    raise TypeError(f"from_r: column {name!r} is {_described(column)}; {remedy}")


def _described(value: Any) -> str:
    classes = tuple(getattr(value, "rclass", ()))
    return f"of class {classes[0]}" if classes else f"a Python {type(value).__name__}"


def _series(column: Any) -> Any:
    classes = set(column.rclass)
    if isinstance(column, ri.StrSexpVector):
        cells = [None if v is ri.NA_Character else str(v) for v in column]
        return pd.Series(cells, dtype=object)
    # Without a copy, writing to the data frame would change the data of the R session.
    values: NDArray[Any] = np.array(column)
    if "factor" in classes:
        codes = np.where(values == _NA_INTEGER, 0, values) - 1
        levels: Any = [str(level) for level in column.do_slot("levels")]
        ordered = "ordered" in classes
        return pd.Series(pd.Categorical.from_codes(codes, categories=levels, ordered=ordered))
    if isinstance(column, ri.BoolSexpVector):
        missing = values == _NA_INTEGER
        return pd.Series(pd.arrays.BooleanArray((values != 0) & ~missing, missing))
    if isinstance(column, ri.IntSexpVector) and not classes & {"Date", "POSIXct", "difftime"}:
        # One type, whether a cell is missing or not.
        missing = values == _NA_INTEGER
        return pd.Series(pd.arrays.IntegerArray(values.astype(np.int64), missing))
    if isinstance(column, ri.IntSexpVector):
        values = np.where(values == _NA_INTEGER, np.nan, values.astype(np.float64))
    if "Date" in classes:
        return pd.Series(pd.to_datetime(values.astype(np.float64), unit="D"))
    if "POSIXct" in classes:
        return pd.Series(pd.to_datetime(values, unit="s"))
    return pd.Series(values)


def in_notebooks(to_python: Callable[[Any], Any], to_r: Callable[[Any], Any]) -> Any:
    """Return a converter for fits, and teach it to the ``%%R`` magic of a running IPython."""
    import rpy2.robjects as ro
    from rpy2.robjects import conversion

    converter = conversion.Converter("fits of dpreg")
    for kind in (DPResults, NotReleased):
        converter.py2rpy.register(kind, to_r)
        # Assigning a fit to a name in R needs no more than this.
        ro.default_converter.py2rpy.register(kind, to_r)
    lists = conversion.NameClassMap(
        ro.vectors.ListVector, {"dp_lm": to_python, "dp_not_released": to_python}
    )
    converter.rpy2py_nc_map[ri.ListSexpVector] = lists
    magic = _magic()
    if magic is not None:
        # Cells copy it when they start.
        conversion.overlay_converter(converter, magic)
    return converter


def _magic() -> Any:
    """The converter of the ``%%R`` magic, if there is a notebook for it."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    if get_ipython() is None:
        return None
    from rpy2.ipython import rmagic

    return rmagic.default.converter
