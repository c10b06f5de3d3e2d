"""Matrices and vectors of any package as sources of rows; only type and shape are inspected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, named
from dpreg.base.errors import SchemaError
from dpreg.data.cells import Numbers
from dpreg.data.frames import check_in_memory, frame_source, mapping_source
from dpreg.data.objects import Objects
from dpreg.data.schema import LIST, Column
from dpreg.data.source import MemorySource, RowSource


def matrix_source(name: str, values: Any) -> RowSource:
    """Return a data frame, an array or sparse array of two axes, or a list of rows as numbers.

    A list declares neither type nor width: the first row gives the number of columns.  Cells that
    are not numbers are missing, and so are all cells of rows of another length.
    """
    import scipy.sparse

    if _is_list(values):
        return _rows_source(name, values)
    if scipy.sparse.issparse(values):
        return _sparse_source(name, values)
    if _is_frame(values):
        source = frame_source(values)
        if any(column.kind != "numeric" for column in source.schema.columns.values()):
            advice = "encode them as numbers before the call"
            raise SchemaError(name, "has columns that are not numbers", advice)
        return source
    array = _array(name, values, 2)
    return mapping_source({str(j): array[:, j] for j in range(array.shape[1])})


def vector_source(name: str, values: Any) -> RowSource:
    """Return a series, an array of one axis, or a list as a source of one column of numbers."""
    if not _is_list(values) and not hasattr(values, "to_numpy"):
        values = _array(name, values, 1)
    source = mapping_source({name: values})
    if source.schema[name].kind != "numeric":
        raise _not_numbers(name, getattr(values, "dtype", source.schema[name].holds), 1)
    return source


def is_column(values: Any) -> bool:
    """Whether values are a matrix of one column."""
    if _is_list(values):
        return bool(values) and _is_row(values[0]) and len(values[0]) == 1
    if _is_frame(values):
        return len(values.columns) == 1
    return getattr(values, "ndim", 1) == 2 and values.shape[1] == 1


def columns_of(source: RowSource) -> list[Doubles]:
    """Read all columns as numbers, NaN where a cell is missing."""
    names = list(source.schema.columns)
    found: list[list[Doubles]] = [[np.empty(0)] for _ in names]
    for batch in source.batches(names):
        for parts, name in zip(found, names, strict=True):
            parts.append(batch.cells[name].numbers())
    return [np.concatenate(parts) for parts in found]


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes))


def _is_frame(values: Any) -> bool:
    # The type is inspected: row labels are attributes of a series, too.
    return hasattr(type(values), "columns") and not isinstance(values, np.ndarray)


def _array(name: str, values: Any, axes: int) -> NDArray[Any]:
    check_in_memory(name, values)
    array: NDArray[Any] = np.asanyarray(values)
    _check_array(name, array, axes)
    return array


def _check_array(name: str, array: Any, axes: int) -> None:
    if array.dtype.kind == "c":
        raise SchemaError(name, "Complex data not supported")
    if array.dtype.kind not in "biuf":
        raise _not_numbers(name, array.dtype, axes)
    if array.ndim != axes:
        raise _wrong_axes(name, axes, array.ndim)


def _not_numbers(name: str, dtype: Any, axes: int) -> SchemaError:
    advice = [f"write {name} == 'b' for one class of several"] if axes == 1 else []
    return SchemaError(
        name, f"must hold numbers, not {named(dtype)}", *advice, "convert with astype(float)"
    )


def _sparse_source(name: str, values: Any) -> RowSource:
    """Return a scipy sparse array as a source; columns are made dense as they are read."""
    _check_array(name, values, 2)
    by_column = cache(values.tocsc)  # only at the first read: the conversion looks at cells

    def column(j: int) -> Any:
        def cells(part: slice) -> Numbers:
            return Numbers(by_column()[part, [j]].toarray()[:, 0])

        return Column(str(j), "numeric", holds="numbers"), cells

    return MemorySource(
        {str(j): column(j) for j in range(values.shape[1])}, lambda: values.shape[0]
    )


def _wrong_axes(name: str, wanted: int, axes: int) -> SchemaError:
    advice = ("Reshape your data",) if wanted == 2 else ()
    return SchemaError(name, f"must have {wanted} axes, not {axes}", *advice)


def _rows_source(name: str, rows: Sequence[Any]) -> RowSource:
    if rows and not _is_row(rows[0]):
        raise _wrong_axes(name, 2, 1)
    width = len(rows[0]) if rows else 0

    def column(j: int) -> Any:
        def cells(part: slice) -> Objects:
            here = rows[part]
            return Objects([r[j] if _is_row(r) and len(r) == width else None for r in here])

        return Column(str(j), "numeric", holds=LIST), cells

    return MemorySource({str(j): column(j) for j in range(width)}, lambda: len(rows))


def _is_row(row: Any) -> bool:
    return _is_list(row) or (isinstance(row, np.ndarray) and row.ndim == 1)
