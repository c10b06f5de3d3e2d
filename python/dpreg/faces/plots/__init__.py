"""Plots of released and planned numbers; only interfaces import this package.

Results, plans and budgets have `plot` methods that find a plot in its module by its name; several
fits are drawn by a function.
"""

from dpreg.faces.plots.coefficients import plot_beside

__all__ = ["plot_beside"]
