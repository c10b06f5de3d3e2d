"""Tables in many files, streams and queries: the rows of the same table in memory."""

from __future__ import annotations

import duckdb
import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dpreg
from dpreg.data.containers import open_source


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    n = 3000
    return pa.table({"x": rng.normal(size=n), "z": rng.exponential(size=n),
                     "g": rng.choice(["a", "b"], n), "y": rng.normal(size=n)})  # fmt: skip


def fit(data, formula="y ~ x + g"):
    return dpreg.dp_lm(formula, data, 1.0, 1e-6, levels={"g": ["a", "b"]}, rng=1).to_json()


def written(folder, table, cuts):
    for k in range(len(cuts) - 1):
        part = table.slice(cuts[k], cuts[k + 1] - cuts[k])
        pq.write_table(part, folder / f"part-{k:02d}.parquet", row_group_size=100)
    (folder / "_SUCCESS").write_text("")
    return folder


def test_every_way_to_hold_a_table_gives_the_same_bits(tmp_path, table):
    expected = fit(table)
    folder = written(tmp_path, table, [0, 1, 1, 2000, 3000])
    files = sorted(map(str, folder.glob("*.parquet")))
    shuffled = table.take(np.random.default_rng(2).permutation(len(table)))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(700))
    held = {
        "folder": folder, "pattern": f"{folder}/part-*.parquet", "list": files,
        "dataset": ds.dataset(files), "another order": shuffled, "reader": reader,
        "lazy": pl.scan_parquet(files), "polars": pl.from_arrow(shuffled),
        "duckdb": duckdb.connect().from_arrow(shuffled),
        "files in duckdb": duckdb.connect().read_parquet(files),
        "ibis": ibis.memtable(table), "pandas": shuffled.to_pandas(),
    }  # fmt: skip
    for name, data in held.items():
        assert fit(data) == expected, name


@pytest.mark.parametrize("parts", [1, 2, 7, 64])
def test_any_number_of_parts_gives_the_same_bits(tmp_path, table, parts):
    cuts = np.linspace(0, len(table), parts + 1).astype(int).tolist()
    assert fit(written(tmp_path, table, cuts)) == fit(table)


def test_only_the_columns_of_the_formula_are_asked_for(table):
    asked = []
    source = open_source(ds.dataset(table))
    read = source._read
    source._read = lambda columns: asked.append(tuple(columns)) or read(columns)
    batches = list(source.batches(["y", "x"]))
    assert asked == [("y", "x")]
    assert {name for batch in batches for name in batch.cells} == {"x", "y"}


def test_folders_named_after_values_make_a_column_of_text(tmp_path, table):
    for region in ("1", "2"):
        part = tmp_path / f"region={region}"
        part.mkdir()
        pq.write_table(table, part / "a.parquet")
    schema = open_source(tmp_path).schema
    # Numbers would be read as numbers only as long as all that are there are some.
    assert schema["region"].kind == "text"
    found = dpreg.dp_lm(
        "y ~ x + region", tmp_path, 1.0, 1e-6, levels={"region": ["1", "2", "3"]}, rng=1
    )
    whole = pa.concat_tables(
        table.append_column("region", pa.array([k] * len(table))) for k in ("1", "2")
    )
    same = dpreg.dp_lm(
        "y ~ x + region", whole, 1.0, 1e-6, levels={"region": ["1", "2", "3"]}, rng=1
    )
    assert found.to_json() == same.to_json()


NUMBERS = [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]


@pytest.mark.parametrize("first", NUMBERS, ids=str)
def test_no_cell_of_a_file_with_other_types_is_an_error(tmp_path, first):
    """Arrow refused 0.5 in a column that held integers in the first file: it told of the cell."""
    pq.write_table(pa.table({"x": pa.array([1, 2], first)}), tmp_path / "a.parquet")
    for kind in NUMBERS:
        whole = pa.types.is_integer(kind)
        kinds = np.iinfo(kind.to_pandas_dtype()) if whole else np.finfo(kind.to_pandas_dtype())
        odd = [kinds.min, kinds.max, None] + ([] if whole else [0.5, float("inf"), float("nan")])
        pq.write_table(pa.table({"x": pa.array(odd, kind)}), tmp_path / "b.parquet")
        for data in (tmp_path, ds.dataset([tmp_path / "a.parquet", tmp_path / "b.parquet"])):
            source = open_source(data)
            read = np.concatenate([b.cells["x"].numbers() for b in source.batches(["x"])])
            np.testing.assert_array_equal(read, [1, 2, *(np.nan if v is None else v for v in odd)])


