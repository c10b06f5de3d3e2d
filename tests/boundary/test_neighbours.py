"""One unit more changes nothing that can be seen, and no row of the others, in any container.

`DPREG_EXAMPLES=100` makes as many times the pairs; `make audit` makes 20,000.
"""

from __future__ import annotations

import logging
import os
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from boundary.worlds import CONTAINERS, pairs, put
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from unsealed import arrays_of

import dpreg
from dpreg.audit.observed import Probe, _bits, _groups, difference, observe, watch

TIMES = int(os.environ.get("DPREG_EXAMPLES", "1"))
FORMULAS = [
    "y ~ x", "y ~ x + c", "log(y) ~ sqrt(x) + c:x", "I(y / 3) ~ poly(x, 2, raw=True)",
    "y ~ I(x ** 1.7) + I(x % 3)", "y ~ C(c, contr.sum)", "y ~ C(c, contr.poly) * x", "y ~ 1",
    "y ~ bs(x, knots=[1, 2], lower_bound=0, upper_bound=4)",
    "y ~ cr(x, knots=[1, 2], lower_bound=0, upper_bound=4)", "y ~ maximum(x, 1) + I(x > 1)",
    "y ~ exp(x) + tanh(x) + yeo_johnson(x, 0.5) + clip(x, 0, 2)",
]  # fmt: skip


def test_output_and_logs_are_heard_whoever_writes_them():
    def call():
        print("printed")
        os.write(2, b"written\n")
        logging.getLogger("dpreg.somewhere").debug("logged")
        return ""

    assert watch(call, dpreg.Budget(1.0)).said == b"printed\nwritten\nlogged\n"


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_unit_more_changes_nothing_that_can_be_seen(container):
    @settings(max_examples=12 * TIMES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(pairs(), st.sampled_from(FORMULAS))
    def check(pair, formula):
        call = {"levels": pair.levels, "unit": pair.unit}
        with put(container, pair.without, pair.having) as tables:
            assume(all(table is not None for table in tables))
            without, having = (observe(formula, table, **call) for table in tables)
        assert difference(without, having, grouped=pair.unit is not None) == ""
        assert having.quiet, replace(having, design=None)

    check()


@settings(max_examples=12 * TIMES, deadline=None, suppress_health_check=list(HealthCheck))
@given(pairs(), st.sampled_from(FORMULAS))
def test_every_container_gives_the_same_rows(pair, formula):
    first = None
    for name in CONTAINERS:
        with put(name, pair.having) as (table,):
            if table is not None:
                design = observe(formula, table, levels=pair.levels, unit=pair.unit).design
                first = design if first is None else first
                assert _bits(design) == _bits(first), name
                assert _groups(design) == _groups(first), name


def bits(design):
    return [row.tobytes() for row in np.column_stack(arrays_of(design))]


@pytest.mark.parametrize("formula", [f for f in FORMULAS if "c" not in f.replace("clip", "")])
def test_a_row_is_evaluated_the_same_wherever_it_is(formula):
    """Alone, first, last, or among many: to the last bit."""
    rng = np.random.default_rng(20260101)
    x = np.concatenate([rng.uniform(0, 4, 150), rng.normal(0, 300, 50)])
    data = {"x": x, "y": rng.uniform(0, 9, len(x))}
    whole = observe(formula, data).design
    complete = set(bits(whole))
    for start, stop in [(i, i + 1) for i in range(0, 200, 7)] + [(3, 11), (5, 69), (1, 200)]:
        part = observe(formula, {n: v[start:stop].copy() for n, v in data.items()}).design
        assert all(row in complete for row in bits(part))
    backwards = observe(formula, {n: v[::-1] for n, v in data.items()}).design
    assert bits(backwards) == bits(whole)[::-1]


def damaged(path):
    """The pages of a file overwritten, its footer left."""
    with put("parquet without dictionaries", TABLE) as (file,):
        content = bytearray(file.read_bytes())
    content[4:200] = bytes(196)
    (path / "damaged.parquet").write_bytes(content)
    return path / "damaged.parquet"


class Elsewhere:
    """An array of a package that says what it cannot convert."""

    dtype = np.dtype(float)

    def __len__(self):
        return 50

    def __array__(self, dtype=None, copy=None):
        raise ValueError("no number: secret")


TABLE = pa.table({"x": np.arange(50.0), "y": np.arange(50.0), "word": ["secret"] * 50})
WORD = pl.col("word")
FAILING = {
    "a damaged file": damaged,
    "an array that raises": lambda path: {"x": Elsewhere(), "y": np.zeros(50)},
    "a lazy query that raises": lambda path: (
        pl.from_arrow(TABLE).lazy().with_columns(x=WORD.cast(pl.Int64))
    ),
    "a lazy query that panics": lambda path: (
        pl.from_arrow(TABLE)
        .lazy()
        .with_columns(x=WORD.map_batches(lambda s: 1 / 0, return_dtype=pl.Float64))
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_source_that_fails_was_paid_for_and_tells_nothing(name, tmp_path):
    """So nothing but its schema was read before."""
    seen = observe("y ~ x", FAILING[name](tmp_path))
    kind, message = seen.failure
    assert kind == "SourceError"
    assert "secret" not in message
    assert (seen.warned, seen.said, len(seen.charges)) == ((), b"", 1)


def test_nothing_but_the_schema_of_a_lazy_frame_is_asked_for_before_the_charge():
    events = []

    def read(series):
        events.append(len(budget.charges))
        return series

    frame = (
        pl.from_arrow(TABLE)
        .lazy()
        .with_columns(x=pl.col("x").map_batches(read, return_dtype=pl.Float64))
    )
    budget = dpreg.Budget(1.0, 1e-5)
    for wrong in ({"eps": 2.0}, {"eps": 1.0, "method": "ols"}, {"eps": 1.0, "unit": "nobody"}):
        with pytest.raises(ValueError, match=r"budget|method|unit"):
            dpreg.dp_lm("y ~ x", frame, budget=budget, **wrong)
    dpreg.dp_lm("y ~ x", frame, 1.0, method=Probe(), budget=budget)
    assert events
    assert set(events) == {1}


@pytest.mark.parametrize("rows", [0, 1, 2, 500])
@pytest.mark.parametrize("fields", [{"x"}, {"y"}, {"x", "y"}])
@pytest.mark.parametrize("missing", [False, True])
def test_fields_of_records_are_read_whether_a_row_is_incomplete_or_not(rows, fields, missing):
    """They lie between whole doubles: where rows are left out they are copied, elsewhere not."""
    records = np.zeros(rows, [("at", "i4"), ("x", "f8"), ("y", "f8")])
    records["x"] = records["y"] = np.arange(rows)
    if missing:
        records["x"][rows // 2 : rows // 2 + 1] = np.nan
    data = {name: records[name] if name in fields else records[name].copy() for name in "xy"}
    plain = {name: values.copy() for name, values in data.items()}
    fits = [dpreg.dp_lm("y ~ x", table, 1.0, 1e-6, rng=1) for table in (data, plain)]
    assert fits[0].to_json() == fits[1].to_json()
