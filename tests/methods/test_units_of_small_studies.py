"""Small studies of persons with several rows: scales of columns, and errors of their scores."""

from __future__ import annotations

import numpy as np

import dpreg


def test_indicators_of_years_in_districts_keep_both_of_their_values():
    """Less their means they are -.2 and .8, the second of which noise hid from a closer look."""
    missed = []
    for seed in (1, 2, 7, 15):
        rng = np.random.default_rng([1, seed])
        district, year = np.repeat(np.arange(1_000), 5), np.tile(np.arange(5), 1_000)
        rng.standard_normal(1_000)
        data = {
            "x": 0.02 * year + 0.05 * rng.standard_normal(5_000),
            "w": 3 * rng.standard_normal(5_000),
            "v": 0.05 * rng.standard_normal(5_000),
            "district": district,
        }
        data |= {f"y{k}": (year == k).astype(float) for k in range(1, 5)}
        effect = np.array([0, 12, 12, 10, 25])
        data["y"] = effect[year] + 12 * rng.standard_normal(5_000)
        fit = dpreg.dp_lm(
            "y ~ x + w + v + y1 + y2 + y3 + y4 | district", data, 1.0, 1e-6,
            unit="district", max_rows=5, rng=seed,
        )  # fmt: skip
        missed.extend((fit.params.to_numpy() - [0, 0, 0, *effect[1:]]) / fit.bse.to_numpy())
    assert np.isfinite(missed).mean() > 0.75
    assert np.nanmax(np.abs(missed)) < 4


def test_sampling_errors_of_few_persons_are_those_of_their_scores():
    """Rows of a person have one regressor, and residuals that are alike."""
    ratio = []
    for seed in range(12):
        rng = np.random.default_rng([2, seed])
        person = np.repeat(np.arange(600), 5)
        x, effect = rng.standard_normal(600)[person], 2 * rng.standard_normal(600)[person]
        data = {"y": x + effect + rng.standard_normal(3_000), "x": x, "person": person}
        fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, unit="person", max_rows=5, rng=seed)
        ratio.append(np.asarray(fit.sampling) / np.sqrt(4.2 / 600))
    assert np.nanmedian(ratio) > 0.65


def test_a_refusal_says_how_many_rows_a_unit_may_have():
    """Noise is that many times as large, so the noisy number of rows says little."""
    rng = np.random.default_rng(1)
    data = {"y": rng.standard_normal(200), "x": rng.standard_normal(200)}
    data["p"] = np.repeat(np.arange(20.0), 10)
    said = dpreg.dp_lm("y ~ x", data, 0.2, 1e-6, unit="p", max_rows=10, rng=1).summary()
    assert "(at most 10 per unit)" in " ".join(str(said).split())
    assert "a smaller max_rows" in " ".join(str(said).split())
    alone = dpreg.dp_lm("y ~ x", data, 0.2, 1e-6, rng=1).summary()
    assert "per unit" not in str(alone)
    assert "max_rows" not in str(alone)
