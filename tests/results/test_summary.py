"""Summaries: in text, HTML and LaTeX, of one fit and of several side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.formula.api as smf

import dpreg
from dpreg.privacy.certificate import Certificate, Part

pytestmark = pytest.mark.usefixtures("coarse_losses")


@pytest.fixture(scope="module")
def fit(diamonds):
    return dpreg.dp_lm("log(price) ~ log(carat) + depth", diamonds, 1.0, rng=1)


def test_compare_of_nothing_says_what_it_needs():
    with pytest.raises(ValueError, match="one or more released fits"):
        dpreg.compare()


def test_compare_says_which_is_no_fit(fit):
    with pytest.raises(ValueError, match=r"\(2\) is an int; leave it out"):
        dpreg.compare([fit, 3])


@pytest.mark.parametrize("arguments", [lambda f: (f, f), lambda f: (f,), lambda f: (3,)])
def test_compare_takes_one_list(fit, arguments):
    with pytest.raises(ValueError, match=r"compare\(\[first, second\]\)"):
        dpreg.compare(*arguments(fit))


def test_summary_in_three_formats(fit):
    summary = fit.summary()
    text = str(summary)
    for term in fit.names:
        assert term in text
    noted = str(replace(fit, notes=("one thing",)).summary())
    assert "Note: one thing." in noted
    assert "Epsilon:" in text
    assert "<table" in summary.as_html()
    assert summary._repr_html_() == fit._repr_html_()
    latex = summary.as_latex()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2
    assert "[0.005" in str(fit.summary(alpha=0.01))


def test_names_of_columns_are_text_in_html():
    """Of `<b>` a browser made bold type, and of `<script>` a program."""
    x = np.random.default_rng(1).normal(size=400)
    fit = dpreg.dp_lm("y ~ `<b>`", {"<b>": x, "y": x}, 5.0, 1e-6, rng=1)
    for shown in (fit.summary(), dpreg.compare({"<i>": fit})):
        assert "&lt;b&gt;" in shown.as_html()
        assert "<b>" not in shown.as_html()
        assert "<b>" in str(shown)
        assert "$<$b$>$" in shown.as_latex()  # in old fonts < is an exclamation mark


def test_fits_side_by_side(diamonds):
    fits = [dpreg.dp_lm(f, diamonds, 1.0, rng=1) for f in ("price ~ carat", "price ~ carat + x")]
    text = str(dpreg.compare(fits))
    assert f"{fits[0].params['carat']:.5g}" in text
    assert f"({fits[1].bse['x']:.3g})" in text
    assert "NOT PRIVATE" in text
    assert "<table" in dpreg.compare({"small": fits[0]}).as_html()
    assert r"\begin{" in dpreg.compare(fits).as_latex()
    with pytest.raises(ValueError, match="fits"):
        dpreg.compare([])


def test_many_fits_side_by_side_are_no_wider_than_a_page(diamonds):
    """Eight were 126 columns wide."""
    fit = dpreg.dp_lm("price ~ carat + x", diamonds, 1.0, rng=1)
    named = {f"model of price {k}": fit for k in range(8)}
    text = str(dpreg.compare(named))
    assert max(map(len, text.split("\n"))) <= 100
    assert all(text.split("NOT PRIVATE")[0].count(name) == 1 for name in named)
    assert text.count("Private Linear Regressions") == 1
    assert r"\begin{" in dpreg.compare(named).as_latex()


def test_certificates_put_rounds_that_are_alike_on_one_line():
    def part(label, mu):
        return Part(label, 0.0, 0.0, "noise", sensitivity=1.0, scale=1 / mu, mu=mu)

    certificate = Certificate(
        mechanism="m", epsilon=1.0, delta=1e-6, unit="one row", composition="c",
        parts=(part("round 1 of 3", 0.1), part("round 2 of 3", 0.1), part("round 3 of 3", 0.2)),
        public=(), seeded=False, version="0",
    )  # fmt: skip
    assert str(certificate).splitlines()[1:] == [
        "  m in 3 noisy steps, c composition, dpreg 0",
        "  what                     share   noise  sensitivity",
        "  round 1 to 2 of 3, each  mu=0.1  noise  1",
        "  round 3 of 3             mu=0.2  noise  1",
    ]
    frame = certificate.to_frame()
    assert frame.columns.tolist() == ["what", "share", "noise", "sensitivity"]
    assert frame["what"].tolist() == [f"round {k} of 3" for k in (1, 2, 3)]
    assert "<td>round 2 of 3</td>" in certificate._repr_html_()


def test_no_line_of_a_certificate_is_longer_than_a_page(diamonds):
    for method in ("tukey", "dpsgd", "frank_wolfe", "auto"):
        fit = dpreg.dp_lm("price ~ carat + depth", diamonds, 1.0, method=method)
        assert max(map(len, str(fit.privacy).splitlines())) <= 106


def test_a_summary_is_a_table_its_privacy_and_at_most_two_notes(diamonds):
    """35 lines before; notes that every fit had are in the documentation."""
    fit = dpreg.dp_lm("price ~ carat + depth + table", diamonds, 1.0, 1e-6)
    lines = str(fit.summary()).splitlines()
    assert len(lines) <= 19
    (place,) = (k for k, line in enumerate(lines) if line.startswith("Privacy: "))
    assert lines[place] == f"Privacy: {fit.privacy.claim}"
    assert place == 6 + 3 + 4 + 1
    assert "noisy steps" not in str(fit.summary())
    assert f"{len(fit.privacy.parts)} noisy steps, {fit.privacy.composition}" in str(fit.privacy)
    for part in fit.privacy.parts:
        assert part.noise not in fit.summary().as_html() + fit.summary().as_latex()
        assert part.noise in str(fit.privacy)
    many = replace(fit, notes=("first", "second", "third", "fourth"))
    assert str(many.summary()).splitlines()[place + 1 :] == [
        "Note: first.", "Note: second.", "2 more notes in fit.notes.",
    ]  # fmt: skip


def test_what_has_no_value_is_said_and_not_left_out():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(30_000)
    data = {"x": x, "z": np.zeros(30_000), "y": x + rng.standard_normal(30_000)}
    for method in ("boosted_adassp", "tukey"):
        fit = dpreg.dp_lm("y ~ x + z", data, 1.0, 1e-6, method=method, rng=1)
        (line,) = (row for row in str(fit).splitlines() if row.startswith("z "))
        assert line.split()[1:] == ["n/a"] * 8


def test_statsmodels_lays_fits_out_beside_its_own(diamonds):
    from statsmodels.iolib.summary2 import summary_col

    exact = smf.ols("price ~ carat + depth", diamonds).fit()
    fit = dpreg.dp_lm("price ~ carat + depth", diamonds, 1.0, rng=1)
    assert fit.model.exog_names == exact.model.exog_names == list(fit.names)
    table = summary_col([exact, fit], stars=True, include_r2=False).tables[0]
    assert list(table.columns) == ["price", "price (NOT PRIVATE)"]
    shown = table.iloc[::2, 1].str.rstrip("*").astype(float)
    np.testing.assert_allclose(shown, fit.params, atol=5e-5)
    errors = table.iloc[1::2, 1].str.strip("()").astype(float)
    np.testing.assert_allclose(errors, fit.bse, atol=5e-5)
    assert "price (NOT PRIVATE)" in str(summary_col([fit]))
