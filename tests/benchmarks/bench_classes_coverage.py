"""Do intervals of `dp_ordinal` and `dp_multinomial` hold, and what does noise cost?

Run as ``python tests/benchmarks/bench_classes_coverage.py [--runs 40] [--eps 1] [--out FILE]``.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
from measure import options, write_table
from statsmodels.miscmodels.ordinal_model import OrderedModel

import dpreg

# Shares of classes where covariates are 0.
EVEN, UNEVEN = (0.2, 0.2, 0.2, 0.2, 0.2), (0.5, 0.25, 0.15, 0.07, 0.03)
SLOPES = np.array([0.35, -0.7])
NEW = {"x": [51.0], "z": [1.0]}
# Of each class against the first: intercept where x is 50, x, z.
BLOCKS = np.array([[0.3, 0.25, -0.5], [-0.5, -0.25, 0.5], [0.0, 0.1, 0.3]])
SKEWED = "uneven, skewed x"
DESIGNS = [
    (n, model, shares)
    for n in (10_000, 30_000, 100_000)
    for model, shares in (("logit", "even"), ("logit", "uneven"), ("probit", "uneven"),
                          ("probit", SKEWED), ("multinomial", "common baseline"),
                          ("multinomial", "rare baseline"))
    if n < 100_000 or shares != SKEWED
]  # fmt: skip
# Times `runs`: a row of few records costs little.
REPEATED = {10_000: 3, 30_000: 2, 100_000: 1}


def covariates(n, shares, rng):
    x = 48 + rng.exponential(2, n) if shares == SKEWED else rng.normal(50, 2, n)
    return x, (rng.random(n) < 0.3).astype(float)


def ordered(n, model, shares, rng):
    """Return data, coefficients, and the probabilities of `NEW`."""
    x, z = covariates(n, shares, rng)
    points = np.cumsum(EVEN if shares == "even" else UNEVEN)[:-1]
    logit = model == "logit"
    centre = np.log(points / (1 - points)) if logit else sm.families.links.Probit()(points)
    errors = rng.logistic(size=n) if logit else rng.normal(size=n)
    y = np.searchsorted(centre, np.column_stack([x - 50, z]) @ SLOPES + errors)
    link = sm.families.links.Logit() if logit else sm.families.links.Probit()
    below = link.inverse(centre - (SLOPES[0] + SLOPES[1]))
    chances = np.diff(np.concatenate([[0], below, [1]]))
    return {"x": x, "z": z, "y": y}, np.append(SLOPES, centre + 50 * SLOPES[0]), chances


def unordered(n, shares, rng):
    x, z = covariates(n, shares, rng)
    blocks = BLOCKS + np.array([0.0 if shares == "common baseline" else 2.0, 0, 0])
    X = np.column_stack([np.ones(n), x - 50, z])
    powers = np.exp(np.column_stack([np.zeros(n), X @ blocks.T]))
    edges = np.cumsum(powers / powers.sum(axis=1, keepdims=True), axis=1)
    y = (rng.random(n)[:, None] > edges[:, :-1]).sum(axis=1)
    own = np.exp(np.append(0.0, blocks @ np.array([1.0, 1.0, 1.0])))
    moved = blocks - np.outer(50 * blocks[:, 1], [1.0, 0.0, 0.0])
    return {"x": x, "z": z, "y": y}, moved.ravel(), own / own.sum()


def exact(data, model):
    """Return the fit by maximum likelihood without noise.

    Estimates and standard errors, and mean log-losses of it and of a constant.
    """
    X, y = np.column_stack([data["x"] - 50, data["z"]]), data["y"]
    share = np.bincount(y) / len(y)
    constant = -(share * np.log(share)).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model == "multinomial":
            found = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0)
            block = np.eye(3)
            block[0, 1] = -50.0
            back = np.kron(np.eye(len(share) - 1), block)
            estimates = back @ np.asarray(found.params).T.ravel()
        else:
            found = OrderedModel(y, X, distr=model).fit(method="bfgs", disp=0)
            # Parameters are the first threshold, and logarithms of the steps to the next ones.
            steps = np.append(1.0, np.exp(found.params[3:]))
            back = np.eye(len(found.params))
            back[2:, 2:], back[2:, 0] = np.tril(np.tile(steps, (len(steps), 1))), 50.0
            edges = np.cumsum(np.append(found.params[2], steps[1:])) + 50 * found.params[0]
            estimates = np.append(found.params[:2], edges)
        errors = np.sqrt(np.diag(back @ np.asarray(found.cov_params()) @ back.T))
    return estimates, errors, -found.llf / len(y), constant


def by_run(held):
    """Return the share that holds the truth, and its standard error; coefficients of a run agree.

    held: shape (runs, coefficients).
    """
    share = np.nanmean(held, axis=1)
    return f"{share.mean():.3f} ({share.std(ddof=1) / np.sqrt(len(share)):.3f})"


def held(estimates, errors, truth):
    inside = np.abs(estimates - truth) < 1.959964 * errors
    return np.where(np.isnan(errors), np.nan, inside)


def measured(n, model, shares, eps, runs):
    rng, several = np.random.default_rng(n + len(model) + len(shares)), model == "multinomial"
    private, without, width, chances, losses = [], [], [], [], []
    for seed in range(runs):
        data, truth, new = unordered(n, shares, rng) if several else ordered(n, model, shares, rng)
        levels = {"y": list(range(len(new)))}
        if several:
            fit = dpreg.dp_multinomial("y ~ x + z", data, eps, 1e-6, levels=levels, rng=seed)
        else:
            fit = dpreg.dp_ordinal(
                "y ~ x + z", data, eps, 1e-6, levels=levels, rng=seed, link=model
            )
        estimates, errors, best, constant = exact(data, model)
        without.append(held(estimates, errors, truth))
        slopes = np.arange(len(truth)) % 3 > 0 if several else np.arange(len(truth)) < 2
        if not fit.released:
            width.append(np.full(slopes.sum(), np.nan))
            continue
        private.append(held(fit.estimates, fit.bse.to_numpy(), truth))
        width.append(fit.bse.to_numpy()[slopes] / errors[slopes])
        table = fit.predict(NEW, interval="confidence")
        inside = (table["lower"] <= new) & (new <= table["upper"])
        chances.append(np.where(table["lower"].isna(), np.nan, inside))
        given = fit.predict(pd.DataFrame(data)).to_numpy()[np.arange(n), data["y"]]
        loss = -np.log(np.maximum(given, 1e-12)).mean()
        losses.append((constant - loss) / (constant - best))
    width = np.array(width)
    covered = [
        by_run(np.array(of)[:, which]) for which in (slopes, ~slopes) for of in (private, without)
    ]
    row = (f"{n:,}", model, shares, str(runs), *covered, f"{np.nanmean(chances):.3f}",
           f"{np.nanmedian(width):.2f}", f"{np.nanquantile(width, 0.9):.2f}",
           f"{np.isnan(width).mean():.0%}", f"{np.median(losses):.1%}")  # fmt: skip
    print(*row, flush=True)
    return row


def main() -> None:
    given = options(__doc__, runs=40, eps=1.0, out="")
    rows = [measured(*design, given.eps, REPEATED[design[0]] * given.runs) for design in DESIGNS]
    write_table(
        f"Ordered and unordered classes: eps = {given.eps:g}",
        "One covariate far from 0, normal or skewed (exponential), and one binary, delta = 1e-6: "
        "share of 95% intervals that contain the truth, for slopes and for thresholds "
        "or intercepts, each with that of maximum likelihood without noise on the same records; "
        "in brackets its standard error, clustered by run: thresholds and intercepts are far from "
        "the values of x, so nearly all coefficients of a fit are covered or missed together.  "
        "Share for class probabilities of a new record; median and upper decile of standard "
        "errors of slopes relative to maximum likelihood; share without a standard error; median "
        "of the gain in log-loss over a constant, relative to that of the exact fit. Made by "
        "`tests/benchmarks/bench_classes_coverage.py`.",
        ("records", "model", "classes", "runs", "slopes", "exact", "thresholds", "exact",
         "probabilities", "width", "widest tenth", "blank", "gain"),
        rows, given.out, words=3,
    )  # fmt: skip


if __name__ == "__main__":
    main()
