"""Every kind of table gives the same schema, the same numbers, levels and units."""

from __future__ import annotations

import ast
import gzip
import re
import time
from pathlib import Path

import narwhals
import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sources import codes, keys, numbers, schema

import dpreg
from dpreg.base.errors import SchemaError
from dpreg.data.frames import frame_source

LEVELS = ["u", "v", "w"]
ARROW = {
    "whole": pa.array([1, None, 3], type=pa.int64()),
    "real": pa.array([1.5, None, float("inf")], type=pa.float64()),
    "flag": pa.array([True, False, None], type=pa.bool_()),
    "word": pa.array(["u", "w", None], type=pa.string()),
}
TABLE = pa.table(ARROW)


def parquet(path, **options):
    pyarrow.parquet.write_table(TABLE, path / "t.parquet", **options)
    return path / "t.parquet"


CONTAINERS = {
    "pyarrow": lambda path: TABLE,
    "pyarrow, several chunks": lambda path: pa.concat_tables(TABLE.slice(i, 1) for i in range(3)),
    "pyarrow, dictionaries": lambda path: TABLE.set_column(
        3,
        "word",
        pa.chunked_array(
            [ARROW["word"][:2].dictionary_encode(), ARROW["word"][2:].dictionary_encode()]
        ),
    ),
    "pandas": lambda path: TABLE.to_pandas(
        types_mapper={pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get
    ),
    "pandas, arrow types": lambda path: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, object words": lambda path: pd.DataFrame(
        {
            n: pd.Series(TABLE.to_pandas()["word"].to_list(), dtype=object)
            if n == "word"
            else TABLE.to_pandas(types_mapper=pd.ArrowDtype)[n]
            for n in ARROW
        }
    ),
    "polars": lambda path: pl.from_arrow(TABLE),
    "polars lazy": lambda path: pl.from_arrow(TABLE).lazy(),
    "polars scan": lambda path: pl.scan_parquet(parquet(path)),
    "dict of arrow": lambda path: dict(ARROW),
    "dict of polars": lambda path: dict(pl.from_arrow(TABLE).to_dict()),
    "dict of pandas": lambda path: dict(TABLE.to_pandas(types_mapper=pd.ArrowDtype).items()),
    "parquet": parquet,
    "parquet, row groups": lambda path: parquet(path, row_group_size=1),
    "parquet, plain": lambda path: parquet(path, use_dictionary=False),
    "parquet path as text": lambda path: str(parquet(path)),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_agree(name, tmp_path):
    table = CONTAINERS[name](tmp_path)
    found = schema(table).columns
    assert {n: c.kind for n, c in found.items()} == {
        "whole": "numeric", "real": "numeric", "flag": "numeric", "word": "text",
    }  # fmt: skip
    np.testing.assert_array_equal(numbers(table, "whole"), [1, np.nan, 3])
    np.testing.assert_array_equal(numbers(table, "real"), [1.5, np.nan, np.inf])
    np.testing.assert_array_equal(numbers(table, "flag"), [1, 0, np.nan])
    np.testing.assert_array_equal(codes(table, "word", LEVELS), [0, 2, -1])
    np.testing.assert_array_equal(codes(table, "whole", [3, 1.0]), [1, -1, 0])
    np.testing.assert_array_equal(codes(table, "flag", [True, 7]), [0, -1, -1])
    assert keys(table, "word") == [b"su", b"sw", None]
    assert keys(table, "whole") == [b"i" + bytes(15) + b"\1", None, b"i" + bytes(15) + b"\3"]
    assert keys(table, "flag") == [b"b\1", b"b\0", None]


@pytest.mark.parametrize(
    ("column", "trusted"),
    [
        (pd.Series(pd.Categorical(["u", "w", None], categories=LEVELS)), True),
        (pd.CategoricalIndex(["u", "w", None], categories=LEVELS), True),
        (pl.Series(["u", "w", None], dtype=pl.Enum(LEVELS)), False),
    ],
    ids=["pandas category", "pandas index", "polars enum"],
)
def test_types_that_declare_levels(column, trusted):
    frame = pd.DataFrame if trusted else pl.DataFrame
    for data in ({"x": column}, frame({"x": column})):
        found = schema(data)["x"]
        assert (found.kind, found.levels) == ("categorical", ("u", "v", "w"))
        assert found.taken_on_trust == trusted
        np.testing.assert_array_equal(codes(data, "x", LEVELS), [0, 2, -1])
        np.testing.assert_array_equal(codes(data, "x", ["w", "q"]), [-1, 0, -1])
        assert keys(data, "x") == [b"su", b"sw", None]
    assert not schema(data).with_levels({"x": ["u", "w"]})["x"].taken_on_trust


DICTIONARY = pa.DictionaryArray.from_arrays(
    pa.array([0, 2, None], type=pa.int32()), pa.array(LEVELS), ordered=True
)


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"x": DICTIONARY}),
        pa.table({"x": pa.array(["a", "b"]).dictionary_encode()}),
        {"x": DICTIONARY},
        pd.DataFrame({"x": pd.Series(DICTIONARY, dtype=pd.ArrowDtype(DICTIONARY.type))}),
        pl.DataFrame({"x": pl.Series(["a", "b"], dtype=pl.Categorical)}),
        pl.DataFrame({"x": ["a", "b"]}),
        pd.DataFrame({"x": ["a", "b"]}),
        pd.DataFrame({"x": pd.Series(["a", "b"], dtype=object)}),
        {"x": np.array(["a", "b"])},
    ],
)
def test_levels_that_are_listed_in_the_data_are_not_levels(data):
    """Whoever wrote an Arrow dictionary, ordered or not, listed what occurs."""
    found = schema(data)["x"]
    assert (found.kind, found.levels) == ("text", None)
    # The words are in the entries, so declaring them works, and tells nothing of the entries.
    assert schema(data).with_levels({"x": ["p", "q"]})["x"].levels == ("p", "q")


