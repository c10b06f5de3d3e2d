"""How often do tests reject what is true?  Simulated, privacy noise included.

Run as ``python tests/benchmarks/bench_tests.py [--runs 2000] [--n 20000] [--eps 1] [--out FILE]``.
Each run draws a table from a linear model, with a factor of four levels and two regressors whose
correlation is .7, errors with variance that grows with x, fits it once per method, and tests five
hypotheses that are true at the 5% level.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from measure import write_page

import dpreg

METHODS = ("boosted_adassp", "adassp", "tukey")
FORMULA = "y ~ x + z + g"
LEVELS = list("abcd")
EFFECTS = np.array([0.0, 0.3, 0.5, 0.5])
TRUE = {
    "one coefficient": "x = 1",
    "sum of correlated slopes": "x + z = 0.5",
    "two levels": "g[T.c] - g[T.d]",
    "two rows (chi2)": "x = 1, z = -0.5",
    "four rows (chi2)": "x = 1, z = -0.5, g[T.b] = 0.3, g[T.c] - g[T.d] = 0",
}


def draw(rng, n):
    x = rng.standard_normal(n)
    z = 0.7 * x + np.sqrt(1 - 0.49) * rng.standard_normal(n)
    g = rng.choice(4, n, p=[0.2, 0.2, 0.3, 0.3])
    errors = rng.standard_normal(n) * np.sqrt(0.5 + 0.5 * x**2)
    y = 1 + x - 0.5 * z + EFFECTS[g] + errors
    return pd.DataFrame({"y": y, "x": x, "z": z, "g": pd.Categorical.from_codes(g, LEVELS)})


def p_value(fit, text):
    several = "," in text
    return fit.wald_test(text).pvalue if several else float(fit.t_test(text).pvalue[0])


def measured(runs, n, eps, delta=1e-6):
    """Shares of rejected hypotheses, and of fits that were released, by method."""
    found = {}
    for method in METHODS:
        rejected = {name: [] for name in TRUE}
        released = 0
        for seed in range(runs):
            data = draw(np.random.default_rng([seed, n]), n)
            fit = dpreg.dp_lm(FORMULA, data, eps, delta, method=method, rng=seed)
            if not fit.released or fit.bse.isna().any():
                continue
            released += 1
            for name, text in TRUE.items():
                rejected[name].append(p_value(fit, text) < 0.05)
        found[method] = released, {name: float(np.mean(r)) for name, r in rejected.items() if r}
        print(method, found[method], flush=True)
    return found


def report(found, runs, n, eps):
    error = np.sqrt(0.05 * 0.95 / runs)
    lines = [
        f"# Tests of true hypotheses at the 5% level: n = {n:,}, eps = {eps:g}",
        "",
        f"`{FORMULA}`, {runs:,} simulated tables for each method; shares that are rejected, with a "
        f"Monte Carlo error of {error:.3f}. `tukey` releases no covariances: combinations have "
        "upper bounds for standard errors, several rows a Bonferroni test. Made by "
        "`tests/benchmarks/bench_tests.py`.",
        "",
        "| hypothesis | " + " | ".join(found) + " |",
        "|---|" + "--:|" * len(found),
    ]
    for name, text in TRUE.items():
        cells = [f"{shares[name]:.3f}" if name in shares else "" for _, shares in found.values()]
        lines.append(f"| {name}: `{text}` | " + " | ".join(cells) + " |")
    lines.append(
        "| released with all errors | "
        + " | ".join(f"{k / runs:.3f}" for k, _ in found.values())
        + " |"
    )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = measured(options.runs, options.n, options.eps)
    text = report(found, options.runs, options.n, options.eps)
    write_page(text, options.out)


if __name__ == "__main__":
    main()
