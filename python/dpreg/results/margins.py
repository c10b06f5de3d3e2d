"""Marginal effects: what one more of a regressor does to the mean response, on average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpreg.base.errors import ArgumentError
from dpreg.results.contrasts import wald_columns
from dpreg.results.fitted import Fitted
from dpreg.results.predict import design_rows

if TYPE_CHECKING:
    import pandas as pd


def marginal_effects(fit: Fitted, data: Any, alpha: float) -> pd.DataFrame:
    """Return average marginal effects with standard errors by the delta method.

    The average over rows i of mu'(x_i'b) b_j has the derivative, in b_k, of the average of
    mu'(x_i'b) [j = k] + mu''(x_i'b) x_ik b_j.
    """
    import pandas as pd

    X = design_rows(fit.formula, fit.schema, data, fit.names).X
    if not len(X):
        raise ArgumentError("data", "has no complete row to average over")
    predictor, family = X @ fit.estimates, fit.family
    slope, bend = family.slope(predictor), family.bend(predictor)
    effects = slope.mean() * fit.estimates
    change = slope.mean() * np.eye(X.shape[1]) + np.outer(fit.estimates, bend @ X / len(X))
    blank = np.full((len(effects),) * 2, np.nan)
    covariance = blank if fit.covariance is None else fit.covariance
    variance = np.einsum("jk,kl,jl->j", change, np.nan_to_num(covariance), change)
    # A coefficient without an error matters to the effects that depend on it.
    unknown = (change[:, np.isnan(np.diag(covariance))] != 0).any(axis=1)
    error = np.where(unknown, np.nan, np.sqrt(np.maximum(variance, 0)))
    kept = [j for j, name in enumerate(fit.names) if name != "Intercept"]
    columns = {"dy/dx": effects, "std err": error, **wald_columns(effects, error, fit.law, alpha)}
    table = pd.DataFrame(columns, index=pd.Index(fit.names, name="term"))
    return table.iloc[kept]