@pytest.mark.parametrize("data", [3, None, [1, 2], np.ones((3, 2)), "no/such/file.parquet",
                                  Path("nope"), {"x": np.ones((2, 2))}, pd.Series([1.0]),
                                  {"x": [1, 2], "y": [1]}, {"x": "ab"}, {"x": 3},
                                  pd.DataFrame([[1, 2]], columns=["a", "a"]),
                                  pd.DataFrame({1: [1], "1": [2]})])  # fmt: skip
def test_wrong_containers_are_refused(data):
    with pytest.raises(SchemaError, match="data"):
        schema(data)


def test_index_of_a_pandas_series_does_not_matter():
    a = pd.Series([1.0, 2.0], index=[5, 6])
    assert numbers({"a": a, "b": np.array([3.0, 4.0])}, "a").tolist() == [1.0, 2.0]
    assert numbers(pd.DataFrame({"a": a}), "a").tolist() == [1.0, 2.0]


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
def test_integers_beyond_the_precision_of_doubles(data):
    """Rounded as numbers, not as levels nor as units; pyarrow's own conversion raises."""
    np.testing.assert_array_equal(numbers(data, "x"), [2.0**60, np.nan, 3])
    np.testing.assert_array_equal(codes(data, "x", [2**60, HUGE, 3]), [1, -1, 2])
    assert keys(data, "x")[0] == b"i" + HUGE.to_bytes(16, "big")


def test_masked_cells_of_numpy_are_missing():
    data = {"x": np.ma.masked_array([1, 2, 3], [False, True, False])}
    np.testing.assert_array_equal(numbers(data, "x"), [1, np.nan, 3])
    assert codes(data, "x", [1, 2, 3]).tolist() == [0, -1, 2]
    assert keys(data, "x")[1] is None


def test_a_list_has_no_type_of_its_own():
    """Whatever its cells are, and when there are none, the schema is the same."""
    odd = ["a", None, 1, True, 2.5, 10**400, object(), [1], np.float32(2), {}]
    tables = [{"x": cells} for cells in ([], [1], ["a"], odd)]
    assert len({str(schema(t)) for t in tables}) == 1
    expected = [np.nan, np.nan, 1, 1, 2.5] + [np.nan] * 3 + [2, np.nan]
    np.testing.assert_array_equal(numbers(tables[3], "x"), expected)
    with_levels = schema(tables[2]).with_levels({"x": ["a", "b"]})
    assert with_levels["x"].kind == "categorical"
    assert codes(tables[2], "x", ["a", "b"]).tolist() == [0]


