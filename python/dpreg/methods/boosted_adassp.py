"""Boosted AdaSSP: noisy second moments once, then rounds of noisy gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dpreg import _core
from dpreg.data.bounds import Bounds, column_bounds
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import check_max_rows, sample_rows
from dpreg.errors import Argument, unusable
from dpreg.inference.covariance import (
    BoostingPath,
    EstimateError,
    boosting_error,
    quieted,
    unidentified_note,
    user_errors,
)
from dpreg.inference.shrinkage import SHRUNK_NOTE
from dpreg.methods.base import Allowance, Declined, Release, check_size, needs_delta
from dpreg.methods.schedule import final_clip, schedule
from dpreg.options import check_options
from dpreg.privacy.cost import Cost
from dpreg.sums.accountant import GaussianReleases, releases_cost
from dpreg.sums.limits import prediction_limits
from dpreg.sums.moments import (
    Doubles,
    floored_inverse,
    found_columns,
    noisy_gram,
    noisy_scatter,
    without_columns,
)
from dpreg.sums.rows import longest_row, standard_units, standardised_rows
from dpreg.sums.standardisation import (
    Scales,
    Standardisation,
    check_scatter_share,
    check_share_of_mu,
)

__all__ = ["BoostedAdaSSP"]


# Weight of the sum of squared residuals beside the gradient, in the same release.
_SQUARES_WEIGHT = 0.05
# Least root mean square residual that clips follow, in standard deviations of the response.
_LEAST_RESIDUAL = 0.012
# More would only add noise.
_MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedAdaSSP:
    """Options of Boosted AdaSSP (Tang et al., 2023), all public.

    Columns are standardised privately, a noisy matrix of second moments is released once,
    and each round adds its inverse (with a floor under the eigenvalues) times a noisy
    gradient of clipped residuals to the coefficients.  The clip follows the residuals down,
    and the noise with it; with inference it is wider in the last rounds, whose mean is the
    result.  That is a Huber regression in which long rows count less: it has the coefficients
    of least squares when the model is linear and errors are symmetric or the clip is wide.

    Parameters
    ----------
    rounds : int, optional
        Default 6; with inference 2 sqrt(2 w) + 2, w being the width of the design.
    average : int, optional
        The result is the mean of this many last rounds.  Default 2; with inference half.
    gram_share : float, default 0.2
        Share, of what is left by the others, for the second moments.
    scatter_share : float, default 0.08
        Share of the squared mu for the covariance of the gradient, when there is inference.
    first_clip : float, default 5.0
        Clip of the first round, in standard deviations of the response.
    clip : float, default 2.5
        Clip of later rounds, in root mean square residuals of the round before.
    final_clip : float, optional
        With inference, the clip of the rounds averaged over, in those residuals.  Default
        4.5 to 20, as the square root of the noisy number of units.
    row_factor : float, default 1.2
        Rows longer than this many times their expected length are shrunk to it.
    max_rows : int, default 1
        Rows that a protected unit may give, when ``dp_lm(unit=...)`` names one; of units with
        more, that many are drawn.  All noise grows with it.
    bounds : mapping, optional
        ``{column: (low, high)}``, public limits of columns of the design and of the response.
    standardisation : Standardisation

    Privacy
    -------
    guarantee : (eps, delta)-DP, by Gaussian composition
    neighbours : add or remove one unit
    public : all options, bounds, d, the names of the columns
    proof : boosted_adassp.md

    References
    ----------
    Tang et al. (2023), "Improved Differentially Private Regression via Gradient Boosting";
    Wang (2018), "Revisiting differentially private linear regression".
    """

    rounds: int | None = None
    average: int | None = None
    gram_share: float = 0.2
    scatter_share: float = 0.08
    first_clip: float = 5.0
    clip: float = 2.5
    final_clip: float | None = None
    row_factor: float = 1.2
    max_rows: int = 1
    bounds: Mapping[str, Bounds] | None = None
    standardisation: Standardisation = field(default_factory=Standardisation)

    def __post_init__(self) -> None:
        check_options(self)
        check_max_rows(self.max_rows)
        if min(self.rounds or 1, self.average or 1) < 1 or 0 in (self.rounds, self.average):
            name = "rounds" if self.rounds is not None and self.rounds < 1 else "average"
            raise unusable(name, "at least 1", getattr(self, name))
        if self.average is not None and self.average > (self.rounds or 0):
            wanted = ("given together with ", Argument("rounds"), ", and at most that")
            raise unusable("average", wanted, self.average)
        check_share_of_mu("gram_share", self.gram_share)
        check_scatter_share(self.scatter_share, self.standardisation)
        check_size("first_clip", self.first_clip)
        check_size("clip", self.clip)
        check_size("final_clip", self.final_clip)
        check_size("row_factor", self.row_factor)
        if (self.rounds or 1) > _MOST_ROUNDS:
            raise unusable("rounds", f"at most {_MOST_ROUNDS}", self.rounds)

    @property
    def name(self) -> str:
        """As `dp_lm(method=...)` spells it."""
        return "boosted_adassp"

    def check(self, terms: Terms, epsilon: float, delta: float, *, inference: bool) -> None:
        """Refuse delta = 0 and bounds that cannot be used."""
        needs_delta(self.name, delta)
        column_bounds(self.bounds, terms)

    def cost(self, epsilon: float, delta: float) -> Cost:
        """See `dpreg.methods.base.Method`."""
        return releases_cost(epsilon, delta)

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        """See `dpreg.methods.base.Method`."""
        rows_a_unit = 1 if design.units is None else self.max_rows
        noise = GaussianReleases(
            allowance.epsilon, allowance.delta, allowance.bits, rows=rows_a_unit
        )
        design = sample_rows(design, self.max_rows, allowance.bits)
        bounds = column_bounds(self.bounds, design.terms)
        scales = self.standardisation.release(design.X, design.y, noise, bounds)
        if not scales.response_found:
            return scales.declined(noise, "Gaussian (GDP)")
        units = standard_units(scales, intercept=design.terms.intercept)
        limit = longest_row(self.row_factor, units)
        # Winsorised regressors predict better; left alone, slopes are not biased.
        rows = standardised_rows(design, scales, units, limit, winsorise=not inference)
        mu = noise.share(self._left(inference=inference) * self.gram_share)
        gram, deviation = noisy_gram(rows, noise, mu)
        found = found_columns(scales, units, gram, deviation)
        if not found.all():
            gram = without_columns(gram, found, intercept=units.intercept)
            units = units.keeping(found)
            rows = standardised_rows(design, scales, units, limit, winsorise=not inference)
        path = self._boost(rows, gram, deviation, scales, noise, inference=inference)
        d = len(design.terms.names)
        to_user = units.to_user(d)
        error = self._error(rows, path, scales, noise) if inference else None
        covariance, sampling, hidden = user_errors(error, to_user, scales.trusted)
        params = to_user @ path.estimate + units.offset(d)
        limits = prediction_limits(design, scales, params, noise, self.standardisation.tail_share)
        return Release(
            params=params,
            covariance=covariance,
            sampling=sampling,
            units=scales.units,
            parts=tuple(noise.parts),
            composition="Gaussian (GDP)",
            notes=_estimand(path, inference=inference)
            + unidentified_note(hidden, design.terms.coefficients),
            limits=limits,
        )

    def _boost(
        self,
        rows: _core.QuantisedRows,
        gram: Doubles,
        gram_deviation: float,
        scales: Scales,
        noise: GaussianReleases,
        *,
        inference: bool,
    ) -> BoostingPath:
        step = floored_inverse(gram, gram_deviation)
        plan = schedule(len(gram), self.rounds, self.average, inference=inference)
        gradients = noise.share(self._left(inference=inference) * (1 - self.gram_share))
        theta, clip = np.zeros(len(gram)), self.first_clip
        thetas, deviations, residual = [], [], 1.0
        for number, share in enumerate(plan.shares, start=1):
            if inference and number == plan.early + 1:
                mu = gradients * math.sqrt(sum(plan.shares[plan.early :]))
                clip = self._final(scales.units, rows.limit, mu, noise) * residual
            gradient, squares, deviation = _noisy_round(
                rows, theta, clip, number, noise, gradients * math.sqrt(share)
            )
            theta = theta + step @ gradient
            thetas.append(theta)
            deviations.append(deviation)
            if not inference or number <= plan.early:
                residual = min(max(math.sqrt(squares / scales.units), _LEAST_RESIDUAL), 1.0)
                clip = min(clip, self.clip * residual)
        path = BoostingPath(
            estimate=np.asarray(np.mean(thetas[-plan.average :], axis=0)),
            clip=clip,
            residual=residual,
            gram=gram,
            gram_deviation=gram_deviation,
            step=step,
            deviations=np.array(deviations),
            average=plan.average,
            kept=np.eye(len(gram)),
        )
        return quieted(path)

    def _left(self, *, inference: bool) -> float:
        """Share of the squared mu for the Gram matrix and the rounds."""
        return 1.0 - self.standardisation.share - inference * self.scatter_share

    def _final(self, units: float, row_limit: float, mu: float, noise: GaussianReleases) -> float:
        """Return the clip of the rounds that count; `mu` is that of them all."""
        if self.final_clip is not None:
            return self.final_clip
        # All noise is that of a unit of so many rows.
        mu_scatter = noise.share(self.scatter_share) / noise.rows
        return final_clip(units, row_limit, mu / noise.rows, mu_scatter)

    def _error(
        self,
        rows: _core.QuantisedRows,
        path: BoostingPath,
        scales: Scales,
        noise: GaussianReleases,
    ) -> EstimateError:
        """Release the scatter of the gradient, and put the covariance together."""
        scatter, deviation, unclipped = noisy_scatter(
            rows, path.estimate, path.clip, noise, noise.share(self.scatter_share)
        )
        return boosting_error(path, scatter, deviation, unclipped / scales.units)


def _estimand(path: BoostingPath, *, inference: bool) -> tuple[str, ...]:
    """Say what is estimated, where that matters."""
    if not inference:
        return ()
    wide = path.clip / path.residual
    clipped = (
        f"residuals are clipped at {wide:.3g} standard deviations, and long rows count less: "
        "where the model is not linear or errors are skewed, coefficients differ from least "
        "squares"
    )
    if not path.shrunk:
        return (clipped,)
    return clipped, SHRUNK_NOTE


def _noisy_round(
    rows: _core.QuantisedRows,
    theta: Doubles,
    clip: float,
    number: int,
    noise: GaussianReleases,
    mu: float,
) -> tuple[Doubles, float, float]:
    """Release gradient and sum of squares of residuals; return the gradient's noise too.

    The sum of squares is returned as at least twice its noise: smaller ones are not seen.
    """
    gradient, squares = rows.round(theta.tolist(), clip)
    weight = math.sqrt(_SQUARES_WEIGHT)
    sensitivity = math.hypot(
        _core.gradient_sensitivity(len(theta)), weight * _core.SQUARES_SENSITIVITY
    )
    noisy = noise.release(
        f"gradient of round {number}",
        np.append(gradient, squares),
        sensitivity,
        mu,
        weights=np.append(np.ones(len(theta)), weight),
    )
    unit = clip / _core.ROW_STEPS
    gradient_unit = unit * rows.limit / _core.ROW_STEPS
    scale = noise.parts[-1].scale
    assert scale is not None
    squares_seen = max(float(noisy[-1]), 2 * scale / weight) * unit**2
    return noisy[:-1] * gradient_unit, squares_seen, scale * gradient_unit
