"""Cells of every type become numbers, levels and keys, by themselves and without a sound."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import uuid
import warnings
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import codes, keys, numbers

from dpreg.data.arrow import arrow_cells
from dpreg.data.cells import Coded, Numbers
from dpreg.data.objects import Objects


def broken_text():
    """Text that is not UTF-8, as a reader that does not look may hand it on."""
    offsets = np.array([0, 2, 3, 5], dtype=np.int32)
    content = [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfeau\xe9")]
    return pa.Array.from_buffers(pa.string(), 3, content)


class Raising:
    """Does harm when it is looked at."""

    def fail(self, *_):
        raise BaseException("a cell speaks")

    __eq__ = __hash__ = __bool__ = __float__ = __int__ = __str__ = __repr__ = fail
    __class__ = property(fail)


class Loud(float):
    __float__ = __eq__ = __hash__ = Raising.fail


class Zone(dt.tzinfo):
    def utcoffset(self, _):
        raise RuntimeError("a zone speaks")


ODD = [
    Raising(), Loud(2.5), [1], {}, (1,), np.array([1, 2]), object(), 1j, float("nan"), None,
    decimal.Decimal("sNaN"), decimal.Decimal("Infinity"), decimal.Decimal("1e999999"), 10**5000,
    "\ud800", b"\xff", pd.NaT, pd.NA, np.datetime64("NaT"), np.datetime64("2020", "Y"),
    dt.datetime(2020, 1, 1, tzinfo=Zone()), dt.datetime.max, pd.Timestamp.min, np.longdouble(1),
    np.float16(1), dt.time(1, tzinfo=dt.UTC), dt.timedelta.max, np.void(b"ab"), ...,
]  # fmt: skip


def test_no_object_raises_or_speaks(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cell in ODD:
            mixed = Objects([1.5, cell, "a"])
            assert np.isnan(mixed.numbers()[2])
            assert mixed.codes(["a", 1.5]).tolist()[::2] == [1, 0]
            assert mixed.keys()[2].as_py() == b"sa"
    assert capfd.readouterr() == ("", "")


def test_what_a_subclass_does_is_not_asked():
    assert Objects([Loud(2.5)]).numbers().tolist() == [2.5]
    assert Objects([Loud(2.5)]).codes([2.5]).tolist() == [0]


@pytest.mark.parametrize("container", ["arrow", "polars", "pandas"])
def test_text_that_is_not_text(container, capfd):
    text = broken_text()
    data = {
        "arrow": lambda: pa.table({"x": text}),
        "polars": lambda: pl.DataFrame({"x": pl.from_arrow(pa.table({"x": text}))["x"]}),
        "pandas": lambda: pd.DataFrame({"x": pd.Series(text, dtype=pd.ArrowDtype(pa.string()))}),
    }[container]()
    assert codes(data, "x", ["a", "b"]).tolist() == [-1, 0, -1]
    assert keys(data, "x") == [b"s\xff\xfe", b"sa", b"su\xe9"]
    assert capfd.readouterr() == ("", "")


FAR = [-(2**63) + 1, -1, 0, 1, 2**63 - 1]
TICKING = [
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit, "Asia/Tokyo") for unit in ("s", "ms", "us", "ns")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")), pa.date64(),
]  # fmt: skip


@pytest.mark.parametrize("kind", TICKING, ids=str)
def test_times_at_their_ends_are_all_different(kind, capfd):
    """Python's own types end at the year 9999, and tell no nanoseconds."""
    column = pa.array(FAR, pa.int64()).view(kind)
    found = arrow_cells(column).keys().to_pylist()
    assert len(set(found)) == len(FAR)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
)
def test_a_time_outside_of_a_day_is_missing_in_every_container(kind):
    ticks = 86400 * {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[kind.unit]
    stored = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    times = pa.array([0, None, ticks - 1, ticks, -1], stored).view(kind)
    found = keys(pa.table({"x": times}), "x")
    assert [key is None for key in found] == [False, True, False, True, True]
    assert keys(pl.from_arrow(pa.table({"x": times})), "x") == found


def test_units_that_were_merged_are_different():
    """Nanoseconds, dates off midnight, and what Python calls equal."""
    close = pa.array([1, 2, 999, 1000], pa.int64())
    for kind in (pa.timestamp("ns"), pa.duration("ns"), pa.time64("ns")):
        for column in (close.view(kind), pl.from_arrow(pa.table({"x": close.view(kind)}))["x"]):
            assert len(set(keys({"x": column}, "x"))) == 4
    assert len(set(keys({"x": pa.array([0, 1, 86400000], pa.int64()).view(pa.date64())}, "x"))) == 3
    assert len(set(Objects([1, True, "1", b"1", decimal.Decimal(1)]).keys().to_pylist())) == 5
    frame = pd.DataFrame({"x": pd.to_datetime([1, 2, 3], unit="ns")})
    assert len(set(keys(frame, "x"))) == 3
    assert len(set(keys(frame.assign(x=frame.x.dt.tz_localize("Asia/Tokyo")), "x"))) == 3


SAME = [
    [1, np.int8(1), np.uint64(1), 1.0, np.float32(1), np.longdouble(1)],
    [0.0, -0.0, np.float32(0), 0],
    [-(2.0**62), -(2**62), np.longdouble(-(2.0**62))],
    [2.0**63, np.longdouble(2.0**63)],
    [1.5, np.float32(1.5), Loud(1.5)],
    ["a", np.str_("a")],
    [True, np.True_],
    [b"a", np.bytes_(b"a")],
    [decimal.Decimal("1.10"), decimal.Decimal("1.1")],
    [decimal.Decimal("0"), decimal.Decimal("-0.00")],
    [dt.datetime(2020, 1, 1, 9, tzinfo=ZoneInfo("Asia/Tokyo")),
     dt.datetime(2020, 1, 1, tzinfo=dt.UTC), pd.Timestamp("2020-01-01", tz="UTC")],
    [dt.datetime(2020, 1, 1), np.datetime64("2020-01-01"), np.datetime64("2020-01-01", "ns")],
    [dt.date(2020, 1, 1)],
    [dt.timedelta(1), np.timedelta64(24, "h")],
    [dt.time(1)],
    [uuid.UUID(int=1)],
    [2**200],
    [-1],
    [255],
    ["1"],
    ["true"],
]  # fmt: skip
NAN = float("nan")
MISSING = [
    None,
    NAN,
    np.float32(NAN),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    [1],
    object(),
]


def test_keys_are_equal_for_equal_values_of_a_type_only():
    groups = [set(Objects(alike).keys().to_pylist()) for alike in SAME]
    assert all(len(group) == 1 and None not in group for group in groups)
    assert len(set.union(*groups)) == len(groups)
    assert Objects(MISSING).keys().to_pylist() == [None] * len(MISSING)


VALUES = st.one_of(
    st.integers(), st.booleans(), st.text(), st.binary(), st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.datetimes(), st.datetimes(timezones=st.just(dt.UTC)), st.dates(), st.timedeltas(),
    st.times(), st.uuids(), st.none(),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(VALUES, min_size=2, max_size=8))
def test_keys_of_objects_are_injective(cells):
    found = Objects(cells).keys().to_pylist()
    for (a, k), (b, m) in itertools.combinations(zip(cells, found, strict=True), 2):
        numbers = {type(a), type(b)} <= {int, float} and abs(a) < 2**63
        alike = a == b and (type(a) is type(b) or numbers)
        assert (k == m) == alike or k is m is None


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float16, np.float32, np.float64,
                                  np.longdouble])  # fmt: skip