@pytest.mark.parametrize("protocol", [
    "__dataframe__", "__narwhals_dataframe__", "__narwhals_lazyframe__", "__arrow_c_stream__",
])  # fmt: skip
def test_no_method_of_a_table_of_another_package_is_called(protocol):
    """It may read rows, before the charge, and what it raises may be about a cell."""

    def read(self, *_, **__):
        raise AssertionError("read before the charge")

    other = type("Elsewhere", (), {protocol: read, "__module__": "elsewhere.frames"})()
    with pytest.raises(SchemaError, match="not an Elsewhere of elsewhere;"):
        schema(other)


@pytest.mark.parametrize("held", [nw.from_native, narwhals.from_native])
def test_a_table_in_narwhals_is_what_it_holds(held):
    for table in (TABLE, pl.from_arrow(TABLE), TABLE.to_pandas()):
        assert str(schema(held(table))) == str(schema(table))
        np.testing.assert_array_equal(numbers(held(table), "whole"), [1, np.nan, 3])


def test_the_schema_does_not_depend_on_cells():
    """narwhals, for one, calls a column of objects text if all its first cells are."""
    kinds = {
        "objects": lambda cells: pd.Series(cells, dtype=object),
        "numpy objects": lambda cells: np.array([*cells, None], dtype=object)[: len(cells)],
        "integers": lambda cells: pd.Series([0] * len(cells), dtype="int64"),
        "floats": lambda cells: pd.Series([None] * len(cells), dtype="float64"),
        "nullable": lambda cells: pd.array([None] * len(cells), dtype="Int64"),
        "words": lambda cells: pd.Series(["a"] * len(cells), dtype="str"),
        "chunks": lambda cells: pa.chunked_array([pa.array(["a"]).dictionary_encode()] * len(cells),
                                                 DICTIONARY.type if not cells else None),
    }  # fmt: skip
    for make in kinds.values():
        columns = [make(cells) for cells in (["a", "b"], ["a", 1], [None], [])]
        found = {str(schema({"x": column})) for column in columns}
        found |= {str(schema(pd.DataFrame({"x": c}))) for c in columns if isinstance(c, pd.Series)}
        assert len(found) == 1, found


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.Series([20.0, 30.0]), ["20", "30"]),
        (pd.Series([20, 30]), ["20", 30]),
        (pd.Series([True, False]), ["True", "False"]),
        (pd.Series(["1", "2"], dtype="str"), [1, 2]),
        (pl.Series(["1", "2"]), [1, 2]),
        (pd.Categorical(["a", "b"]), ["x", "y"]),
        (pd.Series(pd.to_datetime(["2020-01-01"])), ["2020-01-01", "2020-01-02"]),
    ],
)
def test_levels_that_no_cell_can_have_are_refused(column, levels):
    with pytest.raises(SchemaError, match=r"levels: column 'x'"):
        schema({"x": column}).with_levels({"x": levels})


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.Series([20.0, 30.0]), [20, 30]),
        (pd.Series([True, False]), [True, False]),
        (pd.Series(["a", 1], dtype=object), [1, 2]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [1, 2]),
        (pd.Categorical(["a", "b"]), ["b", "x"]),
        (["a", "b"], pd.Index(["a", "b"])),
        (["a", "b"], np.array(["a", "b"])),
        (["a", "b"], pd.Series(["a", "b"])),
        ([1, 2], np.array([1, 2])),
    ],
)
def test_levels_that_some_cell_may_have_are_taken(column, levels):
    found = schema({"x": column}).with_levels({"x": levels})["x"].levels
    assert found == tuple(levels)
    assert {type(level) for level in found} <= {str, int, float, bool}


@pytest.mark.parametrize("levels", [["x"], "x", 3])
def test_levels_are_a_dict(levels):
    with pytest.raises(SchemaError, match="levels must be a dict"):
        schema({"x": [1]}).with_levels(levels)


@pytest.mark.parametrize("levels", ["ab", 3, ["a"], ["a", "a"], [1, True], ["a", None],
                                    [1.0, float("nan")], {"a": 1}])  # fmt: skip
def test_levels_of_a_column_are_a_list(levels):
    with pytest.raises(SchemaError, match="levels"):
        schema({"x": [1]}).with_levels({"x": levels})


