"""`dpreg budget`, as those type it who keep the data."""

from __future__ import annotations

import io
import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.faces.cli.commands import main


@pytest.fixture
def ledger(tmp_path):
    path = str(tmp_path / "visits.ledger")
    assert main(["budget", "new", path, "--eps", "3", "--delta", "1e-5", "--name", "visits"]) == 0
    return path


def spend(ledger, user, label, eps):
    dpreg.Budget.open(ledger, user=user).spend(label, eps)


def test_new_show_and_charges(ledger, tmp_path, capsys):
    spend(ledger, "ada", "counts", 0.5)
    spend(ledger, "bea", "means", 0.25)
    spend(ledger, "ada", "counts again", 0.5)
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    capsys.readouterr()
    call = ["budget", "show", ledger, "--html", str(page), "--plot", str(picture)]
    assert main(call) == 0
    out = capsys.readouterr().out
    assert "eps=1.75, delta=1e-05 left after 3 charges" in out
    assert ["ada", "2", "1.00", "0.0"] in [line.split() for line in out.splitlines()]
    assert page.read_text().startswith("<!doctype html>")
    assert "counts again" in page.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["budget", "charges", ledger]) == 0
    frame = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert frame["user"].tolist() == ["ada", "bea", "ada"]
    assert frame["eps"].tolist() == [0.5, 0.25, 0.5]


def test_charges_with_their_certificates(ledger, diamonds, capsys):
    kept = dpreg.Budget.open(ledger, user="ada")
    fit = dpreg.dp_lm("price ~ carat", diamonds, 0.5, 1e-6, budget=kept)
    kept.spend("a count", 0.5)
    capsys.readouterr()
    assert main(["budget", "charges", ledger, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["certificate"] == json.loads(fit.privacy.to_json())
    assert (first["user"], first["formula"], first["status"]) == (
        "ada",
        "price ~ carat",
        "released",
    )
    assert (second["label"], second["certificate"]) == ("a count", None)
    assert second["paid"]["epsilon"] == 0.5


def test_totals_of_other_accountings(tmp_path, capsys):
    for name, options in {"gdp": ["--mu", "0.5"], "zcdp": ["--rho", "0.1"]}.items():
        path = str(tmp_path / name)
        assert main(["budget", "new", path, *options]) == 0
        assert main(["budget", "spend", path, "a histogram", "--eps", "0.1"]) == 0
        assert dpreg.Budget.open(path).accounting == name
        assert main(["budget", "show", path]) == 0
        assert "a histogram" not in capsys.readouterr().err


def test_spend_is_refused_beyond_the_total(ledger, capsys):
    assert main(["budget", "spend", ledger, "a count", "--eps", "2.5"]) == 0
    assert main(["budget", "spend", ledger, "another", "--eps", "2.5"]) == 2
    assert "only eps=0.5" in capsys.readouterr().err
    assert len(dpreg.Budget.open(ledger).charges) == 1


def test_verify(ledger, capsys):
    capsys.readouterr()
    spend(ledger, "ada", "counts", 0.5)
    assert main(["budget", "verify", ledger]) == 0
    seal = dpreg.Budget.open(ledger).seal
    assert capsys.readouterr().out == f"1 entry, whole\nseal: {seal}\n"
    spend(ledger, "ada", "counts", 0.25)
    assert main(["budget", "verify", ledger, "--seal", seal]) == 0
    assert "2 entries, whole" in capsys.readouterr().out
    assert main(["budget", "verify", ledger, "--seal", "0" * 64]) == 1
    assert "are missing" in capsys.readouterr().err


def test_verify_sees_what_was_changed(ledger, capsys):
    spend(ledger, "ada", "counts", 0.5)
    with sqlite3.connect(ledger) as database:
        database.execute("UPDATE entries SET content = replace(content, '0.5', '0.1')")
    database.close()
    assert main(["budget", "verify", ledger]) == 1
    assert "entry 1 was changed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["new", "LEDGER", "--eps", "1"], "already exists; try dpreg budget show"),
        (["new", "other"], "--eps: the total is missing; write --eps 1.0"),
        (["new", "other", "--eps", "1", "--mu", "1"], "leave --mu out"),
        (["new", "other", "--eps", "1", "--accounting", "GDP"], "write --accounting gdp"),
        (["show", "other"], "there is no such file"),
        (["verify", "other"], "there is no such file"),
        (["spend", "LEDGER", "a count"], "--eps must be given, or mu; write --eps 0.5"),
        (["show", "LEDGER", "--html", "no/where.html"], "--html: cannot write"),
    ],
)
def test_wrong_use(arguments, says, ledger, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["budget", *(ledger if a == "LEDGER" else a for a in arguments)]) == 2
    assert says in capsys.readouterr().err


