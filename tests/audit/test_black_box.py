"""Black boxes: the bounds are right and near the truth; less noise than claimed is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from dpreg import _core, mechanisms
from dpreg.audit import black_box_calls
from dpreg.audit._patch import replaced
from dpreg.audit.attacks import _statistic, attacked, guessed_epsilon_bound, guessed_mu_bound
from dpreg.audit.black_box_calls import ATTACKS
from dpreg.calls.moments import dp_moments
from dpreg.faces.cli.commands import main
from dpreg.privacy.gdp import gdp_epsilon

# One honest audit in a million says that a claim is broken.
SURE = 1e-6
SEED = 20260101


@pytest.mark.parametrize("mu", [0.27, 1.0, 3.0])
def test_the_mu_that_guesses_show_is_below_the_truth_and_near_it(mu):
    rng = np.random.default_rng(SEED)
    a, b = rng.standard_normal((2, 400_000))
    bound = guessed_mu_bound(a, b + mu, 40_000, SURE)
    assert 0.8 * mu < bound <= mu
    # Whichever side is higher.
    assert guessed_mu_bound(a, -b - mu, 40_000, SURE) == pytest.approx(bound, rel=0.1)
    assert guessed_epsilon_bound(a, b + mu, 40_000, 1e-5, SURE) == gdp_epsilon(bound, 1e-5)


def test_guesses_of_equal_laws_show_nothing():
    rng = np.random.default_rng(SEED)
    a, b = rng.standard_normal((2, 5000))
    assert guessed_mu_bound(a, b, 500, SURE) == 0.0
    constant = np.zeros(1000)
    assert guessed_mu_bound(constant, constant, 100, SURE) == 0.0


@pytest.mark.parametrize(("p", "q"), [(0.95, 0.99), (0.3, 0.6), (0.02, 0.3)])
def test_two_values_are_guessed_by_what_is_between_them(p, q):
    rng = np.random.default_rng(SEED)
    a, b = ((rng.random(400_000) < one).astype(float) for one in (p, q))
    truth = 2 * float(special.ndtri((1 - p + q) / 2))
    bound = guessed_mu_bound(a, b, 40_000, SURE)
    assert 0.8 * truth < bound < truth


def test_numbers_are_combined_along_what_they_differ_in():
    rng = np.random.default_rng(SEED)
    a, b = rng.standard_normal((2, 20_000, 3)) * [1.0, 100.0, 0.01]
    b += [0.5, 50.0, 0.0]
    a[7], b[9] = 1e12, -1e12
    first = 5000
    found = guessed_mu_bound(*_statistic(a, b, first), first, SURE)
    assert 0.8 * np.sqrt(0.5) < found < np.sqrt(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_no_claim_is_broken(name):
    finding = attacked(ATTACKS[name], 4.0, 60, SEED, SURE)
    assert finding.holds, str(finding)
    assert finding.runs == 120


def of_half_the_noise(name):
    real = getattr(_core, name)

    def drawn(first, bits, size):
        half = first // 2 if name == "discrete_gaussian" else 2 * first
        return real(half, bits, size)

    return drawn


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "draw", "runs"),
    [
        ("dp_lm(BoostedAdaSSP(rounds=1), inference=False)", "discrete_gaussian", 450),
        ("dp_test()", "discrete_laplace", 1500),
    ],
)
def test_half_the_noise_is_noticed(name, draw, runs):
    epsilon = 4.0 if draw == "discrete_gaussian" else 2.0
    assert attacked(ATTACKS[name], epsilon, runs, SEED, SURE).holds
    with replaced(_core, draw, of_half_the_noise(draw)):
        assert not attacked(ATTACKS[name], epsilon, runs, SEED, SURE).holds


def test_twice_the_epsilon_of_a_choice_is_noticed(monkeypatch):
    real = mechanisms.dp_kendall
    attack = ATTACKS["mechanisms.dp_kendall()"]
    monkeypatch.setattr(
        black_box_calls.mechanisms,
        "dp_kendall",
        lambda X, y, k, eps, rng: real(X, y, k, 2 * eps, rng=rng),
    )
    assert not attacked(attack, 1.0, 4000, SEED, SURE).holds


def test_the_attacker_knows_all_moments_but_those_of_the_canary():
    attack = ATTACKS["dp_moments()"]
    for table in attack.tables:
        design = black_box_calls._moments_design(table["y"].to_numpy())
        with replaced(_core, "discrete_gaussian", lambda scale, bits, n: np.zeros(n, np.int64)):
            found = dp_moments(
                "~ y", table, 1.0, 1e-5, bounds={"y": (-1.0, 1.0)}, rng=_core.TestBits(1)
            )
        exact = black_box_calls._exact_moments(design, found)
        np.testing.assert_allclose(found.matrix, exact, atol=1e-3 * found.deviation)


def test_the_command(monkeypatch, capsys):
    for name in set(ATTACKS) - {"mechanisms.dp_kendall()"}:
        monkeypatch.delitem(ATTACKS, name)
    assert main(["audit", "--black-box"]) == 0
    said = capsys.readouterr().out
    assert "mechanisms.dp_kendall()" in said
    assert "each lower bound holds with probability 0.99" in said
    assert main(["audit", "--black-box", "--replay"]) == 2
    assert "--black-box cannot be used together with --replay" in capsys.readouterr().err
