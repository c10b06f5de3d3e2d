"""The quick audit of the package as it is, and the arithmetic of the audit itself."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from laws import hockey_stick

from dpreg.audit import CHECKS, Effort, Finding, Report
from dpreg.audit._bounds import epsilon_between, sampled_epsilon_bound
from dpreg.audit.watches import WATCHED
from dpreg.faces.cli.commands import main

pytestmark = pytest.mark.usefixtures("coarse_losses")

PACKAGE = Path(__file__).parents[2] / "python" / "dpreg"
# What is no part of a fit: published forms, single mechanisms, and the audit itself.
APART = {"audit", "mechanisms", "reference"}
QUICK = Effort(0.1, 20260101)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_every_claim_is_above_its_lower_bound(name):
    finding = CHECKS[name].run(QUICK)
    assert finding.holds, f"{finding}\n{finding.remark}"
    assert finding.sharp, f"{finding}\n{finding.remark}"


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.3])
def test_epsilon_between_inverts_the_hockey_stick(delta):
    rng = np.random.default_rng(20260101)
    for _ in range(200):
        p, q = rng.dirichlet(np.full(5, 0.5), size=2)
        epsilon = epsilon_between(p, q, delta)
        near = (epsilon, epsilon * 0.999)
        worst = [max(hockey_stick(p, q, e), hockey_stick(q, p, e)) for e in near]
        assert worst[0] <= delta + 1e-12
        assert epsilon == 0 or worst[1] > delta


def test_outcomes_of_one_side_only_cost_everything():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.4, 0.1])
    assert math.isinf(epsilon_between(p, q, 0.05))
    assert epsilon_between(p, q, 0.11) == 0.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_sampled_bound_is_below_the_truth_and_near_it(epsilon):
    rng = np.random.default_rng(20260101)
    noise = rng.laplace(scale=1 / epsilon, size=(2, 50_000))
    bound = sampled_epsilon_bound(noise[0], 1 + noise[1], 0.0)
    assert 0.7 * epsilon < bound <= epsilon


def test_sampled_bound_of_equal_laws_is_nothing():
    rng = np.random.default_rng(20260101)
    assert sampled_epsilon_bound(*rng.standard_normal((2, 5000)), 0.01) < 0.05


def test_report_and_exit_code(capsys, monkeypatch):
    import dpreg.audit as module

    def broken(effort):
        return Finding(
            mechanism="x", how="exact", epsilon=1.0, delta=0.0, lower=2.0, runs=effort.runs(1000)
        )

    monkeypatch.setattr(module, "CHECKS", {"x": module.Check("x", broken)})
    assert main(["audit"]) == 1
    assert "VIOLATED" in capsys.readouterr().out
    assert main(["audit", "--full"]) == 1
    good = Finding(mechanism="x", how="exact", epsilon=1.0, delta=0.0, lower=0.6, runs=1)
    assert Report((good,)).holds
    assert "0 broken; 1 of the lower" in str(Report((good,)))


def test_replaced_puts_back_what_was_there_after_an_error():
    class Owner:
        value = 1

    def fail():
        with patch.object(Owner, "value", 2):
            assert Owner.value == 2
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert Owner.value == 1


def drawing_functions():
    """Return functions of the core that take a source of random bits."""
    return {
        node.name
        for node in ast.parse((PACKAGE / "_core" / "__init__.pyi").read_text()).body
        if isinstance(node, ast.FunctionDef)
        and "bits" in {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
    }


def core_functions_in(module):
    """Return what a module takes of the core, by name."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "_core":
                yield node.attr
        elif isinstance(node, ast.ImportFrom) and node.module == "dpreg._core":
            yield from (alias.name for alias in node.names)


def test_every_core_function_that_draws_in_a_fit_is_watched():
    draw = drawing_functions()
    assert {"discrete_gaussian", "tukey_em", "peel"} <= draw
    called = {
        name: module.relative_to(PACKAGE)
        for module in PACKAGE.rglob("*.py")
        if module.relative_to(PACKAGE).parts[0] not in APART
        for name in core_functions_in(module)
        if name in draw
    }
    assert {"discrete_gaussian", "tukey_em", "dpsgd"} <= set(called)
    assert {name: where for name, where in called.items() if name not in WATCHED} == {}
