"""Do intervals of weighted fits hold?  Simulated, for three families and three kinds of weights.

Run as ``python tests/benchmarks/bench_weights.py [--runs 40] [--eps 1] [--out FILE]``.  The
weights of a Gaussian response are inverse variances of its errors; of the others they
have nothing to do with the response, as those of a survey.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from measure import options, write_table
from scipy import special

import dpreg

TRUTH = np.array([0.2, 0.6, -0.4])
FAMILIES = ("gaussian", "binomial", "poisson")
WEIGHTS = ("gamma", "lognormal", "two")
LIMITS = (None, 20.0)


def draw(family, kind, n, seed):
    rng = np.random.default_rng(seed)
    x, g = rng.standard_normal(n), (rng.random(n) < 0.3).astype(float)
    w = {
        "gamma": rng.gamma(2, 1, n),
        "lognormal": np.exp(rng.standard_normal(n)),
        "two": np.where(rng.random(n) < 0.1, 20.0, 1.0),
    }[kind]
    eta = TRUTH[0] + TRUTH[1] * x + TRUTH[2] * g
    if family == "gaussian":
        y = eta + rng.standard_normal(n) / np.sqrt(w)
    elif family == "binomial":
        y = (rng.random(n) < special.expit(eta)).astype(float)
    else:
        y = rng.poisson(np.exp(eta)).astype(float)
    return pd.DataFrame({"y": y, "x": x, "g": g, "w": w})


def measured(family, kind, n, limit, eps, runs):
    covered, blank, widths = [], [], []
    for seed in range(runs):
        fit = dpreg.dp_glm("y ~ x + g", draw(family, kind, n, seed), eps, family=family,
                           weights="w", weight_limit=limit, rng=seed)  # fmt: skip
        error = fit.bse.to_numpy()
        blank.append(np.isnan(error))
        covered.append(np.where(np.isnan(error), np.nan, abs(fit.estimates - TRUTH) < 1.96 * error))
        widths.append(error / fit.sampling)
    return np.nanmean(covered), np.mean(blank), np.nanmedian(widths)


def main() -> None:
    given = options(__doc__, runs=40, eps=1.0, out="")
    rows = []
    for family, kind, n, limit in itertools.product(FAMILIES, WEIGHTS, (10_000, 50_000), LIMITS):
        covered, blank, width = measured(family, kind, n, limit, given.eps, given.runs)
        limited = "found" if limit is None else f"{limit:g}"
        shown = f"{covered:.3f}", f"{blank:.3f}", f"{width:.2f}"
        rows.append((family, kind, f"{n:,}", limited, *shown))
        print(*rows[-1], flush=True)
    write_table(
        f"Weighted fits: eps = {given.eps:g}, delta = 1e-05",
        f"Two regressors, {given.runs} runs per row, 3 coefficients each. Weights: gamma(2), "
        "lognormal(0, 1), or 20 for a tenth of the rows and 1 for the others. Width: the median "
        "standard error relative to that without noise. Made by "
        "`tests/benchmarks/bench_weights.py`.",
        ("family", "weights", "n", "weight_limit", "covered", "blank", "width"),
        rows, given.out, words=2,
    )  # fmt: skip


if __name__ == "__main__":
    main()
