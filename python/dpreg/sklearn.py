"""Private estimators with the interface of scikit-learn.  Needs scikit-learn.

Each call of `fit` is a release of its own and spends `eps` and `delta`; so does every fold of
`cross_val_score` and every candidate of a search.  A `budget` counts them, and refuses.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ImportError("dpreg.sklearn needs scikit-learn; run `pip install scikit-learn`") from None

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, BudgetError, SchemaError, add, write
from dpreg.base.keywords import hinted
from dpreg.calls.fit import fit
from dpreg.calls.request import Request
from dpreg.calls.select import selected
from dpreg.data.arrays import columns_of, is_column, matrix_source, vector_source
from dpreg.data.bounds import Bounds
from dpreg.data.matrix import ModelMatrix, Records, check_column_names
from dpreg.data.source import RowSource
from dpreg.estimation.base import Method
from dpreg.estimation.selection.base import Selector
from dpreg.privacy.budget import Budget
from dpreg.privacy.partition import StratumBudget
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased

__all__ = ["DPFeatureSelector", "DPLinearRegression", "DPLogisticRegression", "NotReleasedError"]


class NotReleasedError(RuntimeError):
    """The mechanism declined: the budget is spent and there is no model to predict with.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.sklearn import DPLinearRegression, NotReleasedError
    >>> try:
    ...     DPLinearRegression(eps=0.1).fit(np.ones((9, 1)), np.ones(9))
    ... except NotReleasedError:
    ...     print("declined")
    declined
    """


class _Private(BaseEstimator):  # type: ignore[misc]
    """What the estimators do with X and y: look at types and shapes, and at no cell.

    scikit-learn's own checks raise an error where a cell is missing or infinite, or where there are
    too few rows: that would tell of the records.  Here cells are read when they are paid for, and
    such rows are left out.
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
        tags.input_tags.allow_nan = True
        return tags

    def _problem(self, X: Any, y: Any) -> tuple[ModelMatrix, list[str]]:
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
        read = lambda: [Records(columns_of(table), columns_of(target)[0])]  # noqa: E731
        return ModelMatrix("y", tuple(named), True, read), named

    def _asked(self, call: str, names: list[str], **more: Any) -> Request:
        return Request(
            call=call, formula=f"y ~ {' + '.join(names)}", eps=self._epsilon(), delta=self.delta,
            method=self.method, bounds=self.bounds, budget=self.budget, rng=self.random_state,
            **more,
        )  # fmt: skip

    def _epsilon(self) -> float:
        if isinstance(self.budget, StratumBudget):
            why = "is that of one stratum, and X has no column that says which rows are in it"
            raise BudgetError("budget", why, "give the budget of all strata")
        if self.eps is None:
            raise BudgetError("eps", "must be given", add("eps", 1.0))
        return self.eps


class _Regression(_Private):
    """What the two regressions keep of a fit, and make of it."""

    inference: bool

    def conf_int(self, alpha: float = 0.05) -> Doubles:
        """Return the limits of the intervals for the coefficients, without the intercept.

        Needs ``inference=True``.  `results_.conf_int` has the intercept too.

        Parameters
        ----------
        alpha : float, default 0.05

        Returns
        -------
        ndarray, shape (d, 2)
            Lower and upper limits of level 1 - `alpha`; NaN where a coefficient is not estimable.
        """
        check_is_fitted(self, "results_")
        if not self.inference:
            raise ArgumentError("inference", "is needed for conf_int()", write("inference", True))
        return self.results_.conf_int(alpha).to_numpy()[1:]

    def _keep(self, fit: DPResults | NotReleased) -> None:
        if not isinstance(fit, DPResults):
            raise NotReleasedError(str(fit))
        self.results_, self.privacy_ = fit, fit.privacy

    def _means(self, X: Any) -> Doubles:
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        fit, (least, most) = self.results_, (-np.inf, np.inf)
        if fit.limits is not None:
            low, high = np.where(np.isnan(fit.limits), [-np.inf, np.inf], fit.limits).T
            X, least, most = np.clip(X, low[:-1], high[:-1]), low[-1], high[-1]
        means = fit.family.mean(fit.estimates[0] + X @ fit.estimates[1:])
        return np.asarray(np.clip(means, least, most))


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
    return len(values) if hasattr(values, "__len__") else len(np.asarray(values))


