"""Records of classes, and fits of them without noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

import dpreg

LEVELS = {"y": ["low", "mid", "top"], "g": ["a", "b"]}
CALLS = {"ordinal": dpreg.dp_ordinal, "multinomial": dpreg.dp_multinomial}
RESULTS = {"ordinal": dpreg.DPOrdinal, "multinomial": dpreg.DPMultinomial}
both = pytest.mark.parametrize("model", ["ordinal", "multinomial"])


def people(n, model="ordinal", seed=1):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(50, 2, n), rng.integers(0, 2, n)
    if model == "multinomial":
        scores = np.column_stack([0 * x, 0.3 * (x - 50) - 0.4 * g, -0.2 - 0.2 * (x - 50) + 0.5 * g])
        y = (scores + rng.gumbel(size=(n, 3))).argmax(axis=1)
    else:
        noise = rng.normal(size=n) if model == "probit" else rng.logistic(size=n)
        y = np.searchsorted([-0.8, 0.9], 0.35 * (x - 50) - 0.7 * g + noise)
    return pd.DataFrame({
        "y": np.array(LEVELS["y"])[y], "x": x, "g": np.array(["a", "b"])[g], "code": y,
        "w": rng.uniform(0.5, 2, n), "shift": rng.normal(size=n), "who": np.arange(n) // 2,
    })  # fmt: skip


def exact(data, model, link="logit"):
    X = np.column_stack([data["x"], data["g"] == "b"]).astype(float)
    if model == "multinomial":
        fit = sm.MNLogit(data["code"], sm.add_constant(X)).fit(disp=0)
        return fit, np.asarray(fit.params).T.ravel(), np.asarray(fit.bse).T.ravel()
    fit = OrderedModel(data["code"], X, distr=link).fit(method="bfgs", disp=0, maxiter=200)
    thresholds = fit.model.transform_threshold_params(fit.params.to_numpy())[1:-1]
    return fit, np.append(fit.params.to_numpy()[:2], thresholds), fit.bse.to_numpy()[:2]
