"""Terms of several columns are chosen or left as a whole, at the noise of single columns."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg import _core
from dpreg.data.design import Terms
from dpreg.estimation.releases.scaling import RANGE, ClippedProducts
from dpreg.privacy.sealed import opened

SELECTORS = {
    "kendall": dpreg.DPKendall(),
    "two_stage": dpreg.TwoStage(),
    "sub_lasso": dpreg.SubLasso(models=300),
    "sis": dpreg.DPSIS(),
}
# The dummies of a factor share bounds.
BOUNDS = {"a": (-4, 4), "b": (-4, 4), "g": (-1, 1), "h": (-1, 1), "y": (-18, 22)}
every_selector = pytest.mark.parametrize("selector", list(SELECTORS.values()), ids=list(SELECTORS))


def frame(n=20_000, seed=1):
    """`g` and `a` matter, `h` and `b` do not."""
    rng = np.random.default_rng(seed)
    g, h = (pd.Categorical.from_codes(rng.integers(4, size=n), list("pqrs")) for _ in range(2))
    a, b = rng.standard_normal((2, n))
    y = 4 * np.isin(g, ["q", "s"]) + 2 * a + rng.standard_normal(n)
    return pd.DataFrame({"g": g, "h": h, "a": a, "b": b, "y": y})


def test_results_of_single_columns_from_before_terms_are_read():
    import json

    old = json.loads(dpreg.dp_select("y ~ a + b", frame(50), 1, 1.0).to_json())
    del old["columns"]
    again = dpreg.SelectionResult.from_json(json.dumps(old))
    assert again.columns == again.selected


@every_selector
def test_a_factor_is_chosen_with_all_its_dummies(selector):
    bounds = BOUNDS if selector.uses_bounds else None
    found = dpreg.dp_select("y ~ .", frame(), 2, 40.0, method=selector, bounds=bounds)
    assert found.candidates == ("g", "h", "a", "b")
    assert set(found.selected) == {"g", "a"}
    assert set(found.columns) == {"g[T.q]", "g[T.r]", "g[T.s]", "a"}
    fit = dpreg.dp_lm("y ~ .", frame(), 60.0, 1e-6, select=selector, k=2, method="adassp",
                      bounds=bounds)  # fmt: skip
    assert set(fit.selected) == {"g", "a"}
    assert fit.names == ("Intercept", "g[T.q]", "g[T.r]", "g[T.s]", "a")
    new = frame(5)
    again = dpreg.DPResults.from_json(fit.to_json())
    for data in (new, new[["g", "a"]]):
        np.testing.assert_array_equal(fit.predict(data), again.predict(data))
    assert list(fit.anova().index) == ["g", "a"]
    with pytest.raises(ValueError, match="between 1 and 4, the number of terms"):
        dpreg.dp_select("y ~ .", frame(), 5, 1.0, method=selector, bounds=bounds)


def test_terms_of_any_kind_have_all_their_columns():
    found = dpreg.dp_select("y ~ g:a + poly(b, 3, raw=True) + I(h == 'q')", frame(300), 3, 1.0)
    assert set(found.selected) == {"g:a", "poly(b, 3, raw=True)", "I(h == 'q')"}
    assert len(found.columns) == 4 + 3 + 1
    assert dpreg.SelectionResult.from_json(found.to_json()) == found


def test_candidates_are_groups_or_single_columns():
    terms = Terms("y", ("a", "g1", "g2", "b"), True, groups={"a": ("a",), "g": ("g1", "g2"),
                                                            "b": ("b",)})  # fmt: skip
    assert terms.candidates == {"a": (0,), "g": (1, 2), "b": (3,)}
    assert terms.keeping((1, 2)).candidates == {"g": (0, 1)}
    assert Terms("y", ("a", "b"), True).candidates == {"a": (0,), "b": (1,)}


# -- ranges of scores, over all neighbours of small worlds -----------------------------------


def neighbours(columns, values, most):
    """Every table of up to `most` rows, with every row that can be added."""
    rows = list(itertools.product(range(values), repeat=columns))
    for n in range(most + 1):
        for world in itertools.combinations_with_replacement(rows, n):
            before = np.array(world, dtype=float).reshape(n, columns)
            for row in rows:
                yield before, np.vstack([before, row])


def between(left, right):
    """|tau| of two terms: the largest of a column of one and one of the other."""
    return max(abs(_core.kendall_tau(a, b)) for a in left.T for b in right.T)


def test_kendall_scores_of_terms_have_the_ranges_of_columns():
    """A term of two columns, one of one, and y: round 1, and round 2 after either of a pair."""
    worst = np.zeros(2)
    for tables in neighbours(4, 2, 2):
        scores = []
        for table in tables:
            y, g, a = table[:, :1], table[:, 1:3], table[:, 3:]
            first = np.array([between(g, y), between(a, y)])
            # As after a choice of the other one, and of a term like the response.
            scores.append([first, first - between(g, a), first - first[::-1]])
        for t, (before, after) in enumerate(zip(*scores, strict=True)):
            change = after - before
            if t == 0:
                assert change.min() >= -_core.KENDALL_SENSITIVITY
                assert change.max() <= _core.KENDALL_LARGEST_RISE
            limit = _core.KENDALL_SCORE_RANGE if t else _core.KENDALL_LABEL_RANGE
            assert np.ptp(change) <= limit
            worst[min(t, 1)] = max(worst[min(t, 1)], np.ptp(change))
    assert (worst >= [1, 2]).all()


def test_products_of_terms_have_the_range_of_columns():
    products = ClippedProducts(np.ones(4), np.ones(4), (0, 2), 1)
    worst = 0.0
    for tables in neighbours(4, 3, 1):
        before, after = (opened(products.seal(products(t[:, 1:], t[:, 0]))) for t in tables)
        worst = max(worst, np.ptp(after - before))
    assert worst == RANGE


def test_a_model_votes_for_k_terms():
    """By the definition, and so that one model more moves a count by at most 1."""
    rng = np.random.default_rng(4)
    starts = [0, 1, 4, 5]
    ends = [*starts[1:], 7]
    for _ in range(30):
        x = rng.standard_normal((40, 7))
        y = x[:, 2] + x[:, 5] + rng.standard_normal(40)
        assignment = _core.assign_to_slots(40, 1, 40, _core.TestBits(1))
        sizes = np.abs(_core.fit_lasso_batches(x, y, assignment, penalty=0.1)[0])
        of_terms = [max(sizes[i:j]) for i, j in zip(starts, ends, strict=True)]
        best = {int(g) for g in np.argsort(of_terms)[::-1][:2]}
        chosen = _core.sub_lasso(x, y, assignment, penalty=0.1, k=2, epsilon=400.0, groups=starts,
                                 bits=_core.TestBits(2))  # fmt: skip
        assert {int(g) for g in chosen} == best
