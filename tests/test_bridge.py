"""What R is told when something fails, and how little it needs of Python."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from dpreg.faces.bridge.call import call

ROOT = Path(__file__).parents[1]

# All that R calls, in a Python that finds nothing but numpy, scipy and dp-accounting.
CALLS = """
import sys

for absent in sys.argv[1:]:
    sys.modules[absent] = None

import dpreg
import numpy as np
from dpreg.faces.bridge.call import call

random = np.random.default_rng(1)
x = random.normal(size=(3, 4000))
y = x[0] + random.normal(size=4000)
person = np.repeat(np.arange(2000, dtype="<i4"), 2)


def asked(function, **request):
    answer = call(function, request)
    assert "value" in answer, answer
    return answer["value"]


def matrix(labels=None, strata=False):
    def read():
        sex = np.tile(np.arange(-1, 3, dtype="<i4"), 1000).tobytes() if strata else None
        columns = [c.tobytes() for c in x]
        return {"columns": columns, "y": y.tobytes(), "labels": labels, "strata": sex}

    return {"response": "y", "names": ["a", "b", "c"], "intercept": True, "ranges": {},
            "unit": None if labels is None else "person", "read": read}


common = {"formula": "y ~ a + b + c", "eps": 2.0, "delta": 1e-5}
for method in ("auto", "tukey", "adassp", "boosted_adassp", "dpsgd", "frank_wolfe"):
    asked("lm", matrix=matrix(), method=method, inference=method != "frank_wolfe", **common)
asked("lm", matrix=matrix(person.tobytes()), **common)
bootstrap = {"kind": "AdaSSP", "options": {"cov_type": "bootstrap"}}
asked("lm", matrix=matrix(), method=bootstrap, **common)
asked("lm", matrix=matrix(), select="kendall", k=2.0, split=0.3, **common)
for selector in ("kendall", "two_stage", "sub_lasso"):
    asked("select", matrix=matrix(), method=selector, k=1.0, **common)
times = {**matrix(), "names": ["event", "b", "c"], "response": "time", "read": lambda: {
    "columns": [c.tobytes() for c in (np.ones(4000), *x[1:])], "y": np.abs(y).tobytes()}}
surv = {"formula": "Surv(time, event) ~ b + c", "cuts": [1.0, 2.0], "eps": 20.0}
hazards = asked("survival", matrix=times, **surv)
asked("answer", json=hazards["json"], what="baseline", alpha=0.05)
rows = {"rows": np.zeros((2, 2)).tobytes(), "count": 2.0, "simultaneous": True}
asked("answer", json=hazards["json"], what="survival", alpha=0.05, **rows)
codes = {**matrix(), "response": "k", "read": lambda: {
    "columns": [c.tobytes() for c in x], "y": np.digitize(y, (-1.0, 1.0)).astype(float).tobytes()}}
for model in ("ordinal", "multinomial"):
    classes = {"formula": "k ~ a + b + c", "levels": {"k": ["low", "mid", "top"]}, "eps": 20.0}
    found = asked(model, matrix=codes, **classes)
    rows = {"rows": np.zeros((2, 3)).tobytes(), "count": 2.0}
    asked("answer", json=found["json"], what="probs", alpha=0.05, **rows)
    # Of two variables, in two rows: first b is a little less and more, then c is 0 and 1.
    ends = np.zeros((2, 2, 2, 3))
    ends[0, :, :, 1] = [[-1e-6], [1e-6]]
    ends[1, 1, :, 2] = 1.0
    sent = {"rows": ends.reshape(8, 3).tobytes(order="F"), "count": 8.0, "changes": 2.0,
            "widths": np.repeat([2e-6, 1.0], 2).tobytes()}
    effects = asked("answer", json=found["json"], what="effects", alpha=0.05, **sent)["dy/dx"]
    fit = getattr(dpreg, {"ordinal": "DPOrdinal", "multinomial": "DPMultinomial"}[model])
    fit = fit.from_json(found["json"])
    moved = fit._chances(ends[:, 1, 0], fit.estimates) - fit._chances(ends[:, 0, 0], fit.estimates)
    moved[0] /= 2e-6
    got = np.frombuffer(effects["doubles"]) if isinstance(effects, dict) else effects
    np.testing.assert_allclose(got, moved.T.ravel())
treated = {**matrix(), "groups": {"a": ["a"]}, "read": lambda: {
    "columns": [c.tobytes() for c in ((x[0] > 0) + 0.0, *x[1:])], "y": y.tobytes()}}
