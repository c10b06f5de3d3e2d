"""Rows from R: columns of a data frame, or files that are read here, block by block.

R evaluates its own formulas.  For files it is told the types of the columns first; when the budget
has been charged, it gets block after block of those that the formula reads, and makes columns of
the model matrix of each row by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles
from dpreg.base.errors import SchemaError
from dpreg.data.cells import Cells, Coded, Ticks
from dpreg.data.design import Block, Terms, unit_labels
from dpreg.data.problem import ModelMatrix, blocks_of
from dpreg.data.sampling import within_terms
from dpreg.data.schema import Column
from dpreg.data.source import RowSource, quietly
from dpreg.privacy.charge import Stratum

# What R sends with a request: plain values by name.
Sent = Mapping[str, Any]

_DAY = 86400

# What cells hold, in the words of the schema, and what R has for it.
_KINDS = {
    "numbers": "number",
    "text": "text",
    "dates": "date",
    "timestamps": "time",
    "durations": "span",
}


def column_kinds(paths: Sequence[str]) -> dict[str, str]:
    """Return what each column of Parquet files is to R, "other" where it has nothing for it."""
    columns = _files(paths).schema.columns
    return {name: _KINDS.get(column.holds, "other") for name, column in columns.items()}


def _files(paths: Sequence[str]) -> RowSource:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise SchemaError(
            "data",
            "files are read by pyarrow, which the Python that R uses does not have",
            "install it there: reticulate::virtualenv_install('r-dpreg', 'pyarrow')",
        ) from None
    from dpreg.data.containers import open_source

    return open_source(paths[0] if len(paths) == 1 else list(paths))


def model_matrix(sent: Sent, stratum: Stratum | None) -> ModelMatrix:
    """Return the problem that R describes; its records come from R when they are read.

    sent: ``response``, ``names``, ``intercept``, ``ranges``, ``groups``, ``offsets``,
        ``data_bounds`` and ``within`` as in `Terms`, and ``unit``; and either ``read``, a function
        of R that returns all rows, or ``paths``, ``columns`` and ``rows``, one that returns those
        of a block; then ``weights`` names their column.
    """
    read = _of_frame(sent["read"]) if "read" in sent else _of_files(sent, stratum)
    terms = Terms(
        response=sent["response"],
        names=tuple(sent["names"]),
        intercept=bool(sent["intercept"]),
        ranges=limits_of(sent["ranges"]),
        groups={term: tuple(columns) for term, columns in dict(sent.get("groups") or {}).items()},
        offsets=tuple(sent.get("offsets") or ()),
        data_bounds=limits_of(sent.get("data_bounds")),
    )
    terms = within_terms(terms) if sent.get("within") else terms
    return ModelMatrix(terms, read, sent.get("unit"), stratum)


def limits_of(sent: Any) -> dict[str, tuple[float, float]]:
    """Return limits of columns by their names; R has a list for an empty mapping, or nothing."""
    return {name: (low, high) for name, (low, high) in dict(sent or {}).items()}


def _doubles(raw: Any) -> Doubles:
    return np.frombuffer(raw, dtype="<f8")


def _of_frame(ask: Callable[[], Sent]) -> Callable[[], Iterable[Block]]:
    def read() -> Iterator[Block]:
        found = quietly(ask)
        labels, strata = found.get("labels"), found.get("strata")
        weights = found.get("weights")
        yield from blocks_of(
            columns=[_doubles(raw) for raw in found["columns"]],
            y=_doubles(found["y"]),
            labels=None if labels is None else np.frombuffer(labels, "<i4").astype(np.int64),
            codes=None if strata is None else np.frombuffer(strata, "<i4"),
            weights=None if weights is None else _doubles(weights),
        )

    return read


def _of_files(sent: Sent, stratum: Stratum | None) -> Callable[[], Iterable[Block]]:
    source = _files(_listed(sent["paths"]))
    used, ask, unit = _listed(sent["columns"]), sent["rows"], sent.get("unit")
    weights = sent.get("weights")
    apart = [unit, None if stratum is None else stratum.column, weights]
    columns = tuple(dict.fromkeys([*used, *(name for name in apart if name is not None)]))

    def read() -> Iterator[Block]:
        numbers: dict[bytes, int] = {}
        for batch in source.batches(columns):
            values = {name: _block_column(source.schema[name], batch.cells[name]) for name in used}
            found = quietly(ask, {"rows": float(batch.rows), "columns": values})
            yield from blocks_of(
                columns=[_doubles(raw) for raw in found["columns"]],
                y=_doubles(found["y"]),
                labels=None if unit is None else unit_labels(batch.cells[unit].keys(), numbers),
                codes=None if stratum is None
                else batch.cells[stratum.column].codes(stratum.levels),
                weights=None if weights is None else batch.cells[weights].numbers(),
            )  # fmt: skip

    return read


def _listed(values: Any) -> list[str]:
    """R makes a single text of a vector of one."""
    return [values] if isinstance(values, str) else list(values)


def _block_column(column: Column, cells: Cells) -> dict[str, Any]:
    """Return one column of a block as plain values; NaN and place 0 are for what is missing."""
    kind = _KINDS[column.holds]
    if kind == "number":
        return {"doubles": packed(cells.numbers())}
    if kind == "text":
        encoded = cells.keys().dictionary_encode()
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        # R has no text with a zero in it, nor any that is not UTF-8.
        texts = (k[1:].decode("utf-8", "backslashreplace") for k in encoded.dictionary.to_pylist())
        entries = [text.replace("\0", "\\x00") for text in texts]
        return {"entries": entries, "places": packed(places + 1, "<i4")}
    seconds = _seconds(cells)
    return {"doubles": packed(seconds / _DAY if kind == "date" else seconds)}


def packed(values: NDArray[Any], dtype: str = "<f8") -> bytearray:
    """Return numbers column after column, as a bytearray: R makes a raw vector of no bytes."""
    return bytearray(values.astype(dtype).tobytes(order="F"))


def _seconds(cells: Cells) -> Doubles:
    """Return ticks as seconds, NaN where they are missing."""
    if isinstance(cells, Coded):
        return np.asarray(np.append(_seconds(cells.entries), np.nan)[cells.places()])
    assert isinstance(cells, Ticks)
    values = cells.values.astype(np.float64)
    seconds = values / cells.per_second if cells.per_second else values * _DAY
    return seconds if cells.missing is None else np.where(cells.missing, np.nan, seconds)
