"""Comparisons of models from released second moments."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from dpreg.base.errors import ArgumentError, unusable
from dpreg.data.formula import bound_formula
from dpreg.estimation.inference.joint_moments import SquaredNorm
from dpreg.estimation.inference.law import NORMAL, check_alpha
from dpreg.results.models import Model, Models
from dpreg.results.predict import schema_from_dict

if TYPE_CHECKING:
    import pandas as pd

# All subsets of more terms than this take minutes.
_MOST_TERMS = 14


def rsquared(moments: Models, model: Model, alpha: float) -> dict[str, float]:
    """Return R squared with its interval: see `DPMoments.rsquared`.

    The interval is symmetric for artanh(R), so it stays within 0 and 1.
    """
    if not model.intercept:
        raise ArgumentError("formula", "needs an intercept: R squared is about the mean")
    alpha = check_alpha(alpha)
    found, _ = moments.regression(model)
    total = moments.total(model.response)
    squared, sampling, noise = moments.joint.determination(found.residual, total, len(model.names))
    root = math.sqrt(min(squared, 1 - 1e-12))
    error = math.hypot(sampling, noise)
    # The derivative of artanh(sqrt(t)) has a pole at 0: no nearer than one standard error.
    slope = 1 / (2 * math.sqrt(max(squared, error, 1e-300)) * max(1 - squared, 1e-12))
    margin = NORMAL.critical_value(alpha) * slope * error
    middle = math.atanh(root)
    return {
        "rsquared": squared,
        "lower": math.tanh(max(middle - margin, 0.0)) ** 2,
        "upper": math.tanh(middle + margin) ** 2,
        "sampling": sampling,
        "privacy": noise,
    }


def compare_models(moments: Models, models: list[Model]) -> pd.DataFrame:
    """Return one row a model, by BIC: see `DPMoments.compare`."""
    import pandas as pd

    if not models or len({model.response for model in models}) > 1:
        raise ArgumentError("formulas", "must be one or more models of one response")
    total = moments.total(models[0].response)
    residuals = [moments.regression(model)[0].residual for model in models]
    n, scale = moments.units, moments.standard_units(models[0]).y_scale
    rows = []
    for model, residual in zip(models, residuals, strict=True):
        k = len(model.names) + model.intercept
        mean = max(residual.value, 1e-300) / n
        # Two log likelihoods of normal errors, as statsmodels has them.
        fit = n * (math.log(2 * math.pi * mean * scale**2) + 1)
        rows.append(
            {
                "columns": k,
                "rsquared": 1 - residual.value / total.value if model.intercept else math.nan,
                "sigma": scale * math.sqrt(residual.value / max(n - k, 1.0)),
                "aic": fit + 2 * k,
                "bic": fit + math.log(n) * k,
            }
        )
    index = pd.Index([model.formula for model in models], name="model")
    table = pd.DataFrame(rows, index=index)
    order = np.argsort(table["bic"].to_numpy(), kind="stable")
    first = residuals[order[0]]
    table["noise"] = [_difference(moments, residual, first) for residual in residuals]
    return table.iloc[order]


def _difference(moments: Models, one: SquaredNorm, other: SquaredNorm) -> float:
    """Deviation, by privacy noise, of the difference of two AIC."""
    joint, n = moments.joint, moments.units
    a, b = one.vector / math.sqrt(one.value), other.vector / math.sqrt(other.value)
    variance = joint.noise(a, a) - 2 * joint.noise(a, b) + joint.noise(b, b)
    return n * math.sqrt(max(variance, 0.0))


def all_subsets(moments: Models, formula: str, best: int) -> pd.DataFrame:
    """Return the best models that leave terms out: see `DPMoments.subsets`."""
    model = moments.model(formula)
    if isinstance(best, bool) or not isinstance(best, int | np.integer) or best < 1:
        raise unusable("best", "a whole number of at least 1", best)
    terms = bound_formula(formula, schema_from_dict(moments.schema)).terms
    if len(terms) > _MOST_TERMS:
        problem = f"has {len(terms)} terms, whose subsets are too many; {_MOST_TERMS} are the most"
        raise ArgumentError("formula", problem, "leave some out, or compare models of your own")
    models = []
    for kept in itertools.chain.from_iterable(
        itertools.combinations(terms, size) for size in range(len(terms) + 1)
    ):
        columns = tuple(name for term in kept for name in terms[term])
        right = " + ".join(kept) or "1"
        label = f"{model.response} ~ {right}" + ("" if model.intercept or not kept else " - 1")
        if columns or model.intercept:
            models.append(Model(model.response, columns, model.intercept, label))
    return compare_models(moments, models).head(int(best))


def inflation(moments: Models, model: Model) -> pd.Series:
    """Return variance inflation factors: see `DPMoments.vif`."""
    import pandas as pd

    values = []
    for name in model.names:
        others = tuple(other for other in model.names if other != name)
        if moments.place(name) is None:
            values.append(math.nan)
            continue
        left, _ = moments.regression(Model(name, others, True, ""))
        values.append(moments.total(name).value / left.residual.value)
    return pd.Series(values, index=pd.Index(model.names, name="term"), name="VIF")