asked("effect", matrix=treated, formula="y ~ b + c", eps=4.0, treatment="a", overlap=[0.05, 0.95])
asked("moments", matrix=matrix(), **common)
curve = asked("curve", matrix={**times, "names": ["event"]}, **surv)["json"]
for what, more in (("curve", {"simultaneous": False}), ("rmst", {}), ("quantile", {"q": 0.5})):
    asked("answer", json=curve, what=what, alpha=0.05, **more)
asked("plan", n=50000.0, d=3.0, eps=1.0, delta=1e-6, method="auto")
for ledger in (None, sys.argv[0] + ".ledger"):
    budget = {"ledger": ledger, **asked("new_budget", eps=5.0, delta=1e-4, ledger=ledger)}
    asked("lm", matrix=matrix(), budget=budget, **common)
    assert asked("budget_state", **budget)["remaining"]["eps"] == 3.0
    asked("partition", budget=budget, column="sex", levels=["f", "m"])
    for position in (0.0, 1.0):
        paid = {**budget, "stratum": {"column": "sex", "position": position}}
        asked("lm", matrix=matrix(strata=True), budget=paid, **common)
    assert asked("budget_state", **budget)["remaining"]["eps"] == 1.0
asked("defaults", kind="TukeyEM")
"""


def _dependencies():
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]["dependencies"]


def _needed():
    text = (ROOT / "rwrapper/R/python.R").read_text()
    (listed,) = re.findall(r"PYTHON_NEEDS <- c\((.*?)\)", text, re.DOTALL)
    return re.findall(r'"([^"]+)"', listed)


def test_what_r_installs_are_dependencies_of_the_package():
    assert _needed()
    assert set(_needed()) <= set(_dependencies())


def test_nothing_else_is_imported(tmp_path):
    script = tmp_path / "calls.py"
    script.write_text(CALLS)
    bare = {re.split("[<>=]", dependency)[0] for dependency in _dependencies()}
    needed = {re.split("[<>=]", dependency)[0] for dependency in _needed()}
    absent = {name.replace("-", "_") for name in bare - needed} | {"matplotlib", "polars"}
    assert {"formulaic", "narwhals", "pandas", "pyarrow", "statsmodels"} <= absent
    done = subprocess.run(
        [sys.executable, script, *sorted(absent)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("raised", [ValueError("row 3 is secret"), Warning("row 3 is secret")])
def test_what_r_says_of_records_while_they_are_read_is_not_repeated(raised):
    def read():
        raise raised

    matrix = {"response": "y", "names": ["a"], "intercept": True, "ranges": {}, "read": read}
    error = call("lm", {"formula": "y ~ a", "eps": 1.0, "matrix": matrix})["error"]
    assert error["kind"] == "python"
    assert "secret" not in error["message"]
    assert "the budget is charged" in error["message"]


@pytest.mark.parametrize("rng", [None, 1])
def test_what_fails_after_the_charge_is_no_refusal(rng, monkeypatch):
    def fail(*arguments, **options):
        raise ValueError("row 3 is secret")

    monkeypatch.setattr("dpreg.estimation.methods.boosted_adassp.BoostedAdaSSP.release", fail)
    found = {"columns": [np.zeros(5).tobytes()], "y": np.zeros(5).tobytes()}
    matrix = {"response": "y", "names": ["a"], "intercept": True, "ranges": {},
              "read": lambda: found}  # fmt: skip
    error = call("lm", {"formula": "y ~ a", "eps": 1.0, "matrix": matrix, "rng": rng})["error"]
    assert error["kind"] == "python"
    assert "failed after the charge: the budget is spent" in error["message"]
    assert ("secret" in error["message"]) == (rng is not None)


def small_fit(**request):
    x, y = np.random.default_rng(1).normal(size=(2, 500))

    def read():
        return {"columns": [x.tobytes()], "y": y.tobytes(), "labels": None, "strata": None}

    matrix = {"response": "y", "names": ["x"], "intercept": True, "ranges": {}, "unit": None,
              "read": read}  # fmt: skip
    return call("lm", {"formula": "y ~ x", "eps": 1.0, "matrix": matrix, "rng": 1.0, **request})


def test_r_is_told_how_far_a_release_has_come_once_it_takes_long(monkeypatch):
    shown = []
    quick = small_fit(progress=shown.append)
    assert shown == []
    monkeypatch.setattr("dpreg.faces.bridge.call._PATIENCE", 0.0)
    assert small_fit(progress=shown.append) == quick == small_fit()
    assert re.match(r"pass 2 of at most \d+ over the rows after 0 s", shown[1])
    assert len(shown) > 4
