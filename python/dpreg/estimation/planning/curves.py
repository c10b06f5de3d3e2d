"""Curves in the plots of a plan."""

from __future__ import annotations

import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.planning.grids import LIKELY
from dpreg.estimation.planning.planned import Planned
from dpreg.estimation.planning.power import power_of


def width_curve(plan: Planned) -> tuple[Doubles, Doubles]:
    """Return epsilons and the widths of `plan` there; infinite where it is rarely released."""
    epsilons = np.geomspace(min(0.05, plan.eps / 2), max(10.0, plan.eps * 2), 61)
    found = [plan.model.forecast(plan.deciding, plan.d, float(e), plan.delta) for e in epsilons]
    return epsilons, np.array([f.width if f.released >= LIKELY else math.inf for f in found])


def power_curve(plan: Planned) -> tuple[Doubles, Doubles, Doubles]:
    """Return effects, the power of `plan` for each, and that of the fit without privacy.

    Effects are as users give them.
    """
    of = plan.model
    error = of.exact_error(plan.deciding, plan.d)
    private = plan.width * error
    asked = 0.0 if plan.effect is None else of.tested(plan.effect)
    # Four standard errors of the private fit, or of the other if there is none.
    reach = max(4 * (private if math.isfinite(private) else error), 1.25 * asked)
    effects = np.linspace(0.0, reach if math.isfinite(reach) else 1.0, 101)
    powers = np.array([power_of(float(e), private, plan.released) for e in effects])
    exact = np.array([power_of(float(e), error) for e in effects])
    return np.array([of.shown(float(e)) for e in effects]), powers, exact
