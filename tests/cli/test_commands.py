"""Commands beside `dpreg fit` do what the functions of their names do."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.faces.cli.commands import main
from dpreg.faces.cli.words import in_shell
from dpreg.results.summary import Summary


def test_select(data, tmp_path, capsys):
    path = tmp_path / "found.json"
    call = ["select", "price ~ carat + depth + x", data, "--k", "2", "--eps", "1"]
    assert main([*call, "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert "Selected 2 of 3 terms for price" in out
    assert "1-differentially private" in out
    found = dpreg.SelectionResult.from_json(path.read_text())
    assert f"{found.summary()}\n" == out


def test_select_by_bounded_products_and_fit_of_the_chosen(data, capsys):
    bounds = ["--bounds", "carat=0,5", "--bounds", "depth=40,80", "--bounds", "price=0,20000"]
    call = ["select", "price ~ carat + depth", data, "--k", "1", "--eps", "2", "--method", "sis"]
    assert main([*call, *bounds]) == 0
    assert "in no particular order" in capsys.readouterr().out
    fit = ["fit", "price ~ carat + depth", data, "--eps", "2", "--select", "sis", "--k", "1"]
    assert main([*fit, *bounds]) == 0
    assert "selected privately" in " ".join(capsys.readouterr().out.split())


def test_a_test_is_dp_test(data, ledger, tmp_path, monkeypatch, capsys):
    code = (
        "from scipy import stats\n"
        "def slope(rows):\n    print(rows)\n    "
        "return stats.spearmanr(rows['carat'], rows['price']).pvalue\nnumber = 3\n"
    )
    (tmp_path / "tests_of_mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    call = ["test", "tests_of_mine:slope", data, "--eps", "1", "--budget", ledger]
    assert main([*call, "--unit", "shop", "--rng", "3", "--json", "found.json"]) == 0
    out = capsys.readouterr().out
    found = dpreg.DPTest.from_json((tmp_path / "found.json").read_text())
    assert out == f"{found.summary()}\n"
    assert found.pvalue < 1e-3
    import tests_of_mine

    frame = pd.read_parquet(data)
    again = dpreg.dp_test(tests_of_mine.slope, frame, 1.0, unit="shop", rng=3)
    assert (found.count, found.blocks) == (again.count, again.blocks)
    before = len(dpreg.Budget.open(ledger).charges)
    for arguments, says in (
        (["slope", data], "STATISTIC must be MODULE:FUNCTION"),
        (["tests_of_mine:number", data], "has no function 'number'"),
        (["not_there:slope", data], "cannot import 'not_there'"),
        (["tests_of_mine:slope", "nope.parquet"], "no such file"),
        (["tests_of_mine:slope", str(tmp_path)], "one Parquet file"),
        (["tests_of_mine:slope", data, "--unit", "nope"], "--unit"),
        (["tests_of_mine:slope", data, "--threshold", "2"], "--threshold must be a number in"),
        (["tests_of_mine:slope", data, "--blocks", "0"], "--blocks must be a whole number"),
    ):
        assert main(["test", *arguments, "--eps", "1", "--budget", ledger]) == 2
        assert says in capsys.readouterr().err
    assert len(dpreg.Budget.open(ledger).charges) == before == 1


def test_a_curve_is_dp_curve(data, ledger, tmp_path, capsys):
    call = ["curve", "Surv(carat, price > 5000) ~ grade", data, "--cuts", "0.5,1,1.5"]
    call += ["--unit", "shop", "--levels", "grade=Fair,Good,Very Good,Premium,Ideal", "--rng", "3"]
    paid = [*call, "--eps", "1", "--budget", ledger, "--json", str(tmp_path / "curve.json")]
    assert main([*paid, "--simultaneous", "--alpha", "0.1"]) == 0
    out = capsys.readouterr().out
    found = dpreg.DPCurve.from_json((tmp_path / "curve.json").read_text())
    assert out == f"{found.summary(0.1, simultaneous=True)}\n"
    levels = {"grade": ["Fair", "Good", "Very Good", "Premium", "Ideal"]}
    again = dpreg.dp_curve("Surv(carat, price > 5000) ~ grade", data, 1.0, cuts=[0.5, 1, 1.5],
                           unit="shop", levels=levels, rng=3)  # fmt: skip
    assert again.to_json() == found.to_json()
    assert main([*call, "--eps", "1", "--quiet", "--concordance", "--event-cuts", "2"]) == 0
    of, cuts = found.concordance(), ",".join(f"{cut:g}" for cut in found.event_cuts(2))
    line = f"Concordance: {of.estimate:.4f} ({of.lower:.4f} to {of.upper:.4f})"
    assert capsys.readouterr().out == f"{line}\n{cuts}\n"
    for more, says in (
        (["--cuts", "1,a"], "--cuts must be TIME,TIME"),
        (["--cuts", "2,1"], "--cuts must be increasing finite numbers"),
        (["--start", "3"], "--start must be a number below the first cut, 0.5"),
        (["--max-rows", "0"], "--max-rows must be an integer"),
        (["--alpha", "2"], "--alpha must be"),
    ):
        assert main([*call, "--eps", "1", "--budget", ledger, *more]) == 2
        assert says in capsys.readouterr().err
    assert len(dpreg.Budget.open(ledger).charges) == 1


@pytest.mark.parametrize("command", ["ordinal", "multinomial"])
def test_classes_are_those_of_python(command, data, ledger, tmp_path, capsys):
    path, levels = tmp_path / "fit.json", ["Fair", "Good", "Very Good", "Premium", "Ideal"]
    call = [command, "grade ~ carat", data, "--levels", f"grade={','.join(levels)}", "--eps", "6"]
    call += ["--unit", "shop", "--max-rows", "2", "--rng", "3", "--budget", ledger]
    more = ["--link", "probit"] if command == "ordinal" else []
    assert main([*call, *more, "--exp", "--alpha", "0.1", "--json", str(path)]) == 0
    assert "exp(coef)" in capsys.readouterr().out
    kind = {"ordinal": dpreg.DPOrdinal, "multinomial": dpreg.DPMultinomial}[command]
    found = kind.from_json(path.read_text())
    function = getattr(dpreg, f"dp_{command}")
    again = function("grade ~ carat", data, 6.0, levels={"grade": levels}, unit="shop", max_rows=2,
                     rng=3, delta=found.privacy.delta,
                     **({"link": "probit"} if more else {}))  # fmt: skip
    assert again.params.equals(found.params)
    out = tmp_path / "chances.parquet"
    assert main(["predict", str(path), data, "--out", str(out)]) == 0
    chances = pd.read_parquet(out)
    assert chances.columns.tolist() == levels
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    for wrong, says in (
        (["--alpha", "2"], "--alpha must be"),
        (["--levels", "grade=Fair"], "levels"),
    ):
        assert main([*call, *wrong]) == 2
        assert says in capsys.readouterr().err


def test_survival_is_dp_survival(data, ledger, tmp_path, capsys):
    formula, path = "Surv(carat, price > 5000) ~ depth", tmp_path / "fit.json"
    call = ["survival", formula, data, "--cuts", "0.5,1,1.5", "--unit", "shop", "--max-rows", "2"]
    call += ["--levels", "grade=Fair,Good,Very Good,Premium,Ideal", "--strata", "grade"]
    call += ["--time-varying", "depth", "--rng", "3", "--eps", "6", "--budget", ledger]
    assert main([*call, "--exp", "--alpha", "0.1", "--json", str(path)]) == 0
    found = dpreg.DPSurvival.from_json(path.read_text())
    assert "exp(coef)" in capsys.readouterr().out
    levels = {"grade": ["Fair", "Good", "Very Good", "Premium", "Ideal"]}
    again = dpreg.dp_survival(formula, data, 6.0, cuts=[0.5, 1, 1.5], unit="shop", max_rows=2,
                              strata="grade", time_varying=["depth"], levels=levels, rng=3,
                              delta=found.privacy.delta)  # fmt: skip
    assert again.params.equals(found.params)
    for more, says in (
        (["--cuts", "1,a"], "--cuts must be TIME,TIME"),
        (["--start", "3"], "--start must be a number below the first cut, 0.5"),
        (["--strata", "nope"], "nope"),
        (["--time-varying", "price"], "--time-varying"),
        (["--alpha", "2"], "--alpha must be"),
    ):
        assert main([*call, *more]) == 2
        assert says in capsys.readouterr().err
    assert len(dpreg.Budget.open(ledger).charges) == 1


def test_effect_is_dp_effect(data, ledger, tmp_path, capsys):
    path = tmp_path / "effect.json"
    call = ["effect", "price ~ carat", data, "--treatment", "grade", "--levels"]
    call += ["grade=Fair,Ideal", "--rng", "3", "--eps", "6", "--budget", ledger]
    assert main([*call, "--overlap", "0.01,0.99", "--alpha", "0.1", "--json", str(path)]) == 0
    found = dpreg.DPEffect.from_json(path.read_text())
    assert "Private effect of grade on price" in capsys.readouterr().out
    again = dpreg.dp_effect("price ~ carat", data, 6.0, treatment="grade", overlap=(0.01, 0.99),
                            levels={"grade": ["Fair", "Ideal"]}, rng=3,
                            delta=found.privacy.delta)  # fmt: skip
    assert again.effect == found.effect
    for more, says in (
        (["--overlap", "1,a"], "--overlap must be LOW,HIGH"),
        (["--overlap", "0.9,0.1"], "--overlap must be two increasing numbers"),
        (["--propensity", "2"], "--propensity must be a number in"),
        (["--treatment", "nope"], "nope"),
        (["--method", "difference"], "write ~ 1"),
        (["--alpha", "2"], "--alpha must be"),
    ):
        assert main([*call, *more]) == 2
        assert says in capsys.readouterr().err
    assert len(dpreg.Budget.open(ledger).charges) == 1


def test_moments_and_models_of_them(data, tmp_path, capsys):
    path, model = tmp_path / "moments.json", tmp_path / "fit.json"
    call = ["moments", "price ~ carat + depth", data, "--eps", "1", "--json", str(path)]
    assert main(call) == 0
    assert "(2) carat" in capsys.readouterr().out
    assert main(["lm", str(path), "carat ~ price", "--json", str(model)]) == 0
    out = capsys.readouterr().out
    fit = dpreg.DPMoments.from_json(path.read_text()).lm("carat ~ price")
    assert f"{fit.summary()}\n" == out
    assert dpreg.DPResults.from_json(model.read_text()).to_json() == fit.to_json()
    assert main(["lm", str(path), "price ~ carat", "--instruments", "~ depth"]) == 0
    assert "two-stage" in capsys.readouterr().out
    assert main(["lm", str(path), "price ~ cut"]) == 2
    assert "no column 'cut'" in capsys.readouterr().err
    assert main(["lm", "price ~ cut", str(path)]) == 2
    assert f"is a formula; write dpreg lm {path} 'price ~ cut'" in capsys.readouterr().err
    assert main(["lm", str(tmp_path / "none.json"), "price ~ cut"]) == 2
    assert main(["lm", str(model), "price ~ cut"]) == 2
    assert "written by dpreg moments --json" in capsys.readouterr().err


def test_glm_is_dp_glm(data, capsys):
    call = ["glm", "I(price > 5000) ~ carat", data, "--eps", "5", "--rng", "1"]
    assert main([*call, "--exp"]) == 0
    out = capsys.readouterr().out
    fit = dpreg.dp_glm("I(price > 5000) ~ carat", data, 5.0, rng=1)
    assert str(fit.summary(exp=True)) in out
    assert main([*call, "--link", "probit"]) == 0
    probit = dpreg.dp_glm(call[1], data, 5.0, link="probit", rng=1)
    assert str(probit.summary()) in capsys.readouterr().out
    gamma = ["glm", "price ~ carat", *call[2:], "--family", "gamma"]
    assert main(gamma) == 0
    size = dpreg.dp_glm("price ~ carat", data, 5.0, family="gamma", rng=1)
    assert str(size.summary()) in capsys.readouterr().out
    assert main([*call, "--link", "log"]) == 2
    assert "dpreg: --link must be" in capsys.readouterr().err
    assert main([*call, "--weights", "nothing"]) == 2
    assert "dpreg: --weights" in capsys.readouterr().err
    assert main([*call, "--family", "poison"]) == 2
    assert "--family" in capsys.readouterr().err
    counted = ["glm", "visits ~ carat + offset(log(depth))", data, "--eps", "1"]
    assert main(counted) == 2
    assert "visits" in capsys.readouterr().err


def test_weights_offsets_and_extras_are_those_of_python(data, capsys):
    call = ["fit", "price ~ carat + offset(depth)", data, "--eps", "5", "--rng", "1"]
    assert main([*call, "--weights", "carat", "--weight-limit", "2"]) == 0
    options = {"weights": "carat", "weight_limit": 2.0}
    fit = dpreg.dp_lm("price ~ carat + offset(depth)", data, 5.0, rng=1, **options)
    assert str(in_shell(fit.summary())) in capsys.readouterr().out
    assert main([*call, "--fit-stats", "--diagnostics"]) == 0
    out = capsys.readouterr().out
    fit = dpreg.dp_lm(call[1], data, 5.0, rng=1, fit_stats=True, diagnostics=True)
    assert str(in_shell(fit.summary())) in out
    assert "R-squared" in out
    assert main(["plan", "--n", "50000", "--d", "3", "--eps", "1", "--family", "poisson"]) == 0
    assert str(dpreg.dp_plan(50_000, 3, 1.0, family="poisson")) in capsys.readouterr().out


def test_plans_of_power_are_those_of_python(capsys):
    call = ["plan", "--features", "3", "--effect", "0.05", "--power", "0.9"]
    ordinal = {"family": "ordinal", "classes": 4}
    assert main([*call, "--eps", "1"]) == 0
    plan = dpreg.dp_plan(d=3, eps=1.0, effect=0.05, power=0.9)
    assert capsys.readouterr().out == f"{plan}\n"
    assert main([*call, "--rows", "30000", "--json"]) == 0
    plan = dpreg.dp_plan(30_000, 3, effect=0.05, power=0.9)
    assert json.loads(capsys.readouterr().out) == plan.to_dict()
    assert main([*call, "--rows", "30000", "--eps", "1"]) == 2
    assert "leave --power out, or leave --effect out" in capsys.readouterr().err
    call = ["plan", "--n", "20000", "--d", "3", "--eps", "1", "--family", "ordinal"]
    assert main([*call, "--classes", "4"]) == 0
    assert capsys.readouterr().out == f"{dpreg.dp_plan(20_000, 3, 1.0, **ordinal)}\n"
    assert main(call) == 2
    assert "--classes must be given; write --classes 4" in capsys.readouterr().err
    assert main([*call[:-1], "effect", "--treated", "2"]) == 2
    assert "--treated must be a number greater than 0" in capsys.readouterr().err
    assert main(["plan", "--features", "3", "--eps", "1"]) == 2
    assert "--effect is needed if --n is not given; write --effect 0.2" in capsys.readouterr().err


def test_a_comparison_as_a_response_is_pointed_to_glm(data, capsys):
    assert main(["fit", "I(price > 5000) ~ carat", data, "--eps", "5"]) == 0
    assert "dp_glm fits a logistic regression" in " ".join(capsys.readouterr().out.split())


def test_a_level_of_intervals_is_answered_in_the_words_of_the_shell(capsys):
    assert main(["fit", "y ~ x", "x.parquet", "--eps", "1", "--level", "0.9"]) != 0
    assert "--level: write --alpha 0.1 for 90% intervals" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("note", "says"),
    [
        ("of each 'p' at most 1 row is used; max_rows= allows more, with more noise",
         "--max-rows allows more"),
        ("; a larger max_rows= costs little where few have so many", "a larger --max-rows costs"),
        ("declare them with levels=", "with --levels"),
        ("the option max_rows of 'kendall' allows more", "--max-rows allows more"),
        ("write I(y == 2), or 'levels=' of x, or nothing=", "write I(y == 2), or 'levels='"),
        ("or nothing=", "or nothing="),
    ],
)  # fmt: skip
def test_notes_are_in_the_words_of_the_shell(note, says):
    assert says in in_shell(Summary((), (note,))).notes[0]


def test_the_note_on_rows_of_a_person_names_the_option(data, capsys):
    """It said `max_rows=`, which the shell does not take."""
    formula = "price ~ carat"
    assert main(["fit", formula, data, "--eps", "1", "--unit", "shop", "--rng", "1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "--max-rows allows more" in out
    assert "max_rows=" not in out


def test_fits_of_few_units_are_said_to_say_little(data, capsys):
    call = ["select", "price ~ carat + depth", data, "--k", "1", "--eps", "1", "--rng", "1"]
    assert main([*call, "--method", "sub_lasso"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "of up to 1 unit each voted" in out
    assert "a fit to so few units contains little information on 2 candidates" in out
    assert main([*call, "--method", "two_stage"]) == 0
    assert "so few units" not in capsys.readouterr().out
