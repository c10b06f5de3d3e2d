"""Batches of Parquet files."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpreg.data.parquet import files_source, parquet_source
from dpreg.data.source import BATCH_ROWS, SourceError


def test_a_file_is_read_as_the_only_one_of_several(tmp_path):
    """With names that are paths to pyarrow elsewhere, and in a folder that is named as a key."""
    folder = tmp_path / "k=1"
    folder.mkdir()
    path = folder / "a#b%20c.parquet"
    table = pa.table({"x.y": np.arange(200_000.0), "x[0]": np.arange(200_000)})
    pyarrow.parquet.write_table(table, path, row_group_size=150_000)
    alone, several = parquet_source(path), files_source([path])
    assert [*several.schema.columns] == [*alone.schema.columns, "k"] == ["x.y", "x[0]", "k"]
    for source in (alone, several):
        for name in table.column_names:
            cells = [batch.cells[name].numbers() for batch in source.batches([name])]
            assert max(map(len, cells)) <= BATCH_ROWS
            assert np.array_equal(np.concatenate(cells), np.arange(200_000.0))


def test_a_damaged_file_says_nothing_of_its_rows(tmp_path):
    """Its footer is whole, and some pages are not."""
    path = tmp_path / "t.parquet"
    table = pa.table({"x": np.arange(300_000.0)})
    pyarrow.parquet.write_table(table, path, row_group_size=50_000, compression="snappy")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle - 90_000 : middle + 90_000] = bytes(180_000)
    path.write_bytes(content)
    before = threading.active_count()
    with pytest.raises(SourceError) as raised:
        list(parquet_source(path).batches(["x"]))
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert threading.active_count() == before