@pytest.fixture
def visits(tmp_path):
    generator = np.random.default_rng(3)
    region, x = generator.choice(["north", "south", "west"], 2000), generator.normal(size=2000)
    frame = pd.DataFrame({"y": x + generator.normal(size=2000), "x": x, "region": region})
    frame.to_parquet(tmp_path / "visits.parquet")
    return str(tmp_path / "visits.parquet")


def test_strata_pay_side_by_side(ledger, visits, capsys):
    assert main(["budget", "partition", ledger, "region=north,south"]) == 0
    assert "region = 'south'): eps=3" in capsys.readouterr().out
    # With 660 rows noise alone may hide the response.
    paid = ["--budget", ledger, "--eps", "2", "--delta", "1e-6", "--rng", "1"]
    for level in ("north", "south"):
        call = ["fit", "y ~ .", visits, *paid, "--stratum", f"region={level}", "--method", "adassp"]
        assert main(call) == 0
        assert f"only rows with region = '{level}' were used" in capsys.readouterr().out
    assert main(["select", "y ~ .", visits, "--k", "1", "--eps", "0.5", "--budget", ledger,
                 "--stratum", "region=south"]) == 0  # fmt: skip
    assert main(["budget", "spend", ledger, "a count", "--eps", "0.25", "--stratum",
                 "region=north"]) == 0  # fmt: skip
    assert "StratumBudget(region = 'north'): eps=0.75" in capsys.readouterr().out
    kept = dpreg.Budget.open(ledger)
    assert kept.remaining == (0.5, 9e-6)
    assert main(["budget", "show", ledger]) == 0
    out = capsys.readouterr().out
    assert "StratumBudget(region = 'south'): eps=0.5, delta=9e-06 left, 2 of" in out


def test_levels_that_look_like_numbers(ledger):
    assert main(["budget", "partition", ledger, "year=2024,2025"]) == 0
    assert main(["budget", "partition", ledger, "ward=1,2", "--text"]) == 0
    assert main(["budget", "partition", ledger, 'place=a,"b, c",1']) == 0
    partitions = dpreg.Budget.open(ledger).partitions
    assert partitions == {"year": (2024, 2025), "ward": ("1", "2"), "place": ("a", "b, c", "1")}
    assert main(["budget", "spend", ledger, "x", "--eps", "1", "--stratum", "year=2025"]) == 0
    assert dpreg.Budget.open(ledger).charges[0].stratum.level == 2025


@pytest.mark.parametrize(("call", "says"), [
    (["budget", "partition", "LEDGER", "region"], "COLUMN=A,B,... must be the name of a column"),
    (["budget", "partition", "LEDGER", "region=a"], "COLUMN=A,B,...: 'region' needs at least two"),
    (["budget", "partition", "LEDGER", "known=a,c"],
     "COLUMN=A,B,...: those of 'known' were declared before, as a, b"),
    (["budget", "spend", "LEDGER", "x", "--eps", "1", "--stratum", "known=c"],
     "--stratum: 'known' has no level 'c'; it has a, b"),
    (["budget", "spend", "LEDGER", "x", "--eps", "1", "--stratum", "new=c"],
     "declare its strata with dpreg budget partition LEDGER new=A,B,..."),
    (["fit", "y ~ x", "DATA", "--eps", "1", "--stratum", "known=a"], "add --budget FILE"),
    (["fit", "y ~ x", "DATA", "--eps", "1", "--stratum", "known=a", "--budget", "LEDGER"],
     "--budget is divided by 'known', and there is no column 'known'"),
    (["fit", "y ~ x", "DATA", "--eps", "1", "--stratum", "known", "--budget", "LEDGER"],
     "--stratum must be COLUMN=LEVEL, got 'known'"),
    (["fit", "y ~ x + region", "DATA", "--eps", "1", "--stratum", "region=north", "--budget",
      "LEDGER"], "FORMULA: 'region' divides the budget"),
])  # fmt: skip
def test_mistakes_with_strata(ledger, visits, capsys, call, says):
    budget = dpreg.Budget.open(ledger)
    budget.partition("known", ["a", "b"])
    budget.partition("region", ["north", "south"])
    named = {"LEDGER": ledger, "DATA": visits}
    assert main([named.get(word, word) for word in call]) == 2
    assert says.replace("LEDGER", ledger) in capsys.readouterr().err
    assert budget.charges == ()
