"""`dpreg.mechanisms.dp_frank_wolfe` and its screening, as a user calls them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from mechanisms.l1 import data

from dpreg.estimation.methods.frank_wolfe_run import allowed_rho
from dpreg.estimation.planning.frank_wolfe import plan_frank_wolfe
from dpreg.mechanisms import Screen, adp_screen, dp_frank_wolfe, rnm_screen
from dpreg.privacy.zcdp import zcdp_delta

SEED = 20260101


@pytest.mark.parametrize("screen", [None, "rnm", "adp"])
@pytest.mark.parametrize("start", ["zero", "random"])
def test_sparse_and_dense_input_give_the_same_release(screen, start):
    X, y = data()
    X[np.abs(X) < 0.5] = 0
    fits = [
        dp_frank_wolfe(M, y, 5.0, 1e-5, l1=1.0, steps=40, screen=screen, start=start, rng=3)
        for M in (X, sp.csr_matrix(X), sp.csc_array(X), sp.coo_array(X), pd.DataFrame(X))
    ]
    for fit in fits[1:]:
        assert fit.path.tolist() == fits[0].path.tolist()
        assert fit.weights.tolist() == fits[0].weights.tolist()
        assert fit.screened.tolist() == fits[0].screened.tolist()


def test_it_learns():
    X, y = data(50_000)
    fit = dp_frank_wolfe(X, y, 1.0, 1e-6, l1=1.5, steps=200, rng=1)
    assert 1 - ((X @ fit.weights - y) ** 2).mean() / y.var() > 0.95
    assert np.abs(fit.weights).sum() <= 1.5
    assert fit.support.tolist() == np.flatnonzero(fit.weights).tolist()


def test_certificate():
    X, y = data()
    fit = dp_frank_wolfe(X, y, 1.0, 1e-5, l1=2.0, steps=100, screen="rnm")
    assert (fit.privacy.epsilon, fit.privacy.delta) == (1.0, 1e-5)
    assert fit.privacy.composition == "zCDP"
    steps, screening = fit.privacy.parts
    choices = int(screening.label.split()[2])
    rho = (100 * (steps.sensitivity / steps.scale) ** 2
           + choices * (screening.sensitivity / screening.scale) ** 2) / 8  # fmt: skip
    assert steps.rho + screening.rho == pytest.approx(rho)
    assert zcdp_delta(rho, 1.0) <= 1e-5 < zcdp_delta(1.01 * rho, 1.0)
    assert not fit.privacy.seeded
    assert "NOT PRIVATE" in dp_frank_wolfe(X, y, 1.0, 1e-5, l1=2.0, steps=1, rng=1).privacy.claim


@pytest.mark.parametrize(("eps", "steps", "expected"), [
    (0.1, 1000, 0.001861), (1.0, 100, 0.04944), (1.0, 1000, 0.01564), (4.9, 1000, 0.06524),
])  # fmt: skip
def test_noise_scale_is_that_of_the_design_notes(eps, steps, expected):
    """The composition of the mechanism, and what the paper's composition would give."""
    plan = plan_frank_wolfe(allowed_rho(eps, 1e-5), 5, steps, None)
    assert plan.epsilon_step == pytest.approx(expected, rel=5e-4)
    assert expected > 3.9 * eps / math.sqrt(8 * steps * math.log(1e5))
    fit = dp_frank_wolfe(*data(10), eps, 1e-5, l1=2.0, steps=steps)
    assert f"range {plan.epsilon_step:.4g} each" in fit.privacy.parts[0].noise
    assert f"scale {8 / plan.epsilon_step:.4g} on" in fit.privacy.parts[0].noise


