"""Models of classes, counts and effects of real tables, beside the exact fits of the same rows.

The exact fits are statsmodels': OrderedModel as `MASS::polr`, MNLogit as `nnet::multinom`,
NegativeBinomial as `glm.nb`, and the doubly robust mean by two GLM.
Run as ``python tests/benchmarks/bench_classes_real.py [--runs 5] [--eps 1] [--out FILE]``.
"""

from __future__ import annotations

import warnings

import numpy as np
import statsmodels.api as sm
from measure import options, write_table
from statsmodels.miscmodels.ordinal_model import OrderedModel

import dpreg
from dpreg import NegativeBinomial

CUTS = ["Fair", "Good", "Very Good", "Premium", "Ideal"]
DIAMONDS = ("carat", "depth", "table")
FAIR = ("age", "yrs_married", "religious", "educ")
HEALTH = ("lncoins", "lpi", "disea", "hlthg", "physlm")


def tables():
    """Return data, the response, its classes, covariates, and a model of each row of the table."""
    diamonds, fair = dpreg.load_diamonds(), sm.datasets.fair.load_pandas().data
    diamonds = diamonds.assign(cut=diamonds["cut"].astype(str))
    health = sm.datasets.randhie.load_pandas().data
    rates = [1.0, 2.0, 3.0, 4.0, 5.0]
    return [
        ("diamonds", diamonds, "cut", CUTS, DIAMONDS, "logit"),
        ("diamonds", diamonds, "cut", CUTS, DIAMONDS, "probit"),
        ("diamonds", diamonds, "cut", CUTS, DIAMONDS, "multinomial"),
        ("fair", fair, "rate_marriage", rates, FAIR, "logit"),
        ("fair", fair, "rate_marriage", rates, FAIR, "multinomial"),
        ("randhie", health, "mdvis", None, HEALTH, "negative binomial"),
        ("randhie", health.assign(any=health["mdvis"] > 0), "any", None, HEALTH[:3], "effect"),
    ]


def ordinal(X, code, link):
    """Return slopes and thresholds by maximum likelihood, their errors, and the mean log-loss."""
    centre, scale = X.mean(axis=0), X.std(axis=0)
    found = OrderedModel(code, (X - centre) / scale, distr=link).fit(method="bfgs", disp=0)
    params = np.asarray(found.params)
    slopes, d = params[: X.shape[1]] / scale, X.shape[1]
    edges = found.model.transform_threshold_params(params)[1:-1] + centre @ slopes
    return np.append(slopes, edges), np.asarray(found.bse)[:d] / scale, -found.llf / len(code)


def multinomial(X, code):
    centre, scale = X.mean(axis=0), X.std(axis=0)
    found = sm.MNLogit(code, sm.add_constant((X - centre) / scale)).fit(disp=0, maxiter=200)
    back = np.eye(1 + X.shape[1])
    back[0, 1:], back[1:, 1:] = -centre / scale, np.diag(1 / scale)
    errors = (np.asarray(found.bse)[1:] / scale[:, None]).T.ravel()
    return (np.asarray(found.params).T @ back.T).ravel(), errors, -found.llf / len(code)


def effect(data, response, covariates):
    """Return the effect of a limitation on whether a doctor is seen, and its error."""
    X, y = sm.add_constant(data[list(covariates)].to_numpy(float)), data[response].to_numpy(float)
    t = (data["physlm"] > 0).to_numpy()
    kind = sm.families.Binomial()
    means = [sm.GLM(y[t == arm], X[t == arm], family=kind).fit().predict(X) for arm in (0, 1)]
    chance = np.clip(sm.GLM(t.astype(float), X, family=kind).fit().predict(X), 0.05, 0.95)
    score = means[1] - means[0]
    score = score + np.where(t, (y - means[1]) / chance, -(y - means[0]) / (1 - chance))
    return np.array([score.mean()]), np.array([score.std() / np.sqrt(len(y))])


