"""Public bounds of columns, as an argument of a call: used, clipped to, refused where wrong."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg import _core, mechanisms
from dpreg.base.errors import ArgumentError
from dpreg.estimation.methods import METHODS
from dpreg.estimation.releases.standardisation import column_weights
from dpreg.estimation.selection import SELECTORS
from dpreg.faces.cli.commands import main

pytestmark = pytest.mark.usefixtures("coarse_losses")

BOUNDS = {"x": (-4.0, 4.0), "z": (0.0, 10.0), "y": (-20.0, 30.0)}
FORMULA = "y ~ x + z"
USERS = [name for name, kind in METHODS.items() if kind().uses_bounds]


def frame(n=3000, seed=1):
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal(n), rng.uniform(0, 10, n)
    return pd.DataFrame({"x": x, "z": z, "y": 1 + 2 * x + z + rng.standard_normal(n)})


def searched(release, *, bounded=False):
    """Return what the search for magnitudes was made for: (sensitivity, cost), or None.

    Of columns without bounds, or of those with bounds.
    """
    labels = (part for part in release.privacy.parts if "magnitude" in part.label)
    parts = [part for part in labels if part.label.endswith("with bounds") == bounded]
    return (parts[0].sensitivity, parts[0].mu or parts[0].rho) if parts else None


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("method", USERS)
def test_columns_with_bounds_are_no_part_of_the_search_for_others(method, inference):
    """The noise is made for the columns without bounds; with none of these there is no search.

    Fits with errors search within bounds too, as these may be wide.
    """

    def fit(bounds):
        return dpreg.dp_lm(FORMULA, frame(), 3.0, 1e-6, method=method, bounds=bounds,
                           inference=inference, rng=1)  # fmt: skip

    free, one, two, all_three = (
        fit(bounds) for bounds in (None, {"x": (-4, 4)}, {k: BOUNDS[k] for k in "xz"}, BOUNDS)
    )
    for found, columns in ((free, 3), (one, 2), (two, 1)):
        weights = column_weights(np.arange(columns), columns)
        assert searched(found)[0] == pytest.approx(_core.counts_sensitivity(weights))
    # As much is spent on less: the noise of each column shrinks.
    assert searched(free)[1] == pytest.approx(searched(two)[1], rel=1e-3)
    assert searched(free)[0] > searched(one)[0] > searched(two)[0]
    assert searched(all_three) is None
    assert not any("histogram" in part.label for part in all_three.privacy.parts)
    assert searched(free, bounded=True) is None
    for found, columns in ((one, 1), (two, 2), (all_three, 3)):
        within = searched(found, bounded=True)
        if inference and method not in ("dpsgd", "frank_wolfe"):
            assert within[0] == pytest.approx(_core.counts_sensitivity(np.ones(columns)))
        else:
            assert within is None


@pytest.mark.parametrize("call", [
    lambda data, bounds: dpreg.dp_lm(FORMULA, data, 1.0, 1e-6, bounds=bounds, rng=3),
    lambda data, bounds: dpreg.dp_lm(FORMULA, data, 1.0, 1e-6, bounds=bounds, rng=3,
                                     inference=False),
    lambda data, bounds: dpreg.dp_lm(FORMULA, data, 1.0, 1e-6, bounds=bounds, rng=3,
                                     method="frank_wolfe"),
    lambda data, bounds: dpreg.dp_lm(FORMULA, data, 1.0, 1e-6, bounds=bounds, rng=3,
                                     method="dpsgd"),
    lambda data, bounds: dpreg.dp_glm(FORMULA, data.assign(y=data["y"] > 5), 1.0, 1e-6, rng=3,
                                      bounds={k: bounds[k] for k in "xz"}),
    lambda data, bounds: dpreg.dp_moments(FORMULA, data, 1.0, 1e-6, bounds=bounds, rng=3),
    lambda data, bounds: dpreg.dp_select(FORMULA, data, 1, 1.0, method="sis", bounds=bounds, rng=3),
])  # fmt: skip
def test_values_beyond_bounds_count_as_the_bounds(call):
    """Scores, sums and predictions see the clipped row alone, wherever the row is beyond them."""
    data = frame()
    data.loc[:40, "z"] = 10.0
    far = data.copy()
    far.loc[:40, "z"] = np.linspace(10.5, 1e9, 41)
    bounds = {**BOUNDS, "z": (0.0, 10.0)}
    near, beyond = (call(table, bounds).to_json() for table in (data, far))
    assert near == beyond


def test_rows_beyond_bounds_are_clipped_in_blocks_too():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=60_000)})
    data["y"] = data["x"] + rng.normal(size=60_000)
    bounds = {"x": (-1, 1), "y": (-3, 2)}
    here = data.assign(x=data["x"].clip(-1, 1), y=data["y"].clip(-3, 2))
    fits = [
        dpreg.dp_lm("y ~ x", table, 1.0, 1e-6, bounds=bounds, memory=memory, rng=1).to_json()
        for table, memory in ((data, None), (data, 1e6), (here, None))
    ]
    assert fits[0] == fits[1] == fits[2]


@pytest.mark.parametrize("method", ["auto", "adassp", "boosted_adassp", "dpsgd"])
def test_bounds_of_some_columns_are_limits_of_predictions(method):
    fit = dpreg.dp_lm(FORMULA, frame(), 3.0, 1e-6, method=method, bounds={"z": (0, 10)}, rng=1)
    assert fit.released
    assert fit.limits[1].tolist() == [0.0, 10.0]


def test_the_certificate_says_which_bounds_were_taken_as_public():
    fit = dpreg.dp_lm(FORMULA, frame(), 1.0, 1e-6, bounds={"z": (0, 10), "y": (-20, 30)})
    said = ["bounds of z: 0 to 10", "bounds of y: -20 to 30"]
    assert json.loads(fit.to_json())["privacy"]["public"][-2:] == said
    assert dpreg.DPResults.from_json(fit.to_json()).privacy.public[-2:] == tuple(said)
    moments = dpreg.dp_moments("~ x + z", frame(), 1.0, 1e-6, bounds={"x": (-4, 4)})
    assert moments.privacy.public[-1] == "bounds of x: -4 to 4"
    found = dpreg.dp_select(FORMULA, frame(), 1, 1.0, method="sis", bounds=BOUNDS)
    assert found.privacy.public[-3:] == tuple(f"bounds of {k}: {a:g} to {b:g}"
                                              for k, (a, b) in BOUNDS.items())  # fmt: skip
    plain = dpreg.dp_lm(FORMULA, frame(), 1.0, 1e-6)
    assert not any("bounds" in public for public in plain.privacy.public)


def test_auto_takes_a_method_that_uses_them():
    """Without inference, where TukeyEM would be chosen."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(200_000)
    data = pd.DataFrame({"x": x, "y": x + 0.1 * rng.standard_normal(200_000)})
    auto = dpreg.Auto(candidates=("tukey", "boosted_adassp"))
    fits = [dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, method=auto, bounds=bounds, inference=False,
                        rng=1) for bounds in (None, {"x": (-5, 5)})]  # fmt: skip
    assert "boosted_adassp" in fits[1].privacy.mechanism
    assert fits[1].limits[0].tolist() == [-5.0, 5.0]
    with pytest.raises(ArgumentError, match=r"^bounds is not used by method='tukey'; leave bounds"):
        dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, method=dpreg.Auto(candidates=("tukey",)),
                    bounds={"x": (-5, 5)})  # fmt: skip


