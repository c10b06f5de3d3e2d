"""Coverage-guided fuzzing of what reads text and tables, by atheris.

python fuzz_python.py formula|frame|json|ledger|command -max_total_time=60

It starts from the inputs of `corpus.json`, which longer runs have found (`run.py --fixed --keep`).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json as json_module
import os
import random
import sys
import tempfile
import types
import warnings
from pathlib import Path

import atheris
import numpy as np
import pandas as pd

sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))
from sources import evaluated, schema

import dpreg
import dpreg.data.formula
import dpreg.faces.cli.commands
import dpreg.privacy.ledger
import dpreg.results.predict
import dpreg.results.summary


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
dpreg.Budget(1.0, ledger=os.path.join(SCRATCH, "made")).spend("x", 0.75)
with open(os.path.join(SCRATCH, "made"), "rb") as made:
    LEDGER = made.read()
TABLE = pd.DataFrame({"a": [1.0, np.nan], "b": [0.0, 1.0], "y": [1.0, 2.0]})
MANY = pd.DataFrame({"a": np.arange(900) % 7 - 3.0, "b": np.arange(900) % 5.0})
MANY["y"] = MANY["a"] - 0.5 * MANY["b"] + np.arange(900) % 3
FITTED = dpreg.dp_lm("y ~ a + b", MANY, 5.0, 1e-3, diagnostics=True, fit_stats=True, rng=1)
FIT = FITTED.to_json()
SCHEMA = schema(TABLE)


TOKENS = [
    "a", "b", "y", "(", ")", "[", "]", "{", "}", ",", "+", "-", "*", "/", "**", "@", "%", "<",
    "==", "=", " in ", " is ", " and ", "~", ":", "I(", "abs(", "np.", "maximum(", "clip(",
    "poly(", "bs(", "cr(", "C(", "where", "out", "raw", "knots", "lower_bound", "upper_bound",
    "levels", "True", "None", "1", "0.5", "'x'", "x for x in ", "lambda ", ".", "_",
]  # fmt: skip
FIVE = pd.DataFrame({"a": [1.0, 2, 3, -4, 0.5], "b": [0.0, 1, 0, 7, 2], "y": [1.0, 2, 3, 4, 5]})


def formula(data):
    """Refused, or a function of the row: without other rows its values stay."""
    if data.ConsumeBool():
        text = data.ConsumeUnicodeNoSurrogates(40)
    else:
        text = "".join(data.PickValueInList(TOKENS) for _ in range(data.ConsumeIntInRange(1, 14)))
    try:
        spec = dpreg.data.formula.FormulaSpec("y ~ " + text, SCHEMA)
    except ValueError:
        return
    whole = evaluated(spec, FIVE, response=True)
    for keep in ([0, 1, 2, 3], [3], [4, 2], []):
        part = evaluated(spec, FIVE.iloc[keep], response=True)
        at = [list(whole.kept).index(i) for i in keep if i in whole.kept]
        assert np.array_equal(part.X, whole.X[at]), text


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
    method = data.PickValueInList(["tukey", "adassp", "boosted_adassp"])
    eps = data.PickValueInList([1.0, 500.0])  # At much a model is released.
    with contextlib.suppress(ValueError):
        fit = dpreg.dp_lm("y ~ a + b", columns, eps, 1e-3, method=method, rng=1)
        str(fit.summary())


def _array(cells, kind):
    with np.errstate(all="ignore"):
        column = np.empty(len(cells), dtype=object)
        column[:] = cells
        return column if kind == "O" else column.astype(kind)


def _value(data, depth=2):
    """Anything that JSON can hold."""
    kind = data.ConsumeIntInRange(0, 6 if depth else 4)
    if kind == 0:
        return data.PickValueInList([None, True, False, "", "NaN", [], {}, 10**400, -0.0, 1e308])
    if kind in (1, 2):
        return data.ConsumeFloat() if kind == 1 else data.ConsumeInt(8)
    if kind in (3, 4):
        return data.ConsumeUnicode(8)
    values = [_value(data, depth - 1) for _ in range(data.ConsumeIntInRange(0, 3))]
    return values if kind == 5 else {data.ConsumeUnicode(4): value for value in values}


def _changed(data, value):
    """Replace something within `value`: an entry of a list or object, at any depth."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    if not keys:
        return _value(data)
    key = data.PickValueInList(list(keys))
    if isinstance(value[key], (dict, list)) and data.ConsumeIntInRange(0, 3):
        value[key] = _changed(data, value[key])
    elif data.ConsumeBool():
        value[key] = _value(data)
    else:
        del value[key]
    return value


