"""Coefficients of several fits in one picture: what is drawn is what the tables say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import dpreg
from dpreg.faces.plots import plot_beside


@pytest.fixture(scope="module")
def fit(diamonds):
    return dpreg.dp_lm("log(price) ~ log(carat) + depth", diamonds, 0.5, rng=1)


@pytest.fixture
def ax():
    return Figure().subplots()


def test_estimates_and_intervals_are_those_of_the_tables(fit, ax):
    exact = pd.DataFrame({"coef": [1.5, -2.0], "lower": [1.0, -3.0], "upper": [2.0, -1.0]},
                         index=["log(carat)", "table"])  # fmt: skip
    plot_beside({"exact": exact, "private": fit}, ax, alpha=0.1)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["log(carat)", "table", "depth"]
    first, second = ([s[:, 0] for s in lines.get_segments()] for lines in ax.collections)
    np.testing.assert_allclose(first, [[1, 2], [-3, -1]])
    terms = ["log(carat)", "depth"]
    np.testing.assert_allclose(second, fit.conf_int(0.1).loc[terms])
    marks = {line.get_marker(): line for line in ax.lines if line.get_linestyle() == "None"}
    assert set(marks) == {"s", "o"}
    np.testing.assert_allclose(marks["o"].get_xdata(), fit.params[terms])
    np.testing.assert_allclose(np.diff(marks["o"].get_ydata()), [-2])
    assert marks["s"].get_color() != marks["o"].get_color()
    assert "90%" in ax.get_xlabel()


def test_a_seeded_fit_is_marked(fit, ax):
    open_seed = dataclasses.replace(fit, privacy=dataclasses.replace(fit.privacy, seeded=False))
    plot_beside({"first": fit, "second": open_seed}, ax)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["first (seeded: NOT PRIVATE)", "second"]


@pytest.mark.parametrize("number", [0, 5])
def test_more_fits_than_can_be_distinguished_are_refused(fit, number):
    with pytest.raises(ValueError, match=r"^fits must be 1 to 4 fits"):
        plot_beside({str(k): fit for k in range(number)})


def test_terms_are_those_that_were_asked_for_in_their_order(fit, ax):
    pytest.importorskip("matplotlib").use("Agg")
    names = lambda axes: [text.get_text() for text in axes.get_yticklabels()]  # noqa: E731
    assert names(fit.plot(ax, terms=["depth", "Intercept"])) == ["depth", "Intercept"]
    assert names(fit.plot(terms="depth")) == ["depth"]
    assert names(fit.plot()) == ["log(carat)", "depth"]
    drawn = [line for line in fit.plot(terms=["depth"]).lines if line.get_marker() == "o"]
    assert drawn[0].get_xdata() == pytest.approx(fit.tvalues[["depth"]])
    for plot in (fit.plot, lambda terms: plot_beside({"a": fit}, terms=terms)):
        with pytest.raises(dpreg.ArgumentError, match="no coefficient 'dept'; perhaps 'depth'"):
            plot(terms=["dept"])
    with pytest.raises(TypeError, match="write terms"):
        fit.plot(parm=["depth"])
