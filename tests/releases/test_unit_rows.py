"""How many rows units are seen to have."""

from __future__ import annotations

import numpy as np
import pytest

from dpreg import _core
from dpreg.data.design import Design, Terms, Units
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.exits import most_rows_seen


def seen(sizes, most, mu=0.1, seed=1):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    columns = np.zeros((len(labels), 1)), np.zeros(len(labels))
    design = Design.of(*columns, Terms("y", ("x",), True), Units.from_labels(labels))
    noise = GaussianReleases(1.0, 1e-6, _core.TestBits(seed), rows=most)
    found = most_rows_seen(design, noise, mu)
    assert len(noise.parts) == 1
    assert noise.parts[0].sensitivity == 1
    return found


@pytest.mark.parametrize(("rows", "most", "wanted"), [
    (1, 100, 1), (3, 100, 3), (4, 5, 5), (5, 100, 5), (13, 100, 15), (7, 7, 7), (1, 2, 1),
])  # fmt: skip
def test_a_bound_is_that_of_the_half_octave_units_are_in(rows, most, wanted):
    assert seen(np.full(5_000, rows), most) == wanted


def test_a_few_units_are_not_seen_and_a_tenth_is():
    few, many = np.ones(5_000, dtype=int), np.ones(5_000, dtype=int)
    few[:5], many[:500] = 40, 40
    assert seen(few, 50) == 1
    assert seen(many, 50) == 47


def test_where_nothing_is_seen_the_bound_stays():
    assert seen(np.ones(10, dtype=int), 50, seed=2) == 50
