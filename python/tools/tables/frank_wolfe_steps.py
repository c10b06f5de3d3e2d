"""Find the factor of `default_steps`: how many steps private Frank-Wolfe should make.

Run as ``python -m tables.frank_wolfe_steps`` in `python/tools` (a few minutes on one core);
prints a table and the largest factor within 5% of the least regret.

For public synthetic problems of several sizes, shapes and budgets, the excess loss (mean of
squares above its minimum on the l1 ball, averaged over seeds) of
T = factor * (n sqrt(8 rho) / log(2 d + 1))^(2/3) steps is compared with that of the best
factor for the very problem.  The regret of a factor is the geometric mean of that ratio, for
the shape of problem that it suits least.  Differences of loss below 1e-4 are not counted.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.privacy.zcdp import bounded_range_epsilon, zcdp_rho

FACTORS = (0.06, 0.12, 0.17, 0.25, 0.35, 0.5, 1.0)
ROWS, COLUMNS, EPSILONS = (1_000, 10_000, 100_000), (5, 30, 200), (0.3, 1.0, 4.0)
SHAPES = ("sparse", "correlated", "interior", "dense")
SEEDS, DELTA, REFERENCE_STEPS = 4, 1e-6, 5_000


def problem(n: int, d: int, shape: str, seed: int) -> tuple[Doubles, Doubles]:
    """Columns in [-1, 1], the response in [-1, 1], radius 1."""
    rng = np.random.default_rng([seed, n, d, SHAPES.index(shape)])
    x = rng.standard_normal((n, d))
    if shape == "correlated":
        for j in range(1, d):
            x[:, j] = 0.7 * x[:, j - 1] + math.sqrt(1 - 0.49) * x[:, j]
    x = np.clip(x / 3, -1, 1)
    w = np.zeros(d)
    active = d if shape == "dense" else min(d, 5)
    w[:active] = rng.uniform(0.5, 1, active) * rng.choice([-1, 1], active)
    w *= (0.5 if shape == "interior" else 1.5) / np.abs(w).sum()
    return x, np.clip(x @ w + 0.2 * rng.standard_normal(n), -1, 1)


def excess(
    x: Doubles, y: Doubles, design: _core.UnitDesign, steps: list[int], rho: float, seed: int
) -> list[float]:
    best = _core.L1Gradient(design, y, l1=1.0)
    least = np.mean((x @ _core.frank_wolfe(best, steps=REFERENCE_STEPS)["weights"] - y) ** 2)
    bits = _core.TestBits(seed)
    found = []
    for count in steps:
        gradient = _core.L1Gradient(design, y, l1=1.0)
        epsilon = bounded_range_epsilon(rho, count)
        run = _core.dp_frank_wolfe(gradient, steps=count, epsilon_step=epsilon, bits=bits)
        found.append(max(float(np.mean((x @ run["weights"] - y) ** 2) - least), 0.0) + 1e-4)
    return found


def main() -> None:
    regrets: dict[str, list[Doubles]] = {shape: [] for shape in SHAPES}
    print("    n    d  eps shape      " + " ".join(f"{f:>8}" for f in FACTORS))
    for n, d, shape in itertools.product(ROWS, COLUMNS, SHAPES):
        losses = {epsilon: np.zeros(len(FACTORS)) for epsilon in EPSILONS}
        for seed in range(SEEDS):
            x, y = problem(n, d, shape, seed)
            design = _core.DenseUnitDesign(x)
            for epsilon in EPSILONS:
                rho = zcdp_rho(epsilon, DELTA)
                signal = (n * math.sqrt(8 * rho) / math.log(2 * d + 1)) ** (2 / 3)
                steps = [min(max(1, round(f * signal)), 20_000) for f in FACTORS]
                losses[epsilon] += np.array(excess(x, y, design, steps, rho, seed)) / SEEDS
        for epsilon, loss in losses.items():
            regrets[shape].append(np.log(loss / loss.min()))
            row = " ".join(f"{v:8.4f}" for v in loss)
            print(f"{n:7d} {d:4d} {epsilon:4} {shape:10} {row}", flush=True)
    by_shape = {shape: np.exp(np.mean(r, axis=0)) for shape, r in regrets.items()}
    for shape, regret in by_shape.items():
        print(f"regret, {shape:10}", " ".join(f"{v:8.2f}" for v in regret))
    worst = np.max(list(by_shape.values()), axis=0)
    # Flat near its least; rather more steps, since a public l1 is often a generous guess.
    print("factor", max(f for f, w in zip(FACTORS, worst, strict=True) if w <= 1.05 * worst.min()))


if __name__ == "__main__":
    main()
