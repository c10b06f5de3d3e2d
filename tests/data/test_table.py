"""Every kind of table gives the same schema and the same columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpreg.data.table import Table
from dpreg.errors import SchemaError

VALUES = {
    "whole": [1, None, 3],
    "real": [1.5, float("nan"), float("inf")],
    "flag": [True, False, True],
    "level": ["u", "w", None],
}
LEVELS = ["u", "v", "w"]


def pandas_frame():
    return pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "real": VALUES["real"],
            "flag": VALUES["flag"],
            "level": pd.Categorical(VALUES["level"], categories=LEVELS),
        }
    )


def polars_frame():
    return pl.DataFrame({**VALUES, "level": pl.Series(VALUES["level"], dtype=pl.Enum(LEVELS))})


def arrow_table():
    codes = pa.array([0, 2, None], type=pa.int32())
    level = pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=True)
    return pa.table({**{k: VALUES[k] for k in ("whole", "real", "flag")}, "level": level})


def mapping():
    return {k: pandas_frame()[k] for k in VALUES}


@pytest.mark.parametrize(
    "make",
    [pandas_frame, polars_frame, lambda: polars_frame().lazy(), arrow_table, mapping],
    ids=["pandas", "polars", "polars lazy", "pyarrow", "dict"],
)
def test_containers_agree(make):
    table = Table(make())
    assert {n: c.kind for n, c in table.schema.columns.items()} == {
        "whole": "numeric", "real": "numeric", "flag": "numeric", "level": "categorical",
    }  # fmt: skip
    assert table.rows == 3
    np.testing.assert_array_equal(table.numeric("whole"), [1, np.nan, 3])
    np.testing.assert_array_equal(table.numeric("real"), [1.5, np.nan, np.inf])
    np.testing.assert_array_equal(table.numeric("flag"), [1, 0, 1])
    assert table.schema.columns["level"].levels == ("u", "v", "w")
    np.testing.assert_array_equal(table.codes("level", LEVELS), [0, 2, -1])
    np.testing.assert_array_equal(table.identifiers("level"), [0, 1, -1])


def test_parquet_path(tmp_path):
    pyarrow.parquet.write_table(arrow_table(), tmp_path / "t.parquet")
    assert Table(tmp_path / "t.parquet").schema == Table(arrow_table()).schema
    assert Table(str(tmp_path / "t.parquet")).rows == 3


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a", "b"], dtype=pl.Categorical),
        pl.Series(["a", "b"]),
    ],
)
def test_levels_that_would_come_from_the_data_are_not_levels_polars(column):
    assert Table(pl.DataFrame({"x": column})).schema.columns["x"].kind == "text"


def test_levels_that_would_come_from_the_data_are_not_levels():
    unordered = pa.table({"x": pa.array(["a", "b"]).dictionary_encode()})
    assert Table(unordered).schema.columns["x"].kind == "text"
    assert Table(pd.DataFrame({"x": ["a", "b"]})).schema.columns["x"].kind == "text"
    assert Table({"x": np.array(["a", "b"])}).schema.columns["x"].kind == "text"


def test_levels_may_be_numbers():
    table = Table(pd.DataFrame({"x": [4, 5, 9]}))
    np.testing.assert_array_equal(table.codes("x", [4.0, 5.0]), [0, 1, -1])


def test_odd_objects_are_missing():
    class Hostile:
        def __eq__(self, other):
            raise RuntimeError

        __hash__ = None

    column = np.empty(4, dtype=object)
    column[:] = [Hostile(), [1], np.array([1, 2]), "a"]
    table = Table(pd.DataFrame({"x": column}))
    np.testing.assert_array_equal(table.codes("x", ["a", "b"]), [-1, -1, -1, 0])
    np.testing.assert_array_equal(table.identifiers("x"), [-1, -1, -1, 0])


@pytest.mark.parametrize("data", [3, None, [1, 2], np.ones((3, 2)), "no/such/file.parquet",
                                  Path("nope"), {"x": np.ones((2, 2))},
                                  {"x": [1, 2], "y": [1]}])  # fmt: skip
def test_wrong_containers_are_refused(data):
    with pytest.raises(SchemaError, match="data"):
        Table(data)


def test_index_of_a_pandas_series_does_not_matter():
    a = pd.Series([1.0, 2.0], index=[5, 6])
    assert Table({"a": a, "b": np.array([3.0, 4.0])}).numeric("a").tolist() == [1.0, 2.0]


HUGE = 2**60 + 1


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"x": pa.array([HUGE, None, 3], type=pa.int64())}),
        pa.table({"x": pa.array([HUGE, None, 3], type=pa.uint64())}),
        pd.DataFrame({"x": pd.array([HUGE, None, 3], dtype="int64[pyarrow]")}),
        pd.DataFrame({"x": pd.array([HUGE, None, 3], dtype="Int64")}),
        pl.DataFrame({"x": [HUGE, None, 3]}),
        {"x": [HUGE, None, 3]},
    ],
    ids=["arrow", "arrow unsigned", "pandas arrow", "pandas", "polars", "list"],
)
def test_integers_beyond_the_precision_of_doubles_are_rounded(data):
    """pyarrow's own conversion raises, and shows the cell in its message."""
    np.testing.assert_array_equal(Table(data).numeric("x"), [2.0**60, np.nan, 3])


