"""Private selection of columns as a transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from dpreg.base.keywords import hinted
from dpreg.base.options import is_whole
from dpreg.calls.select import selected
from dpreg.data.bounds import Bounds
from dpreg.estimation.selection.base import Selector
from dpreg.privacy.budget import Budget
from dpreg.sklearn.estimator import Private


class DPFeatureSelector(SelectorMixin, Private):  # type: ignore[misc]
    """Choose k columns with differential privacy, for scikit-learn pipelines.

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

    Notes
    -----
    A sparse `X` is made dense, as for `DPLinearRegression`.

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

    @hinted("DPFeatureSelector.fit", sample_weight="leave it out: rows have equal weight")
    def fit(self, X: Any, y: Any) -> DPFeatureSelector:
        """Release a choice; spends `eps` and `delta`."""
        problem, names = self._problem(X, y)
        k = min(self.k, len(names)) if is_whole(self.k) else self.k
        asked = self._asked("dp_select", names, k=k)
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
