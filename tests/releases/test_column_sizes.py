"""Where values lie, by noisy counts of their orders of magnitude."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpreg import _core
from dpreg.estimation.releases.column_sizes import FEW_BINS, Size, read_magnitudes

NOISE = 10.0


def cells_of(values):
    return np.asarray(_core.magnitude_counts(values[:, None]), dtype=float).ravel()


def with_far(deviations, at):
    """Counts of normal values, and so many deviations of noise in the cell from 2^at on."""
    cells = cells_of(np.random.default_rng(1).standard_normal(2_000))
    cells[len(cells) // 2 + 1 + at + 1 - _core.LEAST_EXPONENT] += deviations * NOISE * np.sqrt(2)
    return read_magnitudes(cells, NOISE)


@pytest.mark.parametrize(
    ("deviations", "at", "high"), [(3.7, 3, 4.0), (5.5, 3, 16.0), (3.7, 2, 8.0)]
)
def test_a_far_cell_by_itself_must_be_clearer_than_one_beside_others(deviations, at, high):
    assert with_far(deviations, at).high == high


def test_noise_makes_no_column_longer():
    """With 3.2 deviations for a far cell by itself, 5 of these 6,000 are 4 times as long."""
    rng, far = np.random.default_rng(2), 0
    cells = cells_of(rng.standard_normal(5_000))
    for _ in range(6_000):
        found = read_magnitudes(cells + 50 * rng.standard_normal(len(cells)), 50.0)
        far += found.high > 8 or found.low < -8
    assert far <= 2


@pytest.mark.parametrize("value", [1.0, -1.0, 512.0])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.8])
def test_of_an_indicator_mean_deviation_and_value_are_told(value, share):
    """Whatever noise does to cells with no values; before, centres were .33 or half of the mean."""
    rng, rows = np.random.default_rng(3), 2_000
    cells = cells_of(np.where(np.arange(rows) < share * rows, value, 0.0))
    wrong = 0
    for _ in range(500):
        found = read_magnitudes(cells + 50 * rng.standard_normal(len(cells)), 50.0)
        least, most = sorted((0.0, value))
        near = abs(found.centre / value - share) < 0.12
        wrong += not (near and (found.low, found.high) == (least, most))
    assert wrong <= 25


def test_of_two_signs_beside_zeros_both_are_told():
    rng = np.random.default_rng(4)
    cells = cells_of(np.repeat([-1.0, 0.0, 1.0], [400, 1_200, 400]))
    found = [read_magnitudes(cells + 50 * rng.standard_normal(len(cells)), 50.0) for _ in range(99)]
    assert sum((size.low, size.high) == (-1.0, 1.0) for size in found) >= 94


@pytest.mark.parametrize("value", [1.0, -1.0, 512.0])
@pytest.mark.parametrize("share", [0.88, 0.95])
def test_zeros_of_a_closer_look_are_values_too(value, share):
    """Bins hold none of them, and such a column seemed to be constant."""
    one = Size(*sorted((value * 31 / 32, value)), value, abs(value) / 100, 1)
    rows, noise = 5_000, 20.0
    found = one.with_zeros((1 - share) * rows, noise, rows)
    assert (found.low, found.high) == tuple(sorted((0.0, value)))
    assert found.centre == pytest.approx(share * value)
    assert found.scale == pytest.approx(math.sqrt(share * (1 - share)) * abs(value), rel=0.01)
    assert found.cells > FEW_BINS
    assert one.with_zeros(7 * noise, noise, rows) == one


def test_cells_that_are_clear_only_together_count_where_most_values_are_0():
    """Of 0 and 1 less the mean of a unit, scales were .02 to .05 for .27, and errors 17 times."""
    rng, wide = np.random.default_rng(5), 0
    steps = rng.choice([1, 2, 3, 5, 7], 8_000, p=[0.36, 0.24, 0.2, 0.1, 0.1]) / 8
    cells = cells_of(np.where(rng.random(8_000) < 0.45, rng.choice([-1, 1], 8_000) * steps, 0.0))
    for _ in range(300):
        found = read_magnitudes(cells + 240 * rng.standard_normal(len(cells)), 240.0)
        wide += found is None or found.scale > 0.09
    assert wide > 235


def test_noise_makes_no_column_longer_that_is_mostly_0():
    """Cells that are clear together had all of the run with them: 19 of these are as long then."""
    rng, far = np.random.default_rng(5), 0
    values = np.where(rng.random(8_000) < 0.4, rng.standard_t(3, 8_000), 0.0)
    cells = cells_of(values)
    for _ in range(1_000):
        found = read_magnitudes(cells + 20 * rng.standard_normal(len(cells)), 20.0)
        far += found.scale > 4 * values.std()
    assert far < 9
