"""Black boxes: the bounds are right and near the truth; less noise than claimed is noticed."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy import special, stats

from dpreg import _core, mechanisms
from dpreg.audit import black_box_calls
from dpreg.audit.attacks import (
    _statistic,
    attacked,
    guessed_mu_bound,
    guessed_rho_bound,
)
from dpreg.audit.black_box_calls import ATTACKS
from dpreg.calls.moments import dp_moments
from dpreg.faces.cli.commands import main
from dpreg.privacy.gdp import gdp_epsilon
from dpreg.privacy.zcdp import bounded_range_epsilon, bounded_range_rho, zcdp_rho

pytestmark = pytest.mark.usefixtures("coarse_losses")

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


# Epsilon and runs that tell a release without noise, of which all guesses are right; at an epsilon
# of 4 it takes 30 runs by guesses, and 980 by events.
TOLD = {"guesses": (1.0, 16), "concentrated": (1.0, 16), "events": (1.0, 60)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_no_claim_is_broken(name):
    attack = ATTACKS[name]
    epsilon, runs = TOLD[attack.bound]
    finding = attacked(attack, epsilon, runs, SEED, SURE)
    assert finding.holds, str(finding)
    assert finding.runs == 2 * runs


@pytest.mark.parametrize("name", ATTACKS)
def test_so_many_runs_tell_a_release_without_noise(name):
    attack = ATTACKS[name]
    bare = replace(
        attack,
        asked=lambda table, *_, rng: table is attack.tables[1],
        seen=lambda told: (float(told),),
    )
    assert not attacked(bare, *TOLD[attack.bound], SEED, SURE).holds


def of_half_the_noise(name):
    real = getattr(_core, name)

    def drawn(first, bits, size):
        half = first // 2 if name == "discrete_gaussian" else 2 * first
        return real(half, bits, size)

    return drawn


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "draw", "epsilon", "runs"),
    [
        ("dp_lm(AdaSSP(row_factor=4), inference=False)", "discrete_gaussian", 10.0, 300),
        ("dp_test()", "discrete_laplace", 2.0, 600),
    ],
)
def test_half_the_noise_is_noticed(name, draw, epsilon, runs):
    """With all of it the same attack is in `test_no_claim_is_broken`."""
    with patch.object(_core, draw, of_half_the_noise(draw)):
        assert not attacked(ATTACKS[name], epsilon, runs, SEED, SURE).holds


def test_twice_the_epsilon_of_a_choice_is_noticed(monkeypatch):
    real = mechanisms.dp_kendall
    attack = ATTACKS["mechanisms.dp_kendall()"]
    monkeypatch.setattr(
        black_box_calls.mechanisms,
        "dp_kendall",
        lambda X, y, k, eps, rng: real(X, y, k, 2 * eps, rng=rng),
    )
    assert not attacked(attack, 2.0, 1200, SEED, SURE).holds


def test_the_attacker_knows_all_moments_but_those_of_the_canary():
    attack = ATTACKS["dp_moments()"]
    for table in attack.tables:
        with patch.object(_core, "discrete_gaussian", lambda scale, bits, n: np.zeros(n, np.int64)):
            found = dp_moments(
                "~ y", table, 1.0, 1e-5, bounds={"y": (-1.0, 1.0)}, rng=_core.TestBits(1)
            )
        exact = black_box_calls._exact_moments(table["y"].to_numpy(), found)
        np.testing.assert_allclose(found.matrix, exact, atol=1e-9 * found.deviation)


def test_the_command(monkeypatch, capsys):
    one = "mechanisms.dp_kendall()"
    monkeypatch.setattr(black_box_calls, "ATTACKS", {one: replace(ATTACKS[one], runs=2000)})
    assert main(["audit", "--black-box"]) == 0
    said = capsys.readouterr().out
    assert "mechanisms.dp_kendall()" in said
    assert "each lower bound holds with probability 0.99" in said
    assert main(["audit", "--black-box", "--replay"]) == 2
    assert "--black-box cannot be used together with --replay" in capsys.readouterr().err


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_what_guesses_say_of_rho_is_below_the_truth_for_one_choice(epsilon):
    rng = np.random.default_rng(SEED)
    p = float(special.expit(epsilon / 2))
    a, b = ((rng.random(400_000) < one).astype(float) for one in (1 - p, p))
    rho = bounded_range_rho(epsilon)
    found = guessed_rho_bound(a, b, 40_000, SURE)
    assert 0.7 * rho < found < rho
    # As a mu the same guesses would say more than the choice costs.
    assert guessed_mu_bound(a, b, 40_000, SURE) ** 2 / 2 > rho
    assert guessed_rho_bound(a, a, 40_000, SURE) == 0.0


def law_of_two_steps(y, epsilon, canary):
    """Probabilities of the first and the second vertex, of rows of one column of ones."""
    y, w, law = (y if canary else y[:-1]), {(): (1.0, 0.0)}, {}
    for step in (2 / 3, 1 / 2):
        law = {}
        for path, (chance, at) in w.items():
            up = special.expit(-np.sum(at - y) * epsilon / 2)
            for sign, part in ((1.0, up), (-1.0, 1 - up)):
                law[(*path, sign)] = (chance * part, (1 - step) * at + step * sign)
        w = law
    return np.array([law[path][0] for path in sorted(law)])


def test_guesses_of_two_steps_are_no_bound_of_epsilon():
    y, each = np.append(np.full(20, -0.725), 1.0), bounded_range_epsilon(zcdp_rho(1.0, 1e-5), 2)
    without, having = (law_of_two_steps(y, each, canary) for canary in (False, True))
    assert np.abs(np.log(having / without)).max() == pytest.approx(0.219, abs=1e-3)
    right = (1 + np.abs(having - without).sum() / 2) / 2
    mu = 2 * float(special.ndtri(right))
    assert gdp_epsilon(mu, 1e-5) > 0.6  # which is why these are accounted as of rho
    assert 2 * (2 * right - 1) ** 2 < float(having @ np.log(having / without))


def test_two_steps_follow_the_law_that_bounds_are_read_from():
    attack = ATTACKS["mechanisms.dp_frank_wolfe()"]
    y, each = np.append(np.full(20, -0.725), 1.0), bounded_range_epsilon(zcdp_rho(1.0, 1e-5), 2)
    bits, runs = _core.TestBits(SEED), 1500
    for table in attack.tables:
        seen = sum(attack.run(table, 1.0, bits)[0] for _ in range(runs))
        none = law_of_two_steps(y, each, canary=table == 21)[0]
        assert stats.binomtest(int(seen), runs, 1 - none).pvalue > SURE
