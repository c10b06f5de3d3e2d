"""Private estimators with the interface of scikit-learn.  Needs scikit-learn.

Each call of `fit` is a release of its own and spends `eps` and `delta`; so does every fold of
`cross_val_score` and every candidate of a search.  A `budget` keeps the total and refuses a fit
that exceeds it.
"""

from __future__ import annotations

import warnings

try:
    from sklearn.utils.validation import validate_data  # noqa: F401
except ImportError:
    raise ImportError("dpreg.sklearn needs scikit-learn; run `pip install scikit-learn`") from None

from dpreg.sklearn.regressions import DPLinearRegression, DPLogisticRegression, NotReleasedError
from dpreg.sklearn.selector import DPFeatureSelector

# Where a notebook shows an estimator, scikit-learn warns of sections that numpydoc does not have.
warnings.filterwarnings("ignore", "Unknown section Privacy", UserWarning)

__all__ = ["DPFeatureSelector", "DPLinearRegression", "DPLogisticRegression", "NotReleasedError"]
