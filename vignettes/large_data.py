# %% [markdown]
# # Data larger than memory
#
# `dp_lm` and `dp_glm` read their data once, in batches, and only the columns of the formula. What
# follows are sums over rows of exact integers, so that the result is the same to the last bit
# however the rows are divided, ordered or held. This page shows which holder to use when.
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
# file. `memory=` says how many bytes rows may take before others go to temporary files, by default
# a quarter of the machine's memory. Here hardly any, and the result is the same:

# %%
fit = dpreg.dp_lm("y ~ x", folder, 1.0, 1e-7, rng=1)
spooled = dpreg.dp_lm("y ~ x", f"{folder}/day-*.parquet", 1.0, 1e-7, rng=1, memory=1e6)
print(fit.summary())
assert fit.to_json() == spooled.to_json()

# %% [markdown]
# Files have 8 bytes for each value of the model matrix, and later 2 to 4 more, in the folder for
# temporary files (`TMPDIR`). They have no names where the system allows that, and are gone with the
# call; but they are on a disk while the call lasts, and not encrypted.
#
# Whether that folder can be written to is found out before the charge, however few rows there are;
# without `memory=` rows stay in memory where it cannot. A disk that is full in the end fails after
# the charge, and tells that there are many rows, as the time that a fit takes does.
#
# ## How far it has come
#
# The shell shows it when stderr is a terminal, R in interactive sessions once a second has gone by,
# and `dpreg.progress` in Python: passes over the rows, how many there are at most, how long one
# takes and how long the rest does at most. No rows, bytes or files are counted, since how many rows
# there are is private; a clock tells about it, so a log with times is for those who may know how
# long the work took. Whoever stops it (Ctrl-C) has spent the budget, and is told so.

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
# What a query does with a record is up to who writes it: one that makes the rows of a person depend
# on another's breaks the promise.

# %%
lazy = pl.scan_parquet(folder / "*.parquet").filter(pl.col("x") > -3)
relation = duckdb.connect().sql(f"select * from '{folder}/*.parquet' where x > -3")
found = [dpreg.dp_lm("y ~ x", query, 1.0, 1e-7, rng=1).to_json() for query in (lazy, relation)]
assert found[0] == found[1]

# %% [markdown]
# A stream (`pyarrow.RecordBatchReader`) is enough, since rows are read once; it cannot be read
# again, and a second call says so.
#
# From R: `dp_lm(y ~ x, "sales/*.parquet", eps = 1)`. The formula stays R's own; Python reads the
# files and hands them over in blocks, with the same `memory =`.
#
# ## Where the data cannot come here: Dask and Spark
#
# Of a Dask or Spark DataFrame each partition adds up its own rows, and only these sums travel: one
# task a partition and a sum, some 50 sums a fit, so keep the frame in the memory of the workers
# (`persist()`, `cache()`). What a task returns depends on its partition alone; a worker that dies
# changes nothing. dpreg must be installed where the workers are.
#
# With `unit=` the column of the unit must have the type that Dask declares in all partitions: 7 in
# one and "7" in another would be two units, though one person. Dask does not make sure of that, so
# cells of a partition with another kind of type have no unit, and their rows are incomplete.

# %%
with dask.config.set(scheduler="synchronous"):
    partitioned = dpreg.dp_lm("y ~ x", dd.read_parquet(folder), 1.0, 1e-7, rng=1)
assert partitioned.to_json() == fit.to_json()

# %% [markdown]
# ## What still needs memory
#
# | | in memory |
# |---|---|
# | `"boosted_adassp"`, `"adassp"` (so `"auto"`), `"dpsgd"` | one batch |
# | `dp_moments`, `select="sis"` | one batch |
# | `"tukey"` | one batch and about 50 bytes a row |
# | with `unit=`, three rows a unit | one batch and 100 to 140 bytes a row |
# | `"frank_wolfe"`, `select=` but for `"sis"` | all rows |
#
# What holds all rows takes at least 8 bytes for each value of the model matrix and the response, so
# that 2e9 bytes are fewer than 23 million rows of 10 regressors; with `memory=` it is refused
# before the charge, with that number. A fit for which there is no memory fails after the charge.
#
# Partitions stay where they are with the first two lines, but for `"dpsgd"` and units; all else
# brings the rows to this process.
#
# With the file of `tests/benchmarks/bench_large.py`, 88 bytes a row of 10 regressors, `memory=1e9`
# and two idle processors, 100 million rows took 43 to 50 s in five runs, and DuckDB 9.5 to 12 s for
# the means and the products of the same columns where the system had the file in memory: a private
# fit took 4.0 to 4.7 times as long. (Where it had not, DuckDB took 18 to 25 s.) The peak was
# 1.3 GB. Nearly half of the time goes into writing 12 GB of temporary files: on the virtual machine
# that was used a GB takes a processor 3 s where memory is touched for the first time in a while,
# and 0.3 s after that. 10 million rows took 4.0 times as long (3.7 to 4.3), imports, most of a
# second, included. Time is in proportion to rows, so 1,000 million should take about 8 minutes, of
# which DuckDB would take two to read them.
