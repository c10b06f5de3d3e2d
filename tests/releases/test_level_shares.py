"""Rows of levels are counted again where some are few: what that costs and gives."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg import _core
from dpreg.data.level_tables import LevelTable
from dpreg.data.observations import InMemory
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.level_shares import LEVELS_AGAIN, level_shares
from dpreg.estimation.releases.statistics import LevelCounts

LABEL = "number of rows of each level"


def released(numbers, *, most=1.0, seed=1, factors=1):
    """Shares and precision, and labels and mu of what was released; the first level is none."""
    level = np.repeat(np.arange(len(numbers)), numbers)
    one = (level[:, None] == np.arange(1, len(numbers))) * 1.0
    X, k = np.hstack([one] * factors), one.shape[1]
    groups = tuple(np.arange(j * k, (j + 1) * k) for j in range(factors))
    noise = GaussianReleases(1.0, 1e-6, _core.TestBits(seed), rows=1)
    exact = InMemory(X, np.zeros(len(X))).total(LevelCounts(groups))
    tables = tuple(map(LevelTable.of_factor, groups))
    shares, precision = level_shares(exact, tables, noise, most)
    return shares, precision, {part.label: part.mu for part in noise.parts}, noise


@pytest.mark.parametrize(
    ("numbers", "most", "again"),
    [
        ([4_900, 5_000, 100], 1.0, True),
        ([100, 5_000, 4_900], 1.0, True),  # the reference
        ([4_000, 5_000, 1_000], 1.0, False),
        ([4_900, 5_000, 100], 0.02, False),  # too little is left for it
        ([200, 300, 20], 1.0, True),  # of few rows
    ],
)
def test_levels_are_counted_again_where_few_rows_have_one_of_them(numbers, most, again):
    _, _, parts, noise = released(numbers, most=most)
    assert list(parts) == [LABEL, f"{LABEL}, again"][: 1 + again]
    if again:
        assert parts[f"{LABEL}, again"] ** 2 <= LEVELS_AGAIN * noise.mu**2 * (1 + 1e-9)


def test_levels_of_three_factors_have_errors_where_there_are_just_enough_rows():
    """Of 7% of 5,000 rows, at eps = .3; half of the fits had none."""
    known = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, names = 5_000, ["no", "yes"]
        data = pd.DataFrame({
            name: pd.Categorical.from_codes((rng.random(n) < share) * 1, names)
            for name, share in (("a", 0.07), ("b", 0.7), ("c", 0.3))
        })  # fmt: skip
        data["y"] = 1.0 - (data["a"] == "yes") + rng.normal(size=n)
        fit = dpreg.dp_lm("y ~ a + b + c", data, 0.3, 1e-6, rng=seed)
        known.append(not math.isnan(fit.bse["a[T.yes]"]))
    assert np.mean(known) > 0.7


@pytest.mark.parametrize("factors", [1, 2])
def test_both_counts_are_used_and_their_precision_is_that_of_both(factors):
    errors, said = [], []
    for seed in range(60):
        shares, precision, parts, _ = released([8_040, 1_900, 60], seed=seed, factors=factors)
        assert len(parts) == 2
        errors.append((shares - np.tile([0.19, 0.006], factors)) * precision)
        said.append(precision)
    once = released([6_000, 2_000, 2_000], factors=factors)[1]
    assert np.mean(said) == pytest.approx(once * math.sqrt(2.5), rel=0.05)
    assert 0.7 < np.std(errors) < 1.2


def test_a_reference_of_few_rows_does_not_hide_the_errors_of_its_factor():
    """Of 100 rows in 20,000; without a second count a third of the fits had no errors."""
    known, covered = [], []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        g = rng.choice(4, 20_000, p=[0.005, 0.295, 0.4, 0.3])
        effect = np.array([0.5, 0.0, 0.4, -0.4])
        levels = pd.Categorical.from_codes(g, list("ABCD"))
        data = pd.DataFrame({"g": levels, "y": effect[g] + rng.normal(size=len(g))})
        fit = dpreg.dp_lm("y ~ g", data, 1.0, 1e-6, rng=seed)
        away = np.abs(fit.params.to_numpy()[1:] - (effect[1:] - effect[0]))
        known.append(~np.isnan(fit.bse.to_numpy()[1:]))
        covered.append(away[known[-1]] < 1.96 * fit.bse.to_numpy()[1:][known[-1]])
    assert np.mean(known) > 0.9
    assert np.mean(np.concatenate(covered)) > 0.8
