"""Correlations, comparisons of models and two-stage least squares, from second moments."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, unusable
from dpreg.base.later import pd
from dpreg.base.options import is_whole
from dpreg.data.formula import bound_formula
from dpreg.estimation.inference.joint_moments import SquaredNorm
from dpreg.estimation.inference.law import NORMAL, check_alpha
from dpreg.results.fit import DPResults
from dpreg.results.models import Model, Models
from dpreg.results.predict import schema_from_dict
from dpreg.results.summary import Summary, cell, laid_out, privacy_note

# All subsets of more terms than this take minutes.
_MOST_TERMS = 14
# Wider matrices are left to `corr`.
_MOST_SHOWN = 8
# A first stage with a smaller F is called weak (Staiger and Stock, 1997).
_WEAK = 10.0


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
    if not is_whole(best) or best < 1:
        raise unusable("best", "a whole number of at least 1", best)
    terms = bound_formula(formula, schema_from_dict(moments.schema)).terms
    if len(terms) > _MOST_TERMS:
        problem = f"has {len(terms)} terms; subsets of more than {_MOST_TERMS} are too many"
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


def two_stage_fit(moments: Models, model: Model, exogenous: Model) -> DPResults:
    """Fit `model` with the regressors of `exogenous` as instruments: see `DPMoments.iv`."""
    units = moments.standard_units(model)
    if model.intercept != exogenous.intercept:
        raise ArgumentError("instruments", "must have an intercept if and only if the formula has")
    missing = [n for n in (*model.names, *exogenous.names) if moments.place(n) is None]
    if missing:
        why = f"the scale is not estimable at this eps: {', '.join(missing)}"
        raise ArgumentError("instruments", why, "leave them out")
    if len(exogenous.names) < len(model.names):
        sizes = f"{len(exogenous.names)} columns, fewer than the {len(model.names)} regressors"
        advice = "name the exogenous regressors too: '~ z + a'"
        raise ArgumentError("instruments", f"are {sizes}", advice)
    found = moments.joint.two_stages(
        moments.regressors(model),
        moments.regressors(exogenous),
        moments.vector(model.response, model),
    )
    more = ["two-stage least squares, instruments " + ", ".join(exogenous.names)]
    excluded = [name for name in exogenous.names if name not in model.names]
    for name in model.names:
        if name in exogenous.names:
            continue
        first = moments.regress(name, exogenous.names, intercept=model.intercept)
        assert first.covariance is not None
        told = np.isfinite(np.diag(first.covariance))
        known = [z for z in excluded if told[first.names.index(z)]]
        rows = [[float(c == z) for c in first.names] for z in known]
        if not known:
            more.append(f"the first stage of {name} is not estimable at this eps")
            continue
        f = first.f_test(rows).fvalue
        weak = ", which is weak: intervals may be much too narrow" if f < _WEAK else ""
        on = "1 instrument" if len(known) == 1 else f"{len(known)} instruments"
        more.append(f"first stage of {name}: F = {f:.4g} on {on}{weak}")
    return moments.fit_of(model, found, units, tuple(more))


def correlations(moments: Models) -> tuple[Doubles, Doubles]:
    """Return correlations of all columns, and their standard errors.

    A correlation is a'G b for vectors a and b of columns that are centred and of length 1, and
    noise N moves it by a'N b - r (a'N a + b'N b) / 2; sampling error is that of an
    elliptical law, (1 - r^2) sqrt(kurtosis / n).
    """
    joint, s = moments.joint, moments.deviation
    one = moments.basis[:, 0]
    square = max(float(joint.product(one, one)), s * float(one @ one))
    size = len(moments.names)
    values, errors = np.full((2, size, size), np.nan)
    unit = {}
    for place, j in enumerate(moments.used):
        vector = moments.basis[:, 1 + place]
        vector = vector - one * float(joint.product(one, vector)) / square
        length = math.sqrt(max(float(joint.product(vector, vector)), s * float(vector @ vector)))
        unit[int(j)] = vector / length
    for i, a in unit.items():
        for j, b in unit.items():
            r = 1.0 if i == j else float(np.clip(joint.product(a, b), -1, 1))
            values[i, j] = r
            across, aa, bb = float(a @ b), float(a @ a), float(b @ b)
            moved = (
                (aa * bb + across**2) / 2
                - r * across * (aa + bb)
                + r**2 / 4 * (aa**2 + bb**2 + 2 * across**2)
            )
            errors[i, j] = math.sqrt(
                max(s**2 * moved, 0.0) * (i != j)
                + moments.kurtosis * (1 - r**2) ** 2 / moments.units
            )
    return values, errors


def mean_and_deviation(moments: Models, name: str) -> tuple[float, float]:
    """Return the mean of a column and its deviation, NaN where they are not estimable.

    `centre` and `scale` are not these: they are rough, and half a range where there are two values.
    """
    if moments.place(name) is None:
        return math.nan, math.nan
    found, units = moments.regression(Model(name, (), True, ""))
    mean = units.y_centre + units.y_scale * float(found.theta[0])
    deviation = units.y_scale * math.sqrt(max(found.residual.value, 0.0) / moments.units)
    return mean if moments.trusted[moments.names.index(name)] else math.nan, deviation


def summarize_moments(moments: Models) -> Summary:
    """Lay out means, deviations, and correlations if there are few."""
    few = len(moments.names) <= _MOST_SHOWN
    corr, errors = correlations(moments)
    shown = list(range(len(moments.names))) if few else []
    headers = ["mean", "std dev", *(f"({j + 1})" for j in shown)]
    cells, stubs = [], []
    for j, name in enumerate(moments.names):
        row = [cell(value, ".5g") for value in mean_and_deviation(moments, name)]
        row += [cell(corr[j, i], ".3f") if i <= j else "" for i in shown]
        cells.append(row)
        stubs.append(f"({j + 1}) {name}")
    title = f"Private Moments of {moments.units:,.0f} Rows (private)"
    table = laid_out(cells, headers, stubs, title)
    largest = np.nanmax(np.where(np.eye(len(errors)), np.nan, errors), initial=0.0)
    notes = [privacy_note(moments.privacy)]
    if few and len(moments.used) > 1:
        notes.append(f"Standard errors of correlations are at most {largest:.2g}.")
    notes += [
        "Note: .lm('y ~ a + b'), .iv, .anova, .rsquared, .compare, .subsets, .vif and .corr cost "
        "nothing more; intervals of a model that was chosen by them are too narrow, as after "
        "every selection.",
        *(f"Note: {note}." for note in moments.notes),
    ]
    return Summary((table,), tuple(notes))
