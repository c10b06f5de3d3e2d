"""What a block of dp_test has of a file or a frame: its own cells, and no word of others."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpreg
from dpreg import _core
from dpreg.calls import block_test
from dpreg.data.source import SourceError


def frame(n=2000, shift=0.0, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.standard_normal(n) + shift, "id": np.arange(n) // 4})


def test_a_block_of_a_file_tells_nothing_of_other_rows(tmp_path):
    """Types and categories are those that its own rows make."""
    n = 60
    frame = pd.DataFrame({"x": np.arange(n), "g": pd.Categorical(["a", "b"] * (n // 2))})
    other = pd.DataFrame({"x": pd.array([None], "Int64"), "g": pd.Categorical(["z"])})
    paths = [str(tmp_path / name) for name in ("here.parquet", "there.parquet")]
    frame.astype({"x": "Int64"}).to_parquet(paths[0])
    rows = [frame.astype({"x": "Int64", "g": object}), other.astype({"g": object})]
    more = pd.concat(rows, ignore_index=True)
    more.astype({"g": "category"}).to_parquet(paths[1])
    seen = []
    for path in paths:
        blocks = []
        dpreg.dp_test(lambda rows, to=blocks: to.append(rows) or 1.0, path, 1.0, blocks=4,
                      rng=_core.TestBits(3))  # fmt: skip
        seen.append(blocks)
    same = [here.equals(there) for here, there in zip(*seen, strict=True)]
    assert sum(same) == 3
    assert not any(isinstance(block["g"].dtype, pd.CategoricalDtype) for block in seen[0])


def test_a_block_of_a_frame_has_its_own_cells_and_nothing_else():
    """No memory, index or note that it shares with other rows; categories are public."""
    n, seen = 60, []
    cells = {"x": np.arange(n) * 1.0, "k": pd.array(range(n), "Int64"), "o": [*map(str, range(n))]}
    data = pd.DataFrame(cells, index=np.arange(n) + 7)
    data.attrs["rows"] = n
    dpreg.dp_test(lambda rows: seen.append(rows) or 1.0, data, 1.0, blocks=4, rng=_core.TestBits(3))
    assert sorted(x for block in seen for x in block["x"]) == list(range(n))
    for block in seen:
        assert (block.attrs, list(block.index)) == ({}, list(range(len(block))))
        memory = block["x"].to_numpy()
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        assert memory.size == len(block)


@pytest.mark.parametrize("cell", [2**62, None])
def test_a_cell_that_python_has_no_value_for_is_no_exception(tmp_path, cell):
    """A date of the year 10**14 cannot be made a `datetime.date`: its block counts as large."""
    days = pa.array([0] * 40 + [cell], pa.int64()).view(pa.date64())
    path = str(tmp_path / "days.parquet")
    pq.write_table(pa.table({"day": days}), path)
    counts = [dpreg.dp_test(lambda rows: 0.0, path, 50.0, blocks=8, rng=k).count for k in range(3)]
    assert counts == [8 if cell is None else 7] * 3


@functools.cache
def much_text():
    """More than two GiB, most of them the same."""
    chunk = pa.array(["x" * (1 << 20)] * 64)
    assert len(chunk) * (1 << 20) * 33 > 2**31
    return pa.chunked_array([chunk] * 33)


def test_how_much_text_there_is_says_nothing_in_a_block(tmp_path, monkeypatch):
    """Whole columns of so much were put together for each block, which made all p-values 1."""
    path = tmp_path / "text.parquet"
    pq.write_table(pa.table({"x": ["a"]}), path)
    monkeypatch.setattr(pq, "read_table", lambda path: pa.table({"x": much_text()}))
    block, rows = block_test._opened(str(path))
    assert rows == len(much_text())
    assert block(np.array([0, 63, 64, rows - 1]))["x"].str.len().tolist() == [1 << 20] * 4


@pytest.mark.parametrize("file", [False, True])
def test_entries_of_a_dictionary_are_not_those_of_all_rows(file, tmp_path):
    """Else a row with a new one would be seen in all blocks."""

    def many(rows):
        return 1.0 - (len(pd.factorize(rows["g"])[1]) > 2)

    counts = []
    for cells in (list("pq") * 60, [*"pq" * 60, "zz"]):
        table = pa.table({"g": pa.array(cells).dictionary_encode()})
        data = table.to_pandas(types_mapper=pd.ArrowDtype)
        if file:
            data = str(tmp_path / "dictionary.parquet")
            pq.write_table(table, data)
        counts.append(dpreg.dp_test(many, data, 50.0, blocks=8, rng=1).count)
    assert counts == [0, 1]


def test_a_frame_with_too_much_text_for_a_block_is_a_failure():
    """And not one of each block, whose p-values would all be 1."""
    frame = pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(much_text())})
    with pytest.raises(SourceError, match="the source failed"):
        dpreg.dp_test(lambda rows: 0.0, frame, 1.0)


def test_blocks_of_a_file_are_those_of_its_frame(tmp_path):
    """Whatever the row groups; a dictionary is its values."""
    frame = pd.DataFrame({"x": np.arange(100.0), "g": pd.Categorical(list("abcd") * 25)})
    table = pa.Table.from_pandas(frame)
    path = tmp_path / "parts.parquet"
    pq.write_table(table, path, row_group_size=7)
    wanted = table.set_column(1, "g", table["g"].cast(pa.string())).to_pandas(ignore_metadata=True)
    block, _ = block_test._opened(str(path))
    for rows in ([], [3], [0, 6, 7, 50, 99]):
        kept = wanted.iloc[rows].reset_index(drop=True)
        pd.testing.assert_frame_equal(block(np.array(rows, dtype=np.int64)), kept)


def test_a_file_that_cannot_be_read_says_nothing_of_its_rows(tmp_path):
    path = tmp_path / "damaged.parquet"
    pq.write_table(pa.table({"x": np.arange(500.0)}), path)
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)
    with pytest.raises(SourceError, match="reading the source failed"):
        dpreg.dp_test(lambda rows: 0.0, str(path), 1.0)
