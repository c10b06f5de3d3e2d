"""Classification and intervals of `dp_glm`, beside exact fits and objective perturbation.

Run as ``python tests/benchmarks/bench_glm.py [--data FOLDER] [--repeats 5] [--coverage 30]
[--quick] [--json FILE]``.  With a folder that has ``adult.parquet`` and ``acs_employment.parquet``
(columns of codes from 0, ``target`` and ``split``), held-out log-loss and AUC; the codes are
declared as levels, no other bound is given.  Objective perturbation is diffprivlib's logistic
regression, where that is installed, given the norm of the rows.  Coverage is of the truth of
simulated models, in `coverage` runs of each.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from measure import Sheet, arguments
from scipy import optimize, special, stats

import dpreg

DELTA = 1e-5
EPS = (0.1, 0.3, 1.0, 3.0)
SETS = ("adult", "acs_employment")


def log_loss(y, eta):
    return float(np.mean(np.logaddexp(0, eta) - y * eta))


def auc(y, eta):
    ranks, ones = stats.rankdata(eta), y.sum()
    return float((ranks[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones)))


def exact(X, y, ridge=1e-3):
    """Logistic regression by Newton's method, the intercept first."""
    Z = np.column_stack([np.ones(len(X)), X])
    theta = np.zeros(Z.shape[1])
    for _ in range(40):
        mean = special.expit(Z @ theta)
        curvature = (Z * (mean * (1 - mean))[:, None]).T @ Z + ridge * np.eye(len(theta))
        theta = theta + np.linalg.solve(curvature, Z.T @ (y - mean) - ridge * theta)
    return theta, np.sqrt(np.diag(np.linalg.inv(curvature)))


def objective_perturbation(X, y, eps, norm):
    """Return coefficients of diffprivlib, or None where it is not installed."""
    try:
        from diffprivlib.models import LogisticRegression
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(epsilon=eps, data_norm=norm).fit(X, y)
    return np.concatenate([model.intercept_, model.coef_[0]])


def classification(sheet, name, frame, repeats):
    columns = [c for c in frame if c not in ("target", "split")]
    levels = {c.replace("-", "_"): list(range(int(frame[c].max()) + 1)) for c in columns}
    frame = frame.rename(columns={c: c.replace("-", "_") for c in columns})
    formula = "target ~ " + " + ".join(levels)
    train, test = (frame[frame.split == part] for part in ("train", "test"))
    y = test.target.to_numpy(float)
    X = np.column_stack([(frame[c] == v).to_numpy(float) for c in levels for v in levels[c][1:]])
    there, here = (X[(frame.split == part).to_numpy()] for part in ("train", "test"))
    theta, _ = exact(there, train.target.to_numpy(float))
    eta = theta[0] + here @ theta[1:]
    best = log_loss(y, eta), auc(y, eta)
    print(
        f"{name}, n {len(train)}, d {X.shape[1]}: exact {best[0]:.3f} / {best[1]:.3f}", flush=True
    )
    for eps in EPS:
        found = []
        for seed in range(repeats):
            fit = dpreg.dp_glm(formula, train, eps, DELTA, levels=levels, inference=False, rng=seed)
            eta = fit.predict(test, which="linear").to_numpy()
            found.append((log_loss(y, eta), auc(y, eta)))
        found = np.array(found)
        sheet.add(f"glm log-loss {name} {eps:g}", found[:, 0], f"{name}, eps {eps:g}, log-loss")
        sheet.add(f"glm AUC {name} {eps:g}", found[:, 1], f"{name}, eps {eps:g}, AUC")
        norm = math.sqrt(1 + len(levels))
        theirs = objective_perturbation(there, train.target.to_numpy(), eps, norm)
        if theirs is not None:
            eta = theirs[0] + here @ theirs[1:]
            text = f"{log_loss(y, eta):.3f} / {auc(y, eta):.3f}"
            print(f"  objective perturbation, eps {eps:g}: {text}", flush=True)


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
    "poisson": (np.exp, 0.5),
}


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
    method = dpreg.BoostedAdaSSP(bounds=bounds)
    held, blank, width = 0, 0, []
    for seed in range(runs):
        X = design(kind, n, d, rng)
        means = mean(start + X @ slopes)
        y = rng.poisson(means) if family == "poisson" else rng.random(n) < means
        table = pd.DataFrame(X, columns=names).assign(y=y.astype(float))
        formula = "y ~ " + " + ".join(names)
        of = {"link": "probit"} if family == "probit" else {"family": family}
        fit = dpreg.dp_glm(formula, table, eps, DELTA, **of, method=method, rng=seed)
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
    given = arguments(__doc__, data="", repeats=5, coverage=30, family="", rows=0)
    sheet = Sheet()
    for name in SETS if given.data else ():
        frame = pd.read_parquet(Path(given.data) / f"{name}.parquet")
        classification(sheet, name, frame, 1 if given.quick else given.repeats)
    sizes = ((10_000, 2), (10_000, 20), (100_000, 20))[: 2 if given.quick else 3]
    if given.rows:
        sizes = ((given.rows, 2), (given.rows, 20))
    for family in [given.family] if given.family else MEANS:
        for n, d in sizes:
            for share in (2.0,) if family == "poisson" else (0.5, 0.05):
                for kind in ("normal", "skewed", "dummies"):
                    coverage(sheet, family, kind, n, d, share, 1.0, max(2, given.coverage))
    sheet.write(given.json)


if __name__ == "__main__":
    main()
