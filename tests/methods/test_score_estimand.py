"""What a fit says it estimates, and how far least squares may lie from that."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.base.families import BINOMIAL
from dpreg.estimation.base import Release
from dpreg.estimation.inference.estimand import Estimand, clipping_note
from dpreg.estimation.newton.fit import estimand
from dpreg.estimation.newton.norm_tail import ScoreCut

N = 20_000


def skewed(seed):
    """Errors whose tail leans to one side where x is large: limits move both coefficients.

    The tail falls off by a power of 2.2; of 1.6, with which errors have no variance, .69 of
    coefficients are within the effect.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    error = (rng.pareto(2.2, N) - 1 / 1.2) * np.exp(0.5 * x)
    return pd.DataFrame({"x": x, "y": 1 + x + error})


def plain(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    return pd.DataFrame({"x": x, "t": rng.normal(size=N), "y": 1 + x + rng.normal(size=N)})


def test_of_normal_rows_the_effect_is_released_and_the_summary_says_nothing():
    fit = dpreg.dp_lm("y ~ x", plain(1), 1.0, 1e-6, rng=1)
    table = fit.tidy()
    assert (table["clipping"] > 0).all()
    farthest = (table["clipping"] / table["std err"]).max()
    # Counts hide some 25 units, which may be far out.
    assert farthest < 3
    assert fit.estimand.clipping_effect == pytest.approx(farthest)
    assert fit.notes == ()
    assert "Estimand: clipped least squares ====" in " ".join(str(fit.summary()).split())
    # In the units of the coefficients, but for bins that lie elsewhere.
    again = dpreg.dp_lm("y ~ x", plain(1).assign(y=lambda d: 8 * d["y"]), 1.0, 1e-6, rng=1)
    np.testing.assert_allclose(again.clipping, 8 * fit.clipping, rtol=0.6)


def test_least_squares_is_mostly_within_the_effect():
    """Of 32 coefficients 27 are covered, and all within the effect."""
    covered, within = [], []
    for seed in range(16):
        data = skewed(seed)
        fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, rng=seed)
        exact = np.polyfit(data["x"], data["y"], 1)[::-1]
        away = np.abs(fit.params - exact).to_numpy()
        # Of the noise alone: the sample is the population.
        margin = 3 * fit.tidy()["privacy"].to_numpy()
        covered += list(away < margin)
        within += list(away < margin + fit.clipping)
        assert fit.estimand.matters == any("influential row" in note for note in fit.notes)
    assert np.mean(covered) < 0.9
    assert np.mean(within) > 0.85


def test_a_given_coefficient_is_not_clipped_and_other_methods_have_no_clipping_effect():
    fit = dpreg.dp_lm("y ~ x + offset(t)", plain(2), 1.0, 1e-6, rng=2)
    assert fit.clipping[fit.names.index("offset(t)")] == 0
    again = dpreg.DPResults.from_json(fit.to_json())
    np.testing.assert_array_equal(again.clipping, fit.clipping)
    assert again.estimand == fit.estimand == pickle.loads(pickle.dumps(fit)).estimand
    other = dpreg.dp_lm("y ~ x", plain(2), 1.0, 1e-6, method="tukey", rng=2)
    assert other.clipping is None
    assert other.tidy()["clipping"].isna().all()
    assert other.estimand.name.startswith("Tukey median of ")
    assert "clipping" not in str(other.summary())


@pytest.mark.parametrize(
    ("effect", "surely", "matters"),
    [(None, 30.0, False), (0.49, 30.0, False), (0.5, 30.0, True), (7.7, 0.0, False)],
)
def test_clipping_matters_where_it_is_known_and_half_a_standard_error(effect, surely, matters):
    estimand = Estimand("clipped least squares", 9.0, 9.0, 320.4, effect, surely)
    assert estimand.matters == matters
    assert bool(clipping_note(estimand, "price")) == matters


def test_notes_are_where_rows_are_clipped_and_not_else():
    """7 of 24 fits of 600 wide lognormal responses have a note, and none of normal ones."""
    noted = {}
    for wide in (False, True):
        notes = []
        for seed in range(24):
            rng = np.random.default_rng(seed)
            x, error = rng.normal(size=(2, 600))
            data = {"x": x, "y": np.exp(2 * error + x) if wide else x + error}
            fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, rng=seed)
            notes += [note for note in fit.notes if "clipped" in note]
        noted[wide] = len(notes)
    assert noted[False] == 0
    assert noted[True] >= 3


