"""How well the results of two tables are distinguished, and what follows for epsilon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special, stats

from dpreg import _core
from dpreg.audit._bounds import sampled_epsilon_bound
from dpreg.audit._finding import Finding
from dpreg.base.arrays import Doubles
from dpreg.privacy.gdp import gdp_epsilon
from dpreg.privacy.zcdp import zcdp_epsilon

Bits = _core.BitSource
# Numbers are clipped to as many times the median distance from the median: a few wild results must
# not decide what the direction is.
_REACH = 6.0
# Added to the diagonal of a correlation matrix.
_RIDGE = 1e-3
# Values of a statistic between which all cuts are compared.
_FEW = 20
# Of the runs, how many choose a direction, or a cut alone.
_DIRECTING, _CUTTING = 0.25, 0.1


@dataclass(frozen=True, slots=True)
class Attack:
    """A public call on two neighbouring tables, and what an attacker looks at in its result."""

    name: str  # Of the call.
    # ``asked(table, epsilon, rng=bits)``, with the delta if there is one, is what is published.
    asked: Callable[..., Any]
    tables: tuple[Any, Any]  # Without the canary, and with it.
    # Numbers of a result that the canary moves; as many for every result.
    seen: Callable[[Any], tuple[float, ...]]
    delta: float  # Claimed, for any epsilon.
    runs: int = 10_000  # On either side, in the full audit.
    # ``"guesses"``: the most that guesses show, as if the loss were Gaussian, which it is for
    # releases with Gaussian noise.  ``"concentrated"``: what they show of rho, for claims of
    # zero-concentrated differential privacy.  ``"events"``: for pure mechanisms and few releases of
    # them.
    bound: Literal["guesses", "concentrated", "events"] = "guesses"
    remark: str = ""  # What limits the bound.

    def run(self, table: Any, epsilon: float, bits: Bits) -> tuple[float, ...]:
        """Make the call on a table, and look at its result."""
        given = (self.delta,) if self.delta else ()
        return self.seen(self.asked(table, epsilon, *given, rng=bits))


def first_coefficient(fit: Any) -> tuple[float, ...]:
    """What an attacker looks at; 0 where nothing was released."""
    return (float(fit.params.iloc[0]) if fit.released else 0.0,)


def attacked(attack: Attack, epsilon: float, runs: int, seed: int, error: float) -> Finding:
    """Run an attack.

    epsilon: claimed.
    runs: on either side.
    error: probability that the lower bound is above the truth.
    """
    sides = []
    for side, table in enumerate(attack.tables):
        bits = _core.TestBits(seed + side)
        seen = [attack.run(table, epsilon, bits) for _ in range(runs)]
        sides.append(np.array(seen, dtype=np.float64).reshape(runs, -1))
    first = round(runs * (_DIRECTING if sides[0].shape[1] > 1 else _CUTTING))
    a, b = _statistic(sides[0], sides[1], first)
    if attack.bound == "guesses":
        lower = gdp_epsilon(guessed_mu_bound(a, b, first, error), attack.delta)
    elif attack.bound == "concentrated":
        lower = zcdp_epsilon(guessed_rho_bound(a, b, first, error), attack.delta)
    else:
        lower = sampled_epsilon_bound(a[first:], b[first:], attack.delta, error)
    return Finding(attack.name, "black box", epsilon, attack.delta, lower, 2 * runs, attack.remark)


def guessed_mu_bound(a: Doubles, b: Doubles, first: int, error: float) -> float:
    """Return a mu for which results are not less than mu-GDP, with probability 1 - `error`.

    Which table a result is of is guessed by a cut.  Under mu-GDP the probabilities of a wrong guess
    on either side add up to 2 Phi(-mu / 2) at least, for every cut (Dong, Roth and Su, 2022), so
    that right guesses of as many results of either table are no more, beyond their mean, than
    binomial ones with probability Phi(mu / 2) (Hoeffding, 1956, Theorem 5), which Clopper and
    Pearson (1934) bound.  This takes half as many runs as bounds for either side.

    a, b: shape (runs,): a statistic of the results, without the canary and with it.
    first: so many of either choose the cut and the side; the others count.
    """
    return 2 * float(special.ndtri(_right_at_least(a, b, first, error)))


def guessed_rho_bound(a: Doubles, b: Doubles, first: int, error: float) -> float:
    """Return a rho for which results are not less than rho-zCDP, with probability 1 - `error`.

    Under rho-zCDP the divergence of Kullback and Leibler is at most rho, so that no more guesses
    than 1/2 + sqrt(rho / 8) are right (Pinsker's inequality); of few choices of bounded range
    hardly fewer are.  Read as a mu the same guesses would say up to pi / 2 times as much.

    Parameters are those of `guessed_mu_bound`.
    """
    return 2 * (2 * _right_at_least(a, b, first, error) - 1) ** 2


def _right_at_least(a: Doubles, b: Doubles, first: int, error: float) -> float:
    """Return what share of guesses is right, at least, by chance alone or more often."""
    cut, sign = _guess(a[:first], b[:first])
    without, having = (sign * (side[first:] - cut) for side in (a, b))
    guesses = len(without) + len(having)
    right = int((without <= 0).sum() + (having > 0).sum())
    least = float(stats.beta.ppf(error, right, guesses - right + 1)) if right else 0.0
    return max(least, 0.5)


def _guess(a: Doubles, b: Doubles) -> tuple[float, float]:
    """Return the cut that guesses best, the median if there are many values, and the side of b."""
    values = np.unique(np.concatenate([a, b]))
    cuts = (values[:-1] + values[1:]) / 2
    if not 0 < len(cuts) <= _FEW:
        cuts = np.array([np.median(np.concatenate([a, b]))])
    gains = np.array([(b > cut).mean() - (a > cut).mean() for cut in cuts])
    best = int(np.argmax(np.abs(gains)))
    return float(cuts[best]), 1.0 if gains[best] >= 0 else -1.0


def _statistic(a: Doubles, b: Doubles, first: int) -> tuple[Doubles, Doubles]:
    """Return one number for each result: along what the first ones differ in."""
    if a.shape[1] == 1:
        return a[:, 0], b[:, 0]
    known = np.concatenate([a[:first], b[:first]])
    middle = np.median(known, axis=0)
    reach = _REACH * np.median(np.abs(known - middle), axis=0)
    # What is nearly always the same is taken as it is.
    reach[reach == 0] = np.inf
    a, b = (np.clip(side, middle - reach, middle + reach) for side in (a, b))
    direction = _direction(a[:first], b[:first])
    return a @ direction, b @ direction


def _direction(a: Doubles, b: Doubles) -> Doubles:
    """Fisher's linear discriminant, in columns that vary."""
    pooled = np.concatenate([a - a.mean(axis=0), b - b.mean(axis=0)])
    scale = pooled.std(axis=0)
    scale[scale == 0] = np.inf
    standard = pooled / scale
    covariance = standard.T @ standard / len(standard) + _RIDGE * np.eye(len(scale))
    difference = (b.mean(axis=0) - a.mean(axis=0)) / scale
    return np.asarray(np.linalg.solve(covariance, difference) / scale)
