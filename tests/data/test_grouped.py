"""Rows put together by group: the same groups wherever the rows are."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unsealed import count_of, opened

import dpreg
from dpreg import _core
from dpreg.data import expanded, observations
from dpreg.data.design import Design, Terms, Units
from dpreg.data.expanded import by_group
from dpreg.data.observations import Collector, InMemory
from dpreg.estimation.blocks.model_rows import rows_of_models
from dpreg.estimation.releases.quantised import MappedRows, Recipe


def spooled(X, y, cuts, memory=0.0):
    collector = Collector(memory)
    for begin, end in itertools.pairwise([0, *cuts, len(y)]):
        collector.append(X[begin:end], y[begin:end])
    return collector.observations(X.shape[1])


@st.composite
def tables(draw):
    """Rows, cuts of them into blocks, and groups of some of them, of which some may be empty."""
    n = draw(st.integers(1, 25))
    rows = draw(st.permutations(range(n)))[: draw(st.integers(0, n))]
    ends = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=8)))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    X = np.arange(2.0 * n).reshape(n, 2)
    return X, -np.arange(float(n)), cuts, np.array([0, *ends, len(rows)]), np.array(rows, dtype=int)


@settings(max_examples=100, deadline=None)
@given(tables(), st.sampled_from([0.0, 300.0]), st.booleans())
def test_groups_are_whole_and_in_order(table, memory, even):
    X, y, cuts, offsets, rows = table
    wanted = [rows[a:b] for a, b in itertools.pairwise(offsets)]
    for kept in (InMemory(X, y), spooled(X, y, cuts, memory)):
        found, last = [], 0
        for block in by_group(kept, offsets, rows, even=even):
            assert block.first == last
            assert not even or block.first % 2 == 0
            last = block.last
            for a, b in itertools.pairwise(block.offsets):
                found.append((block.X[block.rows[a:b]], block.y[block.rows[a:b]]))
        assert last == len(wanted)
        for (own_x, own_y), places in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(own_x, X[places])
            np.testing.assert_array_equal(own_y, y[places])


@pytest.mark.parametrize("even", [False, True])
def test_no_group_is_one_block_without_rows(even):
    """A sample may leave no unit; how many it leaves must not decide between a fit and a crash."""
    X, y, none = np.ones((5, 2)), np.ones(5), np.zeros(0, dtype=int)
    for kept in (InMemory(X, y), spooled(X, y, [2])):
        (block,) = by_group(kept, np.array([0]), none, even=even)
        assert block.first == block.last == len(block.rows) == 0
        assert block.offsets.tolist() == [0]


def world(n=4000):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 2))
    return (
        X,
        X.sum(axis=1) + rng.standard_normal(n),
        rng.integers(0, n // 3, n),
        Terms("y", ("a", "b"), True),
    )


def test_blocks_of_groups_are_few_rows_and_many_blocks():
    X, y, labels, _ = world()
    units = Units.from_labels(labels)
    blocks = list(by_group(spooled(X, y, [1000]), units.offsets, units.rows))
    assert len(blocks) > expanded._MOST_BLOCKS / 2
    assert max(len(block.y) for block in blocks) <= 4000 / expanded._MOST_BLOCKS + 1


def test_sums_over_units_do_not_depend_on_where_rows_are():
    X, y, labels, terms = world()
    ones = np.ones(2)
    recipe = Recipe(np.arange(2), -3 * ones, 3 * ones, 0 * ones, ones, 0.0, 1.0, True, 3.0)
    theta = np.array([0.1, 0.9, 0.8])
    found = []
    for rows in (InMemory(X, y), spooled(X, y, [7, 2000])):
        by_unit = Design.of_rows(rows, terms, Units.from_labels(labels))
        for kept in (True, False):
            mapped = MappedRows(by_unit, recipe, kept=kept)
            sums = [mapped.score(theta, 2.0), mapped.score_products(theta, 2.0)]
            sums += [mapped.score_norms(theta), mapped.gram(), mapped.curvature(theta, 3.0)]
            found.append(sums)
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(opened(one), opened(two))


@pytest.mark.parametrize("by_unit", [False, True])
def test_models_have_the_same_rows_in_the_same_order(by_unit):
    X, y, labels, terms = world()
    units = Units.from_labels(labels) if by_unit else None
    fits = []
    for rows in (InMemory(X, y), spooled(X, y, [7, 2000])):
        design = Design.of_rows(rows, terms, units)
        assignment = _core.assign_to_slots(count_of(design), 41, 60, _core.TestBits(3))
        parts = list(rows_of_models(design, assignment))
        fits.append(
            np.vstack([
                _core.fit_batches(part.X, part.y, of, unit_offsets=part.unit_offsets,
                                  unit_rows=part.unit_rows, ridge=0.01, refinements=4,
                                  intercept=True, log_spreads=True)
                for part, of in parts
            ])
        )  # fmt: skip
    assert len(parts) > 10
    np.testing.assert_array_equal(fits[0], fits[1])


@pytest.mark.parametrize(
    ("call", "options"),
    [
        (dpreg.dp_lm, {}),
        (dpreg.dp_lm, {"unit": "who"}),
        (dpreg.dp_lm, {"unit": "who", "method": dpreg.BoostedAdaSSP(max_rows=3)}),
        (dpreg.dp_lm, {"unit": "who", "method": dpreg.AdaSSP(max_rows=3)}),
        (dpreg.dp_lm, {"method": "tukey"}),
        (dpreg.dp_lm, {"method": "tukey", "unit": "who"}),
        (dpreg.dp_lm, {"k": 1, "select": "sis", "bounds": {"x": (-9, 9), "y": (-9, 9)}}),
        (dpreg.dp_glm, {"family": "poisson", "unit": "who"}),
    ],
)
def test_no_more_than_a_part_of_the_rows_is_held(call, options, monkeypatch):
    """What the page "Data larger than memory" says of these."""

    def held(self):
        raise AssertionError("all rows are in memory")

    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.normal(size=60_000), "who": rng.integers(0, 20_000, 60_000)})
    table["y"] = np.exp(rng.normal(size=60_000)) + table["x"]
    fits = [call("y ~ x", table, 3.0, 1e-6, rng=1, **options).to_json()]
    monkeypatch.setattr(observations._Spooled, "arrays", held)
    fits.append(call("y ~ x", table, 3.0, 1e-6, rng=1, memory=1e6, **options).to_json())
    assert fits[0] == fits[1]