def fitted(name, data, response, levels, covariates, model, eps, seed):
    """Return estimates and errors in the order of the exact fit, and a function of log-loss."""
    given = {"eps": eps, "delta": 1e-6, "rng": seed}
    formula = f"{response} ~ {' + '.join(covariates)}"
    if model == "effect":
        treated = data.assign(limited=(data["physlm"] > 0).astype(float), seen=data["any"] * 1.0)
        found = dpreg.dp_effect(formula.replace("any", "seen"), treated, treatment="limited",
                                family="binomial", **given)  # fmt: skip
        return np.array([found.effect]), np.array([found.se]), None
    if model == "negative binomial":
        found = dpreg.dp_glm(formula, data, family=NegativeBinomial(), **given)
        return found.estimates, found.bse.to_numpy(), None
    if model == "multinomial":
        found = dpreg.dp_multinomial(formula, data, levels={response: levels}, **given)
    else:
        found = dpreg.dp_ordinal(formula, data, levels={response: levels}, link=model, **given)
    chances = found.predict(data).to_numpy()
    return found.estimates, found.bse.to_numpy(), chances


def measured(name, data, response, levels, covariates, model, eps, runs):
    X = data[list(covariates)].to_numpy(float)
    best = constant = None
    if levels is not None:
        code = np.array([levels.index(value) for value in data[response]])
        share = np.bincount(code) / len(code)
        constant = -(share * np.log(share)).sum()
    if model == "effect":
        params, errors = effect(data, response, covariates)
        slopes = np.array([0])
    elif model == "negative binomial":
        count = sm.NegativeBinomial(data[response], sm.add_constant(X)).fit(disp=0, maxiter=200)
        params, errors = np.asarray(count.params)[:-1], np.asarray(count.bse)[1:-1]
        slopes = np.arange(1, len(params))
    elif model == "multinomial":
        params, errors, best = multinomial(X, code)
        slopes = np.flatnonzero(np.arange(len(params)) % (1 + len(covariates)))
    else:
        params, errors, best = ordinal(X, code, model)
        slopes = np.arange(len(covariates))
    off, width, gain = [], [], []
    for seed in range(runs):
        found = fitted(name, data, response, levels, covariates, model, eps, seed)
        off.append((found[0] - params) / found[1])
        width.append(found[1][slopes] / errors)
        if best is not None:
            loss = -np.log(np.maximum(found[2][np.arange(len(code)), code], 1e-12)).mean()
            gain.append((constant - loss) / (constant - best))
    off, width = np.abs(off), np.array(width)
    row = (
        name, model, f"{len(data):,}", f"{off.shape[1]}",
        f"{np.mean(off[~np.isnan(off)] < 1.959964):.3f}", f"{np.nanmax(off):.1f}",
        f"{np.nanmedian(width):.2f}", f"{np.isnan(off).mean():.0%}",
        f"{np.median(gain):.1%}" if gain else "",
    )  # fmt: skip
    print(*row, flush=True)
    return row


def main() -> None:
    given = options(__doc__, runs=5, eps=1.0, out="")
    warnings.simplefilter("ignore")
    rows = [measured(*one, given.eps, given.runs) for one in tables()]
    write_table(
        f"Classes, counts and effects of real tables: eps = {given.eps:g}",
        f"{given.runs} runs per row, delta = 1e-6: share of 95% intervals that contain "
        "the estimate of the exact fit of the same rows (95% is not required, as that estimate has "
        "a sampling error too); largest error, in private standard errors; median standard error "
        "of slopes relative to the exact ones; share without a standard error; median gain in "
        "log-loss over a constant, relative to that of the exact fit. Ordered and unordered "
        "classes are compared with `OrderedModel` and `MNLogit`, counts with `NegativeBinomial` "
        "of statsmodels, the effect of a physical limitation on whether a doctor was seen with "
        "doubly robust scores. Made by `tests/benchmarks/bench_classes_real.py`.",
        ("table", "model", "rows", "coefficients", "covered", "largest error", "width", "blank",
         "gain"),
        rows, given.out, words=2,
    )  # fmt: skip


if __name__ == "__main__":
    main()
