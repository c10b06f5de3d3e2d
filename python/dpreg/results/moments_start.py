"""Where a fit may start, from released second moments: post-processing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpreg.estimation.inference.start import Start
from dpreg.estimation.releases.spectrum import symmetric_root, without_spread

if TYPE_CHECKING:
    from dpreg.results.models import Model
    from dpreg.results.moments import DPMoments

# Deviations of its noise that a second moment must have, and the least mean squared residual, in
# variances of the response.
_SEEN, _LEAST_RESIDUAL = 3.0, 1e-3


def start_of_moments(moments: DPMoments, model: Model) -> Start | None:
    """Return where a fit of `model` may start; None if the moments are too noisy for it."""
    every = (*model.names, model.response)
    used = [place for name in every if (place := moments.place(name)) is not None]
    if len(used) < len(every):
        return None
    found, _ = moments.regression(model)
    vectors, upper = np.linalg.qr(moments.regressors(model))
    matrix = moments.joint.product(vectors, vectors) / moments.units
    deviation = moments.deviation / moments.units
    values, turn = np.linalg.eigh(matrix)
    values = without_spread(values, deviation)
    if not values.min(initial=np.inf) > _SEEN * deviation:
        return None
    held = (turn * values) @ turn.T
    change = np.linalg.solve(upper, symmetric_root(held, centred=model.intercept))
    places = [moments.names.index(name) for name in every]
    return Start(
        response=model.response,
        names=model.names,
        intercept=model.intercept,
        low=moments.limits[places, 0],
        high=moments.limits[places, 1],
        centre=moments.centre[used],
        scale=moments.scale[used],
        constant=np.zeros(len(every), dtype=bool),
        change=change,
        unseen=np.zeros((len(change), 0)),
        theta=np.asarray(np.linalg.solve(change, found.theta)),
        residual=max(found.residual.value / moments.units, _LEAST_RESIDUAL),
        deviation=np.full_like(held, deviation / float(values.min(initial=1.0))),
        sizes=np.ones(len(held)),
        longest=moments.reach * math.sqrt(len(change)),
        units=moments.units,
    )