def test_a_selection_and_a_fit_share_them():
    """DP-SIS uses them before TukeyEM, which does not; AdaSSP uses them after Kendall."""
    for select, method in (("sis", "tukey"), ("sis", "adassp"), ("kendall", "adassp")):
        fit = dpreg.dp_lm(FORMULA, frame(), 9.0, 1e-4, method=method, select=select, k=1,
                          bounds=BOUNDS, rng=1)  # fmt: skip
        assert fit.released
        if method == "adassp":
            assert searched(fit) is None


def test_bounds_of_a_term_are_of_all_its_columns():
    data = frame().assign(g=pd.Categorical(["a", "b", "c"] * 1000))
    bounds = {"g:z": (0, 10), "z": (0, 10), "y": (-20, 30)}
    fit = dpreg.dp_lm("y ~ z + g:z", data, 1.0, 1e-6, method="adassp", bounds=bounds)
    assert searched(fit) is None
    assert (fit.limits[:-1] == [0, 10]).all()


def test_after_an_offset_they_are_those_of_what_is_left_of_the_response():
    data = frame()
    fit = dpreg.dp_lm("y ~ x + offset(z)", data, 1.0, 1e-6, bounds={"x": (-4, 4), "y": (-9, 9)})
    assert searched(fit) is None
    with pytest.raises(ArgumentError, match=r"'offset\(z\)' is not a column of the model"):
        dpreg.dp_lm("y ~ x + offset(z)", data, 1.0, bounds={"offset(z)": (0, 10)})


