"""Rows of new, unprotected data for a released model, and tables that follow from the two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.errors import ArgumentError, SchemaError, add, write
from dpreg.base.families import Family
from dpreg.base.later import pd
from dpreg.data.containers import open_source
from dpreg.data.formula import FormulaSpec, bound_formula
from dpreg.data.formula.parse import effects_as_terms, split_effects, unit_of_effects
from dpreg.data.schema import Column, Schema, no_column
from dpreg.data.source import RowSource
from dpreg.estimation.inference.law import NORMAL
from dpreg.estimation.inference.residuals import FitStats
from dpreg.results.contrasts import covariances_known, errors_where_known
from dpreg.results.fitted import Fitted


def schema_to_dict(schema: Schema) -> dict[str, dict[str, Any]]:
    """Return a schema as plain data."""
    return {
        name: {
            "kind": c.kind,
            "levels": None if c.levels is None else list(c.levels),
            "ordered": c.ordered,
            **({} if c.bounds is None else {"bounds": list(c.bounds)}),
        }
        for name, c in schema.columns.items()
    }


def schema_from_dict(data: Mapping[str, Mapping[str, Any]]) -> Schema:
    """Read what `schema_to_dict` wrote."""
    columns = {}
    for name, c in data.items():
        levels, bounds = (tuple(c[key]) if c.get(key) is not None else None
                          for key in ("levels", "bounds"))  # fmt: skip
        columns[name] = Column(name, c["kind"], levels, c["ordered"], bounds=bounds)
    return Schema(columns)


@dataclass(frozen=True, slots=True)
class NewRows:
    """Complete rows of new data, the intercept included."""

    X: Doubles  # Shape (complete rows, c).
    kept: Integers  # Where they are among the rows of the new data.
    total: int  # Rows of the new data.
    index: pd.Index | None = None  # Of the new data, if they had one.
    names: tuple[str, ...] = ()  # Of the columns of X, without the intercept.

    def series(self, values: Doubles) -> pd.Series:
        """Return one value a row of the new data, NaN for incomplete rows."""
        result = np.full(self.total, np.nan)
        result[self.kept] = values
        return pd.Series(result, index=self.index, name="prediction")

    def several(
        self, key: str, labels: Sequence[Any], names: Sequence[str], values: Doubles
    ) -> pd.DataFrame:
        """Return one row for each row of the new data and label; NaN for incomplete rows.

        values: shape (complete rows, labels, names).
        """
        table = np.full((self.total, *values.shape[1:]), np.nan)
        table[self.kept] = values
        index = range(self.total) if self.index is None else self.index
        columns = dict(zip(names, table.reshape(-1, len(names)).T, strict=True))
        rows = np.repeat(np.array(index), len(labels))
        return pd.DataFrame({"row": rows, key: list(labels) * self.total, **columns})


def bound_source(
    formula: str,
    schema: Mapping[str, Mapping[str, Any]],
    data: Any,
    names: Sequence[str] | None = None,
) -> tuple[FormulaSpec, RowSource]:
    """Return the right-hand side of `formula`, and the data if they have what it needs."""
    if data is None:
        why = "must be given: predictions for the records of the fit are private"
        raise ArgumentError("data", why, "write predict(data) for rows that need no protection")
    if not schema:
        why = "this model was fitted from a matrix, not from columns"
        raise ArgumentError("predict", why, "multiply new rows with its params instead")
    unit = unit_of_effects(formula, schema)
    if unit is not None:
        why = f"this model has effects of each {unit!r}, which are private and not released"
        raise ArgumentError("predict", why, "use params for differences")
    spec = bound_formula(formula, schema_from_dict(schema))
    if names is not None:
        spec = spec.keeping(names)
    source = open_source(data)
    for name in spec.regressors:
        if name not in source.schema:
            raise SchemaError("data", *no_column(name, source.schema))
        new = source.schema[name]
        if spec.schema[name].levels is None and new.kind != "numeric":
            problem = f"column {name!r} was numeric in the fit and holds {new.holds} here"
            raise SchemaError("data", problem, "convert it to numbers before the call")
    return spec, source


def design_rows(
    formula: str,
    schema: Mapping[str, Mapping[str, Any]],
    data: Any,
    names: Sequence[str] | None = None,
) -> NewRows:
    """Evaluate the right-hand side of `formula` on `data`; with `names`, those columns only."""
    spec, source = bound_source(formula, schema, data, names)
    blocks, kept, total = [np.empty((0, len(spec.names)))], [np.empty(0, dtype=np.int64)], 0
    for batch in source.batches(spec.needed(response=False)):
        rows = spec.rows(batch, response=False)
        blocks.append(rows.X)
        kept.append(rows.kept + total)
        total += batch.rows
    X = np.concatenate(blocks)
    ones = np.ones((len(X), int(spec.intercept)))
    index = data.index if isinstance(data, pd.DataFrame) else None
    return NewRows(np.hstack([ones, X]), np.concatenate(kept), total, index, spec.names)


def mean_intervals(
    fit: Fitted,
    rows: NewRows,
    predictor: Doubles,
    alpha: float,
    family: Family,
    limits: tuple[float, float],
    scale: float = 0.0,
) -> pd.DataFrame:
    """Return mean responses with intervals, from the released covariance alone.

    With a `scale`, the variance of errors, intervals are for new observations.

    The ends of an interval are the means at the ends of the interval of the linear predictor.  If
    the mean is clipped to `limits`, the interval is extended to include it.
    """
    covariance = fit._known_covariance
    # A coefficient without a known error only matters where its regressor is not 0.
    error = errors_where_known(rows.X, covariance)
    if not covariances_known(covariance, fit.names):
        known = np.where(np.isnan(covariance), 0, covariance)
        largest = _largest_errors(rows.X, known, intercept="Intercept" in fit.names)
        error = np.where(np.isnan(error), np.nan, largest)
    margin = fit.law.critical_value(alpha) * np.hypot(error, math.sqrt(scale))
    mean = np.clip(family.mean(predictor), *limits)
    columns = {
        "mean": mean,
        "std err": family.slope(predictor) * error,
        "lower": np.minimum(family.mean(predictor - margin), mean),
        "upper": np.maximum(family.mean(predictor + margin), mean),
    }
    return pd.DataFrame({name: rows.series(values) for name, values in columns.items()})


def error_variance(fit: Fitted) -> float:
    """Return the variance of errors about the line."""
    other = write("interval", "confidence")
    if not fit.family.least_squares:
        problem = f"'prediction' is for linear models, and this model is {fit.family.name}"
        raise ArgumentError("interval", problem, other)
    if fit.stats is None:
        problem = "'prediction' needs the residual scale, which was not released"
        raise ArgumentError(
            "interval", problem, "fit with fit_stats=True, which pays for it", other
        )
    return fit.stats.scale


def _largest_errors(X: Doubles, covariance: Doubles, *, intercept: bool) -> Doubles:
    """Return upper bounds on standard errors of predictions, for any covariances between slopes.

    The intercept is the mean of the response minus slopes times means of regressors, which are
    released one by one: its covariances with the slopes give these means, and its error is at least
    that of the mean of the response.
    """
    first = int(intercept)
    variances = np.diag(covariance)[first:]
    errors, rows = np.sqrt(variances), X[:, first:]
    if not intercept:
        return np.asarray(np.abs(rows) @ errors)
    means = -covariance[0, 1:] / np.where(variances > 0, variances, 1.0)
    return np.asarray(math.sqrt(covariance[0, 0]) + np.abs(rows - means) @ errors)


def term_columns(
    formula: str, schema: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]
) -> dict[str, list[int]]:
    """Return the places in `names` of the coefficients of each term, without the intercept.

    A term of which no coefficient was kept by a selection is left out.
    """
    if not schema:
        why = "needs the terms of a formula, and this model was fitted from a matrix"
        raise ArgumentError("anova", why, "use wald_test")
    place = {name: j for j, name in enumerate(names)}
    columns_in_use = schema_from_dict(schema)
    text, groups = split_effects(formula)
    # The unit is none of them.
    declared = (group for group in groups if group in columns_in_use.columns)
    spec = bound_formula(effects_as_terms(str(text), declared, columns_in_use), columns_in_use)
    found = {}
    for term, columns in spec.terms.items():
        kept = [place[name] for name in columns if name in place]
        if kept:
            found[term] = kept
    return found


@np.errstate(over="ignore")
def stats_table(stats: FitStats | None, alpha: float) -> pd.DataFrame:
    """Return R squared and sigma with intervals; see `DPResults.fit_stats`."""
    if stats is None:
        raise ArgumentError("fit_stats", "was not asked for", (*add("fit_stats", True), " to the "
                            "call, which pays for it"))  # fmt: skip
    estimates = np.array([stats.rsquared, stats.sigma])
    errors = np.array([stats.rsquared_error, stats.sigma_error])
    margin = NORMAL.critical_value(alpha) * errors
    # Limits of sigma are those of its logarithm.
    factor = np.exp(margin[1] / estimates[1]) if estimates[1] > 0 else np.nan
    return pd.DataFrame(
        {
            "estimate": estimates,
            "std err": errors,
            "lower": [estimates[0] - margin[0], estimates[1] / factor],
            "upper": [
                np.fmin(estimates[0] + margin[0], 1.0 + 0 * estimates[0]),
                estimates[1] * factor,
            ],
        },
        index=pd.Index(["R-squared", "sigma"], name="statistic"),
    )