def json(data):
    """Rubbish, or a result of which something was changed."""
    if data.ConsumeIntInRange(0, 7) == 0:
        text = data.ConsumeUnicode(2000)
    else:
        document = json_module.loads(FIT)
        for _ in range(data.ConsumeIntInRange(1, 3)):
            document = _changed(data, document)
        text = json_module.dumps(document)
    # Forged numbers may overflow: that says nothing about a record.
    with contextlib.suppress(ValueError), np.errstate(all="ignore"):
        fit = dpreg.DPResults.from_json(text)
        str(fit.summary())
        fit.predict(TABLE)
        fit.to_json()


def ledger(data):
    """Rubbish, or a ledger with some bytes changed."""
    path = os.path.join(SCRATCH, "ledger")
    content = bytearray(LEDGER)
    if data.ConsumeBool():
        content = bytearray(data.ConsumeBytes(8000))
    for _ in range(data.ConsumeIntInRange(0, 4) if content else 0):
        content[data.ConsumeIntInRange(0, len(content) - 1)] = data.ConsumeIntInRange(0, 255)
    with open(path, "wb") as file:
        file.write(content)
    dpreg.privacy.ledger._SEEN.clear()
    with contextlib.suppress(dpreg.BudgetError):
        budget = dpreg.Budget(1.0, ledger=path)
        assert budget.remaining[0] == 0.25


FLAGS = ["--eps", "--delta", "--k", "--method", "--select", "--unit", "--levels", "--bounds",
         "--ledger", "--total-eps", "--json", "--rows", "--features", "--no-inference"]  # fmt: skip
WORDS = ["1", "0.5", "1e-6", "1e-400", "inf", "nan", "-1", "2", "adassp", "tukey", "kendall", "sis",
         "two_stage", "a", "a=0,1", "b=x,y", "y=-1,1"]  # fmt: skip


def command(data):
    words = [data.PickValueInList(["fit", "predict", "select", "plan", "nothing"])]
    if words[0] in ("fit", "select"):
        words.append(data.PickValueInList(["y ~ a", "y ~ a + b", "y ~ .", "y"]))
    words.append(os.path.join(SCRATCH, data.PickValueInList(["data.parquet", "json", "none"])))
    for _ in range(data.ConsumeIntInRange(0, 6)):
        words.append(data.PickValueInList(FLAGS))
        if words[-1] in ("--ledger", "--json"):
            words.append(os.path.join(SCRATCH, data.PickValueInList(["out", "no/folder", "."])))
        elif data.ConsumeIntInRange(0, 7):
            words.append(data.PickValueInList(WORDS))
        else:
            words.append(data.ConsumeUnicodeNoSurrogates(12))
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        try:
            code = dpreg.faces.cli.commands.main(words)
        except SystemExit as leaving:
            code = leaving.code
    assert code in (0, 2, 3), code


def seeds(name):
    """Write files that commands read, and blobs for the fuzzer of this name to start from."""
    TABLE.to_parquet(os.path.join(SCRATCH, "data.parquet"))
    with open(os.path.join(SCRATCH, "json"), "w") as file:
        file.write(FIT)
    folder = os.path.join(SCRATCH, "seeds")
    os.mkdir(folder)
    for number in range(20):
        with open(os.path.join(folder, str(number)), "wb") as file:
            file.write(random.Random(number).randbytes(400))
    kept = json_module.loads(Path(__file__).with_name("corpus.json").read_text())
    for blob in map(base64.b64decode, kept.get(name, ())):
        # The name that libFuzzer gives it.
        Path(folder, hashlib.sha1(blob).hexdigest()).write_bytes(blob)
    return folder


def main():
    target = {f.__name__: f for f in (formula, frame, json, ledger, command)}[sys.argv[1]]

    def run(blob):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            target(atheris.FuzzedDataProvider(blob))

    instrument("dpreg")
    program, name, *options = sys.argv
    atheris.Setup([program, *options, seeds(name)], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
