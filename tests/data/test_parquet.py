"""Batches of a Parquet file, of which the next is read while one is used."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpreg.data.parquet import _ahead, parquet_source
from dpreg.data.source import SourceError


@pytest.fixture(params=[None, 0])
def threads(request, monkeypatch):
    """No thread can be had; None: any number."""
    if request.param == 0:

        def none(_):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", none)


@pytest.mark.parametrize("count", [0, 1, 2, 20])
def test_batches_come_in_their_order_and_one_is_waiting(count, threads):
    read = []

    def batches():
        for k in range(count):
            read.append(k)
            yield k

    seen = []
    for k in _ahead(batches()):
        seen.append(k)
        assert len(read) <= k + 2
    assert seen == read == list(range(count))


def test_what_fails_fails_in_its_place(threads):
    def batches():
        yield from "ab"
        raise OSError("row 17 has a secret")

    stream = _ahead(batches())
    assert [next(stream), next(stream)] == ["a", "b"]
    with pytest.raises(OSError, match="secret"):
        next(stream)


def test_who_stops_reading_is_waited_for(threads):
    done = []

    def batches():
        try:
            yield from range(100)
        finally:
            done.append(True)

    before, stream = threading.active_count(), _ahead(batches())
    next(stream)
    stream.close()
    assert threading.active_count() == before
    del stream
    assert done == [True]


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