class DPLinearRegression(RegressorMixin, _Regression):  # type: ignore[misc]
    """Linear regression with differential privacy, for pipelines of scikit-learn.

    Parameters
    ----------
    eps : float
        Privacy loss of each call of `fit`.
    delta : float, optional
        As for `dp_lm`.
    method : str or options object, default "auto"
    bounds : dict, optional
        ``{column: (low, high)}``, public limits of columns of X, by their names (``"x0"``,
        ``"x1"``, ... where X has none), and of ``"y"``; as for `dp_lm`.
    inference : bool, default False
        Also release standard errors, for `conf_int` and `results_`.
    budget : Budget, optional
        Charged by each call of `fit`; shared by clones, so that `cross_val_score` and searches
        count.
    random_state : int, optional
        A seed, and then the fit is **not private**.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
    intercept_ : float
    results_ : DPResults
    privacy_ : Certificate
    n_features_in_ : int
    feature_names_in_ : ndarray, where X has names

    Privacy
    -------
    guarantee : (eps, delta)-DP for each call of `fit`
    neighbours : add or remove one row of X and y
    public : all parameters, the number and names of the columns

    Notes
    -----
    `score` compares predictions with records, as `cross_val_score` and searches do: scores are
    functions of the records and **not private**.  Use them on data that need no protection.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.sklearn import DPLinearRegression
    >>> X = np.random.default_rng(1).standard_normal((20_000, 3))
    >>> model = DPLinearRegression(eps=1.0).fit(X, X[:, 1] + 1)
    >>> model.predict(X[:2]).shape
    (2,)
    """

    @hinted("DPLinearRegression")
    def __init__(
        self,
        eps: float | None = 1.0,
        delta: float | None = None,
        *,
        method: str | Method = "auto",
        bounds: Mapping[str, Bounds] | None = None,
        inference: bool = False,
        budget: Budget | None = None,
        random_state: int | None = None,
    ) -> None:
        self._take(locals())

    def fit(self, X: Any, y: Any) -> DPLinearRegression:
        """Release a model; spends `eps` and `delta`.

        Raises
        ------
        NotReleasedError
            If the mechanism declines.  The budget is spent.
        """
        problem, names = self._problem(X, y)
        self._keep(fit(self._asked("dp_lm", names, inference=self.inference), problem))
        self.intercept_, self.coef_ = float(self.results_.estimates[0]), self.results_.estimates[1:]
        return self

    def predict(self, X: Any) -> Doubles:
        """Predict rows that need no protection, within the limits of the fit; NaN stays NaN."""
        check_is_fitted(self, "results_")
        return self._means(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class DPLogisticRegression(ClassifierMixin, _Regression):  # type: ignore[misc]
    """Logistic regression with differential privacy, for pipelines of scikit-learn.

    Parameters
    ----------
    eps, delta, method, bounds, inference, budget, random_state
        As for `DPLinearRegression`.
    classes : pair of numbers, default (0, 1)
        Public: what y holds is not looked at.  Rows with another value are left out.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    coef_ : ndarray, shape (1, d)
    intercept_ : ndarray, shape (1,)
    results_, privacy_, n_features_in_, feature_names_in_
        As of `DPLinearRegression`.

    Privacy
    -------
    guarantee : (eps, delta)-DP for each call of `fit`
    neighbours : add or remove one row of X and y
    public : all parameters, the number and names of the columns

    Notes
    -----
    As for `DPLinearRegression`, scores are **not private**.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.sklearn import DPLogisticRegression
    >>> X = np.random.default_rng(1).standard_normal((20_000, 3))
    >>> model = DPLogisticRegression(eps=1.0).fit(X, X[:, 1] > 0)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    classes: tuple[float, float]

    @hinted("DPLogisticRegression")
    def __init__(
        self,
        eps: float | None = 1.0,
        delta: float | None = None,
        *,
        classes: tuple[float, float] = (0, 1),
        method: str | Method = "auto",
        bounds: Mapping[str, Bounds] | None = None,
        inference: bool = False,
        budget: Budget | None = None,
        random_state: int | None = None,
    ) -> None:
        self._take(locals())

    def fit(self, X: Any, y: Any) -> DPLogisticRegression:
        """Release a model; spends `eps` and `delta`.

        Raises
        ------
        NotReleasedError
            If the mechanism declines.  The budget is spent.
        """
        low, high = self.classes
        self.classes_ = np.array([low, high])
        problem, names = self._problem(X, y)
        plain = problem.read

        def read() -> Iterator[Records]:
            for records in plain():
                known = np.where(records.y == low, 0.0, np.nan)
                yield replace(records, y=np.where(records.y == high, 1.0, known))

        asked = self._asked("dp_glm", names, family="binomial", inference=self.inference)
        self._keep(fit(asked, replace(problem, read=read)))
        estimates = self.results_.estimates
        self.intercept_, self.coef_ = estimates[:1], estimates[None, 1:]
        return self

    def predict_proba(self, X: Any) -> Doubles:
        """Return the chances of both classes, shape (n, 2), of rows that need no protection."""
        check_is_fitted(self, "results_")
        chance = self._means(X)
        return np.column_stack([1 - chance, chance])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more likely class of each row."""
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


class DPFeatureSelector(SelectorMixin, _Private):  # type: ignore[misc]
    """Choose k columns with differential privacy, for pipelines of scikit-learn.

    Parameters
    ----------
    k : int
        How many columns to keep; all if there are fewer.
    eps, delta, method
        As for `dp_select`.
    bounds, budget, random_state
        As for `DPLinearRegression`.

    Attributes
    ----------
    result_ : SelectionResult
    privacy_ : Certificate
    n_features_in_ : int

    Privacy
    -------
    guarantee : (eps, delta)-DP for each call of `fit`
    neighbours : add or remove one row of X and y
    public : all parameters, the number and names of the columns

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.sklearn import DPFeatureSelector
    >>> X = np.random.default_rng(1).standard_normal((20_000, 3))
    >>> DPFeatureSelector(k=1, eps=1.0).fit(X, X[:, 1]).get_support().tolist()
    [False, True, False]
    """

    k: int

    @hinted("DPFeatureSelector")
    def __init__(
        self,
        k: int = 5,
        eps: float | None = 1.0,
        delta: float = 0.0,
        *,
        method: str | Selector = "kendall",
        bounds: Mapping[str, Bounds] | None = None,
        budget: Budget | None = None,
        random_state: int | None = None,
    ) -> None:
        self._take(locals())

    def fit(self, X: Any, y: Any) -> DPFeatureSelector:
        """Release a choice; spends `eps` and `delta`."""
        problem, names = self._problem(X, y)
        asked = self._asked("dp_select", names, k=min(self.k, len(names)))
        self.result_ = selected(asked, problem)
        self.privacy_ = self.result_.privacy
        chosen = set(self.result_.selected)
        self._kept = np.array([name in chosen for name in names])
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "result_")
        return self._kept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