def test_a_column_that_is_text_in_one_file_and_numbers_in_another_is_refused(tmp_path, table):
    text = table.set_column(0, "x", table["x"].cast(pa.string()))
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(text, tmp_path / "b.parquet")
    budget, filtered = dpreg.Budget(1.0), ds.dataset(tmp_path).filter(ds.field("y") > 0)
    for data in (tmp_path, ds.dataset(tmp_path), filtered):
        with pytest.raises(dpreg.SchemaError, match="'x' holds values of several types"):
            dpreg.dp_lm("y ~ x", data, 1.0, budget=budget)
        with pytest.raises(dpreg.SchemaError, match="'x' holds values of several types"):
            dpreg.dp_lm("y ~ z", data, 1.0, unit="x", budget=budget)
    assert budget.charges == ()
    assert dpreg.dp_lm("y ~ z", tmp_path, 1.0, 1e-6, rng=1).units > 5000


def test_files_that_are_not_parquet_are_refused_before_the_charge(tmp_path, table):
    (tmp_path / "table.csv").write_text("x,y\n1,2\n")
    with pytest.raises(dpreg.SchemaError, match="is a dataset of text files"):
        dpreg.dp_lm("y ~ x", ds.dataset(tmp_path / "table.csv", format="csv"), 1.0)
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(dpreg.SchemaError, match=r"table.csv' is not a Parquet file"):
        dpreg.dp_lm("y ~ x", tmp_path, 1.0)


def test_an_enum_of_duckdb_declares_its_levels(table):
    connection = duckdb.connect()
    connection.execute("create type letter as enum ('b', 'a')")
    relation = connection.from_arrow(table).project("y, x, g::letter as g")
    declared = dpreg.dp_lm("y ~ x + g", relation, 1.0, 1e-6, rng=1)
    assert list(declared.params.index) == ["Intercept", "x", "g[T.a]"]
    named = dpreg.dp_lm("y ~ x + g", table, 1.0, 1e-6, levels={"g": ["b", "a"]}, rng=1)
    np.testing.assert_array_equal(declared.params, named.params)


def test_a_stream_is_read_once(table):
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    fit(reader)
    with pytest.raises(ValueError, match=r"has been read.*make another"):
        fit(reader)


def test_a_query_that_fails_says_nothing_of_a_record_after_the_charge():
    relation = duckdb.connect().sql(
        "select case when i = 7 then error('secret 7') else i end as x, i as y from range(9) t(i)"
    )
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(dpreg.SourceError) as raised:
        dpreg.dp_lm("y ~ x", relation, 1.0, 1e-5, budget=budget)
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert budget.remaining[0] == 0


def test_files_that_are_not_there_are_refused_before_the_charge(tmp_path):
    budget = dpreg.Budget(1.0, 1e-5)
    for data, words in [
        (tmp_path, "no file in"),
        (f"{tmp_path}/*.parquet", "no file in|no such file"),
        ([f"{tmp_path}/a.parquet"], "no such file"),
    ]:
        with pytest.raises(ValueError, match=words):
            dpreg.dp_lm("y ~ x", data, 1.0, 1e-5, budget=budget)
    (tmp_path / "a.parquet").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match="not a Parquet file"):
        dpreg.dp_lm("y ~ x", tmp_path, 1.0, 1e-5, budget=budget)
    assert budget.remaining[0] == 1


def test_nothing_of_a_query_runs_before_the_charge():
    """Not even for no rows: an aggregate, or a function, would run all the same."""
    connection, ran = duckdb.connect(), []
    connection.create_function("peek", lambda x: ran.append(x) or x, ["DOUBLE"], "DOUBLE")
    relation = connection.sql(
        "select peek(i::double) as x, sum(i)::double as y, {'a': i} as s "
        "from range(9) t(i) group by i"
    )
    with pytest.raises(ValueError, match="no column"):
        dpreg.dp_lm("y ~ z", relation, 1.0)
    assert ran == []
    assert open_source(relation).schema["s"].kind == "other"
    assert ran == []
    dpreg.dp_lm("y ~ x", relation, 1.0, rng=1)
    assert sorted(ran) == list(range(9))


@pytest.mark.parametrize("query", [ibis.memtable, lambda t: duckdb.connect().from_arrow(t)])
def test_durations_of_queries_are_of_a_type_that_no_unit_has(query):
    """The engine makes intervals of months, days and seconds of them, whatever the schema says."""
    data = pa.table({"y": [1.0, 2.0], "who": pa.array([1, 86_400], pa.duration("s"))})
    source = open_source(query(data))
    assert source.schema.columns["who"].holds == "values of another type"
