"""AdaSSP: ridge regression from noisy second moments, the ridge as small as the noise allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dpreg.base.options import check_options
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import check_max_rows
from dpreg.estimation.base import Allowance, Declined, Release, check_size, needs_delta
from dpreg.estimation.inference.covariance import EstimateError, sandwich
from dpreg.estimation.inference.normal_equations import RESPONSE_LIMIT, NoisyMoments, response_limit
from dpreg.estimation.inference.shrinkage import SHRUNK_NOTE
from dpreg.estimation.newton.preconditioning import Directions, Preconditioning, precondition
from dpreg.estimation.newton.scores import noisy_products, noisy_score_norms, products_limit
from dpreg.estimation.releases.accountant import releases_cost
from dpreg.estimation.releases.moments import Doubles, found_columns, noisy_gram, without_columns
from dpreg.estimation.releases.rows import (
    StandardUnits,
    longest_row,
    mapped_rows,
    standardised_rows,
)
from dpreg.estimation.releases.standardisation import Standardisation, check_scatter_share
from dpreg.estimation.standardised import Standardised, standardise
from dpreg.privacy.cost import Cost

__all__ = ["AdaSSP"]

# With inference, what the directions get of the squared mu that standardisation leaves.
_PRECONDITIONING = Preconditioning(narrow=(0.05,) * 4, wide=())
# Rows along them are shortened to this many times their expected length.
_ROW_REACH = 2.0
# Part of the share of the scatter that counts the norms of scores.
_NORMS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaSSP:
    """Options of AdaSSP (Wang, 2018), all public.

    Columns are standardised privately.  The matrix of second moments of regressors and response
    is released once, with Gaussian noise; its eigenvalues are raised to the noise level where
    they are below it, and the normal equations are solved.  With inference, the rows are first
    whitened by rounds of noisy second moments.

    Parameters
    ----------
    response_limit : float, optional
        Clipping threshold of the response, in its standard deviations.  Default 4; with inference
        the fourth root of the noisy number of units, between 4 and 30.
    row_factor : float, default 1.2
        Without inference, rows are clipped at this multiple of their expected norm.
    max_rows : int, default 1
        Maximum number of rows per unit, with ``dp_lm(unit=...)``; units with more rows are
        sampled.  Noise increases with it.  Robust standard errors are clustered.
    scatter_share : float, default 0.08
        Share of the squared mu for the covariance of the score, with ``cov_type="robust"`` and
        inference.
    cov_type : {"robust", "nonrobust", "bootstrap"}, default "robust"
        Standard errors: ``"robust"`` to heteroscedasticity, by the delta method; ``"nonrobust"``,
        for errors of constant variance; or ``"bootstrap"``, also for constant variance, by a
        parametric bootstrap from the released values that corrects the bias of noise and ridge.
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
        """Refuse delta = 0."""
        needs_delta(self.name, delta)

    def cost(self, epsilon: float, delta: float) -> Cost:
        """See `dpreg.estimation.base.Method`."""
        return releases_cost(epsilon, delta)

    @property
    def uses_bounds(self) -> bool:
        """See `dpreg.estimation.base.Method`."""
        return True

    @property
    def holds_rows(self) -> bool:
        """See `dpreg.estimation.base.Method`."""
        return False

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        """See `dpreg.estimation.base.Method`."""
        # Rows are kept or mapped; robust errors keep them once more, for two sums.
        passes = 2 + (_PRECONDITIONING.passes + 3) * inference
        begun = standardise(design, allowance, self, self.max_rows, passes)
        if begun.declined is not None:
            return begun.declined
        return self._infer(begun) if inference else self._predict(begun)

    def _predict(self, begun: Standardised) -> Release:
        design, scales, units, noise = begun.design, begun.scales, begun.units, begun.noise
        mu = noise.share(1 - self.standardisation.share)
        limit = RESPONSE_LIMIT if self.response_limit is None else self.response_limit
        row_limit = longest_row(self.row_factor, units)
        rows = standardised_rows(
            design, scales, units, row_limit, winsorise=True, response_limit=limit
        )
        matrix, deviation = noisy_gram(rows, noise, mu)
        found = found_columns(scales, units, matrix, deviation)
        units = units.keeping(found)
        matrix = without_columns(matrix, found, intercept=units.intercept)
        moments = NoisyMoments(matrix, deviation, scales.units)
        return begun.released(moments.predictor(), units, None)

    def _infer(self, begun: Standardised) -> Release:
        design, scales, noise = begun.design, begun.scales, begun.noise
        units = begun.telling_units
        scatter = self.scatter_share if self.cov_type == "robust" else 0.0
        left = 1 - self.standardisation.share - scatter
        directions = precondition(design, scales, units, _PRECONDITIONING.times(left), noise)
        row_limit = _ROW_REACH * math.sqrt(max(units.width, 1))
        # With what is left of the rounds, should they have ended early.
        mu = noise.share(begun.left - self.standardisation.tail_share - scatter)
        limit = self.response_limit
        if limit is None:
            limit = response_limit(scales.units, row_limit, mu / noise.rows)
        rows = mapped_rows(
            design, scales, units, directions.change, directions.turn, row_limit,
            kept=False, response_limit=limit,
        )  # fmt: skip
        matrix, deviation = noisy_gram(rows, noise, mu)
        moments = NoisyMoments(matrix, deviation, scales.units)
        theta, error = moments.solution(bootstrap=self.cov_type == "bootstrap")
        if self.cov_type == "robust":
            error = self._robust(begun, units, directions, row_limit, moments, theta, error)
        theta, error, shrunk = moments.quieted(theta, error)
        unseen = (directions.map * ~directions.seen) @ directions.map.T
        hidden = unseen * moments.residual(theta)
        notes = (self._note(limit), *(SHRUNK_NOTE,) * shrunk)
        return begun.released(
            directions.map @ theta, units, error.along(directions.map, hidden), notes
        )

    def _robust(
        self,
        begun: Standardised,
        units: StandardUnits,
        directions: Directions,
        row_limit: float,
        moments: NoisyMoments,
        theta: Doubles,
        error: EstimateError,
    ) -> EstimateError:
        """Release second moments of scores, and put their sandwich in the place of `sampling`."""
        noise = begun.noise
        rows = mapped_rows(
            begun.design,
            begun.scales,
            units,
            directions.change,
            directions.turn,
            row_limit,
            kept=True,
        )
        norms = noisy_score_norms(
            rows, theta, "norms of scores", noise, noise.share(_NORMS * self.scatter_share)
        )
        mu = noise.share((1 - _NORMS) * self.scatter_share)
        limit = products_limit(norms, len(theta), mu)
        products, deviation = noisy_products(rows, theta, limit, noise, mu)
        inverse = moments.inverse
        constant = np.asarray(moments.residual(theta) * np.linalg.inv(inverse))
        return replace(error, sampling=sandwich(inverse, constant, products, deviation))

    def _note(self, limit: float) -> str:
        assumed = (
            ""
            if self.cov_type == "robust"
            else "standard errors assume errors of constant variance; "
        )
        return (
            f"{assumed}responses beyond {limit:.3g} standard deviations are clipped, which biases "
            "the coefficients where the response is skewed or heavy-tailed"
        )