def test_the_note_names_the_number_of_rows_the_effect_and_a_remedy():
    estimand = Estimand("clipped least squares", 56.0, 28.0, 320.4, 7.7, 61.2)
    note = (
        "at least about 61 influential rows were clipped, as in a Huber regression: ordinary least "
        "squares may differ by 7.7 standard errors or more (see fit.clipping)"
    )
    assert clipping_note(estimand, "price") == (f"{note}.  Heavy tails? Try log(price)",)
    assert clipping_note(estimand, "log(price)") == (note,)
    one = replace(estimand, name="clipped maximum likelihood", surely_clipped=0.6)
    assert clipping_note(one.within_bounds(), "price") == (
        "at least about 1 influential row was clipped, as in a Huber regression: maximum "
        "likelihood within bounds may differ by 7.7 standard errors or more (see fit.clipping)",
    )


def test_near_bounds_change_what_is_estimated_and_the_summary_says_so():
    """The effect of clipping is that on least squares of values within bounds."""
    data = skewed(1)
    near = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, bounds={"x": (-1, 1), "y": (-3, 3)}, rng=1)
    assert near.estimand.name.endswith("least squares within bounds")
    assert "least squares within bounds" in str(near.summary())
    away = {}
    for name, of in {
        "all": data,
        "within": data.assign(x=data.x.clip(-1, 1), y=data.y.clip(-3, 3)),
    }.items():
        exact = np.polyfit(of["x"], of["y"], 1)[::-1]
        away[name] = np.max(np.abs(near.params - exact) / near.bse)
    assert away["within"] < near.estimand.clipping_effect + 3 < away["all"]
    logit = dpreg.dp_glm("I(t > 0) ~ x", plain(1), 1.0, 1e-6, bounds={"x": (-1, 1)}, rng=1)
    assert logit.estimand.name.endswith("maximum likelihood within bounds")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"family": "poisson"}, "maximum likelihood"),
        ({"family": "binomial", "link": "probit"}, "unweighted score equations"),
        ({"family": dpreg.Quantile(0.5)}, "quantile regression (0.5)"),
    ],
)
def test_other_families_name_their_own(options, what):
    data = plain(3)
    rate = np.exp(0.3 * data["x"])
    y = np.random.default_rng(3).poisson(rate)
    data["y"] = np.minimum(y, 1) if options["family"] == "binomial" else y
    fit = dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, rng=3, **options)
    assert fit.estimand.name.removeprefix("clipped ") == what
    assert what in str(fit.summary())


def test_where_no_coefficient_has_an_error_the_effect_is_unknown_rather_than_0():
    covariance, cut = np.full((2, 2), np.nan), ScoreCut(120.0, 0.0, 3.0)
    release = Release(
        params=np.zeros(2),
        covariance=covariance,
        sampling=None,
        clipping=np.full(2, np.nan),
        units=1e4,
        parts=(),
        composition="",
    )
    found = estimand(8.0, 9.0, cut, BINOMIAL, release)
    assert (found.name, found.clipping_effect) == ("clipped maximum likelihood", None)
    covariance[1, 1], release.clipping[1] = 4.0, 6.0
    assert estimand(8.0, 9.0, cut, BINOMIAL, release).clipping_effect == 3.0


def test_limits_of_responses_of_a_log_link_are_named_and_bounds_replace_them():
    """The effect of clipping does not count them: two counts of 500 in 5,000 are beyond."""
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": rng.normal(size=5_000)})
    data["y"] = rng.poisson(np.exp(0.3 * data["x"]))
    data.loc[:1, "y"] = 500
    limits = []
    for bounds in (None, {"y": (0, 500)}):
        fit = dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, family="poisson", bounds=bounds, rng=4)
        (note,) = (note for note in fit.notes if note.startswith("responses are clipped to [0, "))
        assert "not estimated; bounds of the response replace this limit" in note
        limits.append(float(note.split("[0, ")[1].split("]")[0]))
    assert limits[0] < 500 <= limits[1]
