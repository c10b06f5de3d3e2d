"""Do intervals of `dp_glm` hold?  The truth of simulated models, counts and 0/1 outcomes.

Run as ``python tests/benchmarks/bench_glm_coverage.py [--coverage 30] [--family probit] [--rows
1000000] [--quick] [--json FILE]``, `coverage` runs of each cell.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from measure import Sheet, arguments
from scipy import optimize, special

import dpreg

DELTA = 1e-5


def design(kind, n, d, rng):
    """Rows of a kind of design, and their public levels."""
    if kind == "normal":
        root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(range(d), range(d)))).T
        return rng.standard_normal((n, d)) @ root * np.linspace(1, 3, d) + 1
    if kind == "skewed":
        return np.exp(0.8 * rng.standard_normal((n, d)))
    return (rng.random((n, d)) < np.linspace(0.05, 0.5, d)).astype(float)


# Of responses, by family, and the standard deviation of linear predictors.
MEANS = {
    "binomial": (special.expit, 1.2),
    "probit": (special.ndtr, 0.8),
    "cloglog": (lambda eta: -np.expm1(-np.exp(eta)), 0.8),
    "poisson": (np.exp, 0.5),
    "gamma": (np.exp, 0.5),
    "negativebinomial": (np.exp, 0.5),
}
# Shape of gamma responses, and dispersion of counts; both have standard deviations about the mean.
SHAPE, ALPHA = 1.5, 0.8


def drawn(family, means, rng):
    """Responses with these means."""
    if family == "poisson":
        return rng.poisson(means)
    if family == "gamma":
        return rng.gamma(SHAPE, means / SHAPE)
    if family == "negativebinomial":
        return rng.poisson(rng.gamma(1 / ALPHA, ALPHA * means))
    return rng.random(len(means)) < means


def asked(family):
    """Return the arguments of `dp_glm`."""
    if family in ("probit", "cloglog"):
        return {"link": family}
    return {"family": dpreg.NegativeBinomial(ALPHA) if family == "negativebinomial" else family}


def coverage(sheet, family, kind, n, d, share, eps, runs):
    """Count intervals that hold the truth; `share` is the mean response."""
    rng = np.random.default_rng(d)
    X = design(kind, 100_000, d, rng)
    slopes = rng.standard_normal(d) * (np.arange(d) % 2 == 0)
    mean, spread = MEANS[family]
    slopes *= spread / np.sqrt(np.var(X @ slopes))
    start = optimize.brentq(lambda a: mean(a + X @ slopes).mean() - share, -40, 40)
    truth, names = np.append(start, slopes), [f"x{j}" for j in range(d)]
    bounds = dict.fromkeys(names, (0.0, 1.0)) if kind == "dummies" else None
    method = dpreg.BoostedAdaSSP()
    held, blank, width = 0, 0, []
    for seed in range(runs):
        X = design(kind, n, d, rng)
        means = mean(start + X @ slopes)
        y = drawn(family, means, rng)
        table = pd.DataFrame(X, columns=names).assign(y=y.astype(float))
        formula = "y ~ " + " + ".join(names)
        fit = dpreg.dp_glm(formula, table, eps, DELTA, **asked(family), method=method,
                           bounds=bounds, rng=seed)  # fmt: skip
        error = fit.bse.to_numpy() if fit.released else np.full(d + 1, np.nan)
        blank += int(np.isnan(error).sum())
        if fit.released:
            held += int((np.abs(fit.estimates - truth) <= 1.96 * error).sum())
            width += list(error / fit.sampling)
    total = runs * (d + 1)
    label = f"{family} {kind} n={n} d={d} mean={share:g} eps={eps:g}"
    note = f"[blank {blank / total:.0%}, width over that without noise {np.nanmedian(width):.2f}]"
    sheet.add(f"glm coverage {label}", held / max(total - blank, 1), f"coverage, {label}", note)


def main():
    given = arguments(__doc__, coverage=30, family="", rows=0)
    sheet = Sheet()
    sizes = ((10_000, 2), (10_000, 20), (100_000, 20))[: 2 if given.quick else 3]
    if given.rows:
        sizes = ((given.rows, 2), (given.rows, 20))
    for family in [given.family] if given.family else MEANS:
        for n, d in sizes:
            for share in (2.0,) if MEANS[family][0] is np.exp else (0.5, 0.05):
                for kind in ("normal", "skewed", "dummies"):
                    coverage(sheet, family, kind, n, d, share, 1.0, max(2, given.coverage))
    sheet.write(given.json)


if __name__ == "__main__":
    main()