def screening_problem(n=400_000):
    """y = sign(x_0), so that w* is a vertex and the other scores lead by n l1^2 / 144."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(-1, 1, (n, 8))
    return X, np.sign(X[:, 0])


@pytest.mark.parametrize("run", [rnm_screen, adp_screen])
def test_screening_acts_with_many_rows_and_is_right(run):
    X, y = screening_problem()
    fit = run(X, y, 2.0, 1e-6, l1=1.0, steps=60, rng=1)
    assert len(fit.screened) >= 5
    assert 0 not in fit.screened
    assert (fit.weights[fit.screened] == 0).all()
    assert fit.weights[0] > 0.9
    last = {int(j): int(t) for j, t in zip(fit.screened, fit.screened_at, strict=True)}
    for t, vertex in enumerate(fit.path, start=1):
        assert t <= last.get(abs(int(vertex)) - 1, len(fit.path))


@pytest.mark.parametrize("run", [rnm_screen, adp_screen])
def test_screening_is_silent_with_few_rows(run):
    X, y = data(300)
    screened = sum(
        len(run(X, y, 1.0, 1e-6, l1=1.0, steps=40, rng=seed).screened) for seed in range(200)
    )
    # At most false_screens = 0.05 are expected in a run: 10 in all, 30 with probability 1e-7.
    assert screened < 30


def odd_data():
    X, y = data(30, 3)
    yield "empty", X[:0], y[:0]
    yield "one row", X[:1], y[:1]
    yield "one column", X[:, :1], y
    yield "missing", np.full_like(X, np.nan), np.full_like(y, np.nan)
    yield "infinite", np.full_like(X, np.inf), np.full_like(y, -np.inf)
    yield "huge", X * 1e308, y * 1e308
    yield "tiny", X * 5e-324, y * 5e-324
    yield "zero", X * 0, y * 0
    yield "integers", (X * 3).astype(int), (y * 3).astype(int)
    yield "empty rows", sp.csr_array((30, 3)), y
    yield "no rows, sparse", sp.csr_array((0, 3)), y[:0]
    yield "bool", X > 0, y > 0
    yield "beyond doubles", X.astype(np.longdouble) * np.longdouble("1e4000"), y
    yield "half precision", X.astype(np.float16), y.astype(np.float16)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "X", "y"), list(odd_data()), ids=lambda v: v if isinstance(v, str)
                         else "")  # fmt: skip
@pytest.mark.parametrize("screen", [None, "rnm", "adp"])
def test_odd_data_end_in_a_release_of_the_same_shape(name, X, y, screen):
    for eps in (1e-3, 1.0, 500.0):
        fit = dp_frank_wolfe(X, y, eps, 1e-3, l1=0.5, steps=7, screen=screen, rng=1)
        assert fit.weights.shape == (X.shape[1],)
        assert np.isfinite(fit.weights).all()
        assert np.abs(fit.weights).sum() <= 0.5 + 1e-12
        assert len(fit.path) == 7 or len(fit.screened) == X.shape[1]


@pytest.mark.parametrize(("arguments", "match"), [
    ({"l1": 0.0}, "l1"), ({"l1": -1.0}, "l1"), ({"l1": math.nan}, "l1"), ({"l1": "1"}, "l1"),
    ({"l1": math.inf}, "l1"), ({"l1": True}, "l1"), ({"l1": 1e-200}, "l1"),
    ({"steps": 0}, "steps"), ({"steps": 1.5}, "steps"), ({"steps": 10**6}, "steps"),
    ({"steps": True}, "steps"), ({"eps": 0.0}, "eps"), ({"eps": math.nan}, "eps"),
    ({"delta": 0.0}, "delta"), ({"delta": 1.0}, "delta"), ({"screen": "raj"}, "screen"),
    ({"start": "best"}, "start"), ({"rng": -1}, "rng"), ({"X": [1.0, 2.0]}, "X must be a two-dim"),
    ({"X": np.array([["a"]])}, "X .* of numbers"), ({"X": [[1.0]]}, "not a list"),
    ({"y": np.array(["a"] * 400)}, "y .* of numbers"),
    ({"y": np.ones(1)}, "same number of rows"),
    ({"X": np.zeros((400, 0))}, "at least one column"),
    ({"eps": 1e-9, "delta": 1e-15}, "eps is too small"),
    ({"X": np.ones((400, 2), dtype=complex)}, "X .* of numbers"),
    ({"y": np.ones((400, 1))}, "y must"),
])  # fmt: skip
def test_wrong_use_names_the_argument(arguments, match):
    X, y = data()
    call = {"X": X, "y": y, "eps": 1.0, "delta": 1e-5, "l1": 1.0, "steps": 10, **arguments}
    with pytest.raises(ValueError, match=match):
        dp_frank_wolfe(**call)


@pytest.mark.parametrize("options", [
    {"rule": "raj"}, {"share": 0.0}, {"share": 1.0}, {"after": (0, 1)}, {"after": (3, 3)},
    {"false_screens": 0.0}, {"false_screens": math.inf},
])  # fmt: skip
def test_wrong_screening_options(options):
    (name,) = options
    with pytest.raises(
        ValueError, match=r"^rule must be" if name == "rule" else rf"Screen.* {name}"
    ):
        Screen(**options)
