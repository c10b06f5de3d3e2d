"""Do intervals of `dp_effect` hold, and what does noise cost?  Simulated trials and cohorts.

Run as ``python tests/benchmarks/bench_effect_coverage.py [--runs 40] [--eps 1] [--out FILE]``.
"""

from __future__ import annotations

import numpy as np
import statsmodels.api as sm
from measure import options, write_table

import dpreg

NAMES = ("a", "b", "c")
FORMULA = f"y ~ {' + '.join(NAMES)}"
KNOWN = {"method": "aipw", "propensity": 0.5}
# Coefficients of the treatment (None: a trial), whether the outcome is 0 or 1, and how to estimate.
DESIGNS = {
    "trial, difference": (None, False, {"method": "difference"}),
    "trial, aipw": (None, False, KNOWN),
    "trial, risks": (None, True, KNOWN),
    "cohort": ((0.3, 0.6, -0.5, 0.0), False, {}),
    "cohort, regression": ((0.3, 0.6, -0.5, 0.0), False, {"method": "regression"}),
    "cohort, risks": ((0.3, 0.6, -0.5, 0.0), True, {}),
    "cohort, little overlap": ((-1.0, 1.3, 0.8, 0.0), False, {}),
    "trial, one in 20": ((-np.log(19), 0.0, 0.0, 0.0), False, {**KNOWN, "propensity": 0.05}),
}
SIZES = (5_000, 20_000, 100_000)
OUTCOME = np.array([0.5, 0.8, 0.5, -0.3])
# The effect is 1 + 0.5 a on the linear predictor, which of risks begins at -1.
EFFECT = np.array([1.0, 0.5])


def logistic(z):
    return 1 / (1 + np.exp(-z))


def covariates(n, rng):
    return np.column_stack([rng.normal(size=n), rng.random(n) < 0.3, rng.exponential(size=n) - 1])


def means_of(X, risks):
    """Mean outcomes of rows without and with the treatment."""
    base = OUTCOME[0] + X @ OUTCOME[1:] - 1.0 * risks
    both = base, base + EFFECT[0] + EFFECT[1] * X[:, 0]
    return tuple(map(logistic, both)) if risks else both


def persons(n, treatment, risks, rng):
    X = covariates(n, rng)
    chance = 0.5 if treatment is None else logistic(treatment[0] + X @ np.array(treatment[1:]))
    t = rng.random(n) < chance
    mean = np.where(t, *reversed(means_of(X, risks)))
    y = rng.random(n) < mean if risks else mean + rng.normal(size=n)
    return {"y": y.astype(float), "t": t.astype(float), **dict(zip(NAMES, X.T, strict=True))}


def exact(data, risks, method, propensity=None):
    """Effect and standard error of the same estimator without noise."""
    X = sm.add_constant(np.column_stack([data[name] for name in NAMES]))
    y, t = data["y"], data["t"]
    if method == "difference":
        parts = [y[t == arm] for arm in (0, 1)]
        error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts))
        return parts[1].mean() - parts[0].mean(), error
    kind = sm.families.Binomial() if risks else sm.families.Gaussian()
    fits = [sm.GLM(y[t == arm], X[t == arm], family=kind).fit() for arm in (0, 1)]
    means = [fit.predict(X) for fit in fits]
    score = means[1] - means[0]
    if method == "regression":
        slope = X.mean(axis=0)
        variance = sum(slope @ fit.cov_params() @ slope for fit in fits)
        return score.mean(), np.sqrt(score.var() / len(y) + variance)
    chance = propensity
    if chance is None:
        fitted = sm.GLM(t, X, family=sm.families.Binomial()).fit()
        chance = np.clip(fitted.predict(X), 0.05, 0.95)
    score = score + np.where(t == 1, (y - means[1]) / chance, -(y - means[0]) / (1 - chance))
    return score.mean(), np.sqrt(score.var() / len(y))


def measured(n, design, eps, runs):
    treatment, risks, given = DESIGNS[design]
    rng = np.random.default_rng([n, list(DESIGNS).index(design)])
    truth = np.array([m.mean() for m in means_of(covariates(4_000_000, rng), risks)])
    formula = "y ~ 1" if given.get("method") == "difference" else FORMULA
    family = "binomial" if risks and "difference" not in design else "gaussian"
    off, width, own, held, blank = [], [], [], [], 0
    for seed in range(runs):
        data = persons(n, treatment, risks, rng)
        found = dpreg.dp_effect(formula, data, eps, 1e-6, treatment="t", family=family, rng=seed,
                                **given)  # fmt: skip
        value, error = exact(data, risks, **{"method": "aipw", **given})
        own.append((value - truth[1] + truth[0]) / error)
        if not found.released or np.isnan(found.se):
            blank += 1
            continue
        off.append((found.effect - truth[1] + truth[0]) / found.se)
        width.append(found.se / error)
        table = found.tidy().iloc[1:]
        held.append((table["lower"] <= truth) & (truth <= table["upper"]))
    inside = np.mean(np.abs(off) < 1.959964) if off else np.nan
    row = (design, f"{n:,}", f"{inside:.3f}", f"{np.mean(held) if held else np.nan:.3f}",
           f"{np.mean(off) if off else np.nan:+.2f}", f"{np.mean(np.abs(own) < 1.959964):.3f}",
           f"{np.mean(own):+.2f}", f"{np.median(width) if width else np.nan:.2f}",
           f"{blank / runs:.0%}")  # fmt: skip
    print(*row, flush=True)
    return row


def main() -> None:
    given = options(__doc__, runs=40, eps=1.0, out="")
    rows = [
        measured(n, design, given.eps, max(given.runs if n < 100_000 else given.runs // 3, 1))
        for n in SIZES for design in DESIGNS
    ]  # fmt: skip
    write_table(
        f"Treatment effects: eps = {given.eps:g}",
        f"Three covariates, one of them skewed, with an effect that differs between rows; "
        f"{given.runs} runs per row (a third of that of 100,000 rows), delta = 1e-6: share "
        "of 95% intervals that contain the true effect, and the two mean outcomes; mean error "
        "in standard errors; both for the same estimator without noise; median standard error "
        "relative to it; share without one. Made by `tests/benchmarks/bench_effect_coverage.py`.",
        ("design", "rows", "covered", "means", "bias", "exact covered", "exact bias", "width",
         "blank"),
        rows, given.out, words=1,
    )  # fmt: skip


if __name__ == "__main__":
    main()