WRONG = [
    {"nope": (0, 1)}, {"x": (1, 0)}, {"x": (1, 1)}, {"x": (0, np.inf)}, {"x": (np.nan, 1)},
    {"x": (0, 1e-70)}, {"x": (-1e70, 1e70)}, {"x": 3}, {"x": None}, {"x": "01"}, {"x": ("0", "1")},
    {"x": (0, 1, 2)}, {"x": (0, [1, 2])}, {3: (0, 1)}, [("x", 0, 1)], (0, 1), 3, "x", True,
    {"x": frame()["x"]}, frame(),
]  # fmt: skip


@pytest.mark.parametrize("bounds", WRONG, ids=lambda bounds: type(bounds).__name__)
@pytest.mark.parametrize("call", [
    lambda bounds, **named: dpreg.dp_lm(FORMULA, frame(), 1.0, 1e-6, bounds=bounds, **named),
    lambda bounds, **named: dpreg.dp_glm(FORMULA, frame(), 1.0, 1e-6, bounds=bounds, **named),
    lambda bounds, **named: dpreg.dp_moments(FORMULA, frame(), 1.0, 1e-6, bounds=bounds, **named),
    lambda bounds, **named: dpreg.dp_select(FORMULA, frame(), 1, 1.0, method="sis", bounds=bounds,
                                            **named),
], ids=["lm", "glm", "moments", "select"])  # fmt: skip
def test_wrong_bounds_are_refused_by_name_before_a_record_is_read(call, bounds, monkeypatch):
    monkeypatch.setattr(
        "dpreg.data.problem.read_design", lambda *a: pytest.fail("a record was read")
    )
    budget = dpreg.Budget(2.0, 1e-5)
    with pytest.raises(ArgumentError) as refused:
        call(bounds, budget=budget)
    assert refused.value.argument == "bounds"
    assert budget.charges == ()
    # A column of records is not shown.
    assert "0.34" not in str(refused.value)
    assert len(str(refused.value)) < 200


def test_what_has_no_use_for_them_says_what_has():
    data = frame()
    with pytest.raises(ArgumentError) as refused:
        dpreg.dp_lm(FORMULA, data, 1.0, 1e-6, method="tukey", bounds=BOUNDS)
    said = str(refused.value)
    assert said.startswith("bounds is not used by 'tukey', only by 'auto', ")
    assert said.endswith("leave bounds out")
    assert all(repr(name) in said for name in [*USERS, "sis"])
    for name in SELECTORS:
        if name != "sis":
            with pytest.raises(ArgumentError, match=r"bounds is not used by .*, only by 'sis'"):
                dpreg.dp_select(FORMULA, data, 1, 1.0, method=name, bounds=BOUNDS)
    assert dpreg.dp_lm(FORMULA, data, 9.0, 1e-4, method="tukey", bounds={}).formula == FORMULA


