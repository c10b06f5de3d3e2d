"""The command line, as a user types it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dpreg
from dpreg.cli.commands import main


@pytest.fixture(scope="module")
def data(tmp_path_factory, diamonds):
    path = tmp_path_factory.mktemp("cli") / "diamonds.parquet"
    diamonds.assign(grade=diamonds["cut"].astype(str)).to_parquet(path)
    return str(path)


def test_fit_and_predict(data, tmp_path, capsys):
    model = str(tmp_path / "fit.json")
    assert main(["fit", "price ~ carat", data, "--eps", "1", "--json", model]) == 0
    out = capsys.readouterr().out
    assert "carat" in out
    assert "differentially private" in out
    fit = dpreg.DPResults.from_json((tmp_path / "fit.json").read_text())
    assert main(["predict", model, data]) == 0
    predicted = pd.read_csv(io.StringIO(capsys.readouterr().out))
    pd.testing.assert_series_equal(predicted["prediction"], fit.predict(data))


def test_frank_wolfe_by_name(data, capsys):
    arguments = ["fit", "price ~ carat + depth", data, "--eps", "1", "--method", "frank_wolfe"]
    assert main(arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "frank_wolfe, zCDP composition" in out
    assert "Standard errors: none, because" in out


def test_not_released_is_exit_code_3(data, tmp_path, capsys):
    model = tmp_path / "fit.json"
    code = main(
        ["fit", "price ~ carat", data, "--eps", "0.001", "--method", "tukey", "--json", str(model)]
    )
    assert code == 3
    out = capsys.readouterr().out
    assert "Not released" in out
    assert "inference=False" not in out
    assert "number of units: eps=" in out
    assert "dpreg_not_released" in json.loads(model.read_text())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit", "price ~ scale(carat)", "DATA", "--eps", "1"], "other rows"),
        (["fit", "price ~ carat", "DATA", "--eps", "0"], "eps must be"),
        (["fit", "price ~ carat", "nope.parquet", "--eps", "1"], "cannot read"),
        (["fit", "price ~ grade", "DATA", "--eps", "1"], "levels"),
        (["fit", "price ~ grade", "DATA", "--eps", "1", "--levels", "grade"], "COLUMN=A,B"),
        (["fit", "price ~ carat", "DATA", "--eps", "1", "--ledger", "x"], "--total-eps"),
        (["predict", "nope.json", "DATA"], "cannot read"),
        (["select", "price ~ carat", "DATA", "--k", "2", "--eps", "1"], "k must be"),
        (["select", "price ~ carat", "DATA", "--k", "1", "--eps", "1", "--method", "x"], "method"),
        (
            ["select", "price ~ carat", "DATA", "--k", "1", "--eps", "1", "--method", "sis"],
            "public bounds of 'carat'",
        ),
        (
            [
                "select",
                "price ~ carat",
                "DATA",
                "--k",
                "1",
                "--eps",
                "1",
                "--method",
                "sis",
                "--bounds",
                "carat=1",
            ],
            "COLUMN=LOW,HIGH",
        ),
        (["fit", "price ~ carat", "DATA", "--eps", "1", "--select", "kendall"], "--k 5 is"),
        (["fit", "price ~ carat", "nope.parquet", "--eps", "1"], "no such file"),
        (["fit", "price ~ carat", __file__, "--eps", "1"], "to_parquet("),
        (["fit", "price ~ grade", "DATA", "--eps", "1"], "add --levels 'grade=first,second,...'"),
        (["fit", "price ~ carat", "DATA", "--eps", "1", "--levels", "carat=1,2"],
         "write C(carat, levels=[1, 2, ...]) in the formula"),
        (["fit", "price ~ carat", "DATA", "--eps", "1", "--delta", "0"], "write --delta 1e-6"),
        (["fit", "price ~ carat", "DATA", "--eps", "1", "--k", "1"],
         "add --select kendall, or leave --k out"),
        (["fit", "price ~ carat", "DATA", "--eps", "1", "--unit", "u"], "--unit: there is no"),
        (["fit", "price ~ carat", "DATA", "--eps", "1", "--bounds", "carat=0,5"],
         "--bounds is for --select sis"),
        (["select", "price ~ carat", "DATA", "--k", "1", "--eps", "1", "--bounds", "carat=0,5"],
         "--bounds is for --method sis"),
        (["select", "price ~ carat", "DATA", "--k", "1", "--eps", "1", "--method", "sis",
          "--bounds", "carat=0,5"], "write --bounds 'price=LOW,HIGH'"),
        (["fit", "price ~ carat", "DATA", "--eps", "1", "--method", "x"], "--method must be"),
        (["fit", "price ~ I(k=5)", "DATA", "--eps", "1"], "'I(k=5)'"),
    ],
)  # fmt: skip
def test_wrong_use_is_exit_code_2(arguments, says, data, capsys):
    assert main([data if a == "DATA" else a for a in arguments]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("command", ["fit", "select"])
def test_a_result_that_cannot_be_written_costs_nothing(command, data, tmp_path, capsys):
    ledger = tmp_path / "ledger"
    call = [command, "price ~ carat", data, "--eps", "1", "--ledger", str(ledger),
            "--total-eps", "1", *(["--k", "1"] if command == "select" else [])]  # fmt: skip
    assert main([*call, "--json", str(tmp_path / "nowhere" / "fit.json")]) == 2
    assert "--json: cannot write" in capsys.readouterr().err
    assert dpreg.Budget(1.0, 1e-5, ledger=ledger).charges == ()
    # Wrong use leaves neither a new file nor a changed one.
    model = tmp_path / "fit.json"
    assert main([command, "price ~ nope", *call[2:], "--json", str(model)]) == 2
    assert not model.exists()
    model.write_text("mine")
    assert main([command, "price ~ nope", *call[2:], "--json", str(model)]) == 2
    assert model.read_text() == "mine"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_result_that_was_paid_for_is_not_lost(data, capsys):
    """The file can be opened; it is full when the result is there."""
    assert main(["fit", "price ~ carat", data, "--eps", "1", "--json", "/dev/full"]) == 4
    captured = capsys.readouterr()
    assert "--json: cannot write '/dev/full'" in captured.err
    assert "Private Linear Regression Results" in captured.out
    fit = dpreg.DPResults.from_json(captured.out[captured.out.index("\n{\n") :])
    assert fit.names == ("Intercept", "carat")


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


def test_levels_and_ledger(data, tmp_path, capsys):
    ledger = str(tmp_path / "ledger")
    call = ["fit", "price ~ grade", data, "--eps", "4", "--levels",
            "grade=Fair,Good,Very Good,Premium,Ideal", "--no-inference",
            "--ledger", ledger, "--total-eps", "6", "--total-delta", "1e-4"]  # fmt: skip
    assert main(call) == 0
    assert main(call) == 2
    assert "only eps=2" in capsys.readouterr().err


def test_select(data, tmp_path, capsys):
    path = tmp_path / "found.json"
    call = ["select", "price ~ carat + depth + x", data, "--k", "2", "--eps", "1"]
    assert main([*call, "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert "Selected 2 of 3 columns for price" in out
    assert "1-differentially private" in out
    found = dpreg.SelectionResult.from_json(path.read_text())
    assert found.summary() + "\n" == out


def test_select_by_bounded_products_and_fit_of_the_chosen(data, capsys):
    bounds = ["--bounds", "carat=0,5", "--bounds", "depth=40,80", "--bounds", "price=0,20000"]
    call = ["select", "price ~ carat + depth", data, "--k", "1", "--eps", "2", "--method", "sis"]
    assert main([*call, *bounds]) == 0
    assert "in no particular order" in capsys.readouterr().out
    fit = ["fit", "price ~ carat + depth", data, "--eps", "2", "--select", "sis", "--k", "1"]
    assert main([*fit, *bounds]) == 0
    assert "were chosen privately" in " ".join(capsys.readouterr().out.split())


def test_module_and_version():
    run = subprocess.run(
        [sys.executable, "-m", "dpreg", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == f"dpreg {dpreg.__version__}"


def test_demo(capsys):
    from dpreg.cli.demo import demo

    out = io.StringIO()
    assert demo(out) in (True, False)
    assert "How to read it" in out.getvalue() or "declined" in out.getvalue()