def test_a_list_has_no_type_of_its_own():
    """Whatever its cells are, and when there are none, the schema is the same."""
    odd = ["a", None, 1, True, 2.5, 10**400, object(), [1], np.float32(2), {}]
    tables = [Table({"x": cells}) for cells in ([], [1], ["a"], odd)]
    assert len({str(t.schema) for t in tables}) == 1
    expected = [np.nan, np.nan, 1, 1, 2.5] + [np.nan] * 3 + [2, np.nan]
    np.testing.assert_array_equal(tables[3].numeric("x"), expected)
    with_levels = tables[2].schema.with_levels({"x": ["a", "b"]})
    assert with_levels.columns["x"].kind == "categorical"
    assert tables[2].codes("x", ["a", "b"]).tolist() == [0]


def ordered_arrow():
    codes = pa.array([0, 2, None], type=pa.int32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=True)


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        (pa.array([1, None, 3]), "numeric", [1, np.nan, 3]),
        (pa.chunked_array([[1.5], [None, 3.0]]), "numeric", [1.5, np.nan, 3]),
        (pa.array([True, None, False]), "numeric", [1, np.nan, 0]),
        (pl.Series([True, None, False]), "numeric", [1, np.nan, 0]),
        (pl.Series([1, None, 3]), "numeric", [1, np.nan, 3]),
        (pd.array([1, None, 3], dtype="Int64"), "numeric", [1, np.nan, 3]),
        (ordered_arrow(), "categorical", [0, 2, -1]),
        (pl.Series(["u", "w", None], dtype=pl.Enum(LEVELS)), "categorical", [0, 2, -1]),
        (pd.CategoricalIndex(["u", "w", None], categories=LEVELS), "categorical", [0, 2, -1]),
        (pa.array(["u", "w", None]), "text", [0, 2, -1]),
        (pa.array(["u", "w", None]).dictionary_encode(), "text", [0, 2, -1]),
    ],
)
def test_a_dict_may_hold_columns_of_any_package(column, kind, expected):
    """A missing cell changes no type: numpy would make objects of some of these."""
    table = Table({"x": column, "y": [1, 2, 3]})
    assert table.schema.columns["x"].kind == kind
    found = table.numeric("x") if kind == "numeric" else table.codes("x", LEVELS)
    np.testing.assert_array_equal(found, expected)
    assert Table({"x": column[:1]}).schema.columns["x"] == table.schema.columns["x"]


def test_the_schema_of_objects_does_not_depend_on_cells():
    """narwhals calls a column of objects text if all its first cells are."""
    schemas = set()
    for cells in (["a", "b"], ["a", 1], [None], []):
        column = np.empty(len(cells), dtype=object)
        column[:] = cells if cells else None
        schemas.add(str(Table(pd.DataFrame({"x": pd.Series(column, dtype=object)})).schema))
        schemas.add(str(Table({"x": column}).schema))
    assert len(schemas) == 1


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.Series([20.0, 30.0]), ["20", "30"]),
        (pd.Series([20, 30]), ["20", 30]),
        (pd.Series([True, False]), ["True", "False"]),
        (pd.Series(["1", "2"], dtype="str"), [1, 2]),
        (pl.Series(["1", "2"]), [1, 2]),
        (pd.Categorical(["a", "b"]), ["x", "y"]),
    ],
)
def test_levels_that_no_cell_can_have_are_refused(column, levels):
    with pytest.raises(SchemaError, match=r"levels: column 'x'"):
        Table({"x": column}).schema.with_levels({"x": levels})


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.Series([20.0, 30.0]), [20, 30]),
        (pd.Series([True, False]), [True, False]),
        (pd.Series(["a", 1], dtype=object), [1, 2]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [1, 2]),
        (pd.Categorical(["a", "b"]), ["b", "x"]),
    ],
)
def test_levels_that_some_cell_may_have_are_taken(column, levels):
    schema = Table({"x": column}).schema.with_levels({"x": levels})
    assert schema.columns["x"].levels == tuple(levels)


@pytest.mark.parametrize("levels", [["x"], "x", 3])
def test_levels_are_a_dict(levels):
    with pytest.raises(SchemaError, match="levels must be a dict"):
        Table({"x": [1]}).schema.with_levels(levels)


def test_files_of_another_kind(tmp_path):
    (tmp_path / "w.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SchemaError, match=r"no Parquet file.*read_csv\('.*w\.csv'\)\.to_parquet"):
        Table(tmp_path / "w.csv")
    with pytest.raises(SchemaError, match="no such file"):
        Table(tmp_path / "w.parquet")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SchemaError, match="as Parquet"):
        Table(tmp_path / "torn.parquet")
