"""Coverage-guided fuzzing of what reads text and tables, by atheris.

python fuzz_python.py formula|frame|json|ledger|command -max_total_time=60
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import types
import warnings

import atheris
import numpy as np
import pandas as pd

import dpreg
import dpreg.cli
import dpreg.formula
import dpreg.frame
import dpreg.ledger
import dpreg.released.prediction
import dpreg.released.summary


def instrument(prefix):
    """Count coverage in all functions of a package, however it was installed."""
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] != prefix:
            continue
        for owner in (module, *(c for c in vars(module).values() if isinstance(c, type))):
            for function in vars(owner).values():
                function = getattr(function, "__func__", function)
                if isinstance(function, types.FunctionType) and function.__module__ == name:
                    atheris.instrument_func(function)


SCRATCH = tempfile.mkdtemp()
TABLE = pd.DataFrame({"a": [1.0, np.nan], "b": [0.0, 1.0], "y": [1.0, 2.0]})
SCHEMA = dpreg.frame.Table(TABLE).schema


def formula(data):
    with contextlib.suppress(ValueError):
        dpreg.formula.FormulaSpec("y ~ " + data.ConsumeUnicodeNoSurrogates(40), SCHEMA)


def frame(data):
    kinds = ["f8", "f4", "i8", "u1", "O", "U3", "?", "list"]
    columns = {}
    rows = data.ConsumeIntInRange(0, 4)
    for name in "aby":
        kind = data.PickValueInList(kinds)
        cells = [
            data.ConsumeFloat() if kind[0] in "fOl" else data.ConsumeIntInRange(0, 100)
            for _ in range(rows)
        ]
        if kind == "O" and cells:
            cells[0] = data.PickValueInList([None, "x", [1], 10**400, {}, b"x"])
        columns[name] = cells if kind == "list" else _array(cells, kind)
    with contextlib.suppress(ValueError):
        fit = dpreg.dp_lm("y ~ a + b", columns, 1.0, 1e-3, method="tukey", rng=1)
        str(fit.summary())


def _array(cells, kind):
    with np.errstate(all="ignore"):
        column = np.empty(len(cells), dtype=object)
        column[:] = cells
        return column if kind == "O" else column.astype(kind)


def json(data):
    with contextlib.suppress(ValueError):
        dpreg.DPResults.from_json(data.ConsumeBytes(8000).decode(errors="replace"))


def ledger(data):
    path = os.path.join(SCRATCH, "ledger")
    with open(path, "wb") as file:
        file.write(data.ConsumeBytes(8000))
    with contextlib.suppress(dpreg.BudgetError):
        budget = dpreg.Budget(1.0, ledger=path)
        assert budget.remaining[0] <= 1.0


def command(data):
    words = [data.ConsumeUnicodeNoSurrogates(12) for _ in range(data.ConsumeIntInRange(0, 4))]
    first = data.PickValueInList(["fit", "predict", "select", "nothing"])
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        try:
            code = dpreg.cli.main([first, *words])
        except SystemExit as leaving:
            code = leaving.code
    assert code in (0, 2, 3), code


def seeds():
    """Write one of each, for the fuzzer to start from; return their folder."""
    folder = os.path.join(SCRATCH, "seeds")
    os.mkdir(folder)
    fit = dpreg.dp_lm("y ~ a", TABLE, 1.0, 1e-3, method="adassp", rng=1)
    budget = dpreg.Budget(1.0, ledger=os.path.join(folder, "ledger"))
    budget.spend("x", 0.5)
    with open(os.path.join(folder, "json"), "w") as file:
        file.write(" ".join(fit.to_json().split()))
    return folder


def main():
    target = {f.__name__: f for f in (formula, frame, json, ledger, command)}[sys.argv.pop(1)]

    def run(blob):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            target(atheris.FuzzedDataProvider(blob))

    instrument("dpreg")
    atheris.Setup([*sys.argv, seeds()], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
