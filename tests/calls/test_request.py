"""The arguments of a call: named in one place, and recorded without the data."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpreg
from dpreg.calls.fit import fit
from dpreg.calls.request import Request
from dpreg.calls.session import begin
from dpreg.faces.cli.commands import dpreg as shell

PACKAGE = Path(dpreg.__file__).parent
FIELDS = {field.name: field for field in dataclasses.fields(Request)}
CALLS = (dpreg.dp_lm, dpreg.dp_glm, dpreg.dp_moments, dpreg.dp_select)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_every_argument_of_a_public_function_is_a_field(call):
    assert set(inspect.signature(call).parameters) - {"data"} <= FIELDS.keys()


@pytest.mark.parametrize("call", [dpreg.dp_lm, dpreg.dp_glm], ids=lambda call: call.__name__)
def test_a_fit_has_the_defaults_of_its_fields(call):
    for name, parameter in inspect.signature(call).parameters.items():
        if name != "family" and parameter.default is not inspect.Parameter.empty:
            assert parameter.default == FIELDS[name].default, name


@pytest.mark.parametrize("command", ["fit", "glm", "moments", "select"])
def test_every_option_of_a_release_is_a_field_or_where_the_result_goes(command):
    outputs = {"json", "html", "latex", "quiet", "alpha", "exp"}
    spelled = {"data", "stratum", "option", "select_option"}
    # Of the time, not of the release.
    around = {"pad"}
    named = {parameter.name for parameter in shell.commands[command].params}
    assert named - outputs - spelled - around <= FIELDS.keys()


def given(**more):
    return Request(call="dp_lm", formula="y ~ x", eps=1.0, **more)


def test_what_is_recorded_is_what_was_given():
    asked = given(
        method=dpreg.AdaSSP(cov_type="bootstrap"), select=dpreg.DPKendall(), k=np.int64(2),
        family=dpreg.Quantile(0.9), bounds={"x": (np.float64(0), 1)}, memory=1e9,
        levels={"city": iter(["Oslo", "Rome"])}, rng=7, budget=dpreg.Budget(1.0),
    )  # fmt: skip
    found = json.loads(json.dumps(asked.to_dict(), allow_nan=False))
    assert found["method"] == {"name": "adassp", "cov_type": "bootstrap"}
    assert found["select"] == "kendall"
    assert found["family"]["level"] == 0.9
    assert found["levels"] == {"city": ["Oslo", "Rome"]}
    assert {name: found[name] for name in ("call", "formula", "eps", "k", "rng")} == {
        "call": "dp_lm", "formula": "y ~ x", "eps": 1.0, "k": 2, "rng": 7,
    }  # fmt: skip
    assert found["bounds"] == {"x": [0.0, 1]}
    assert not {"budget", "memory", "unit", "inference"} & found.keys()


@pytest.mark.parametrize("eps", [0.5, np.float64(0.5), Fraction(1, 2)])
def test_numbers_of_any_kind_are_recorded_as_numbers(eps):
    assert Request(call="dp_lm", formula="y ~ x", eps=eps).to_dict()["eps"] == 0.5


def test_defaults_are_not_recorded():
    assert given().to_dict() == {"call": "dp_lm", "formula": "y ~ x", "eps": 1.0}


def test_a_result_is_recorded_by_its_type(diamonds):
    fit = dpreg.dp_lm("price ~ carat", diamonds, 1.0, rng=7)
    assert given(select=fit).to_dict()["select"] == "DPResults"


def test_certificate_and_ledger_have_the_request(diamonds):
    budget, table = dpreg.Budget(2.0), diamonds.assign(sold=np.arange(len(diamonds)) // 2)
    fit = dpreg.dp_lm("price ~ carat", table, 1.0, unit="sold", budget=budget, rng=7)
    asked = {"call": "dp_lm", "formula": "price ~ carat", "eps": 1.0, "unit": "sold", "rng": 7}
    assert fit.privacy.request == asked
    assert json.loads(budget.charges[0].certificate_json)["request"] == asked
    assert dpreg.DPResults.from_json(fit.to_json()).privacy == fit.privacy


def test_levels_that_can_be_read_once_are_read_once(diamonds):
    cuts = list(diamonds["cut"].cat.categories)
    table = diamonds.assign(cut=diamonds["cut"].astype(str))
    fits = [
        dpreg.dp_lm("price ~ cut", table, 1.0, levels={"cut": levels}, rng=1).to_json()
        for levels in (cuts, iter(cuts), np.array(cuts))
    ]
    assert len(set(fits)) == 1


def test_a_request_is_frozen_and_makes_the_same_call_again(diamonds):
    asked = Request(call="dp_lm", formula="price ~ carat", eps=1.0, rng=7)
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked.eps = 2.0
    again = dpreg.dp_lm("price ~ carat", diamonds, 1.0, rng=7)
    assert fit(asked, diamonds).to_json() == again.to_json()


def test_nothing_is_charged_before_a_session_pays():
    budget = dpreg.Budget(3.0)
    session = begin(given(budget=budget), {"y": [], "x": []})
    assert budget.charges == ()
    assert (session.allowance.epsilon, session.allowance.delta) == (1.0, pytest.approx(1e-5 / 3))


# Kernels whose arguments are arrays of one computation.
KERNELS = {"_run", "_vectors", "mapped_rows"}


def functions(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield node.name, [each.arg for each in named if each.arg not in ("self", "cls")]


def test_no_function_but_those_for_users_has_more_than_seven_parameters():
    faces = {*dpreg.__all__, "__init__"}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        faces_of_arrays = room in ("mechanisms", "reference")
        for name, parameters in functions(path):
            public = name in faces or (faces_of_arrays and not name.startswith("_"))
            assert public or name in KERNELS or len(parameters) <= 7, (path, name)
