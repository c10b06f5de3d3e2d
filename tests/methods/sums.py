"""What the methods that use noisy sums have in common: data, and input that is wrong."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpreg


def gaussian(n, d, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) * 10.0 ** np.arange(d) + 5
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(d)])
    y = 3 + (x / 10.0 ** np.arange(d)).sum(axis=1)
    return frame.assign(y=y + noise * rng.standard_normal(n))


def formula(d, extra=""):
    return "y ~ " + " + ".join(f"x{j}" for j in range(d)) + extra


def odd_frames():
    n = 3000
    good = gaussian(n, 2, 1)
    return {
        "empty": good.iloc[:0],
        "one row": good.iloc[:1],
        "fewer rows than columns": good.iloc[:2],
        "constant": good.assign(x0=7.0),
        "constant response": good.assign(y=7.0),
        "duplicated": good.assign(x1=good["x0"]),
        "all missing": good.assign(x0=np.nan),
        "response missing": good.assign(y=np.nan),
        "huge": good.assign(x0=1e300, y=-1e300),
        "huge and varied": good.assign(x0=good["x0"] * 1e299, y=good["y"] * 1e299),
        "infinite": good.assign(x0=np.inf),
        "tiny": good.assign(x0=5e-324),
        "zero": good * 0.0,
        "cauchy": good.assign(x0=np.random.default_rng(1).standard_cauchy(n)),
    }


def check_total(method):
    """Every odd table ends in a finite release or is declined, without a warning."""
    released = set()
    for name, data in odd_frames().items():
        for eps in (0.05, 1.0, 100.0):
            for inference in (True, False):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    fit = dpreg.dp_lm("y ~ x0 + x1", data, eps, 1e-4, method=method,
                                      inference=inference, rng=3)  # fmt: skip
                    if not fit.released:
                        assert "eps is too small " in fit.reason
                        continue
                    released.add((name, eps))
                    assert np.isfinite(fit.params).all(), name
                    assert fit.nobs >= 0
                    str(fit.summary())
                    dpreg.DPResults.from_json(fit.to_json())
                    fit.predict(gaussian(5, 2, 2))
    # What is odd about the regressors is no reason to decline.
    odd = ("constant", "duplicated", "tiny", "cauchy")
    assert released >= {(name, 100.0) for name in odd}


def check_wrong_use(method):
    data = gaussian(50, 2, 1)
    for arguments, name in [
        ({"eps": 0}, "eps"),
        ({"eps": math.nan}, "eps"),
        ({"eps": math.inf}, "eps"),
        ({"eps": "1"}, "eps"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"formula": "y ~ scale(x0)"}, "scale"),
    ]:
        call = {"formula": "y ~ x0", "data": data, "eps": 1.0, "method": method, **arguments}
        with pytest.raises(ValueError, match=name):
            dpreg.dp_lm(**call)


def check_accuracy(method, least):
    """R squared on new data from the diamonds' numeric columns, at (ln 3, 1e-5)."""
    diamonds = dpreg.load_diamonds()
    formula = "price ~ carat + depth + table + x + y + z"
    scores = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(diamonds))
        train, test = diamonds.iloc[order[5394:]], diamonds.iloc[order[:5394]]
        fit = dpreg.dp_lm(
            formula, train, math.log(3), 1e-5, method=method, inference=False, rng=seed
        )
        error = test["price"].to_numpy() - fit.predict(test).to_numpy()
        scores.append(1 - (error**2).mean() / test["price"].var(ddof=0))
    assert np.median(scores) >= least


def errors_of_intervals(method, n, d, runs, noise=None, **options):
    """Errors of slopes over those that 95% intervals say, one data set a row.

    Their mean square is 1 where intervals cover.  Of 200 it has a standard deviation of 0.1: beyond
    four of these, errors that are 1.3 times too small are found in .96 of cases, and by the
    coverage of 400 intervals in .99; errors that are too large are found too.
    """
    found = []
    for seed in range(runs):
        data = gaussian(n, d, seed)
        if noise is not None:
            data["y"] = data["y"] - gaussian(n, d, seed, 0.0)["y"]  # the errors alone
            data["y"] = gaussian(n, d, seed, 0.0)["y"] + noise(data, np.random.default_rng(seed))
        formula = "y ~ " + " + ".join(f"x{j}" for j in range(d))
        fit = dpreg.dp_lm(formula, data, 1.0, method=method, rng=seed, **options)
        low, high = fit.conf_int().iloc[1:].to_numpy().T
        truth = 10.0 ** -np.arange(d)
        found.append(((low + high) / 2 - truth) / ((high - low) / 2 / stats.norm.isf(0.025)))
    return np.array(found)
