"""`dp_curve`: formulas and arguments that cannot be used are refused before anything is spent."""

from __future__ import annotations

import numpy as np
import pytest
from methods.tables import trial

import dpreg
from dpreg.base.errors import FormulaError, SchemaError

LEVELS = {"arm": ["a", "b"]}


@pytest.mark.parametrize(("formula", "said"), [
    ("time ~ arm", "must have Surv\\(\\) on its left-hand side"),
    ("Surv(time) ~ arm", "needs a time and an event, and was given 1 argument;"),
    ("Surv(time, event, type='left') ~ arm", "right-censored times to one event"),
    ("Surv(time, event)", "must have Surv"),
    ("Surv(time, event) ~ strata(arm)", r"strata\(\) cannot be used.*write the groups themselves"),
    ("Surv(time, event) ~ arm + cluster(who)", r"cluster\(\) cannot.*write unit='person'"),
    ("Surv(time, event) ~ frailty(who)", r"frailty\(\) cannot.*write unit='person'"),
    ("Surv(time, event) ~ start", "'start' is not a group with public levels"),
    ("Surv(time, event) ~ arm * start", "not a group with public levels"),
    ("Surv(time, event) ~ arm - 1", "not a group with public levels"),
    ("Surv(time, event) ~ .", "must name the groups"),
    ("Surv(time, event) ~ arm | who", r"effects of units are for dp_lm.*unit='person'"),
    ("Surv(time, nothing) ~ arm", "there is no column 'nothing'"),
])  # fmt: skip
def test_formulas_that_cannot_be_used_are_refused_with_a_rewrite(formula, said):
    budget = dpreg.Budget(5.0)
    with pytest.raises(FormulaError, match=said):
        dpreg.dp_curve(formula, trial(20), 1.0, cuts=[2], levels=LEVELS, budget=budget)
    assert budget.spent[0] == 0


@pytest.mark.parametrize(("method", "named"), [
    ("rmst", {"tau": 2}), ("quantile", {"p": 0.5}), ("logrank", {"rho": 1}),
    ("tidy", {"level": 0.9}),
])  # fmt: skip
def test_methods_say_what_arguments_they_have(method, named):
    curve = dpreg.dp_curve("Surv(time, event) ~ arm", trial(200), 1.0, cuts=[2, 4], levels=LEVELS)
    with pytest.raises(ValueError, match=rf"{method}\(\) has no such argument|write alpha"):
        getattr(curve, method)(**named)


@pytest.mark.parametrize(("wrong", "name"), [
    ({"cuts": []}, "cuts"), ({"cuts": [2, 1]}, "cuts"), ({"cuts": [1, 1]}, "cuts"),
    ({"cuts": "123"}, "cuts"), ({"cuts": [1, np.nan]}, "cuts"), ({"cuts": [1, True]}, "cuts"),
    ({"cuts": 5}, "cuts"), ({"cuts": range(1, 2000)}, "cuts"), ({"cuts": [0, 1]}, "start"),
    ({"start": 7}, "start"), ({"start": None}, "start"), ({"max_rows": 2}, "max_rows"),
    ({"max_rows": 0}, "max_rows"), ({"eps": 0}, "eps"), ({"delta": 1e-6}, "delta"),
    ({"unit": "nobody"}, "unit"), ({"rng": "x"}, "rng"),
])  # fmt: skip
def test_arguments_that_cannot_be_used_are_refused_by_name(wrong, name):
    budget = dpreg.Budget(5.0)
    call = {"eps": 1.0, "cuts": [2, 5], "levels": LEVELS, "budget": budget, **wrong}
    with pytest.raises((ValueError, TypeError), match=name) as refused:
        dpreg.dp_curve("Surv(time, event) ~ arm", trial(20), **call)
    assert getattr(refused.value, "argument", name) == name
    assert budget.spent[0] == 0


def test_text_without_levels_is_refused():
    with pytest.raises(SchemaError, match="without declared levels"):
        dpreg.dp_curve("Surv(time, event) ~ arm", trial(20), 1.0, cuts=[2])


def test_results_refuse_what_they_do_not_have():
    curve = dpreg.dp_curve("Surv(time, event) ~ 1", trial(20), 1.0, cuts=[2, 5])
    for call, name in [
        (lambda: curve.logrank(), "formula"), (lambda: curve.concordance(), "formula"),
        (lambda: curve.rmst(6), "time"),
        (lambda: curve.rmst(0), "time"), (lambda: curve.tidy(2), "alpha"),
        (lambda: curve.quantile(1.5), "q"), (lambda: curve.quantile(alpha=0), "alpha"),
        (lambda: curve.event_cuts(0), "count"), (lambda: curve.event_cuts(2.0), "count"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name}"):
            call()
