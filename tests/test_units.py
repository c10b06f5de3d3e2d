"""A person with many rows is one unit: what may change when all of them go."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg import _core
from dpreg.design import Design, Terms, Units
from dpreg.methods import DPSGD, AdaSSP, BoostedAdaSSP
from dpreg.methods._units import sample_rows, split_units


def people(n, heavy, seed=1):
    """n persons of one to three rows, the first with `heavy` rows of wild values."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 4, n)
    rows[0] = heavy
    person = np.repeat(np.arange(n), rows)
    x = rng.standard_normal(len(person))
    y = 2 * x + rng.standard_normal(len(person))
    x[person == 0], y[person == 0] = 5.0, -50.0
    return pd.DataFrame({"x": x, "y": y, "person": person})


def design_of(data):
    labels = data["person"].to_numpy()
    return Design(
        data[["x"]].to_numpy(), data["y"].to_numpy(), Terms("y", ("x",), True),
        Units.from_labels(labels),
    )  # fmt: skip


@pytest.mark.parametrize("max_rows", [1, 2, 5])
def test_sampling_keeps_at_most_max_rows_of_each_unit(max_rows):
    data = people(200, 1000)
    data["x"] = np.arange(len(data), dtype=float)
    sampled = sample_rows(design_of(data), max_rows, _core.TestBits(1))
    kept = data.iloc[sampled.X[:, 0].astype(int)].groupby("person").size()
    full = data.groupby("person").size()
    assert (kept == np.minimum(full, max_rows)).all()
    assert sampled.units is None


def test_sampling_is_uniform():
    data = pd.DataFrame({"x": [0.0, 1, 2, 3, 9], "y": 0.0, "person": [4, 4, 4, 4, 1]})
    bits = _core.TestBits(3)
    seen = np.zeros(4)
    for _ in range(8000):
        rows = sample_rows(design_of(data), 2, bits).X[:, 0]
        seen[rows[rows < 4].astype(int)] += 1
    # Each row is kept with probability 1/2: 4,000 times, standard deviation 45.
    assert np.abs(seen - 4000).max() < 5 * 45


@pytest.mark.parametrize("method", [AdaSSP, BoostedAdaSSP])
def test_noise_pays_for_every_row_of_a_unit(method):
    data = people(2000, 1000)
    by_rows = {}
    for rows in (1, 4):
        fit = dpreg.dp_lm("y ~ x", data, 1.0, method=method(max_rows=rows), unit="person", rng=1)
        by_rows[rows] = fit.privacy.parts
        assert fit.privacy.unit == "all rows of one 'person'"
    for one, four in zip(by_rows[1], by_rows[4], strict=True):
        assert four.sensitivity == pytest.approx(4 * one.sensitivity)
        assert four.mu == pytest.approx(one.mu, rel=1e-3)
        assert four.scale == pytest.approx(4 * one.scale, rel=1e-3)


@pytest.mark.parametrize("method", [AdaSSP(max_rows=2), BoostedAdaSSP(max_rows=2), DPSGD()])
def test_a_person_with_a_thousand_rows_moves_no_sum_by_more_than_was_paid_for(method, monkeypatch):
    """Grey box: the sums before noise, of neighbours that differ by the heavy person."""
    from dpreg.methods import _gaussian

    original = _gaussian.GaussianReleases.release
    base, moved = [], []

    def run(table, record):
        def release(self, label, sums, sensitivity, mu, *, weights=None):
            weight = np.ones(np.shape(sums)) if weights is None else weights
            result = original(self, label, sums, sensitivity, mu, weights=weights)
            # Both see the same noisy numbers, so that what follows is the same.
            shown = base[len(record)][-1] if record is moved else result
            record.append((label, np.ravel(sums), self.parts[-1].sensitivity, weight, shown))
            return shown.copy()

        monkeypatch.setattr(_gaussian.GaussianReleases, "release", release)
        dpreg.dp_lm("y ~ x", table, 20.0, method=method, unit="person", rng=1)

    data = people(300, 1000)
    small = data[(data["person"] == 0) | ~data["person"].duplicated()]  # one row a person, but 0
    run(small, base)
    run(small[small["person"] != 0], moved)
    assert len(base) == len(moved) >= 5
    for (label, sums, sensitivity, weight, _), (_, others, *_) in zip(base, moved, strict=True):
        change = np.linalg.norm((sums - others) * np.ravel(weight))
        assert change <= sensitivity, label


def test_person_zero_may_move_more_rows_than_one_without_unit():
    """The check above can fail: by rows, the same person moves the count by a thousand."""
    data = people(300, 1000)
    one = sample_rows(design_of(data), 1, _core.TestBits(1))
    assert len(data) - len(data[data["person"] != 0]) == 1000
    assert len(one.y) == 300


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "2"])
def test_max_rows_must_be_a_positive_integer(rows):
    for method in (AdaSSP, BoostedAdaSSP):
        with pytest.raises(ValueError, match="max_rows"):
            method(max_rows=rows)


@pytest.mark.parametrize("grouped", [False, True])
def test_split_units_stay_whole(grouped, bits):
    n = 500
    y = np.arange(n, dtype=float)
    people = np.random.default_rng(1).integers(0, 60, n)
    units = Units.from_labels(people) if grouped else None
    design = Design(y[:, None], y, Terms("y", ("x",), intercept=True), units)
    parts = split_units(design, 0.3, bits)
    owners = people if grouped else np.arange(n)
    rows = [part.y.astype(int) for part in parts]
    assert sorted(np.concatenate(rows)) == list(range(n))
    assert not set(owners[rows[0]]) & set(owners[rows[1]])
    assert 0 < len(rows[0]) < len(rows[1])
    for part, kept in zip(parts, rows, strict=True):
        assert part.unit_count == len(set(owners[kept]))
        if part.units is not None:
            ends = part.units.offsets.astype(int)
            for first, last in itertools.pairwise(ends):
                assert len({people[kept[int(r)]] for r in part.units.rows[first:last]}) == 1
