"""A fit of a Parquet file that does not fit in memory, as a ratio to DuckDB in the same run.

Run as ``python tests/benchmarks/bench_large.py [--quick] [--rows N] [--json FILE]``: ten normal
regressors and a response, 88 bytes a row, written here first; a tenth as many rows if quick.
DuckDB computes the means and the products of all columns of the same file.  Peaks are those of
processes of their own.  Also a file of 24 columns of which the formula has three, against one of
three.  Not a test: it measures time and memory, and fails on nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import Sheet, arguments

ROWS, D, MEMORY = 10_000_000, 10, 1e9

FIT = """
import dpreg
fit = dpreg.dp_lm({formula!r}, {path!r}, 1.0, 1e-9, memory={memory}, rng=1)
assert fit.released
"""
DUCKDB = """
import duckdb
names = {names!r}
terms = [f"avg({{a}})" for a in names]
terms += [f"sum({{a}} * {{b}})" for i, a in enumerate(names) for b in names[i:]]
duckdb.sql("select count(*), " + ", ".join(terms) + " from {path!s}").fetchall()
"""
TIMED = """
import resource, time
start = time.perf_counter()
{body}
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def write(path, rows, columns):
    rng = np.random.default_rng(1)
    names = [f"x{j}" for j in range(columns)] + ["y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for start in range(0, rows, 1 << 20):
            x = rng.standard_normal((min(1 << 20, rows - start), columns))
            y = x[:, : min(columns, D)].sum(axis=1) + rng.standard_normal(len(x))
            table = pa.table([*x.T.copy(), y], schema=schema)
            writer.write_table(table, row_group_size=1 << 17)
    return names


def in_a_process(body):
    """Return seconds and the peak of memory in GB, of a process of its own."""
    # One file on stdin would hide the traceback of what fails.
    code = TIMED.format(body=body)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # DuckDB may have shown its progress there.
    return tuple(map(float, done.stdout.split()[-2:]))


def main():
    options = arguments(__doc__, rows=ROWS)
    rows = options.rows // 10 if options.quick else options.rows
    sheet = Sheet()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        names = write(path, rows, D)
        formula = "y ~ " + " + ".join(names[:-1])
        print(f"{rows:,} x {D}, {os.path.getsize(path) / 1e9:.2f} GB, memory={MEMORY:g}")
        quoted = f"'{path}'"
        ours, theirs = [], []
        for _ in range(3 if rows <= ROWS else 1):
            ours.append(in_a_process(FIT.format(formula=formula, path=path, memory=MEMORY)))
            theirs.append(in_a_process(DUCKDB.format(names=names, path=quoted)))
        ours, theirs = np.array(ours), np.array(theirs)
        sheet.add("large: seconds", ours[:, 0], "seconds of a fit with intervals")
        sheet.add("large", ours[:, 0] / theirs[:, 0], "Fit over DuckDB's means and products",
                  better="less" if len(ours) >= 3 else None)  # fmt: skip
        sheet.add("large: memory", ours[:, 1], "GB of memory at the peak")
        narrow, wide = (str(Path(folder) / name) for name in ("three.parquet", "all.parquet"))
        for name, columns in ((narrow, 2), (wide, 23)):
            write(name, rows // 10, columns)
        found = np.array(
            [
                [in_a_process(FIT.format(formula="y ~ x0 + x1", path=name, memory=MEMORY))
                 for name in (wide, narrow)]
                for _ in range(3)
            ]
        )  # fmt: skip
        ratio = found[:, 0] / found[:, 1]
        sheet.add("columns: seconds", ratio[:, 0], "24 columns of which 3 are used, over 3: time",
                  better="less")  # fmt: skip
        sheet.add("columns: memory", ratio[:, 1], "24 columns of which 3 are used, over 3: memory",
                  better="less")  # fmt: skip
    sheet.write(options.json)


if __name__ == "__main__":
    main()
