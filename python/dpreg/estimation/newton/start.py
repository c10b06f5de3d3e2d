"""What a fit leaves for later ones, and what it does where its own start was out of date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpreg.estimation.base import Declined, Release
from dpreg.estimation.inference.start import Start
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.secant import Path
from dpreg.estimation.releases.rows import standard_units
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.standardised import Standardised


def start_from(
    begun: Standardised, found: Whitening, path: Path, squares: float, longest: float
) -> Start:
    """Return where a fit ended.  Everything here is public.

    begun: of which only what is released is used.
    found: coordinates.
    path: along them.
    squares: sum of squared norms of scores.
    longest: see `Start`.
    """
    terms, scales = begun.design.terms, begun.scales
    ended = replace(found, theta=path.theta)
    ended = ended.turned(symmetric_root(path.curvature, centred=begun.units.intercept))
    residual = squares / (max(found.squares, 1.0) * scales.units)
    if begun.units.intercept and not terms.intercept:
        ended, residual = _without_constant(begun, ended, residual)
    return Start(
        response=terms.response,
        names=terms.names,
        intercept=terms.intercept,
        low=scales.low,
        high=scales.high,
        centre=scales.centre,
        scale=scales.scale,
        constant=scales.constant,
        change=ended.change,
        unseen=ended.unseen,
        theta=ended.theta,
        residual=residual,
        deviation=np.sqrt(2 * path.doubt),
        sizes=ended.sizes,
        longest=longest,
        units=scales.units,
        within=terms.within,
        weights=terms.weights,
    )


def _without_constant(
    begun: Standardised, ended: Whitening, residual: float
) -> tuple[Whitening, float]:
    """Return coordinates of rows of the formula, which has all levels instead of a constant."""
    assert begun.back is not None
    levels = np.flatnonzero(begun.back[:, 0])
    units, whole = begun.telling_units, standard_units(begun.scales, intercept=False)
    terms = begun.design.terms
    whole = whole.keeping(~np.isin(whole.columns, [*terms.given, len(terms.regressors)]))
    own = np.isin(whole.columns, units.columns)
    constant = np.isin(whole.columns, levels) * whole.scale
    rows = np.zeros((whole.width, units.width))  # What these are multiplied by.
    rows[own, 1 + np.arange(len(units.columns))] = whole.scale[own] / units.scale
    rows[:, 1:] -= np.outer(constant, units.centre / units.scale)
    rows[:, 0] = constant
    change = rows @ ended.change
    level = np.linalg.lstsq(change, constant, rcond=None)[0]
    theta = (units.y_scale * ended.theta + units.y_centre * level) / whole.y_scale
    # Constant columns are told from the levels as little as from a constant.
    same = np.flatnonzero(~own & (whole.columns != levels[0]))
    alike = np.diag(whole.scale)[:, same]
    alike -= np.outer(constant, begun.scales.centre[whole.columns[same]])
    unseen = np.column_stack([rows @ ended.unseen, alike])
    found = replace(ended, change=change, unseen=unseen, theta=theta)
    return found, residual * (units.y_scale / whole.y_scale) ** 2


def started_anew(
    begun: Standardised, fit: Callable[[Standardised], Release | Declined]
) -> Release | Declined:
    """Fit without the start, which does not hold, from what is left."""
    spent = 1 - begun.left
    anew = begun.anew()
    outcome = anew.declined or fit(anew.with_constant())
    if isinstance(outcome, Declined):
        return outcome
    note = (
        "start= is out of date: the second moments of the columns, or the residual scale, have "
        f"changed.  They were estimated anew, and {100 * spent:.0f}% of the squared mu was lost"
    )
    return replace(outcome, notes=(note, *outcome.notes))