CSV_TEXTS = ["x,city\n1,2\n", "x,city\n1,B\n2.5,\n", "1,2\n", "x,city\nnone,7\n" * 500, "\0,\xff"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "txt"])
@pytest.mark.parametrize("where", ["{}", ["{}"], "folder", "pattern"])
def test_what_is_said_about_csv_does_not_depend_on_what_is_in_it(tmp_path, ending, where):
    path = tmp_path / f"d.{ending}"
    given = {"folder": str(tmp_path), "pattern": f"{tmp_path}/*.{ending}", "{}": str(path)}
    data = [str(path)] if isinstance(where, list) else given[where]
    said = set()
    for text in CSV_TEXTS:
        raw = text.encode("latin-1")
        path.write_bytes(gzip.compress(raw) if ending.endswith("gz") else raw)
        with pytest.raises(SchemaError) as refusal:
            schema(data)
        said.add(str(refusal.value))
    (message,) = said
    assert "does not declare the types of its columns" in message


def test_what_is_said_about_csv_works(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("x,city,other\n1,2,a\n2,3,b\n")
    with pytest.raises(SchemaError) as refusal:
        schema(path)
    types, expression = re.search(
        r"declare them, types = (.*), and read the table with (.*), or in R", str(refusal.value)
    ).groups()
    table = eval(expression, {"pyarrow": pa, "types": ast.literal_eval(types)})
    found = schema(table)
    assert {name: column.kind for name, column in found.columns.items()} == {
        "x": "numeric", "city": "text",
    }  # fmt: skip


def test_files_of_another_kind(tmp_path):
    (tmp_path / "w.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SchemaError, match=r"not a Parquet file.*column_types=types"):
        schema(tmp_path / "w.csv")
    with pytest.raises(SchemaError, match="no such file"):
        schema(tmp_path / "w.parquet")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SchemaError, match="as Parquet"):
        schema(tmp_path / "torn.parquet")


def test_parquet_dictionaries_declare_nothing(tmp_path):
    """Written as a category or as text, encoded or not, and whatever rows come first."""
    found = set()
    for words in (["u", "w"], ["w", "u"], ["u"], []):
        for category in (True, False):
            column = pd.Series(words, dtype=pd.CategoricalDtype(LEVELS, ordered=True))
            frame = pd.DataFrame({"x": column if category else column.astype("str")})
            for encoded in (True, False):
                path = tmp_path / "t.parquet"
                frame.to_parquet(path, use_dictionary=encoded)
                found.add(str(schema(path)))
                assert codes(path, "x", LEVELS).tolist() == [LEVELS.index(w) for w in words]
    assert len(found) == 1


@pytest.mark.parametrize("wrap", [lambda c: {"c": c}, lambda c: pd.DataFrame(
    {"c": pd.Series(pd.array(c, dtype=pd.ArrowDtype(c.type)))})])  # fmt: skip
def test_entries_of_dictionaries_may_be_missing(wrap):
    """Which entries a dictionary lists is data: chunk by chunk, they may be others, or none."""
    chunks = [pa.DictionaryArray.from_arrays(pa.array(places, pa.uint8()), pa.array(entries))
              for places, entries in (([0, 1], ["a", None]), ([1, 0, 0], ["b", "a"]))]  # fmt: skip
    data = wrap(pa.chunked_array(chunks))
    assert codes(data, "c", ["a", "b"]).tolist() == [0, -1, 0, 1, 1]
    assert keys(data, "c") == [b"sa", None, b"sa", b"sb", b"sb"]


def test_names_are_compared_in_one_pass():
    wide = pd.DataFrame(np.zeros((0, 40_000)))
    began = time.process_time()
    assert len(frame_source(wide).schema.columns) == 40_000
    assert time.process_time() - began < 30  # two minutes where each is compared with all


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="polars has no such type")
def test_integers_that_arrow_does_not_have_are_no_numbers():
    """They passed for numbers, and could not be read after the charge."""
    frame = pl.DataFrame({"x": range(3)}).with_columns(pl.col("x").cast(pl.Int128))
    for data in (frame, frame.lazy()):
        assert frame_source(data).schema.columns["x"].kind == "other"


@pytest.mark.parametrize("write", [str, lambda text: [text]])
@pytest.mark.parametrize(
    "text",
    ["y,x\n1.25,0.5\n", "[" + "1.25, " * 100 + "1]", "1.25\0", '{"x": [1.25]}', "<td>1.25</td>"],
)
def test_the_text_of_a_table_is_no_path_and_is_not_repeated(write, text):
    """The message had each record in it."""
    with pytest.raises(SchemaError, match="not the text of a table") as error:
        dpreg.dp_lm("y ~ x", write(text), 1.0)
    assert "1.25" not in str(error.value)
