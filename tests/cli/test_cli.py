"""The command line, as a user types it."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.estimation.releases.standardisation import Standardisation
from dpreg.faces.cli.commands import main
from dpreg.faces.cli.words import in_shell

GRADES = "grade=Fair,Good,Very Good,Premium,Ideal"


def test_fit_and_predict(data, tmp_path, capsys):
    model = tmp_path / "fit.json"
    assert main(["fit", "price ~ carat", data, "--eps", "1", "--json", str(model)]) == 0
    out = capsys.readouterr().out
    assert "carat" in out
    assert "differentially private" in out
    fit = dpreg.DPResults.from_json(model.read_text())
    assert main(["predict", str(model), data]) == 0
    predicted = pd.read_csv(io.StringIO(capsys.readouterr().out))
    pd.testing.assert_series_equal(predicted["prediction"], fit.predict(data))
    path = tmp_path / "new.parquet"
    call = ["predict", str(model), data, "--interval", "confidence", "--alpha", "0.1"]
    assert main([*call, "--no-winsorise", "--out", str(path)]) == 0
    assert capsys.readouterr().out == ""
    expected = fit.predict(data, winsorise=False, interval="confidence", alpha=0.1)
    pd.testing.assert_frame_equal(pd.read_parquet(path), expected)


def test_the_same_seed_gives_what_python_gives(data, capsys):
    bounds = {"carat": (0.0, 5.0), "price": (0.0, 20000.0)}
    method = dpreg.AdaSSP(cov_type="nonrobust", row_factor=1.5)
    fit = dpreg.dp_lm("price ~ carat + grade", data, 2.0, 1e-6, method=method, unit="shop",
                      max_rows=2, rng=7, levels={"grade": GRADES[6:].split(",")},
                      bounds=bounds)  # fmt: skip
    call = ["fit", "price ~ carat + grade", data, "--eps", "2", "--delta", "1e-6", "--rng", "7",
            "--method", "adassp", "--option", "cov_type=nonrobust", "--max-rows", "2",
            "--option", "row_factor=1.5", "--bounds", "carat=0,5",
            "--bounds", "price=0,20000", "--unit", "shop", "--levels", GRADES,
            "--memory", "1e6", "--json", "-"]  # fmt: skip
    assert main(call) == 0
    assert dpreg.DPResults.from_json(capsys.readouterr().out).to_json() == fit.to_json()


def test_an_option_may_have_options_of_its_own(data, capsys):
    method = dpreg.FrankWolfe(standardisation=Standardisation(zooms=2))
    fit = dpreg.dp_lm("price ~ carat", data, 2.0, 1e-6, method=method, rng=7)
    call = ["fit", "price ~ carat", data, "--eps", "2", "--delta", "1e-6", "--rng", "7",
            "--method", "frank_wolfe", "--option", "standardisation.zooms=2",
            "--json", "-"]  # fmt: skip
    assert main(call) == 0
    assert dpreg.DPResults.from_json(capsys.readouterr().out).to_json() == fit.to_json()


def test_a_fit_starts_from_what_a_fit_wrote(data, tmp_path, capsys):
    last, wrong = tmp_path / "last.json", tmp_path / "wrong.json"
    call = ["fit", "price ~ carat", data, "--eps", "2", "--delta", "1e-6", "--rng"]
    assert main([*call, "1", "--quiet", "--json", str(last)]) == 0
    assert main([*call, "2", "--start", str(last), "--json", "-"]) == 0
    start = dpreg.DPResults.from_json(last.read_text())
    fit = dpreg.dp_lm("price ~ carat", data, 2.0, 1e-6, start=start, rng=2)
    assert dpreg.DPResults.from_json(capsys.readouterr().out).to_json() == fit.to_json()
    wrong.write_text("{}")
    none = tmp_path / "none.json"
    cases = {wrong: f"{str(wrong)!r} does not hold a fit", none: f"cannot read {str(none)!r}"}
    for path, says in cases.items():
        assert main([*call, "2", "--start", str(path)]) == 2
        assert f"--start: {says}" in capsys.readouterr().err
    assert main(["fit", "price ~ depth", data, "--eps", "1", "--start", str(last)]) == 2
    assert "--start is of another model: 1 other column (has carat)" in capsys.readouterr().err


def test_levels_of_numbers_are_numbers(tmp_path, capsys):
    path = str(tmp_path / "d.parquet")
    pd.DataFrame({"y": np.arange(99.0), "z": np.arange(99) % 3}).to_parquet(path)
    call = ["fit", "y ~ z", path, "--eps", "20", "--levels", "z=0,1,2", "--json", "-", "--rng", "1"]
    assert main(call) in (0, 3)
    told = json.loads(capsys.readouterr().out)
    fit = dpreg.dp_lm("y ~ z", path, 20.0, levels={"z": [0, 1, 2]}, rng=1)
    assert told == json.loads(fit.to_json())


def test_results_go_where_they_are_asked_to(data, tmp_path, capsys):
    files = {name: tmp_path / f"fit.{name}" for name in ("json", "html", "latex")}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    call = ["fit", "price ~ carat", data, "--eps", "1", "--quiet", *options]
    assert main(call) == 0
    assert capsys.readouterr().out == ""
    summary = dpreg.DPResults.from_json(files["json"].read_text()).summary()
    summary = in_shell(summary)
    assert files["html"].read_text() == summary.as_html() + "\n"
    assert files["latex"].read_text() == summary.as_latex() + "\n"


def test_without_inference(data, capsys):
    call = ["fit", "price ~ carat", data, "--eps", "1", "--no-inference", "--json", "-"]
    assert main(call) == 0
    assert dpreg.DPResults.from_json(capsys.readouterr().out).covariance is None


def test_frank_wolfe_by_name(data, capsys):
    arguments = ["fit", "price ~ carat + depth", data, "--eps", "1", "--method", "frank_wolfe"]
    assert main(arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Method: frank_wolfe" in out
    assert "Standard errors: none, because" in out


def test_not_released_is_exit_code_3(data, tmp_path, capsys):
    model = tmp_path / "fit.json"
    call = ["fit", "price ~ carat", data, "--eps", "0.001", "--method", "tukey"]
    assert main([*call, "--json", str(model)]) == 3
    out = capsys.readouterr().out
    assert "Not released" in out
    assert "inference=False" not in out
    assert "dpreg_not_released" in json.loads(model.read_text())
    assert main(["predict", str(model), data]) == 2
    assert "says that the mechanism declined" in capsys.readouterr().err


FIT, SELECT = ["fit", "price ~ carat", "DATA"], ["select", "price ~ carat", "DATA", "--k", "1"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit", "price ~ scale(carat)", "DATA", "--eps", "1"], "other rows"),
        ([*FIT, "--eps", "0"], "--eps must be"),
        ([*FIT, "--eps", "1", "--memory", "10"], "--memory must be a number of bytes"),
        ([*FIT, "--eps", "a lot"], "'a lot' is not a valid float"),
        (["fit", "price ~ carat", "nope.parquet", "--eps", "1"], "DATA: cannot read"),
        (["fit", "price ~ carat", __file__, "--eps", "1"], "column_types=types"),
        (["fit", "DATA", "price ~ carat", "--eps", "1"], "DATA are in the wrong order"),
        (["fit", "price ~ grade", "DATA", "--eps", "1"], "add --levels grade=first,second,..."),
        (["fit", "price ~ grade", "DATA", "--eps", "1", "--levels", "grade"], "COLUMN=A,B"),
        (["fit", "price ~ carats", "DATA", "--eps", "1"], "perhaps 'carat' was meant"),
        (["fit", "price ~ I(k=5)", "DATA", "--eps", "1"], "has = in I(); write =="),
        ([*FIT, "--eps", "1", "--levels", "carat=low,high"], "write --levels carat=1,2,..."),
        ([*FIT, "--eps", "1", "--delta", "0"], "write --delta 1e-06"),
        ([*FIT, "--eps", "1", "--k", "1"], "add --select kendall, or leave --k out"),
        ([*FIT, "--eps", "1", "--select", "kendall"], "--k 5 is a good first choice"),
        ([*FIT, "--eps", "1", "--unit", "u"], "--unit: there is no"),
        ([*FIT, "--eps", "1", "--budget", "nope"], "dpreg budget new"),
        ([*FIT, "--eps", "1", "--bounds", "carat=0,5", "--method", "tukey"],
         "--bounds is not used by 'tukey', only by auto, adassp,"),
        ([*FIT, "--eps", "1", "--bounds", "carat=5,0"], "write --bounds carat=LOW,HIGH"),
        ([*FIT, "--eps", "1", "--bounds", "caret=0,5"], "write --bounds carat=LOW,HIGH"),
        ([*FIT, "--eps", "1", "--method", "Tukey"],
         "--method must be one of auto, tukey, adassp, boosted_adassp, dpsgd, frank_wolfe, got "
         "'Tukey'; write --method tukey"),
        ([*FIT, "--eps", "1", "--method", "tukey", "--option", "models=few"],
         "--option models must be a whole number or None, got 'few'; leave --option models out"),
        ([*FIT, "--eps", "1", "--method", "tukey", "--option", "model=5"],
         "'tukey' has no option 'model'"),
        ([*FIT, "--eps", "1", "--method", "tukey", "--option", "models=1"],
         "--option models must be at least 2"),
        ([*FIT, "--eps", "1", "--k", "1", "--select", "kendall", "--select-option", "share=2"],
         "--select-option share must be in (0, 1)"),
        ([*SELECT[:-1], "2", "--eps", "1"], "--k must be"),
        ([*SELECT, "--eps", "1", "--method", "x"], "--method must be one of kendall"),
        ([*SELECT, "--eps", "1", "--method", "sis"], "write --bounds carat=LOW,HIGH"),
        ([*SELECT, "--eps", "1", "--method", "sis", "--bounds", "carat=1"], "COLUMN=LOW,HIGH"),
        ([*SELECT, "--eps", "1", "--method", "sis", "--bounds", "carat=0,5"],
         "write --bounds price=LOW,HIGH"),
        ([*SELECT, "--eps", "1", "--bounds", "carat=0,5"], "is not used by 'kendall', only by sis"),
        (["predict", "nope.json", "DATA"], "FIT: cannot read"),
        (["predict", "DATA", "fit.json"], "write dpreg predict fit.json DATA"),
        (["predict", "fit.json"], "NEW: write the path of a Parquet file after that of the fit"),
        (["predict"], "FIT: write the path of a saved fit first"),
        (["plan", "--n", "0", "--d", "1", "--eps", "1"], "--n must be"),
        (["curve", "Surv(a, b)", "DATA", "--eps", "1", "--cuts", "1", "2"],
         "write the values of an option as one: --cuts 90,180"),
    ],
)  # fmt: skip
def test_wrong_use_is_exit_code_2(arguments, says, data, capsys):
    assert main([data if a == "DATA" else a for a in arguments]) == 2
    captured = capsys.readouterr()
    assert says in captured.err.replace(data, "DATA")
    assert captured.out == ""


@pytest.mark.parametrize("command", ["fit", "select"])
def test_a_result_that_cannot_be_written_costs_nothing(command, data, ledger, tmp_path, capsys):
    call = [command, "price ~ carat", data, "--eps", "1", "--budget", ledger,
            *(["--k", "1"] if command == "select" else [])]  # fmt: skip
    assert main([*call, "--json", str(tmp_path / "nowhere" / "fit.json")]) == 2
    assert "--json: cannot write" in capsys.readouterr().err
    # Wrong use leaves neither a new file nor a changed one.
    model = tmp_path / "fit.json"
    assert main([command, "price ~ nope", *call[2:], "--json", str(model)]) == 2
    assert not model.exists()
    model.write_text("mine")
    assert main([command, "price ~ nope", *call[2:], "--json", str(model)]) == 2
    assert model.read_text() == "mine"
    assert dpreg.Budget.open(ledger).charges == ()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_result_that_was_paid_for_is_not_lost(data, capsys):
    """The file can be opened; it is full when the result is there."""
    assert main(["fit", "price ~ carat", data, "--eps", "1", "--json", "/dev/full"]) == 4
    captured = capsys.readouterr()
    assert "--json: cannot write '/dev/full'" in captured.err
    assert "Private Linear Regression Results" in captured.out
    fit = dpreg.DPResults.from_json(captured.out[captured.out.index("\n{\n") :])
    assert fit.names == ("Intercept", "carat")


def test_a_source_that_fails_after_the_charge_is_exit_code_4(data, ledger, tmp_path, capsys):
    """The footer is whole, the pages are not."""
    content = bytearray(Path(data).read_bytes())
    content[8 : len(content) // 2] = bytes(len(content) // 2 - 8)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(content)
    call = ["fit", "price ~ carat", str(broken), "--eps", "1", "--budget", ledger]
    assert main(call) == 4
    assert capsys.readouterr().out == ""
    charges = dpreg.Budget.open(ledger).charges
    assert [(c.status, c.label.partition("(")[0]) for c in charges] == [("charged", "dp_lm")]


@pytest.mark.parametrize(
    ("raised", "code"),
    [(KeyboardInterrupt(), 130), (RuntimeError("no entropy"), 4), (KeyError(), 4)],
)
def test_what_ends_a_command_otherwise(raised, code, data, monkeypatch, capsys):
    def end(*arguments, **options):
        raise raised

    monkeypatch.setattr("dpreg.calls.fit.fit", end)
    assert main(["fit", "price ~ carat", data, "--eps", "1"]) == code
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, KeyError, SystemExit])
@pytest.mark.parametrize("seed", [[], ["--rng", "1"]])
def test_what_fails_after_the_charge_is_not_wrong_use(
    kind, seed, data, ledger, monkeypatch, capsys
):
    """Even where it is an error of the family that refusals are of."""

    def fail(*arguments, **options):
        raise kind("row 3 is secret")

    monkeypatch.setattr("dpreg.estimation.methods.boosted_adassp.BoostedAdaSSP.release", fail)
    assert main(["fit", "price ~ carat", data, "--eps", "1", "--budget", ledger, *seed]) == 4
    said = capsys.readouterr().err
    assert "failed after the charge: the budget is spent" in said
    assert ("secret" in said) == (bool(seed) and kind is not SystemExit)
    assert len(dpreg.Budget.open(ledger).charges) == 1


def test_a_reader_that_goes_away_is_no_error(data, tmp_path):
    model = str(tmp_path / "fit.json")
    assert main(["fit", "price ~ carat", data, "--eps", "1", "--json", model]) == 0
    run = subprocess.Popen(
        [sys.executable, "-m", "dpreg", "predict", model, data],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout.readline() == "prediction\n"
    run.stdout.close()
    assert run.stderr.read() == ""
    run.stderr.close()
    assert run.wait(timeout=60) == 141


def test_module_and_version():
    run = subprocess.run(
        [sys.executable, "-m", "dpreg", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == f"dpreg {dpreg.__version__}"


def commands():
    from dpreg.faces.cli.commands import dpreg as top

    for name, command in top.commands.items():
        yield [name], command
        for inner, one in getattr(command, "commands", {}).items():
            yield [name, inner], one


@pytest.mark.parametrize("path", [path for path, _ in commands()], ids=" ".join)
def test_every_command_has_help(path, capsys):
    assert main([*path, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"Usage: dpreg {' '.join(path)}" in said
    assert max(map(len, said.splitlines())) <= 100


@pytest.mark.parametrize("path", [[], ["budget"]], ids=["dpreg", "budget"])
def test_lists_of_commands_are_whole_sentences(path, capsys):
    main([*path, "--help"])
    listed = capsys.readouterr().out.split("Commands:")[1]
    assert "..." not in listed


def examples():
    return [e for _, command in commands() for e in getattr(command, "examples", ())]


@pytest.mark.parametrize("example", examples())
def test_examples_have_options_that_exist(example):
    """Each is parsed, and not run."""
    import shlex

    from dpreg.faces.cli.commands import dpreg as top

    words = shlex.split(example.split(" > ")[0])[1:]
    command = top
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    command.make_context("x", words)


def test_completion():
    words = {"_DPREG_COMPLETE": "bash_complete", "COMP_WORDS": "dpreg fit --method boo",
             "COMP_CWORD": "3"}  # fmt: skip
    code = "from dpreg.faces.cli.commands import main; main([])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **words}
    )
    assert run.stdout == "plain,boosted_adassp\n"


def test_demo_lays_least_squares_beside_the_fit(tmp_path, diamonds):
    from dpreg.faces.cli.demo import FORMULA, demo, least_squares

    out, picture = io.StringIO(), tmp_path / "demo.png"
    assert demo(out, str(picture))
    text = out.getvalue()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"Plot: {picture}" in text
    exact = least_squares(diamonds)
    assert set(exact.index) == set(dpreg.dp_lm(FORMULA, diamonds, 1.0, 1e-6).names)
    for term, row in exact.iterrows():
        assert re.search(rf"^  {re.escape(term)} +{row['coef']:.3f} \({row['std err']:.3f}\) ",
                         text, re.MULTILINE)  # fmt: skip
    assert "Conclusion: at the same color and clarity" in text
    heavier, times = 100 * (1.1 ** exact["coef"]["log(carat)"] - 1), exact["coef"]["clarity[T.IF]"]
    assert f"{heavier:.0f}% and {np.exp(times):.1f} times." in text
    assert "NOT PRIVATE" not in text


@pytest.mark.parametrize("missing", [True, False])
def test_demo_needs_no_picture(monkeypatch, tmp_path, missing):
    from dpreg.faces.cli.demo import demo

    if missing:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    out = io.StringIO()
    assert demo(out, str(tmp_path / "no folder/demo.png"))
    said = "pip install 'dpreg[plots]'" if missing else "cannot be written"
    assert said in out.getvalue().splitlines()[-1]
