"""Plots of what was released or planned: a leaf, which nothing but interfaces imports.

Results, plans and budgets have `plot` methods that find a plot here by its name.
"""

from dpreg.faces.plots.coefficients import (
    plot_beside,
    plot_coefficients,
    plot_correlations,
    plot_effect,
)
from dpreg.faces.plots.curves import plot_curve, plot_survival
from dpreg.faces.plots.diagnostics import plot_calibration, plot_qq, plot_residuals
from dpreg.faces.plots.plans import plot_plan, plot_power, plot_shares

__all__ = [
    "plot_beside",
    "plot_calibration",
    "plot_coefficients",
    "plot_correlations",
    "plot_curve",
    "plot_effect",
    "plot_plan",
    "plot_power",
    "plot_qq",
    "plot_residuals",
    "plot_shares",
    "plot_survival",
]
