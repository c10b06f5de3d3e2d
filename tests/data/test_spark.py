"""Tables of Spark: the same bits.  `make engines` installs it; it needs Java."""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import dpreg

sql = pytest.importorskip("pyspark.sql")

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")
LEVELS = {"g": ["a", "b"]}


@pytest.fixture(scope="module")
def session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # A task that fails is run again, up to four times.
    made = (
        sql.SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.speculation", "true")
        .getOrCreate()
    )
    yield made
    made.stop()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=3000), "g": rng.choice(["a", "b"], 3000)})
    frame["y"], frame["who"] = frame["x"] + rng.normal(size=3000), rng.integers(0, 500, 3000)
    return frame


def fit(data, **call):
    return dpreg.dp_lm("y ~ x + g", data, 1.0, 1e-6, levels=LEVELS, rng=1, **call).to_json()


def in_spark(session, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pyspark, about versions of pandas
        return session.createDataFrame(table)


@pytest.mark.parametrize("parts", [1, 3])
def test_partitions_of_spark_give_the_same_bits(session, table, parts):
    assert fit(in_spark(session, table).repartition(parts)) == fit(table)


def test_what_needs_all_rows_brings_them_here(session, table):
    assert fit(in_spark(session, table).coalesce(1), unit="who") == fit(table, unit="who")


def test_partitions_may_be_empty(session, table):
    held = in_spark(session, table).repartition(3)
    assert fit(held.filter("x > 100")) == fit(table[table["x"] > 100])


def _dies_once(folder):
    def run(batches):
        batches = list(batches)
        mark = f"{folder}/{sum(b.num_rows for b in batches)}-{batches[0].column(0)[0]}"
        if not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(1)
        yield from batches

    return run


def test_tasks_that_are_killed_and_run_again_change_nothing(session, table, tmp_path):
    held = in_spark(session, table).repartition(2)
    failing = held.mapInArrow(_dies_once(str(tmp_path)), held.schema)
    assert fit(failing) == fit(table)
    assert len(list(tmp_path.iterdir())) == 2
