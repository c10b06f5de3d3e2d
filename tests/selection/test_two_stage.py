"""Two-stage and SubLasso as selectors: models from a noisy count, units, what is reported."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from unsealed import opened

import dpreg
from dpreg import _core
from dpreg.data.design import Design, Terms
from dpreg.estimation.blocks.model_rows import assigned, noisy_units

BOTH = [dpreg.TwoStage, dpreg.SubLasso]


def frame(n=20_000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 6)) * [1, 100, 1e-3, 1, 1, 1]
    y = 3 * x[:, 0] - 0.02 * x[:, 1] + 1500 * x[:, 2] + rng.standard_normal(n)
    return pd.DataFrame(x, columns=list("abcdef")).assign(y=y)


@pytest.mark.parametrize("method", ["two_stage", "sub_lasso"])
@pytest.mark.parametrize("partition", ["slots", "independent"])
def test_finds_columns_whatever_their_unit(method, partition):
    options = {"two_stage": dpreg.TwoStage, "sub_lasso": dpreg.SubLasso}[method]
    for seed in range(5):
        found = dpreg.dp_select(
            "y ~ .", frame(), 3, 2.0, method=options(partition=partition), rng=seed
        )
        assert set(found.selected) == {"a", "b", "c"}
        assert found.method == method


def models_of(found):
    return int(found.notes[0].split()[0].replace(",", ""))


def test_how_many_models():
    data = frame()
    root = dpreg.dp_select("y ~ .", data, 3, 5.0, method="two_stage", rng=1)
    assert abs(models_of(root) - math.sqrt(20_000)) < 2
    by_k = dpreg.dp_select("y ~ .", data, 3, 5.0, method="sub_lasso", rng=1)
    assert abs(models_of(by_k) - 20_000 / 3) < 20
    by_d = dpreg.dp_select("y ~ .", data, 3, 5.0, method=dpreg.SubLasso(batch="d"), rng=1)
    assert abs(models_of(by_d) - 20_000 / 6) < 20
    for options in BOTH:
        found = dpreg.dp_select("y ~ .", data, 3, 5.0, method=options(models=77))
        assert models_of(found) == 77


@pytest.mark.parametrize("options", BOTH)
def test_parts_add_up_and_say_the_noise(options):
    found = dpreg.dp_select("y ~ .", frame(500), 2, 0.8, method=options(count_share=0.25))
    count, votes = found.privacy.parts
    assert (count.epsilon, votes.epsilon) == pytest.approx((0.2, 0.6), rel=1e-12)
    assert count.noise == "discrete Laplace, scale 5"
    assert votes.noise == f"Gumbel, scale {2 * 2 / 0.6:.4g}"
    assert found.nobs == found.units
    assert found.units == int(found.units) >= 0


def test_units_move_together():
    """The rows of a person are in one model, and the number of persons is what is counted."""
    data = frame().assign(person=np.random.default_rng(1).integers(0, 2000, 20_000))
    found = dpreg.dp_select("y ~ a + b + c + d", data, 2, 5.0, method="two_stage", unit="person")
    assert abs(found.nobs - 2000) < 100
    assert found.privacy.unit == "all rows of one 'person'"


def design(n):
    return Design.of(np.zeros((n, 2)), np.zeros(n), Terms("y", ("a", "b"), True))


def test_the_count_has_its_law(bits):
    """Two-sided geometric on the integers, cut at 0."""
    draws = np.array([noisy_units(design(3), 1.0, bits)[0] for _ in range(4000)])
    q = math.exp(-1)
    at_most_zero = q**3 / (1 + q)
    observed = (draws == 0).sum(), (draws == 3).sum(), len(draws)
    for count, p in zip(observed, (at_most_zero, (1 - q) / (1 + q)), strict=False):
        assert abs(count - p * 4000) < 5 * math.sqrt(4000 * p * (1 - p))


@pytest.mark.parametrize("partition", ["slots", "independent"])
@pytest.mark.parametrize(("n", "units", "models"), [
    (0, 0.0, 1), (1, 0.0, 1), (10, 0.0, 5), (10, 1e6, 3), (10, 1e6, 2**20), (10, 3.0, 4),
])  # fmt: skip
def test_models_when_the_count_is_far_off(partition, n, units, models, bits):
    batch = max(1, math.ceil(units / models))
    members = list(opened(assigned(design(n), models, batch, partition, bits)).members)
    assert len(set(members)) == len(members) <= n


@pytest.mark.parametrize("options", [
    {"models": 0}, {"models": 2**21}, {"penalty": -1.0}, {"penalty": math.nan},
    {"penalty": math.inf}, {"partition": "equal"}, {"count_share": 0.0}, {"share": 1.0},
])  # fmt: skip
@pytest.mark.parametrize("cls", BOTH)
def test_wrong_options(cls, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        cls(**options)


def test_wrong_batch():
    with pytest.raises(ValueError, match="batch"):
        dpreg.SubLasso(batch="n")


def test_votes_without_keeping_coefficients_are_the_same(bits):
    """`sub_lasso` counts votes as it fits; at a huge epsilon it returns the k most voted."""
    data = frame(600)
    X, y = data[list("abcdef")].to_numpy(), data["y"].to_numpy()
    models = _core.assign_to_slots(600, 20, 30, bits)
    votes = _core.count_votes(_core.fit_lasso_batches(X, y, models, penalty=0.2), 2)
    best = np.sort(votes)[::-1]
    drawn = _core.sub_lasso(X, y, models, penalty=0.2, k=2, epsilon=1e4, bits=bits)
    assert votes[drawn.astype(int)].tolist() == best[:2].tolist()


@pytest.mark.parametrize(("epsilon", "beyond"), [(0.05, True), (30.0, False)])
def test_votes_that_noise_outweighs_are_told(epsilon, beyond):
    """40 columns: the note does not depend on who is in the data, but on the noisy number."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((2000, 40))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(40)]).assign(y=X[:, 0])
    found = dpreg.dp_select("y ~ .", frame, 3, epsilon, method="two_stage", rng=1)
    assert any("by chance only" in note for note in found.notes) == beyond
    margin = found.clarity.margin
    models = int(next(n for n in found.notes if "voted" in n).split()[0])
    assert (margin > models) == beyond
