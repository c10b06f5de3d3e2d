"""When steps of maximum likelihood stop, and what they leave in errors."""

from __future__ import annotations

import numpy as np
import pytest

from dpreg.estimation.base import Release
from dpreg.estimation.methods.class_walk import Walk

UNITS = 10_000.0


def step(params, error=0.01, sampling=0.01):
    size = len(params)
    return Release(
        params=np.array(params, dtype=float), covariance=np.eye(size) * error**2,
        sampling=np.full(size, sampling), clipping=None, units=UNITS, parts=(), composition="",
    )  # fmt: skip


def test_a_long_step_has_its_length_and_noise_has_none():
    walk = Walk(UNITS, bend=0.0).after(step([0.3, 0.4]), 2.0)
    assert walk.length == pytest.approx(0.5, rel=0.01)
    assert walk.clear
    assert not walk.settled
    noise = walk.after(step([0.01, -0.01]), 2.0)
    assert (noise.told, noise.clear, noise.settled) == (0.0, False, True)


def test_steps_settle_where_they_are_short_or_where_noise_is_more_than_what_they_leave():
    assert Walk(UNITS, bend=0.0).after(step([0.05, 0.0]), 2.0).settled
    assert not Walk(UNITS, bend=0.0).after(step([0.25, 0.0]), 2.0).settled
    assert Walk(UNITS, bend=0.0).after(step([0.25, 0.0], error=0.15), 2.0).settled


def test_what_the_last_step_leaves_is_along_it():
    walk = Walk(UNITS, bend=0.0).after(step([0.4, 0.0]), 2.0)
    short = walk.with_left(step([0.01, 0.0]), 2.0)
    assert np.array_equal(short.covariance, step([0.01, 0.0]).covariance)
    quick, slow = (walk.with_left(step([far, 0.0]), 2.0).covariance for far in (0.1, 0.22))
    for far, found, share in ((0.1, quick, 0.2), (0.22, slow, 0.55 / 0.45)):
        assert np.sqrt(found[0, 0] - 1e-4) == pytest.approx(share * far, rel=0.1)
        assert found[1, 1] == pytest.approx(1e-4)


def test_where_the_next_step_would_be_as_long_nothing_is_known():
    walk = Walk(UNITS, bend=0.0).after(step([0.4, 0.0]), 2.0)
    far = walk.with_left(step([0.4, 0.0]), 2.0)
    assert np.isnan(far.covariance).all()
    assert np.isnan(far.sampling).all()
    assert far.params.tolist() == [0.4, 0.0]
    # A step that noise may have made says nothing of the next.
    noise = step([0.4, 0.0], error=0.2)
    assert np.isfinite(walk.with_left(noise, 2.0).covariance).all()


def test_what_is_hidden_stays_so_and_moves_nothing():
    last = step([0.2, 5.0, 0.0])
    last.covariance[1, :] = last.covariance[:, 1] = np.nan
    found = Walk(UNITS, bend=0.0).after(step([0.5, 0.0, 0.0]), 2.0).with_left(last, 2.0)
    assert np.isnan(found.covariance[1]).all()
    assert np.isfinite(np.diag(found.covariance)[[0, 2]]).all()
    unseen = step([0.1])
    unseen.covariance[:] = np.nan
    assert Walk(UNITS, bend=1.0).with_left(unseen, 2.0) is unseen
