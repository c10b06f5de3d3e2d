"""A net under changes that must not change a result: seeded calls of every face, as digests.

python tests/net.py --write        after a change that is meant to change results
python tests/net.py                shows which of them are other than those in net.json

Every face and every kind of argument is called once: the digests are of the numbers of the result
(bit by bit), and of what is printed.  They hold on the machine that made them, because another one
may sum in another order or have another C library; on other machines `test_net.py` is skipped.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import scipy

import dpreg
from dpreg import _core

FILE = Path(__file__).with_name("net.json")
FOLDER = "(folder)"


def machine():
    """What digests depend on beside dpreg.

    Processors of one name may be of several generations, and libraries choose by what they can do.
    """
    described = platform.uname()
    processor = Path("/proc/cpuinfo")
    lines = processor.read_text().splitlines() if processor.exists() else []
    told = [line.split(":", 1) for line in lines if ":" in line]
    of = {kind.strip(): value.strip() for kind, value in reversed(told)}
    kinds = ("model name", "cpu family", "model", "stepping")
    abilities = hashlib.sha256(of.get("flags", "").encode()).hexdigest()[:8]
    sets = [str(one) for one in _core.testing.instruction_sets()]
    versions = [np.__version__, scipy.__version__, pd.__version__, platform.python_version()]
    model = [of.get(kind, described.processor) for kind in kinds]
    return " ".join([described.machine, *model, abilities, *sets, *versions])


def table(n=900):
    """Return records of every kind that a call may ask for."""
    random = np.random.default_rng(20261125)
    x, z = random.standard_normal((2, n))
    return pd.DataFrame({
        "y": 1 + 2 * x - z + random.standard_normal(n),
        "x": x, "z": z,
        "hit": random.random(n) < 1 / (1 + np.exp(-x)),
        "count": random.poisson(np.exp(0.3 * x)),
        "years": random.uniform(1, 3, n),
        "w": random.uniform(0.5, 2, n),
        "person": np.arange(n) // 3,
        "period": pd.Categorical(np.array(["a", "b", "c"])[np.arange(n) % 3], ["a", "b", "c"]),
        "sex": np.array(["f", "m"])[np.arange(n) // 3 % 2],
    })  # fmt: skip


def python_calls(d, folder):
    """Name each call of the Python functions."""
    lm, glm = dpreg.dp_lm, dpreg.dp_glm
    seeded = {"rng": 7}
    half = d.index.repeat(3)
    wide = d.loc[half].reset_index(drop=True)
    budget = dpreg.Budget(9.0, 1e-3, ledger=folder / "kept", name="visits", user="ada")
    of_sex = budget.partition("sex", ["f", "m"])

    def moments():
        return dpreg.dp_moments("y ~ x + z + w", d, 8.0, bounds={"x": (-3, 3)}, **seeded)

    def paid():
        lm("y ~ x", d, 1.0, budget=budget, unit="person", max_rows=2, **seeded)
        dpreg.dp_select("y ~ x + z", d, 1, 0.5, budget=budget, **seeded)
        lm("y ~ x", d, 1.0, budget=of_sex["f"], **seeded)
        lm("y ~ x", d, 1.0, budget=of_sex["m"], unit="person", method="tukey", **seeded)
        kept = [
            (c.label, c.formula, c.method, c.unit, c.status, c.data, c.most, c.paid)
            for c in budget.charges
        ]
        return "\n".join(map(repr, kept))

    return {
        "lm": lambda: lm("y ~ x + z", d, 4.0, **seeded),
        "lm delta": lambda: lm("y ~ x + z", d, 4.0, 1e-6, method="boosted_adassp", **seeded),
        "lm adassp": lambda: lm("y ~ x", d, 2.0, method="adassp", **seeded),
        "lm adassp options": lambda: lm(
            "y ~ x", d, 2.0, method=dpreg.AdaSSP(cov_type="bootstrap"), **seeded
        ),
        "lm tukey": lambda: lm("y ~ x", wide, 8.0, method=dpreg.TukeyEM(models=200), **seeded),
        "lm tukey declines": lambda: lm("y ~ x + z", d, 0.1, method="tukey", **seeded),
        "lm dpsgd": lambda: lm("y ~ x", d, 4.0, method="dpsgd", inference=False, **seeded),
        "lm frank_wolfe": lambda: lm(
            "y ~ x", d, 4.0, method="frank_wolfe", inference=False, **seeded
        ),
        "lm no inference": lambda: lm("y ~ x", d, 1.0, inference=False, **seeded),
        "lm bounds": lambda: lm("y ~ x", d, 1.0, bounds={"x": (-3, 3), "y": (-9, 9)}, **seeded),
        "lm levels": lambda: lm("y ~ x + sex", d, 4.0, levels={"sex": ["f", "m"]}, **seeded),
        "lm unit": lambda: lm("y ~ x", d, 4.0, unit="person", max_rows=2, **seeded),
        "lm panel": lambda: lm("y ~ x | person + period", d, 8.0, unit="person", **seeded),
        "lm weights": lambda: lm("y ~ x", d, 4.0, weights="w", **seeded),
        "lm weight_limit": lambda: lm("y ~ x", d, 4.0, weights="w", weight_limit=2, **seeded),
        "lm offset": lambda: lm("y ~ x + offset(z)", d, 4.0, **seeded),
        "lm extras": lambda: lm("y ~ x", d, 8.0, fit_stats=True, diagnostics=True, **seeded),
        "lm memory": lambda: lm("y ~ x", wide, 2.0, memory=1e6, **seeded),
        "lm large": lambda: lm("I(y > 0) ~ x", d, 30.0, 0.5, **seeded),
        "lm kendall": lambda: lm("y ~ x + z + w", d, 4.0, select="kendall", k=2, **seeded),
        "lm split": lambda: lm(
            "y ~ x + z + w", d, 4.0, select=dpreg.TwoStage(models=20), k=2, split=0.3, **seeded
        ),
        "glm": lambda: glm("hit ~ x", d, 8.0, **seeded),
        "glm probit": lambda: glm("hit ~ x", d, 8.0, link="probit", unit="person", **seeded),
        "glm poisson": lambda: glm(
            "count ~ x + offset(log(years))", d, 8.0, family="poisson", weights="w", **seeded
        ),
        "glm gamma": lambda: glm("years ~ x", d, 8.0, family="gamma", **seeded),
        "glm negative binomial": lambda: glm(
            "count ~ x", d, 8.0, family=dpreg.NegativeBinomial(0.5), **seeded
        ),
        "glm quantile": lambda: glm("y ~ x", d, 8.0, family=dpreg.Quantile(0.7), **seeded),
        "glm gaussian": lambda: glm("y ~ x", d, 4.0, family="gaussian", **seeded),
        "glm tukey": lambda: glm("hit ~ x", d, 4.0, method=dpreg.TukeyEM(models=60), **seeded),
        "survival": lambda: dpreg.dp_survival(
            "Surv(years, hit) ~ x", d, 20.0, cuts=[1.5, 2.0, 2.5], **seeded
        ),
        "curve": lambda: dpreg.dp_curve(
            "Surv(years, hit) ~ sex", d, 8.0, cuts=[1.5, 2.0, 2.5], levels={"sex": ["f", "m"]},
            **seeded,
        ),
        "moments": moments,
        "moments unit": lambda: dpreg.dp_moments(
            ["y", "x", "log(years)"], d, 8.0, unit="person", max_rows=3, **seeded
        ),
        "moments lm": lambda: moments().lm("y ~ x"),
        "effect": lambda: dpreg.dp_effect("y ~ x + z", d, 8.0, treatment="hit", **seeded),
        "effect unit": lambda: dpreg.dp_effect(
            "hit ~ x", d, 8.0, treatment="sex", levels={"sex": ["f", "m"]}, family="binomial",
            propensity=0.5, unit="person", max_rows=3, **seeded,
        ),
        "effect regression": lambda: dpreg.dp_effect(
            "y ~ x", d, 8.0, treatment="hit", method="regression", **seeded
        ),
        "effect difference": lambda: dpreg.dp_effect(
            "y ~ 1", d, 4.0, treatment="hit", method="difference", **seeded
        ),
        "ordinal": lambda: dpreg.dp_ordinal("period ~ x + z", d, 8.0, **seeded),
        "ordinal probit": lambda: dpreg.dp_ordinal(
            "period ~ x", d, 8.0, link="probit", unit="person", max_rows=3, **seeded
        ),
        "multinomial": lambda: dpreg.dp_multinomial("period ~ x + z", d, 8.0, **seeded),
        "multinomial unit": lambda: dpreg.dp_multinomial(
            "period ~ x", d, 8.0, unit="person", max_rows=3, weights="w", **seeded
        ),
        "select": lambda: dpreg.dp_select("y ~ x + z + w", d, 2, 1.0, **seeded),
        "select sis": lambda: dpreg.dp_select(
            "y ~ x + z", d, 1, 2.0, method="sis",
            bounds={"x": (-3, 3), "z": (-3, 3), "y": (-9, 9)}, **seeded,
        ),
        "select unit": lambda: dpreg.dp_select("y ~ x + z", d, 1, 2.0, unit="person", **seeded),
        "test": lambda: dpreg.dp_test(_smallest, d, 1.0, unit="person", **seeded),
        "budget": paid,
        "mechanism": lambda: dpreg.mechanisms.boosted_adassp(
            d[["x", "z"]].to_numpy(), d["y"].to_numpy(), 4.0, 1e-5, **seeded
        ),
        "mechanism frank_wolfe": lambda: str(dpreg.mechanisms.dp_frank_wolfe(
            d[["x", "z"]].to_numpy(), d["y"].to_numpy(), 4.0, 1e-5, l1=1.0, steps=5, **seeded
        )),
        "wrong eps": lambda: lm("y ~ x", d, 0),
        "wrong delta": lambda: lm("y ~ x", d, 1.0, 2.0),
        "wrong column": lambda: lm("y ~ xx", d, 1.0),
        "wrong method": lambda: lm("y ~ x", d, 1.0, method="tuky"),
        "wrong keyword": lambda: lm("y ~ x", d, 1.0, epsilon=1),
        "wrong max_rows": lambda: lm("y ~ x", d, 1.0, max_rows=2),
        "wrong weights": lambda: glm("hit ~ x", d, 1.0, weights="w", method="tukey"),
        "wrong family": lambda: glm("hit ~ x", d, 1.0, family="binomal"),
        "wrong k": lambda: dpreg.dp_select("y ~ x", d, 2, 1.0),
        "wrong inference": lambda: lm("y ~ x", d, 1.0, inference="yes"),
        "wrong budget": lambda: lm("y ~ x", d, 99.0, budget=dpreg.Budget(1.0)),
        "wrong blocks": lambda: dpreg.dp_test(_smallest, d, 1.0, blocks=0),
        "wrong moments": lambda: dpreg.dp_moments("~ 0 + x", d, 1.0),
    }  # fmt: skip


def _smallest(rows):
    return float(np.clip(np.abs(rows["x"]).min(), 0, 1))


def sklearn_calls(d):
    """Name each fit of an estimator."""
    import dpreg.sklearn as estimators

    X, y, hit = d[["x", "z"]], d["y"], d["hit"].astype(float)

    def results(estimator, target):
        return lambda: estimator.fit(X, target).results_

    return {
        "sklearn linear": results(estimators.DPLinearRegression(4.0, random_state=7), y),
        "sklearn logistic": results(
            estimators.DPLogisticRegression(8.0, inference=True, random_state=7), hit
        ),
        "sklearn selector": lambda: (
            estimators.DPFeatureSelector(1, random_state=7).fit(X, y).result_
        ),
    }  # fmt: skip


def shell_calls(folder):
    """Name each command."""
    data, seed = f"{folder}/d.parquet", ["--rng", "7"]
    typed = {
        "shell fit": ["fit", "y ~ x + z", data, "--eps", "4", "--json", "-", *seed],
        "shell fit table": ["fit", "y ~ x", data, "--eps", "8", "--fit-stats", "--alpha", "0.1",
                            "--unit", "person", "--max-rows", "2", "--bounds", "x=-3,3", *seed],
        "shell fit select": ["fit", "y ~ x + z + w", data, "--eps", "4", "--select", "kendall",
                             "--k", "1", "--select-option", "share=0.1", "--method", "adassp",
                             "--option", "cov_type=robust", *seed],
        "shell glm": ["glm", "hit ~ x", data, "--eps", "8", "--exp", "--weights", "w", *seed],
        "shell effect": ["effect", "y ~ x", data, "--eps", "8", "--treatment", "sex", "--levels",
                         "sex=f,m", "--overlap", "0.1,0.9", *seed],
        "shell moments": ["moments", "~ y + x + sex", data, "--eps", "8", "--levels", "sex=f,m",
                          *seed],
        "shell select": ["select", "y ~ x + z", data, "--k", "1", "--eps", "1", *seed],
        "shell wrong eps": ["fit", "y ~ x", data, "--eps", "0"],
        "shell wrong option": ["fit", "y ~ x", data, "--eps", "1", "--option", "modls=3"],
        "shell wrong max_rows": ["fit", "y ~ x", data, "--eps", "1", "--max-rows", "2", *seed],
        "shell wrong keyword": ["glm", "hit ~ x", data, "--eps", "1", "--seed", "1"],
    }  # fmt: skip
    return {name: lambda words=words: _said(words) for name, words in typed.items()}


def _said(words):
    from dpreg.faces.cli.commands import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return f"{code}\n{out.getvalue()}\n{err.getvalue()}"


def bridge_calls(d):
    """Name each call as R makes it."""
    from dpreg.faces.bridge.call import call

    columns = [d[name].to_numpy(np.float64).tobytes() for name in ("x", "z")]
    labels = d["person"].to_numpy("<i4").tobytes()

    def matrix(response, unit=None):
        cells = d[response].to_numpy(np.float64).tobytes()
        read = lambda: {"columns": columns, "y": cells, "labels": labels if unit else None}  # noqa: E731
        return {"response": response, "names": ["x", "z"], "intercept": True, "ranges": {},
                "unit": unit, "read": read}  # fmt: skip

    common = {"eps": 8.0, "rng": 7.0}
    bounds = {"x": [-3.0, 3.0]}
    asked = {
        "r lm": ("lm", {"formula": "y ~ x + z", "matrix": matrix("y"), "bounds": bounds,
                        "method": {"kind": "AdaSSP", "options": {"cov_type": "robust"}}}),
        "r glm": ("glm", {"formula": "hit ~ x + z", "matrix": matrix("hit"), "family": "binomial"}),
        "r moments": ("moments", {"formula": "~ x + z", "matrix": matrix("y", "person"),
                                  "max_rows": 2.0}),
        "r select": ("select", {"formula": "y ~ x + z", "matrix": matrix("y"), "k": 1.0}),
        "r wrong k": ("select", {"formula": "y ~ x + z", "matrix": matrix("y"), "k": 3.0}),
    }  # fmt: skip
    return {
        name: lambda f=function, more=more: repr(call(f, {**common, **more}))
        for name, (function, more) in asked.items()
    }


def digest_of(call, folder):
    """Return what `net.json` keeps of a call: two digests, or the message of a refusal."""
    try:
        found = call()
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace(str(folder), FOLDER)
    if isinstance(found, str):
        return {"printed": _digest(found.replace(str(folder), FOLDER))}
    document = json.loads(found.to_json())
    # What a call asked for is recorded beside what it released; formats have a number.
    document.get("privacy", {}).pop("request", None)
    kept = {name: each for name, each in document.items() if not name.startswith("dpreg_")}
    numbers = "\n".join(_numbers(kept))
    return {"numbers": _digest(numbers), "printed": _digest(str(_summary(found)))}


def _summary(found):
    return found.summary() if hasattr(found, "summary") else found


def _numbers(value, path=""):
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _numbers(entry, f"{path}.{key}")
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _numbers(entry, f"{path}[{place}]")
    elif isinstance(value, (int, float)):
        yield f"{path} {float(value).hex()}"


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cast():
    """Make every call; return what is to be kept, by name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        d = table()
        d.to_parquet(folder / "d.parquet")
        calls = {**python_calls(d, folder), **sklearn_calls(d), **shell_calls(folder),
                 **bridge_calls(d)}  # fmt: skip
        return {name: digest_of(call, folder) for name, call in calls.items()}


if __name__ == "__main__":
    found = {"machine": machine(), "calls": cast()}
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(found, indent=1) + "\n")
    kept = json.loads(FILE.read_text())
    differ = [name for name, now in found["calls"].items() if kept["calls"].get(name) != now]
    for name in differ:
        print(f"{name}: {kept['calls'].get(name)} -> {found['calls'][name]}")
    print(f"{len(found['calls'])} calls, {len(differ)} differ")
    sys.exit(bool(differ))