def test_methods_have_no_option_of_that_name():
    for kind in (*METHODS.values(), *SELECTORS.values()):
        with pytest.raises(TypeError, match="bounds"):
            kind(bounds=BOUNDS)


@pytest.mark.parametrize("name", ["adassp", "boosted_adassp", "dpsgd"])
def test_arrays_take_them_by_the_names_of_their_columns(name):
    data = frame().rename(columns={"x": "x0", "z": "x1"})
    bounds = {"x0": BOUNDS["x"], "x1": BOUNDS["z"], "y": BOUNDS["y"]}
    X, y = data[["x0", "x1"]].to_numpy(), data["y"].to_numpy()
    array = getattr(mechanisms, name)(X, y, 1.0, 1e-6, bounds=bounds, rng=5)
    table = dpreg.dp_lm("y ~ x0 + x1", data, 1.0, 1e-6, method=name, bounds=bounds, rng=5)
    np.testing.assert_array_equal(array.params, table.params)
    with pytest.raises(ArgumentError, match="'x' is not a column of the model"):
        getattr(mechanisms, name)(X, y, 1.0, 1e-6, bounds=BOUNDS)


def test_estimators_take_them():
    sklearn = pytest.importorskip("dpreg.sklearn")
    data = frame()
    fit = sklearn.DPLinearRegression(1.0, 1e-6, bounds=BOUNDS, random_state=5)
    fit.fit(data[["x", "z"]], data["y"])
    same = dpreg.dp_lm(FORMULA, data, 1.0, 1e-6, bounds=BOUNDS, inference=False, rng=5)
    np.testing.assert_array_equal(fit.results_.estimates, same.estimates)
    named = {"x0": (-4, 4), "x1": (0, 10)}
    logistic = sklearn.DPLogisticRegression(1.0, 1e-6, bounds=named, random_state=5)
    logistic.fit(data[["x", "z"]].to_numpy(), (data["y"] > 5).to_numpy() * 1.0)
    assert logistic.results_.limits[:2].tolist() == [[-4.0, 4.0], [0.0, 10.0]]
    chooser = sklearn.DPFeatureSelector(1, 9.0, method="sis", bounds=BOUNDS, random_state=5)
    assert chooser.fit(data[["x", "z"]], data["y"]).get_support().sum() == 1


@pytest.mark.parametrize(("words", "call"), [
    (["fit", FORMULA], lambda path, bounds: dpreg.dp_lm(FORMULA, path, 2.0, bounds=bounds, rng=7)),
    (["glm", "I(y > 5) ~ x + z"],
     lambda path, bounds: dpreg.dp_glm("I(y > 5) ~ x + z", path, 2.0, bounds=bounds, rng=7)),
    (["moments", "~ x + z + y"],
     lambda path, bounds: dpreg.dp_moments("~ x + z + y", path, 2.0, bounds=bounds, rng=7)),
    (["select", FORMULA, "--k", "1", "--method", "sis"],
     lambda path, bounds: dpreg.dp_select(FORMULA, path, 1, 2.0, method="sis", bounds=bounds,
                                          rng=7)),
], ids=["fit", "glm", "moments", "select"])  # fmt: skip
def test_the_shell_gives_what_python_gives(words, call, tmp_path, capsys):
    path = str(tmp_path / "d.parquet")
    frame().to_parquet(path)
    bounds = {"x": (-4.0, 4.0), "z": (0.0, 10.0)}
    if words[0] == "select":
        bounds["y"] = (-20.0, 30.0)
    typed = [f"--bounds={name}={low},{high}" for name, (low, high) in bounds.items()]
    command, formula, *more = words
    assert (
        main([command, formula, path, "--eps", "2", "--rng", "7", "--json", "-", *more, *typed])
        == 0
    )
    expected = call(path, bounds)
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())
    assert "bounds of z: 0 to 10" in expected.privacy.public