def test_whole_numbers_have_one_key_whatever_they_are_read_as(kind):
    """A reader makes floats of the integers of a file where one of them is missing."""
    values = np.array([0, 1, 2, 100], dtype=kind)
    assert Numbers(values).keys().equals(Objects([0, 1, 2, 100]).keys())
    missing = np.array([False, True, False, False])
    assert Numbers(values, missing).keys().to_pylist()[1] is None


@pytest.mark.parametrize("kind", [np.float64, np.longdouble])
def test_floats_that_differ_have_different_keys(kind):
    values = np.array([0, 1, 1.5, -1, np.inf, -np.inf, 5e-324, 2.0**53, 2.0**63, -(2.0**63),
                       2.0**64, 1e308, 1 + 2.0**-52, 9007199254740993], dtype=kind)  # fmt: skip
    found = Numbers(values).keys().to_pylist()
    assert len(set(found)) == len(set(values.tolist() if kind is np.float64 else values))
    assert Objects(list(values)).keys().to_pylist() == found
    assert Numbers(np.array([np.nan], dtype=kind)).keys().to_pylist() == [None]


COLUMNS = {
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "float64": (pa.float64(), st.floats()),
    "float32": (pa.float32(), st.floats(width=32)),
    "float16": (pa.float16(), st.floats(width=16)),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.text()),
    "large_string": (pa.large_string(), st.text()),
    "string_view": (pa.string_view(), st.text()),
    "binary": (pa.binary(), st.binary()),
    "binary(3)": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "decimal": (pa.decimal128(20, 3), st.decimals(-(10**9), 10**9, places=3)),
    "decimal256": (pa.decimal256(60, 3), st.decimals(-(10**9), 10**9, places=3)),
    "decimal32": (pa.decimal32(7, 2), st.decimals(-(10**3), 10**3, places=2)),
    "date32": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), st.datetimes()),
    "instant": (pa.timestamp("us", "Europe/Paris"), st.datetimes(timezones=st.just(dt.UTC))),
    "duration": (pa.duration("us"), st.timedeltas(dt.timedelta(-10**5), dt.timedelta(10**5))),
    "time": (pa.time64("us"), st.times()),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), st.text()),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_a_type_are_as_their_objects(name):
    """By the bytes of a column, or by the objects that its cells are: the same."""
    kind, values = COLUMNS[name]

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.one_of(st.none(), values), max_size=6), st.integers(0, 2))
    def check(cells, skipped):
        column = arrow_cells(pa.array(cells, kind)[skipped:])
        objects = Objects(cells[skipped:])
        assert len(column) == len(objects)
        assert column.keys().to_pylist() == objects.keys().to_pylist()
        levels = [c for c in dict.fromkeys(cells) if isinstance(c, (str, int, float)) and c == c]
        np.testing.assert_array_equal(column.codes(levels), objects.codes(levels))
        np.testing.assert_array_equal(column.numbers(), objects.numbers())

    check()


