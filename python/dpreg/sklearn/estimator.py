"""How the estimators treat X and y: they look at types and shapes, and at no cell."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, BudgetError, SchemaError, add
from dpreg.calls.request import Request
from dpreg.data.arrays import columns_of, is_column, matrix_source, vector_source
from dpreg.data.bounds import Bounds
from dpreg.data.design import Block, Terms
from dpreg.data.problem import ModelMatrix, blocks_of, check_column_names
from dpreg.data.source import RowSource
from dpreg.privacy.budget import Budget
from dpreg.privacy.partition import StratumBudget

# Of `fit`, whose signature scikit-learn asks whether it takes weights.
EQUAL_WEIGHTS = "rows have equal weight here; dpreg.{}() has weights='w', for the column 'w'"


class Private(BaseEstimator):  # type: ignore[misc]
    """What all estimators are made of.

    scikit-learn's own checks raise an error if a cell is missing or infinite, or if there are too
    few rows, which would reveal something about the records.  Here cells are read after they have
    been paid for, and such rows are dropped.
    """

    eps: float | None
    delta: float | None
    method: Any
    bounds: Mapping[str, Bounds] | None
    budget: Budget | None
    random_state: int | None

    def _take(self, given: Mapping[str, Any]) -> None:
        """Keep all parameters by their names, `given` as `locals()` of `__init__` has them."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy that charges the same budget, which a deep copy would not."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _problem(
        self, X: Any, y: Any, coded: Callable[[Doubles], Doubles] = np.asarray
    ) -> tuple[ModelMatrix, list[str]]:
        """Return the problem and the names of its columns; `coded` is what y is when it is read."""
        if not isinstance(X, list) or X:  # of a list scikit-learn asks for the first row
            X, y = validate_data(
                self, X, y, dtype=None, ensure_all_finite=False, ensure_min_samples=0,
                y_numeric=False, skip_check_array=True,
            )  # fmt: skip
        table, target = matrix_source("X", X), _target(y)
        width = len(table.schema.columns)
        if _rows(X) != _rows(y):
            # Both lengths are the user's own doing: they are compared with one another only.
            raise SchemaError("y", "must have as many entries as X has rows")
        if width == 0:
            raise SchemaError(
                "X", "has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
            )
        self.n_features_in_ = width
        names = getattr(self, "feature_names_in_", None)
        named = [f"x{j}" for j in range(width)] if names is None else list(names)
        check_column_names(named)

        def read() -> Iterator[Block]:
            return blocks_of(columns_of(table), coded(columns_of(target)[0]))

        return ModelMatrix(Terms("y", tuple(named), intercept=True), read), named

    def _asked(self, call: str, names: list[str], **more: Any) -> Request:
        if isinstance(self.budget, StratumBudget):
            why = "is that of one stratum, and X has no column that says which rows are in it"
            raise BudgetError("budget", why, "give the budget of all strata")
        if self.eps is None:
            raise BudgetError("eps", "must be given", add("eps", 1.0))
        return Request(
            call=call, formula=f"y ~ {' + '.join(names)}", eps=self.eps, delta=self.delta,
            method=self.method, bounds=self.bounds, budget=self.budget, rng=self.random_state,
            **more,
        )  # fmt: skip


def _target(y: Any) -> RowSource:
    if y is None:
        raise ArgumentError("y", "requires y to be passed, but the target y is None")
    if not is_column(y):
        return vector_source("y", y)
    source = matrix_source("y", y)
    # As scikit-learn warns: about the axes, which are public.
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected.",
        DataConversionWarning,
        stacklevel=4,
    )
    return source


def _rows(values: Any) -> int:
    if hasattr(values, "shape"):
        return int(values.shape[0])
    return len(values) if hasattr(values, "__len__") else len(np.asarray(values))
