"""Tables for papers: the numbers of a fit in LaTeX, in HTML, and in what pandoc makes of it."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

import dpreg
from dpreg.faces.plots import plot_beside


@pytest.fixture(scope="module")
def fits():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(2000)
    data = {"x": x, "y": 1 + x + rng.standard_normal(2000)}
    call = {"data": data, "delta": 1e-6, "rng": 1}
    return {
        "one": dpreg.dp_lm("y ~ x", eps=2.0, **call),
        "two": dpreg.dp_lm("y ~ x + I(x**2)", eps=4.0, **call),
    }


def tables(fits):
    found = [dpreg.compare(fits), dpreg.compare([fits["one"]]), fits["two"].summary()]
    return [(table, str(table)) for table in found]


def numbers(text):
    """Those with a decimal point, wherever they are."""
    return set(re.findall(r"-?\d+\.\d+", text))


def test_latex_and_html_have_the_numbers_of_the_text(fits):
    for table, text in tables(fits):
        assert len(numbers(text)) >= 4
        assert numbers(text) <= numbers(table.as_latex())
        assert numbers(text) <= numbers(table.as_html())


def test_latex_has_no_bare_special_characters_and_as_many_cells_in_each_row(fits):
    for table, _ in tables(fits):
        for block in re.findall(
            r"\\begin\{tabular\}\{.*?\}\n(.*?)\\end\{tabular\}", table.as_latex(), re.DOTALL
        ):
            rows = [line for line in block.splitlines() if line.rstrip().endswith("\\\\")]
            counts = {len(re.findall(r"(?<!\\)&", row)) for row in rows}
            assert len(counts) == 1
            assert not any(re.search(r"(?<!\\)[_%#]", row) for row in rows)


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="pandoc is not installed")
def test_pandoc_makes_word_of_the_html(fits, tmp_path):
    for table, text in tables(fits):
        page, word = tmp_path / "table.html", tmp_path / "table.docx"
        page.write_text(table.as_html())
        subprocess.run(["pandoc", page, "-o", word], check=True)
        read = subprocess.run(
            ["pandoc", word, "-t", "plain"], check=True, capture_output=True, text=True
        )
        assert numbers(text) <= numbers(read.stdout)


def test_a_table_with_long_names_is_no_wider_than_a_page():
    rng = np.random.default_rng(1)
    name = "a_very_long_name_of_a_column_of_a_survey"
    data = {"y": rng.normal(size=2000), name: rng.normal(size=2000), "x": rng.normal(size=2000)}
    fit = dpreg.dp_lm(f"y ~ {name} + x", data, 5.0, rng=1)
    lines = str(fit.summary()).splitlines()
    assert max(map(len, lines)) <= 100
    # The name has a line of its own, the numbers the next; short names are beside theirs.
    place = lines.index(name)
    assert f"{fit.params[name]:.4f}" in lines[place + 1]
    assert any(line.startswith("x ") and f"{fit.params['x']:.4f}" in line for line in lines)
    assert name in fit.summary().as_html()


def test_a_name_stays_beside_its_numbers_where_narrower_columns_have_room_for_it():
    rng = np.random.default_rng(1)
    data = {"y": rng.normal(size=2000), "godimportant": rng.normal(size=2000)}
    fit = dpreg.dp_lm("y ~ godimportant", data, 5.0, rng=1)
    lines = str(fit.summary()).splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("godimportant ") for line in lines)


def test_an_offset_has_no_place_in_a_plot_or_a_table():
    pytest.importorskip("matplotlib").use("Agg")
    rng = np.random.default_rng(1)
    data = {"y": rng.normal(size=2000), "x": rng.normal(size=2000), "z": rng.normal(size=2000)}
    fit = dpreg.dp_lm("y ~ x + offset(z)", data, 5.0, rng=1)
    assert [label.get_text() for label in fit.plot().get_yticklabels()] == ["x"]
    ax = plot_beside({"a": fit})
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x"]
    named = [fit.params, fit.bse, fit.pvalues, fit.conf_int(), fit.tidy(), fit.cov_params().T]
    assert all(list(table.index) == ["Intercept", "x"] for table in (*named, fit.cov_params()))
    assert list(fit.marginal_effects(data).index) == ["x"]
    assert "offset" not in str(dpreg.compare([fit]))


def test_advice_and_coefficients_of_rare_levels_are_explained():
    rng = np.random.default_rng(1)
    group = np.where(np.arange(3000) < 3, "rare", np.where(np.arange(3000) % 2, "b", "a"))
    data = {"y": rng.normal(size=3000) + (group == "b"), "g": group}
    fit = dpreg.dp_lm("y ~ g", data, 1.0, levels={"g": ["a", "b", "rare"]}, rng=1)
    assert np.isnan(fit.bse["g[T.rare]"])
    # About half of the rows have an effect of 1, and the mean is .5.
    assert fit.params["g[T.rare]"] == pytest.approx(fit.params["g[T.b]"] / 2, abs=0.05)
    wanted = "a level with too few rows is assigned the mean effect of its factor"
    assert wanted in " ".join(fit.notes)


def test_fits_of_several_families_are_not_called_linear():
    """A gamma regression stood among "Private Linear Regressions", and nothing named its link."""
    diamonds = dpreg.load_diamonds()
    fits = {
        "linear": dpreg.dp_lm("price ~ carat", diamonds, 1.0, rng=1),
        "gamma": dpreg.dp_glm("price ~ carat", diamonds, 1.0, family="gamma", rng=1),
    }
    lines = [line.split() for line in str(dpreg.compare(fits)).splitlines()]
    assert ["Private", "Regressions"] in lines
    assert ["Family", "Gaussian", "Gamma"] in lines
    assert ["Link", "identity", "log"] in lines
    alone = str(dpreg.compare([fits["linear"]]))
    assert "Private Linear Regressions" in alone
    assert "Family" not in alone