def test_numbers_of_more_precision_than_doubles():
    one = np.longdouble(1)
    close = np.array([one, one + one / 2**60, np.nan, np.inf], dtype=np.longdouble)
    if close[0] == close[1]:
        pytest.skip("doubles are the widest here")
    found = Numbers(close).keys().to_pylist()
    assert len(set(found)) == 4
    assert found[2] is None


@pytest.mark.parametrize("data", [
    pl.DataFrame({"x": [[1], [2]]}), pa.table({"x": [{"a": 1}]}), pa.table({"x": [None]}),
    pd.DataFrame({"x": pd.period_range("2020", periods=2)}),
    pd.DataFrame({"x": pd.arrays.SparseArray([1.0, 0.0])}), {"x": np.array([1j])},
    {"x": np.zeros(2, dtype=[("a", int)])},
    pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}),
])  # fmt: skip
def test_types_without_a_form_are_refused_by_type(data):
    import dpreg

    for formula, unit in (("y ~ x", None), ("y ~ 1", "x")):
        for rows in (data, data[:0] if not isinstance(data, dict) else {"x": data["x"][:0]}):
            if isinstance(rows, pl.DataFrame):
                table = rows.with_columns(y=pl.lit(1.0))
            elif isinstance(rows, pd.DataFrame):
                table = rows.assign(y=1.0)
            elif isinstance(rows, dict):
                table = {**rows, "y": np.ones(len(rows["x"]))}
            else:
                table = rows.append_column("y", pa.array(np.ones(len(rows))))
            budget = dpreg.Budget(1.0, 1e-5)
            with pytest.raises(dpreg.SchemaError, match="'x'"):
                dpreg.dp_lm(formula, table, 1.0, unit=unit, budget=budget)
            assert budget.charges == ()


def test_numbers_do_not_change_the_data():
    values = np.array([1.0, 2.0])
    column = Numbers(values, np.array([True, False]))
    assert np.isnan(column.numbers()[0])
    assert values.tolist() == [1.0, 2.0]
    assert numbers({"x": values}, "x").tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "pair",
    [
        (decimal.Decimal("1" * 5000), decimal.Decimal("1" * 4999 + "2")),
        (np.longdouble(1), np.longdouble(1) + np.longdouble(2) ** -60),
        (decimal.Decimal("0.10"), decimal.Decimal("0.11")),
    ],
    ids=["long decimals", "long doubles", "decimals"],
)
def test_keys_of_objects_that_differ_differ(pair):
    first, second = Objects(pair).keys().to_pylist()
    assert first is not None
    assert first != second


def test_categories_that_look_alike_are_different_units():
    from dpreg.data.frames import _category

    dtype = pd.CategoricalDtype(pd.Index([decimal.Decimal("1"), "1"], dtype=object))
    series = pd.Series([decimal.Decimal("1"), "1"], dtype=dtype)
    _, cells = _category("who", dtype, lambda: series)
    assert len(set(cells(slice(None)).keys().to_pylist())) == 2


def test_a_zone_that_stops_the_program_makes_a_cell_missing():
    class Zone(dt.tzinfo):
        def utcoffset(self, when):
            raise KeyboardInterrupt

    assert Objects([dt.datetime(2020, 1, 1, tzinfo=Zone())]).keys().to_pylist() == [None]


def test_narrow_positions_in_a_long_list_of_entries_are_no_error():
    cells = Coded(np.array([0, 127, -1], dtype=np.int8), Numbers(np.arange(200.0)))
    np.testing.assert_array_equal(cells.places(), [0, 127, 200])
    np.testing.assert_array_equal(cells.numbers(), [0, 127, np.nan])
