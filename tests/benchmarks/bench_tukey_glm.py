"""Do intervals of TukeyEM hold for logistic and Poisson models?  Simulated.

Run as ``python tests/benchmarks/bench_tukey_glm.py [--runs 30] [--out FILE]``.  Normal regressors,
the last one 1 for 30% of the rows and 0 for others.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from measure import options, write_table
from scipy import special

import dpreg

# Family, rows, columns, mean at 0, largest slope, eps.
CELLS = [
    ("binomial", 20_000, 2, 0.5, 0.5, 1.0),
    ("binomial", 50_000, 3, 0.2, 0.5, 1.0),
    ("binomial", 50_000, 2, 0.5, 1.0, 1.0),
    ("binomial", 50_000, 2, 0.5, 1.5, 1.0),
    ("poisson", 20_000, 2, 0.5, 0.5, 1.0),
    ("binomial", 20_000, 2, 0.5, 0.5, 3.0),
    ("binomial", 20_000, 2, 0.5, 1.0, 3.0),
    ("poisson", 50_000, 5, 0.5, 0.5, 3.0),
]


def draw(family, n, d, centre, slope, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, -1] = rng.random(n) < 0.3
    start = special.logit(centre) if family == "binomial" else centre
    truth = np.concatenate([[start], slope * np.tile([1.0, -0.6], d)[:d]])
    eta = truth[0] + X @ truth[1:]
    y = rng.random(n) < special.expit(eta) if family == "binomial" else rng.poisson(np.exp(eta))
    names = [f"x{j}" for j in range(d)]
    return pd.DataFrame(X, columns=names).assign(y=y.astype(float)), truth


def measured(family, n, d, centre, slope, eps, runs):
    covered, ratio = [], []
    for seed in range(runs):
        data, truth = draw(family, n, d, centre, slope, seed)
        formula = "y ~ " + " + ".join(f"x{j}" for j in range(d))
        fit = dpreg.dp_glm(formula, data, eps, family=family, method="tukey", rng=seed)
        if fit.released:
            low, high = fit.conf_int().to_numpy().T
            covered.append(np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high)))
            ratio.append(fit.bse.to_numpy())
    if not covered:
        return 0.0, np.nan, np.nan, np.nan, np.nan
    found = np.array(covered, dtype=float)
    errors = np.nanmedian(ratio, axis=0)
    return (len(found) / runs, np.nanmean(found[:, 1:]), np.nanmean(found[:, 0]), errors[1],
            np.isnan(found).mean())  # fmt: skip


def main() -> None:
    given, rows = options(__doc__, runs=30, out=""), []
    for family, n, d, centre, slope, eps in CELLS:
        shown = [f"{v:.3f}" for v in measured(family, n, d, centre, slope, eps, given.runs)]
        rows.append((family, f"{n:,}", d, f"{slope:g}", f"{eps:g}", *shown))
        print(*rows[-1], flush=True)
    write_table(
        "TukeyEM for logistic and Poisson models, delta = 1e-05",
        f"Shares of 95% intervals that contain the truth, {given.runs} runs per row. Made by "
        "`tests/benchmarks/bench_tukey_glm.py`.",
        ("family", "n", "d", "slope", "eps", "released", "slopes covered", "intercept covered",
         "error of x0", "blank"),
        rows, given.out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
