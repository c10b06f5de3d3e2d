# %% [markdown]
# # Data larger than memory
#
# `dp_lm` and `dp_glm` read their data once, in batches, and only the columns in the formula. All
# sums over rows are exact sums of integers, so the result is the same to the last bit for any
# order, partition or storage of the rows. This page shows how to use each kind of data.
#
# Run it as `python vignettes/large_data.py`, or open it as a notebook (percent format). It needs
# duckdb and dask, `pip install 'dpreg[engines]'`.

# %%
from __future__ import annotations

import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import dpreg

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(1)
for day in range(4):
    x, tip = rng.standard_normal((2, 50_000))
    table = pa.table({"x": x, "unused": tip, "y": 2 * x + rng.standard_normal(50_000)})
    pq.write_table(table, folder / f"day-{day}.parquet")

# %% [markdown]
# ## Files on this machine
#
# A folder, a pattern or a list of Parquet files; names and types of columns are those of the first
# file. `memory=` is the number of bytes that rows may take before further rows go to temporary
# files, by default a quarter of the machine's memory. Here it is very small, and the result is the
# same:

# %%
fit = dpreg.dp_lm("y ~ x", folder, 1.0, 1e-7, rng=1)
spooled = dpreg.dp_lm("y ~ x", f"{folder}/day-*.parquet", 1.0, 1e-7, rng=1, memory=1e6)
print(fit.summary())
assert fit.to_json() == spooled.to_json()

# %% [markdown]
# Temporary files need 8 bytes for each value of the model matrix, and later 2 to 4 more, in the
# folder for temporary files (`TMPDIR`). They have no names where the system allows that, and are
# deleted when the call ends; during the call they are on disk, not encrypted.
#
# Whether that folder is writable is checked before the charge, whatever the number of rows; if it
# is not, and `memory=` was not given, rows stay in memory. A disk that fills up causes a failure
# after the charge, which reveals that there are many rows, as does the duration of a fit.
#
# ## Progress
#
# The shell shows progress when stderr is a terminal, R in interactive sessions after one second,
# and `dpreg.progress` in Python: the number of passes over the rows, their maximal number, and the
# time. Rows, bytes and files are not counted, since the number of rows is private; times reveal
# something about it, so show a log with times only to those who may see how long a fit takes.
# Stopping the call (Ctrl-C) does not refund the budget, and a message says so.

# %%
shown = []
with dpreg.progress(shown.append):
    dpreg.dp_lm("y ~ x", folder, 1.0, 1e-7, rng=1)
print(shown[-1])
assert shown[-1].done <= shown[-1].most

# %% [markdown]
# ## Queries
#
# A filter, a join or a new column before the fit is a query: a polars LazyFrame, a DuckDB relation
# or an ibis table is run once, batch by batch. An ENUM of DuckDB declares the levels of a factor.
# The author of a query is responsible for its privacy: if it makes the rows of one person depend on
# another person, the guarantee does not hold.

# %%
lazy = pl.scan_parquet(folder / "*.parquet").filter(pl.col("x") > -3)
relation = duckdb.connect().sql(f"select * from '{folder}/*.parquet' where x > -3")
found = [dpreg.dp_lm("y ~ x", query, 1.0, 1e-7, rng=1).to_json() for query in (lazy, relation)]
assert found[0] == found[1]

# %% [markdown]
# A stream (`pyarrow.RecordBatchReader`) works too, since rows are read once. It cannot be read
# again, so a second call with the same stream is refused.
#
# From R: `dp_lm(y ~ x, "sales/*.parquet", eps = 1)`. The formula is R's; Python reads the files and
# passes blocks of rows to R, with the same `memory =`.
#
# ## Distributed data: Dask and Spark
#
# Each partition of a Dask or Spark DataFrame sums its own rows, and only these sums are sent: one
# task per partition and sum, about 15 sums per fit, so keep the frame in the memory of the workers
# (`persist()`, `cache()`). The result of a task depends on its partition alone, so a worker that
# dies changes nothing. dpreg must be installed on the workers.
#
# With `unit=` the column of the unit must have the type that Dask declares in all partitions: 7 in
# one and "7" in another would be two units, though one person. Dask does not check that, so values
# of another type have no unit, and their rows are dropped.

# %%
with dask.config.set(scheduler="synchronous"):
    partitioned = dpreg.dp_lm("y ~ x", dd.read_parquet(folder), 1.0, 1e-7, rng=1)
assert partitioned.to_json() == fit.to_json()

# %% [markdown]
# ## What needs memory
#
# | | in memory |
# |---|---|
# | `"boosted_adassp"`, `"adassp"` (so `"auto"`), `"dpsgd"` | one batch |
# | `dp_moments`, `select="sis"` | one batch |
# | `"tukey"` | one batch and about 50 bytes per row |
# | with `unit=`, three rows per unit | one batch and 100 to 140 bytes per row |
# | `"frank_wolfe"`, `select=` except `"sis"` | all rows |
#
# A method that keeps all rows needs at least 8 bytes for each value of the model matrix and the
# response, so that 2e9 bytes hold fewer than 23 million rows of 10 regressors; with `memory=` it is
# refused before the charge, with that number. A fit that runs out of memory fails after the charge.
#
# For the first two lines, partitions stay on their workers, except for `"dpsgd"` and with `unit=`;
# all others bring the rows to this process.
#
# The file of `tests/benchmarks/bench_large.py` has 88 bytes per row for 10 regressors. With
# `memory=1e9` and two idle processors, a fit to 100 million rows took 49 and 50 s in two runs and
# at most 1.3 GB of memory: 1.9 and 2.0 times as long as DuckDB took for the means and products of
# the same columns. With 10 million rows it was 5 s, 2.0 to 2.3 times. Time is proportional to the
# number of rows: 1,000 million rows should take about 9 minutes.
