"""Coefficients as the root of a noisy score, along directions that were found in noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpreg.methods.score_errors import ScoreRoot
from dpreg.methods.score_plan import ScorePlan
from dpreg.methods.score_rounds import Rounds
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.quantised import MappedRows
from dpreg.sums.scores import noisy_products, products_limit
from dpreg.sums.working_model import WorkingModel, least_squares

__all__ = ["score_root"]

Doubles = NDArray[np.float64]


def score_root(
    rows: MappedRows,
    seen: NDArray[np.bool_],
    units: float,
    plan: ScorePlan,
    noise: GaussianReleases,
    model: WorkingModel | None = None,
    shorter: Callable[[Doubles], MappedRows] | None = None,
) -> ScoreRoot:
    """Step towards the root of the sum of shortened scores.

    Parameters
    ----------
    rows : MappedRows
        Private, along directions with second moments of about 1; made again when it is known about
        where the root is.
    seen : ndarray of bool, shape (w,)
        Along the other directions second moments may be anything from 0 to about 1, and a ridge
        as large as the curvature keeps the noise from adding up.
    units : float
        Noisy number of units.
    plan : ScorePlan
    noise : GaussianReleases
    model : WorkingModel, optional
        Default: least squares.
    shorter : callable, optional
        Returns the rows to go on with, whose aim it is given, should `rows`, some much longer than
        those that curvature is of, lead nowhere.
    """
    model = least_squares(rows.width) if model is None else model
    rounds = Rounds(rows, seen, units, noise, model)
    rounds.start(plan)
    start, late = rounds.theta, plan.late
    norms, cut = rounds.limit("norms of scores", plan.norms, late)
    if plan.curvature:
        rounds.gather(cut.limit, plan.settling, 0.0)
        rounds.curve(plan.curvature[1])
        rounds.gather(cut.limit, late, math.fsum(plan.settling))
    else:
        if rounds.settle(cut.limit, plan.settling):
            late = tuple(share + plan.again / len(late) for share in late)
        elif shorter is not None:
            rounds.go_on_with(shorter(rounds.aimed), start)
            settling = math.fsum(plan.settling)
            share = plan.again * plan.norms / (plan.norms + settling)
            label = "norms of scores of clipped rows"
            norms, cut = rounds.limit(label, share, late)
            again = (plan.again - share) / settling
            rounds.settle(cut.limit, tuple(again * share for share in plan.settling))
        late = rounds.finish(cut.limit, late, norms.root_mean_square())
    theta, theta_deviation = rounds.mean(late)
    mu = noise.share(plan.products)
    short = min(cut.limit, max(products_limit(norms, rows.width, mu), rounds.longest))
    products, deviation = noisy_products(rounds.rows, theta, short, noise, mu)
    half = len(late) if rounds.quick else (len(late) + 1) // 2
    return ScoreRoot(
        theta=theta,
        deviation=theta_deviation,
        cut=cut,
        row_limit=rounds.rows.limit,
        products=products,
        products_deviation=deviation,
        norm=norms.root_mean_square(),
        squares=norms.sum_of_squares(),
        units=units,
        unsettled=rounds.unsettled(half),
        curvature=rounds.curvature,
        start=model.start,
        scale=model.scale,
        fixed_dispersion=model.dispersion if noise.rows == 1 else 0.0,
        standardised=model.family.standardised,
    )
