"""What is said about typical mistakes: which argument, and what to write instead."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mistakes import MISTAKES, Data, message_of

import dpreg
from dpreg.base.errors import ArgumentError, KeywordError
from dpreg.calls import fit as calls
from dpreg.estimation.releases.standardisation import Standardisation
from dpreg.sklearn import DPLinearRegression


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory):
    return Data(tmp_path_factory.mktemp("mistakes"))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.typed[:60])
def test_a_mistake_is_refused_and_the_message_says_what_helps(mistake, mistaken):
    message = message_of(mistake, mistaken)
    assert message.startswith(mistake.argument)
    assert mistake.says in message
    assert all(charge == () for charge in mistaken.charges())


def test_the_table_has_all_mistakes():
    page = (Path(__file__).parents[1] / "vignettes/messages.md").read_text()
    assert len(MISTAKES) >= 60
    assert all(f"| `{m.typed}` |" in page for m in MISTAKES)


def test_an_error_carries_its_parts():
    with pytest.raises(ArgumentError) as refusal:
        dpreg.dp_lm("y ~ x", {"x": np.ones(3), "y": np.ones(3)}, eps=-1)
    assert refusal.value.argument == "eps"
    again = pickle.loads(pickle.dumps(refusal.value))
    assert (str(again), again.suggestion) == (str(refusal.value), refusal.value.suggestion)


SECRET = 918273.25
CALLS = {
    dpreg.dp_lm: "y ~ x", dpreg.dp_glm: "y ~ x", dpreg.dp_select: "y ~ x", dpreg.dp_moments: "~ x",
    dpreg.dp_curve: "Surv(y, z) ~ 1", dpreg.dp_survival: "Surv(y, z) ~ x",
    dpreg.dp_effect: "y ~ x", dpreg.dp_ordinal: "g ~ x", dpreg.dp_multinomial: "g ~ x",
    dpreg.dp_test: len,
}  # fmt: skip
NEEDED = {"eps": 1.0, "k": 1, "cuts": [1.0], "treatment": "z"}
# What a text is for these: the name of a column or a term, which is typed.
NAMES = {"unit", "weights", "strata", "treatment", "time_varying"}
OPTIONS = [dpreg.AdaSSP, dpreg.BoostedAdaSSP, dpreg.TukeyEM, dpreg.DPSGD, dpreg.FrankWolfe,
           dpreg.Auto, dpreg.DPKendall, dpreg.DPSIS, dpreg.TwoStage, dpreg.SubLasso,
           Standardisation, dpreg.Budget, dpreg.dp_plan]  # fmt: skip


def records():
    """What may be of records: falling, so that no limits are made of them; and a long text."""
    cells = [SECRET + 1, SECRET]
    yield from (cells, tuple(cells), set(cells), np.array(cells), pd.Series(cells))
    yield from ({"x": cells}, {"x": tuple(cells)}, {"g": cells}, {"x": {"x": cells}}, [cells])
    yield from (list(map(str, cells)), {"x": list(map(str, cells))}, f"{SECRET}, " * 20)


def shows(function, given):
    """Whether the refusal shows a record; without one there is no message."""
    try:
        function(**given)
    except Exception as error:
        return str(int(SECRET)) in str(error)
    return False


def arguments(function):
    return [name for name in inspect.signature(function).parameters if name[0] != "_"]


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_no_refusal_shows_records_given_for_another_argument(function):
    cells = {"y": np.ones(3), "x": np.ones(3), "z": np.zeros(3), "g": np.array(["a", "b", "a"])}
    first, *others = arguments(function)
    given = {first: CALLS[function], "data": pd.DataFrame(cells)} | NEEDED
    given = {name: value for name, value in given.items() if name in [first, *others]}
    refused = [
        (name, value)
        for name in set(others) - {"data"}
        for value in records()
        if not (name in NAMES and isinstance(value, str))
        if shows(function, given | {name: value})
    ]
    assert refused == []


@pytest.mark.parametrize("function", OPTIONS, ids=lambda f: f.__name__)
def test_no_refusal_of_options_shows_records(function):
    needed = {"n": 9, "d": 1, "eps": 1.0} if function is dpreg.dp_plan else {}
    assert not any(
        shows(function, needed | {name: value})
        for name in arguments(function)
        for value in records()
    )


def test_an_unknown_argument_is_a_type_error_and_a_value_error():
    with pytest.raises(TypeError) as refusal:
        dpreg.dp_lm("y ~ x", {}, epsilon=1)
    assert isinstance(refusal.value, KeywordError)
    assert isinstance(refusal.value, ValueError)


TABLE = pd.DataFrame({"x": np.linspace(0, 1, 900), "y": np.linspace(1, 3, 900), "arm": 1.0})


def test_names_of_other_packages_are_answered_on_results_and_estimators():
    fit = dpreg.dp_lm("y ~ x", TABLE, 1.0, rng=1)
    with pytest.raises(TypeError, match=r"which: plot.* has no such argument; it has ax, alpha"):
        fit.plot(which=1)
    with pytest.raises(TypeError, match=r"cov_params.* has no such argument; leave it out"):
        fit.cov_params(cov_type="HC3")
    with pytest.raises(AttributeError, match=r"write dpreg.compare\(\[fit, other\]\)"):
        fit.compare(fit)
    with pytest.raises(TypeError, match="write random_state"):
        DPLinearRegression(eps=1.0, rng=1)


def test_the_name_of_a_treatment_that_is_not_there_is_not_blamed_on_the_formula():
    with pytest.raises(ValueError, match=r"^treatment: there is no column 'amr'"):
        dpreg.dp_effect("y ~ x", TABLE, 1.0, treatment="amr")


def test_columns_with_commas_between_them_are_answered_with_a_sum():
    with pytest.raises(
        ValueError, match=r"^formula: 'y,x' is not a sum of columns; write '~ y \+ x'"
    ):
        dpreg.dp_moments("y,x", TABLE, 1.0)


def test_the_value_of_an_unknown_argument_is_not_shown():
    with pytest.raises(KeywordError) as refusal:
        dpreg.dp_lm("y ~ x", {}, 1, var_weights=[1234.5])
    assert "1234" not in str(refusal.value)


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Index, pd.Series, pd.array])
def test_levels_are_taken_from_whatever_lists_them(kind):
    data = {"y": np.arange(60.0), "g": np.array(["a", "b", "c"] * 20)}
    levels = {"g": kind(["a", "b", "c"])}
    fit = dpreg.dp_lm("y ~ g", data, 20.0, levels=levels, rng=1)
    assert fit.privacy.epsilon == 20.0
    assert fit == fit
    expected = dpreg.dp_lm("y ~ g", data, 20.0, levels={"g": ["a", "b", "c"]}, rng=1)
    assert fit.to_json() == expected.to_json()


def notes(eps, delta, n=400):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(n)
    data = {"x": x, "y": x + rng.standard_normal(n)}
    return " ".join(dpreg.dp_lm("y ~ x", data, eps, delta, rng=3).notes)


def test_a_large_epsilon_has_a_note():
    assert "no meaningful protection" in notes(21.0, 1e-6)
    assert "no meaningful protection" not in notes(20.0, 1e-6)


@pytest.mark.parametrize(("begins", "said"), [("", True), ("0 + ", False)])
def test_a_basis_that_makes_the_intercept_once_more_has_a_note(begins, said):
    """More rows, of which another note speaks, do not help."""
    rng = np.random.default_rng(1)
    d = {"x": 6 * rng.random(900), "y": rng.normal(size=900)}
    basis = "cr(x, knots=[2, 4], lower_bound=0, upper_bound=6)"
    fit = dpreg.dp_lm(f"y ~ {begins}{basis}", d, 1.0, rng=1)
    wanted = f"the columns of {basis} add up to the intercept"
    assert any(note.startswith(wanted) for note in fit.notes) == said


@pytest.mark.parametrize("rows", [2_000, 20_000])
def test_a_response_coded_1_and_2_has_a_note(rows):
    rng = np.random.default_rng(rows)
    x, age = rng.normal(size=rows), rng.uniform(20, 80, rows)
    event = rng.random(rows) < 1 / (1 + np.exp(-x))
    asked = "if y is coded 1 and 2, all of its values were read as 1: write I(y == 2)"
    wanted = f"the intercept has a large standard error or none; {asked}"
    for y, said in ((event + 1, True), (1 * event, False), (event, False)):
        fit = dpreg.dp_glm("y ~ x + age", {"x": x, "age": age, "y": y}, 1.0, 1e-6, rng=1)
        assert (wanted in fit.notes) == said
        # By the released standard error alone, and the declared type.
        assert (not fit.bse["Intercept"] < 10) == said
    again = dpreg.dp_glm("y ~ x", {"x": x, "y": event + 1}, 1.0, 1e-6, rng=1, inference=False)
    assert wanted not in again.notes


def test_a_delta_above_one_by_the_released_number_has_a_note():
    """By the number that is released, which is noisy, and never by that of the rows."""
    said = notes(20.0, 0.01)
    assert "by the private estimate" in said
    assert "0.0001 is small enough" in said
    assert "by the private estimate" not in notes(20.0, 1e-4)


@pytest.mark.parametrize("data", [{}, {"x": np.ones(9), "y": np.ones(9)}])
def test_an_argument_given_twice_says_where_it_belongs(data):
    with pytest.raises(KeywordError) as refusal:
        dpreg.dp_select("y ~ .", data, 1.0, k=3)
    assert str(refusal.value) == (
        "k is given twice: by name, and as argument 3 of dp_select(formula, data, k, eps, delta); "
        "write dp_select(formula, data, k=..., eps=..., delta=...)"
    )


def test_too_many_arguments_by_position_say_which_need_a_name():
    with pytest.raises(KeywordError) as refusal:
        dpreg.dp_lm("y ~ x", {}, 1.0, 1e-6, "tukey")
    assert str(refusal.value) == (
        "method must be given by name; the positional arguments are "
        "dp_lm(formula, data, eps, delta); write method=..."
    )
    assert "tukey" not in str(refusal.value)


def test_a_method_does_not_count_itself_among_its_arguments():
    with pytest.raises(KeywordError, match=r"^eps is given twice: .* argument 1 of Budget\(eps, "):
        dpreg.Budget(1.0, eps=1.0)
    with pytest.raises(KeywordError, match=r"^accounting must be .*Budget\(eps, delta\)"):
        dpreg.Budget(1.0, 1e-6, "gdp")
    assert dpreg.Budget(1.0, 1e-6).eps == 1.0


def test_an_error_that_rounding_made_less_than_nothing_is_none(monkeypatch):
    """What noise leaves of a covariance may be so; the fit has been paid for."""

    def rounded(outcome, *others):
        fit = published(outcome, *others)
        return replace(fit, covariance=np.full_like(fit.covariance, -5e-12))

    published = calls.published
    monkeypatch.setattr(calls, "published", rounded)
    x = np.linspace(0, 1, 500)
    fit = dpreg.dp_lm("y ~ x", {"x": x, "y": x}, 1.0, 1e-6, rng=1)
    assert not any("intercept" in note for note in fit.notes)
