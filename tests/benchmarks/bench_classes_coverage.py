"""Do intervals of `dp_ordinal` and `dp_multinomial` hold, and what does noise cost?

Run as ``python tests/benchmarks/bench_classes_coverage.py [--runs 20] [--eps 1] [--out FILE]``.
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
DESIGNS = [
    (n, model, shares)
    for n in (10_000, 30_000, 100_000)
    for model, shares in (("logit", "even"), ("logit", "uneven"), ("probit", "uneven"),
                          ("multinomial", "common baseline"), ("multinomial", "rare baseline"))
]  # fmt: skip


def covariates(n, rng):
    return rng.normal(50, 2, n), (rng.random(n) < 0.3).astype(float)


def ordered(n, model, shares, rng):
    """Return data, coefficients, and the probabilities of `NEW`."""
    x, z = covariates(n, rng)
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
    x, z = covariates(n, rng)
    blocks = BLOCKS + np.array([0.0 if shares == "common baseline" else 2.0, 0, 0])
    X = np.column_stack([np.ones(n), x - 50, z])
    powers = np.exp(np.column_stack([np.zeros(n), X @ blocks.T]))
    edges = np.cumsum(powers / powers.sum(axis=1, keepdims=True), axis=1)
    y = (rng.random(n)[:, None] > edges[:, :-1]).sum(axis=1)
    own = np.exp(np.append(0.0, blocks @ np.array([1.0, 1.0, 1.0])))
    moved = blocks - np.outer(50 * blocks[:, 1], [1.0, 0.0, 0.0])
    return {"x": x, "z": z, "y": y}, moved.ravel(), own / own.sum()


def exact(data, model):
    """Return standard errors without noise, and mean log-losses of the exact fit and a constant."""
    X, y = np.column_stack([data["x"] - 50, data["z"]]), data["y"]
    share = np.bincount(y) / len(y)
    constant = -(share * np.log(share)).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model == "multinomial":
            found = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0)
            return np.asarray(found.bse)[1:].T.ravel(), -found.llf / len(y), constant
        found = OrderedModel(y, X, distr=model).fit(method="bfgs", disp=0)
    return found.bse[:2], -found.llf / len(y), constant


def measured(n, model, shares, eps, runs):
    rng, several = np.random.default_rng(n + len(model) + len(shares)), model == "multinomial"
    held, width, chances, losses = [], [], [], []
    for seed in range(runs):
        data, truth, new = unordered(n, shares, rng) if several else ordered(n, model, shares, rng)
        levels = {"y": list(range(len(new)))}
        if several:
            fit = dpreg.dp_multinomial("y ~ x + z", data, eps, 1e-6, levels=levels, rng=seed)
        else:
            fit = dpreg.dp_ordinal(
                "y ~ x + z", data, eps, 1e-6, levels=levels, rng=seed, link=model
            )
        errors, best, constant = exact(data, model)
        slopes = [
            j for j, name in enumerate(getattr(fit, "names", ())) if name.endswith(("x", "z"))
        ]
        if not fit.released or not slopes:
            width.append(np.full(len(errors), np.nan))
            continue
        inside = np.abs(fit.estimates - truth) < 1.959964 * fit.bse.to_numpy()
        held.append(np.where(fit.bse.isna(), np.nan, inside))
        width.append(fit.bse.to_numpy()[slopes] / errors)
        table = fit.predict(NEW, interval="confidence")
        inside = (table["lower"] <= new) & (new <= table["upper"])
        chances.append(np.where(table["lower"].isna(), np.nan, inside))
        given = fit.predict(pd.DataFrame(data)).to_numpy()[np.arange(n), data["y"]]
        loss = -np.log(np.maximum(given, 1e-12)).mean()
        losses.append((constant - loss) / (constant - best))
    width = np.array(width)
    row = (f"{n:,}", model, shares, f"{np.nanmean(held):.3f}", f"{np.nanmean(chances):.3f}",
           f"{np.nanmedian(width):.2f}", f"{np.nanquantile(width, 0.9):.2f}",
           f"{np.isnan(width).mean():.0%}", f"{np.median(losses):.1%}")  # fmt: skip
    print(*row, flush=True)
    return row


def main() -> None:
    given = options(__doc__, runs=20, eps=1.0, out="")
    rows = [measured(*design, given.eps, given.runs) for design in DESIGNS]
    write_table(
        f"Ordered and unordered classes: eps = {given.eps:g}",
        f"One normal covariate far from 0 and one binary, {given.runs} runs a row, delta = 1e-6: "
        "share of 95% intervals of coefficients (thresholds and intercepts among them) and of "
        "class probabilities of a new record that hold the truth; medians of standard errors of "
        "slopes over those of maximum likelihood without noise, and what a tenth of them exceeds; "
        "share without a standard error; median share of the exact fit's gain in log-loss over a "
        "constant that the private fit has. Thresholds and intercepts are far from where x is, so "
        "nearly all coefficients of a fit hold or miss together. Made by "
        "`tests/benchmarks/bench_classes_coverage.py`.",
        ("records", "model", "classes", "covered", "probabilities", "width", "widest tenth",
         "blank", "gain"),
        rows, given.out, words=3,
    )  # fmt: skip


if __name__ == "__main__":
    main()
