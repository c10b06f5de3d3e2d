"""Tables in the partitions of Dask: the same bits, whatever happens to the tasks."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from unsealed import arrays_of, count_of, rows_of

import dpreg
from dpreg.base.errors import SchemaError
from dpreg.data.containers import open_source
from dpreg.data.design import Terms, read_design
from dpreg.data.formula import FormulaSpec
from dpreg.data.problem import pose
from dpreg.privacy.charge import Stratum
from dpreg.sklearn import DPLinearRegression

LEVELS = {"g": ["a", "b"]}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    n = 4000
    frame = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(["a", "b"], n)})
    frame["who"], frame["unused"] = rng.integers(0, 900, n), 1.0
    frame["y"] = frame["x"] + rng.normal(size=n)
    return frame


def fit(data, **call):
    return dpreg.dp_lm("y ~ x + g", data, 1.0, 1e-6, levels=LEVELS, rng=1, **call).to_json()


@pytest.mark.parametrize("call", [{}, {"method": "adassp"}, {"inference": False}])
def test_partitions_of_dask_give_the_same_bits(table, call):
    here = fit(table, **call)
    with dask.config.set(scheduler="synchronous"):
        for parts in (1, 7):
            assert fit(dd.from_pandas(table, npartitions=parts), **call) == here


@pytest.mark.parametrize("call", [{"unit": "who"}, {"method": "tukey"}, {"method": "frank_wolfe"}])
def test_what_needs_all_rows_brings_them_here(table, call):
    with dask.config.set(scheduler="synchronous"):
        assert fit(dd.from_pandas(table, npartitions=3), **call) == fit(table, **call)


def test_no_partition_of_a_column_is_read_before_the_charge(table):
    """Its length alone is computed from all of them, and what fails says why."""

    def read(part):
        raise ValueError(f"cell is {part['x'].iloc[0]}")

    frame = dd.from_pandas(table, npartitions=2).map_partitions(read, meta=table.iloc[:0])
    budget = dpreg.Budget(1.0, 1e-5)
    for columns in (frame, {n: frame[n].to_dask_array(lengths=[2000] * 2) for n in ("x", "y")}):
        with pytest.raises(SchemaError, match="column 'x' would be computed by Dask"):
            dpreg.dp_lm("y ~ x", {n: columns[n] for n in ("x", "y")}, 1.0, budget=budget)
    x, y = (frame[n].to_dask_array(lengths=[2000] * 2) for n in ("x", "y"))
    for X, response in ((x[:, None], np.zeros(4000)), (np.zeros((4000, 1)), y)):
        with pytest.raises(SchemaError, match="would be computed by Dask"):
            DPLinearRegression(eps=1.0, budget=budget).fit(X, response)
    assert budget.charges == ()


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_unit_is_one_whatever_its_partitions_are_read_as(tmp_path, unit):
    """Integers here, floats there where one is missing, and text where one is no number."""
    for part, last in enumerate(["4", "", "A7"]):
        rows = "".join(f"{i},{i}.5,{who},{who}\n" for i, who in enumerate([0, 1, 2, 3, last]))
        (tmp_path / f"{part}.csv").write_text("x,y,who,stratum\n" + rows)
    held = dd.from_map(pd.read_csv, sorted(tmp_path.glob("*.csv")))
    with dask.config.set(scheduler="synchronous"):
        design = pose("y ~ x", held, None, unit).design(1e9)
        taken = [
            pose("y ~ x", held, None, unit, Stratum("stratum", (0, 1), k)).design(1e9)
            for k in range(2)
        ]
    rows = 15 if unit is None else 9
    assert (rows_of(design).count, count_of(design)) == (rows, 15 if unit is None else 5)
    assert [count_of(part) for part in taken] == ([2, 2] if unit is None else [1, 1])


def test_partitions_may_be_empty_or_all_of_them(table):
    held = dd.from_pandas(table, npartitions=4)
    with dask.config.set(scheduler="synchronous"):
        some = fit(held[held["x"] > 1])
        assert some == fit(table[table["x"] > 1])
        assert fit(held[held["x"] > 100]) == fit(table[table["x"] > 100])


def test_only_the_columns_of_the_formula_are_sent(table, monkeypatch):
    seen = []

    def spy(task, frame):
        seen.append(sorted(frame.columns))
        return task(open_source(frame))

    monkeypatch.setattr("dpreg.data.engines._of_frame", spy)
    with dask.config.set(scheduler="synchronous"):
        fit(dd.from_pandas(table, npartitions=2))
    assert seen
    assert all(columns == ["g", "x", "y"] for columns in seen)


class Shuffled:
    """A source that returns its rows in another order each time, as engines may."""

    def __init__(self, frame):
        self._frame, self._reads = frame, 0
        self.schema = open_source(frame).schema

    def _rows(self):
        self._reads += 1
        return open_source(self._frame.sample(frac=1, random_state=self._reads))

    def batches(self, columns):
        return self._rows().batches(columns)

    def total(self, task):
        return task(self._rows())


def test_regressors_and_response_are_of_the_same_rows(table):
    source = Shuffled(table.assign(y=3 * table["x"]))
    spec = FormulaSpec("y ~ x", source.schema)
    design = read_design(spec, source, None, Terms("y", ("x",), True), 1e9)
    assert rows_of(design).count == len(table)
    X, y = arrays_of(design)
    np.testing.assert_array_equal(y, 3 * X[:, 0])
    part = rows_of(design).where(np.arange(len(table)) < 100)
    np.testing.assert_array_equal(part.arrays()[0], X[:100])
    np.testing.assert_array_equal(arrays_of(design.keep([0]))[0], X)


def test_a_formula_survives_a_pickle(table):
    schema = pose("y ~ x + g", table, LEVELS).schema
    spec = FormulaSpec("log(y + 10) ~ x * g", schema)
    again = pickle.loads(pickle.dumps(spec))
    assert (again.names, again.response, again.ranges) == (spec.names, spec.response, spec.ranges)
    assert pickle.loads(pickle.dumps(spec)) is again


def test_workers_that_are_killed_change_nothing(tmp_path):
    """In a process of its own: a cluster that does not come back fails, and does not hang."""
    script = Path(__file__).parent / "killed_workers.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.split() == ["same", "same"], done.stderr
