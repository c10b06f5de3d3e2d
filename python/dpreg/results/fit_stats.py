"""R squared and the residual scale as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpreg.base.errors import ArgumentError, add
from dpreg.estimation.inference.law import NORMAL
from dpreg.estimation.inference.residuals import FitStats

if TYPE_CHECKING:
    import pandas as pd


def stats_table(stats: FitStats | None, alpha: float) -> pd.DataFrame:
    """Return R squared and sigma with intervals; see `DPResults.fit_stats`."""
    import pandas as pd

    if stats is None:
        raise ArgumentError("fit_stats", "was not asked for", (*add("fit_stats", True), " to the "
                            "call, which pays for it"))  # fmt: skip
    sigma = math.sqrt(stats.scale)
    estimates = np.array([stats.rsquared, sigma])
    # The root of a variance, by the delta method.
    errors = np.array([stats.rsquared_error, stats.scale_error / (2 * sigma)])
    margin = NORMAL.critical_value(alpha) * errors
    return pd.DataFrame(
        {
            "estimate": estimates,
            "std err": errors,
            "lower": np.fmax(estimates - margin, [-np.inf, 0.0]) + 0 * estimates,
            "upper": np.fmin(estimates + margin, [1.0, np.inf]) + 0 * estimates,
        },
        index=pd.Index(["R-squared", "sigma"], name="statistic"),
    )
