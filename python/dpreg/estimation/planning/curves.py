"""Curves in the plots of a plan."""

from __future__ import annotations

import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.planning.expected import Expected
from dpreg.estimation.planning.forecast import Model
from dpreg.estimation.planning.grids import LIKELY
from dpreg.estimation.planning.power import power_of


def width_curve(plan: Expected) -> tuple[Doubles, Doubles]:
    """Return epsilons and the widths of `plan` there; infinite where it is rarely released."""
    epsilons = np.geomspace(min(0.05, plan.eps / 2), max(10.0, plan.eps * 2), 61)
    of = Model(plan.method, plan.family)
    found = [of.forecast(plan.n, plan.d, float(e), plan.delta) for e in epsilons]
    return epsilons, np.array([f.width if f.released >= LIKELY else math.inf for f in found])


def power_curve(plan: Expected) -> tuple[Doubles, Doubles, Doubles]:
    """Return slopes, the power of `plan` for each, and that of least squares without privacy."""
    error = plan.exact_error
    private = plan.width * error
    # Four standard errors of the private fit, or of least squares if there is none.
    reach = max(4 * (private if math.isfinite(private) else error), 1.25 * (plan.effect or 0.0))
    effects = np.linspace(0.0, reach if math.isfinite(reach) else 1.0, 101)
    powers = np.array([power_of(float(e), private, plan.released) for e in effects])
    return effects, powers, np.array([power_of(float(e), error) for e in effects])
