"""Linear and logistic regression as estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, unusable, write
from dpreg.base.keywords import hinted
from dpreg.base.options import is_number
from dpreg.calls.fit import fit
from dpreg.data.bounds import Bounds
from dpreg.estimation.base import Method
from dpreg.privacy.budget import Budget
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.sklearn.estimator import EQUAL_WEIGHTS, Private


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


class _Regression(Private):
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
        check_is_fitted(self, "results_")
        X = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan",
            accept_sparse=True,
        )  # fmt: skip
        X = X.toarray(order="C") if hasattr(X, "toarray") else X
        fit, (least, most) = self.results_, (-np.inf, np.inf)
        if fit.limits is not None:
            low, high = np.where(np.isnan(fit.limits), [-np.inf, np.inf], fit.limits).T
            X, least, most = np.clip(X, low[:-1], high[:-1]), low[-1], high[-1]
        means = fit.family.mean(fit.estimates[0] + X @ fit.estimates[1:])
        return np.asarray(np.clip(means, least, most))


class DPLinearRegression(RegressorMixin, _Regression):  # type: ignore[misc]
    """Linear regression with differential privacy, for scikit-learn pipelines.

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
        A seed; the fit is then **not private**.

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

    A sparse `X` is made dense, which takes 8 n d bytes; `dpreg.mechanisms.dp_frank_wolfe` takes it
    as it is.

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

    @hinted("DPLinearRegression.fit", sample_weight=EQUAL_WEIGHTS.format("dp_lm"))
    def fit(self, X: Any, y: Any) -> DPLinearRegression:
        """Release a model; spends `eps` and `delta`, even if it raises `NotReleasedError`."""
        problem, names = self._problem(X, y)
        self._keep(fit(self._asked("dp_lm", names, inference=self.inference), problem))
        self.intercept_, self.coef_ = float(self.results_.estimates[0]), self.results_.estimates[1:]
        return self

    def predict(self, X: Any) -> Doubles:
        """Predict rows that need no protection, within the limits of the fit; NaN stays NaN."""
        return self._means(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class DPLogisticRegression(ClassifierMixin, _Regression):  # type: ignore[misc]
    """Logistic regression with differential privacy, for scikit-learn pipelines.

    Parameters
    ----------
    eps, delta, method, bounds, inference, budget, random_state
        As for `DPLinearRegression`.
    classes : pair of numbers, default (0, 1)
        Public, not read from y.  Rows with other values are dropped.

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
    As for `DPLinearRegression`: scores are **not private**, and a sparse `X` is made dense.

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

    @hinted("DPLogisticRegression.fit", sample_weight=EQUAL_WEIGHTS.format("dp_glm"))
    def fit(self, X: Any, y: Any) -> DPLogisticRegression:
        """Release a model; spends `eps` and `delta`, even if it raises `NotReleasedError`."""
        low, high = self._pair()
        self.classes_ = np.array([low, high])

        def coded(y: Doubles) -> Doubles:
            return np.where(y == high, 1.0, np.where(y == low, 0.0, np.nan))

        problem, names = self._problem(X, y, coded)
        asked = self._asked("dp_glm", names, family="binomial", inference=self.inference)
        self._keep(fit(asked, problem))
        estimates = self.results_.estimates
        self.intercept_, self.coef_ = estimates[:1], estimates[None, 1:]
        return self

    def _pair(self) -> tuple[float, float]:
        """Return both classes; rows with other values are dropped."""
        pair = self.classes
        if isinstance(pair, (tuple, list, np.ndarray)) and len(pair) == 2:
            low, high = pair
            plain = all(isinstance(v, (bool, np.bool_)) or (is_number(v) and v == v) for v in pair)
            if plain and low != high:
                return low, high
        raise unusable("classes", "two different numbers", pair, write("classes", (0, 1)))

    def predict_proba(self, X: Any) -> Doubles:
        """Return the chances of both classes, shape (n, 2), of rows that need no protection."""
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
