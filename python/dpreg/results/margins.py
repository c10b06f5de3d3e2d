"""Rows that differ in one variable, for its effect on whatever a model predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError
from dpreg.base.later import pa, pd
from dpreg.base.levels import Level
from dpreg.data.cells import Cells, Numbers, Texts
from dpreg.data.formula import FormulaSpec
from dpreg.data.source import Batch, RowSource
from dpreg.results.contrasts import covariances_known, errors_where_known, wald_columns
from dpreg.results.fitted import Fitted
from dpreg.results.predict import bound_source

# Of a number, relative to it; central differences of squares are exact.
_STEP = 1e-6


@dataclass(frozen=True, slots=True)
class Change:
    """Complete rows twice, with two values of a variable and all else as it was."""

    label: str
    # low, high: shape (n, c); NaN where a term has no value.
    low: Doubles
    high: Doubles
    width: Doubles  # Shape (n,): by how much the variable differs; NaN: its terms jump.

    def per_unit(self, function: Callable[[Doubles], Doubles]) -> Doubles:
        """Return the difference of a function of rows, shape (n, ...), on average."""
        low, high = function(self.low), function(self.high)
        return np.asarray(((high - low).T / self.width).T.mean(axis=0))


def changes(spec: FormulaSpec, source: RowSource, names: Sequence[str]) -> Iterator[Change]:
    """Change each variable: a number by a small step, levels from the first level.

    A variable that occurs only in an offset has no coefficient, and is left out.

    names: columns of rows, the intercept among them.
    """
    for name in spec.regressors:
        factors = [f for f in spec.factors if name in f.variables]
        if all(f.offset for f in factors):
            continue
        levels = spec.schema[name].levels
        if levels is None:
            change = _changed(spec, source, names, name, None)
            jumps = any(f.jumps for f in factors)
            yield replace(change, width=np.nan * change.width) if jumps else change
            continue
        for level in levels[1:]:
            change = _changed(spec, source, names, name, (levels[0], level))
            yield replace(change, label=f"{name}: {level} - {levels[0]}")


def _changed(
    spec: FormulaSpec, source: RowSource, names: Sequence[str], name: str,
    values: tuple[Level, Level] | None,
) -> Change:  # fmt: skip
    lows: list[Doubles] = []
    highs: list[Doubles] = []
    widths: list[Doubles] = []
    for batch in source.batches(spec.needed(response=False)):
        kept = spec.rows(batch, response=False).kept
        if values is None:
            x = batch.cells[name].numbers()
            # Of a number that is 0 the step is that of the largest.
            size = np.where(x == 0, np.abs(x[kept]).max(initial=0.0) or 1.0, np.abs(x))
            low, high = x - _STEP * size, x + _STEP * size
            ends: tuple[Cells, Cells] = Numbers(low), Numbers(high)
            widths.append((high - low)[kept])
        else:
            ends = _all(values[0], batch.rows), _all(values[1], batch.rows)
            widths.append(np.ones(len(kept)))
        for found, cells in zip((lows, highs), ends, strict=True):
            rows = spec.rows(Batch({**batch.cells, name: cells}, batch.rows), response=False)
            # The last column is the intercept.
            X = np.full((batch.rows, len(spec.names) + 1), np.nan)
            X[rows.kept] = np.column_stack([rows.X, np.ones(len(rows.kept))])
            place = {column: j for j, column in enumerate((*spec.names, "Intercept"))}
            found.append(X[kept][:, [place[column] for column in names]])
    if not sum(len(width) for width in widths):
        raise ArgumentError("data", "has no complete row to average over")
    return Change(name, np.concatenate(lows), np.concatenate(highs), np.concatenate(widths))


def _all(level: Level, rows: int) -> Cells:
    if isinstance(level, str):
        text = level.encode("utf-8", "surrogatepass")
        return Texts(pa.array([text] * rows, pa.large_binary()))
    return Numbers(np.full(rows, level))


def marginal_effects(fit: Fitted, data: Any, alpha: float) -> pd.DataFrame:
    """Return average marginal effects with standard errors by the delta method."""
    family, covariance = fit.family, fit._known_covariance
    found = list(changes(*bound_source(fit.formula, fit.schema, data, fit.names), fit.names))
    effects = np.array([change.per_unit(lambda X: family.mean(X @ fit.estimates))
                        for change in found])  # fmt: skip
    matrix = [change.per_unit(lambda X: family.slope(X @ fit.estimates)[:, None] * X)
              for change in found]  # fmt: skip
    related = covariances_known(covariance, fit.names)
    # A coefficient without an error matters to the effects that depend on it.
    error = errors_where_known(
        np.reshape(matrix, (-1, len(fit.names))), covariance, related=related
    )
    table = {"dy/dx": effects, "std err": error, **wald_columns(effects, error, fit.law, alpha)}
    return pd.DataFrame(table, index=pd.Index([change.label for change in found], name="term"))
