"""DP-SIS as a selector: bounds, both ways of choosing, what is reported."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.estimation.releases.scaling import ClippedProducts

BOUNDS = {**dict.fromkeys("abcdef", (-4, 4)), "y": (-20, 20)}


def frame(n=20_000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 6))
    y = 3 * x[:, 0] - 2 * x[:, 1] + x[:, 2] + rng.standard_normal(n)
    return pd.DataFrame(x, columns=list("abcdef")).assign(y=y)


def chosen(data, k, eps, delta=0.0, *, bounds=BOUNDS, rng=None, **options):
    """Choose by DP-SIS with these options."""
    method = dpreg.DPSIS(**options)
    return dpreg.dp_select("y ~ .", data, k, eps, delta, method=method, bounds=bounds, rng=rng)


@pytest.mark.parametrize("options", [{}, {"noise": "gumbel"}, {"gamma": 0.9}, {"top_k": "peel"}])
def test_finds_the_largest_inner_products(options):
    for seed in range(10):
        found = chosen(frame(), 3, 3.0, rng=seed, **options)
        assert set(found.selected) == {"a", "b", "c"}
        if "top_k" in options:
            assert found.selected == ("a", "b", "c")
        assert found.ordered == ("top_k" in options)


def test_a_set_is_listed_in_the_order_of_the_formula():
    for seed in range(10):
        found = chosen(frame(100), 3, 0.1, rng=seed)
        assert list(found.selected) == sorted(found.selected)
        assert "in no particular order" in str(found.summary())


def test_delta_buys_less_noise_when_peeling_many():
    data = pd.DataFrame(np.zeros((10, 200)), columns=[f"x{j}" for j in range(200)]).assign(y=0.0)
    bounds = dict.fromkeys(data.columns, (-1, 1))
    scales = [chosen(data, 100, 1.0, delta, bounds=bounds, top_k="peel").clarity.scale
              for delta in (0.0, 1e-6)]  # fmt: skip
    assert scales[0] == pytest.approx(200)
    assert scales[1] < 100


def test_one_outlier_is_clipped():
    data = frame()
    data.loc[0, ["f", "y"]] = 1e300, 1e300
    found = chosen(data, 3, 3.0)
    assert "f" not in found.selected


def test_dummies_need_no_bounds_and_may_share_those_of_their_column(diamonds):
    bounds = {"price": (0, 20_000), "carat": (0, 5)}
    for given in (bounds, {**bounds, "cut": (0, 1)}):
        found = dpreg.dp_select("price ~ carat + cut", diamonds, 2, 1.0, method="sis", bounds=given)
        assert len(found.selected) == 2


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        (None, "public bounds of 'a'"),
        ({**BOUNDS, "y": (1, 1)}, "'y' needs low < high"),
        ({**BOUNDS, "b": (0, np.inf)}, "'b' needs low < high"),
        ({**BOUNDS, "b": (np.nan, 1)}, "'b' needs low < high"),
        ({**BOUNDS, "b": 3}, "'b' must be two numbers"),
        ({**BOUNDS, "b": ("a", "b")}, "'b' must be two numbers"),
        ({**BOUNDS, "b": (0, 5e-324)}, "'b' needs low < high"),
        ({k: v for k, v in BOUNDS.items() if k != "f"}, "bounds of 'f'"),
    ],
)
def test_wrong_bounds(bounds, says, monkeypatch):
    monkeypatch.setattr(
        "dpreg.data.problem.read_design", lambda *a: pytest.fail("a record was read")
    )
    with pytest.raises(ValueError, match=says):
        chosen(frame(50), 2, 1.0, bounds=bounds)


@pytest.mark.parametrize("options", [
    {"top_k": "all"}, {"gamma": 1.0}, {"gamma": -0.1}, {"gamma": np.nan}, {"noise": "laplace"},
    {"share": 2},
])  # fmt: skip
def test_wrong_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        dpreg.DPSIS(**options)


def test_gamma_0_has_no_margin():
    found = chosen(frame(), 3, 3.0, gamma=0.0)
    assert found.clarity.margin is None
    assert dpreg.SelectionResult.from_json(found.to_json()) == found


@pytest.mark.parametrize("top_k", ["canonical", "peel"])
def test_a_person_of_many_rows_gives_no_more_than_are_paid_for(top_k, monkeypatch):
    """Grey box: of 50 rows of one person 2 reach the scores, and the noise is twice as large."""
    data = frame(50).assign(person=1)
    seen = []
    inner = ClippedProducts.__call__

    def spy(self, X, y):
        seen.append(len(y))
        return inner(self, X, y)

    monkeypatch.setattr(ClippedProducts, "__call__", spy)
    bounds = {name: BOUNDS[name] for name in "ay"}
    method = dpreg.DPSIS(top_k=top_k, max_rows=2)
    one, found = (
        dpreg.dp_select("y ~ a", data, 1, 1.0, unit=unit, method=method, bounds=bounds)
        for unit in (None, "person")
    )
    assert seen == [50, 2]
    assert found.privacy.parts[0].scale == 2 * one.privacy.parts[0].scale
    assert found.privacy.parts[0].sensitivity == 2 * one.privacy.parts[0].sensitivity
