"""Files that R asks for: what a block says of each cell, and the release that comes of it."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpreg
from dpreg.faces.bridge import call as bridge

DAY, TIME = datetime.date(2020, 1, 2), datetime.datetime(1970, 1, 1, 0, 1, 2, 500_000)
CELLS = {
    "whole": pa.array([1, None, 3], pa.int8()),
    "truth": pa.array([True, False, None]),
    "text": pa.array([b"caf\xc3\xa9", b"\xff\0", None]).cast(pa.binary()).view(pa.utf8()),
    "coded": pa.array(["b", None, "b"]).dictionary_encode(),
    "day": pa.array([DAY, None, DAY]),
    "day_coded": pa.array([DAY, None, DAY]).dictionary_encode(),
    "time": pa.array([TIME, None, TIME], pa.timestamp("ms")),
    "span": pa.array([1500, None, 0], pa.duration("ms")),
    "odd": pa.array([[1], [], None]),
}
KINDS = {"whole": "number", "truth": "number", "text": "text", "coded": "text", "day": "date",
         "day_coded": "date", "time": "time", "span": "span", "odd": "other"}  # fmt: skip
WANTED = {
    "whole": [1, None, 3], "truth": [1, 0, None], "text": ["café", "\\xff\\x00", None],
    "coded": ["b", None, "b"], "day": [18263, None, 18263], "day_coded": [18263, None, 18263],
    "time": [62.5, None, 62.5], "span": [1.5, None, 0],
}  # fmt: skip


def asked(function, **request):
    answer = bridge.call(function, request)
    assert "value" in answer, answer
    return answer["value"]


def doubles(packed):
    return np.frombuffer(packed["doubles"], "<f8")


def plain(packed):
    """Return a column as R makes it of what it is sent."""
    if "places" in packed:
        places = np.frombuffer(packed["places"], "<i4")
        return [packed["entries"][i - 1] if i else None for i in places]
    return [None if np.isnan(x) else x for x in doubles(packed)]


@pytest.fixture
def folder(tmp_path):
    table = pa.table(CELLS)
    pq.write_table(table[:2], tmp_path / "a.parquet")
    pq.write_table(table[2:], tmp_path / "b.parquet")
    return tmp_path


def matrix(paths, columns, rows, **changes):
    sent = {"response": "y", "names": ["x"], "intercept": True, "ranges": {}, "paths": paths,
            "columns": columns, "rows": rows}  # fmt: skip
    return {**sent, **changes}


def test_kinds_come_from_types_alone(folder):
    assert asked("columns", paths=[str(folder)]) == KINDS
    answer = bridge.call("columns", {"paths": [str(folder / "c.parquet")]})
    assert answer["error"]["kind"] == "usage"
    assert "no such file" in answer["error"]["message"]


def test_each_cell_is_told_as_it_is(folder):
    seen = {name: [] for name in WANTED}

    def rows(block):
        assert block["rows"] in (1.0, 2.0)
        for name in WANTED:
            seen[name] += plain(block["columns"][name])
        empty = np.zeros(int(block["rows"])).tobytes()
        return {"columns": [empty], "y": empty}

    request = {"formula": "y ~ x", "eps": 1.0, "delta": 1e-5}
    asked("lm", matrix=matrix([str(folder)], list(WANTED), rows), **request)
    assert seen == WANTED


def test_the_release_is_that_of_a_formula(diamonds, tmp_path):
    table = pa.Table.from_pandas(diamonds[["price", "carat", "cut"]].assign(person=range(53940)))
    paths = [str(tmp_path / f"{i}.parquet") for i in range(3)]
    for i, path in enumerate(paths):
        pq.write_table(table[i * 20000 : (i + 1) * 20000], path)

    def rows(block):
        x, y = (doubles(block["columns"][name]) for name in ("carat", "price"))
        return {"columns": [x.tobytes()], "y": y.tobytes()}

    sent = matrix(paths, ["price", "carat"], rows, names=["carat"], response="price")
    for more in ({}, {"unit": "person"}):
        wanted = dpreg.dp_lm("price ~ carat", paths, 1.0, 1e-5, rng=1, **more)
        found = asked("lm", formula="price ~ carat", eps=1.0, delta=1e-5, rng=1.0, memory=1e6,
                      matrix={**sent, **more})  # fmt: skip
        np.testing.assert_array_equal(doubles(found["estimates"]), wanted.estimates)


def test_what_r_says_of_a_block_is_not_told(folder):
    def rows(block):
        raise RuntimeError("row 17 has a secret")

    request = {"formula": "y ~ x", "eps": 1.0, "delta": 1e-5}
    answer = bridge.call("lm", {"matrix": matrix(str(folder), "whole", rows), **request})
    assert "secret" not in answer["error"]["message"]
    assert "the budget is charged" in answer["error"]["message"]
