"""Design rows of new, unprotected data for a released model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, SchemaError, write
from dpreg.base.families import Family
from dpreg.data.containers import open_source
from dpreg.data.formula import bound_formula
from dpreg.data.formula.parse import split_effects
from dpreg.data.schema import Column, Schema
from dpreg.results.contrasts import covariances_known
from dpreg.results.fitted import Fitted

if TYPE_CHECKING:
    import pandas as pd


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
    return Schema(
        {
            name: Column(
                name,
                c["kind"],
                None if c["levels"] is None else tuple(c["levels"]),
                c["ordered"],
                bounds=tuple(c["bounds"]) if "bounds" in c else None,
            )
            for name, c in data.items()
        }
    )


@dataclass(frozen=True, slots=True)
class NewRows:
    """Complete rows of new data, the intercept included.

    Attributes
    ----------
    X : ndarray, shape (complete rows, c)
    kept : ndarray, shape (complete rows,)
    total : int
        Rows of the new data.
    index : Index or None
        Of the new data, if they had one.
    names : tuple of str
        Of the columns of X, without the intercept.
    """

    X: Doubles
    kept: NDArray[np.int64]
    total: int
    index: pd.Index | None = None
    names: tuple[str, ...] = ()

    def series(self, values: Doubles) -> pd.Series:
        """Return one value a row of the new data, NaN for incomplete rows."""
        import pandas as pd

        result = np.full(self.total, np.nan)
        result[self.kept] = values
        return pd.Series(result, index=self.index, name="prediction")


def design_rows(
    formula: str,
    schema: Mapping[str, Mapping[str, Any]],
    data: Any,
    names: Sequence[str] | None = None,
) -> NewRows:
    """Evaluate the right-hand side of `formula` on `data`; with `names`, those columns only."""
    if not schema:
        raise ArgumentError(
            "predict",
            "this model was fitted from a matrix, not from columns",
            "multiply new rows with its params instead",
        )
    _, groups = split_effects(formula)
    if groups:
        # The protected unit is in no schema.
        unit = next(group for group in groups if group not in schema)
        raise ArgumentError(
            "predict",
            f"this model has effects of each {unit!r}, which are private and not released",
            "use params for differences",
        )
    spec = bound_formula(formula, schema_from_dict(schema))
    if names is not None:
        spec = spec.keeping(names)
    source = open_source(data)
    for name in spec.regressors:
        if name not in source.schema:
            raise SchemaError("predict", f"the new data have no column {name!r}")
        _check_kind(spec.schema[name], source.schema[name])
    blocks, kept, total = [np.empty((0, len(spec.names)))], [np.empty(0, dtype=np.int64)], 0
    for batch in source.batches(spec.needed(response=False)):
        rows = spec.rows(batch, response=False)
        blocks.append(rows.X)
        kept.append(rows.kept + total)
        total += batch.rows
    X = np.concatenate(blocks)
    ones = np.ones((len(X), int(spec.intercept)))
    return NewRows(np.hstack([ones, X]), np.concatenate(kept), total, _index_of(data), spec.names)


def _index_of(data: Any) -> pd.Index | None:
    """Return the index of a pandas data frame, so that predictions align with it."""
    import pandas as pd

    return data.index if isinstance(data, pd.DataFrame) else None


def _check_kind(fitted: Column, new: Column) -> None:
    if fitted.levels is None and new.kind != "numeric":
        raise SchemaError(
            "predict", f"column {new.name!r} was numeric in the fit and is {new.kind} here"
        )


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

    The ends of an interval are the means at those of the linear predictor's; one that lies beyond
    `limits`, to which the mean itself is moved, reaches to it.
    """
    import pandas as pd

    covariance = (
        np.full((rows.X.shape[1],) * 2, np.nan) if fit.covariance is None else fit.covariance
    )
    # A coefficient without a known error only matters where its regressor is not 0.
    unknown = np.isnan(np.diag(covariance))
    known = np.where(np.isnan(covariance), 0, covariance)
    if covariances_known(covariance, fit.names):
        error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows.X, known, rows.X), 0))
    else:
        error = _largest_errors(rows.X, known, intercept="Intercept" in fit.names)
    error[(rows.X[:, unknown] != 0).any(axis=1)] = np.nan
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
    argument = "interval"
    if not fit.family.least_squares:
        problem = f"'prediction' is for linear models, and this one is {fit.family.name}"
        raise ArgumentError(argument, problem, write("interval", "confidence"))
    if fit.stats is None:
        raise ArgumentError(
            argument,
            "'prediction' needs the residual scale, which was not released",
            "fit with fit_stats=True, which pays for it",
            write("interval", "confidence"),
        )
    return fit.stats.scale


def _largest_errors(X: Doubles, covariance: Doubles, *, intercept: bool) -> Doubles:
    """Return standard errors of predictions whatever the covariances between slopes are.

    The intercept is the mean of the response less slopes times means of regressors, which are
    released one by one: its covariances with the slopes say where those means are, and its error
    is no less than that of the mean of the response.
    """
    first = int(intercept)
    variances = np.diag(covariance)[first:]
    errors, rows = np.sqrt(variances), X[:, first:]
    if not intercept:
        return np.asarray(np.abs(rows) @ errors)
    means = -covariance[0, 1:] / np.where(variances > 0, variances, 1.0)
    return np.asarray(math.sqrt(covariance[0, 0]) + np.abs(rows - means) @ errors)
