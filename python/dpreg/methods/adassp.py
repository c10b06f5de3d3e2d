"""AdaSSP: ridge regression from noisy second moments, the ridge as small as the noise allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dpreg import _core
from dpreg.data.bounds import Bounds, column_bounds
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import check_max_rows, sample_rows
from dpreg.inference.covariance import EstimateError, sandwich, unidentified_note, user_errors
from dpreg.inference.normal_equations import RESPONSE_LIMIT, NoisyMoments, response_limit
from dpreg.inference.shrinkage import SHRUNK_NOTE
from dpreg.methods.base import Allowance, Declined, Release, check_size, needs_delta
from dpreg.methods.schedule import final_clip
from dpreg.options import check_options
from dpreg.privacy.cost import Cost
from dpreg.sums.accountant import GaussianReleases, releases_cost
from dpreg.sums.limits import prediction_limits
from dpreg.sums.moments import (
    Doubles,
    found_columns,
    noisy_gram,
    noisy_scatter,
    without_columns,
)
from dpreg.sums.rows import longest_row, standard_units, standardised_rows
from dpreg.sums.standardisation import Standardisation, check_scatter_share

__all__ = ["AdaSSP"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaSSP:
    """Options of AdaSSP (Wang, 2018), all public.

    Columns are standardised privately; the matrix of second moments of regressors and
    response is released once, with Gaussian noise; its eigenvalues below the noise are raised
    to it, and the normal equations solved.  The smallest eigenvalue is read off the noisy
    matrix, so it costs nothing.

    Parameters
    ----------
    response_limit : float, optional
        Clip of the response, in its standard deviations.  Default 4; with inference 4 to 30, as
        the fourth root of the noisy number of units.
    row_factor : float, default 1.2
        Rows longer than this many times their expected length are shrunk to it.
    max_rows : int, default 1
        Rows that a protected unit may give, when ``dp_lm(unit=...)`` names one; of units with
        more, that many are drawn.  All noise grows with it.
    bounds : mapping, optional
        ``{column: (low, high)}``, public limits of columns of the design and of the response.
    scatter_share : float, default 0.08
        Share of the squared mu for the covariance of the score, with ``cov_type="robust"`` and
        inference.
    cov_type : {"robust", "nonrobust", "bootstrap"}, default "robust"
        Standard errors by the delta method, for errors of any variance; for errors of constant
        variance; or, for those too, by a parametric bootstrap from what was released, which also
        corrects the bias that noise and floor give the estimate.
    standardisation : Standardisation

    Privacy
    -------
    guarantee : (eps, delta)-DP, by Gaussian composition
    neighbours : add or remove one unit
    public : all options, bounds, d, the names of the columns
    proof : adassp.md

    References
    ----------
    Wang (2018), "Revisiting differentially private linear regression: optimal and adaptive
    prediction and estimation in unbounded domain", Algorithm 2.
    """

    response_limit: float | None = None
    row_factor: float = 1.2
    max_rows: int = 1
    bounds: Mapping[str, Bounds] | None = None
    scatter_share: float = 0.08
    cov_type: Literal["robust", "nonrobust", "bootstrap"] = "robust"
    standardisation: Standardisation = field(default_factory=Standardisation)

    def __post_init__(self) -> None:
        check_options(self)
        check_max_rows(self.max_rows)
        check_size("response_limit", self.response_limit)
        check_size("row_factor", self.row_factor)
        if self.cov_type == "robust":
            check_scatter_share(self.scatter_share, self.standardisation)

    @property
    def name(self) -> str:
        """As `dp_lm(method=...)` spells it."""
        return "adassp"

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
        robust = inference and self.cov_type == "robust"
        mu = noise.share(1 - self.standardisation.share - robust * self.scatter_share)
        units = standard_units(scales, intercept=design.terms.intercept)
        row_limit = longest_row(self.row_factor, units)
        limit = self._response_limit(scales.units, row_limit, mu / noise.rows, inference=inference)
        rows = standardised_rows(
            design, scales, units, row_limit, winsorise=not inference, response_limit=limit
        )
        matrix, deviation = noisy_gram(rows, noise, mu)
        found = found_columns(scales, units, matrix, deviation)
        units = units.keeping(found)
        matrix = without_columns(matrix, found, intercept=units.intercept)
        moments = NoisyMoments(matrix, deviation, scales.units)
        theta, error = moments.solution(bootstrap=inference and self.cov_type == "bootstrap")
        if robust:
            rows = standardised_rows(design, scales, units, row_limit, winsorise=False)
            error = self._robust(rows, moments, theta, error, noise)
        theta, error, shrunk = moments.quieted(theta, error)
        d = len(design.terms.names)
        to_user = units.to_user(d)
        covariance, sampling, hidden = user_errors(
            error if inference else None, to_user, scales.trusted
        )
        notes = (self._note(limit), *(SHRUNK_NOTE,) * shrunk) if inference else ()
        params = to_user @ theta + units.offset(d)
        limits = prediction_limits(design, scales, params, noise, self.standardisation.tail_share)
        return Release(
            params=params,
            covariance=covariance,
            sampling=sampling,
            units=scales.units,
            parts=tuple(noise.parts),
            composition="Gaussian (GDP)",
            notes=notes + unidentified_note(hidden, design.terms.coefficients),
            limits=limits,
        )

    def _response_limit(
        self, units: float, row_limit: float, mu: float, *, inference: bool
    ) -> float:
        if self.response_limit is not None:
            return self.response_limit
        return response_limit(units, row_limit, mu) if inference else RESPONSE_LIMIT

    def _robust(
        self,
        rows: _core.QuantisedRows,
        moments: NoisyMoments,
        theta: Doubles,
        error: EstimateError,
        noise: GaussianReleases,
    ) -> EstimateError:
        """Release the scatter of the score, and put its sandwich in the place of `sampling`."""
        mu = noise.share(self.scatter_share)
        residual = moments.residual(theta)
        widest = final_clip(moments.units, rows.limit, math.inf, mu / noise.rows)
        clip = widest * math.sqrt(residual)
        scatter, deviation, _ = noisy_scatter(rows, theta, clip, noise, mu)
        inverse = moments.inverse
        constant = np.asarray(residual * np.linalg.inv(inverse))
        return replace(error, sampling=sandwich(inverse, constant, scatter, deviation))

    def _note(self, limit: float) -> str:
        assumed = (
            ""
            if self.cov_type == "robust"
            else "standard errors assume errors of constant variance; "
        )
        return (
            f"{assumed}responses beyond {limit:.3g} standard deviations are clipped, which moves "
            "coefficients where the response is skewed or has heavy tails"
        )
