"""AdaSSP: ridge regression from noisy second moments, the ridge as small as the noise allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import unusable
from dpreg.base.keywords import hints
from dpreg.base.options import check_options
from dpreg.data.design import Design
from dpreg.data.sampling import MAX_ROWS
from dpreg.estimation.base import SIZE, Allowance, Declined, Method, Release
from dpreg.estimation.inference.covariance import EstimateError, sandwich
from dpreg.estimation.inference.estimand import CLIPPED, Estimand
from dpreg.estimation.inference.normal_equations import NoisyMoments
from dpreg.estimation.newton.columns import COLUMN_PASSES, column_moments
from dpreg.estimation.newton.scores import noisy_products, noisy_score_norms, products_limit
from dpreg.estimation.releases.column_scaling import SCALING_PASSES
from dpreg.estimation.releases.moments import found_columns, noisy_gram, without_columns
from dpreg.estimation.releases.rows import longest_row, mapped_rows, standardised_rows
from dpreg.estimation.releases.standardisation import LEAST_SHARE
from dpreg.estimation.standardised import Standardised, scaled, with_moments

# Maximum number of passes over the rows with inference: robust errors keep rows for two sums.
_PASSES = SCALING_PASSES + COLUMN_PASSES + 3
# Part of `scatter_share` for counts of the norms of scores.
_NORMS = 0.2
# With inference, scales, coordinates and norms may cost .74 of the squared mu (adassp.md).
_MOST_SCATTER = 0.2


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class AdaSSP(Method):
    """Options of AdaSSP (Wang, 2018), all public.

    Columns are standardised privately.  The matrix of second moments of regressors and response is
    released once, with Gaussian noise; its eigenvalues are raised to the noise level where they are
    below it, and the normal equations are solved.  With inference, regressors and response are
    first whitened together by a few noisy matrices, as in `dp_moments`, and rows are clipped at a
    threshold from noisy counts of their norms.

    Parameters
    ----------
    response_limit : float, default 4.0
        Without inference, clipping threshold of the response, in its standard deviations.
    row_factor : float, default 1.2
        Without inference, rows are clipped at this multiple of their expected norm.
    max_rows : int, default 1
        Maximum number of rows per unit, with ``dp_lm(unit=...)``; units with more rows are
        sampled.  Noise increases with it.  Robust standard errors are clustered.
    scatter_share : float, default 0.08
        Share of the squared mu for the covariance of the score, with ``cov_type="robust"`` and
        inference; at most 0.2.
    cov_type : {"robust", "nonrobust", "bootstrap"}, default "robust"
        Standard errors: ``"robust"`` to heteroscedasticity, by the delta method; ``"nonrobust"``,
        for errors of constant variance; or ``"bootstrap"``, also for constant variance, by a
        parametric bootstrap from the released values that corrects the bias of noise and ridge.

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

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> method = dpreg.AdaSSP(cov_type="bootstrap")
    >>> fit = dpreg.dp_lm("log(price) ~ log(carat)", d, 1.0, 1e-6, method=method)
    >>> fit.method
    'adassp'
    """

    name: ClassVar[str] = "adassp"

    response_limit: float = SIZE.option(4.0)
    row_factor: float = SIZE.option(1.2)
    max_rows: int = MAX_ROWS.option(1)
    scatter_share: float = 0.08
    cov_type: Literal["robust", "nonrobust", "bootstrap"] = "robust"

    def __post_init__(self) -> None:
        check_options(self)
        robust = self.cov_type == "robust"
        if robust and not LEAST_SHARE <= self.scatter_share <= _MOST_SCATTER:
            wanted = f"between {LEAST_SHARE:g} and {_MOST_SCATTER:g}"
            raise unusable("scatter_share", wanted, self.scatter_share)

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        if inference:
            begun = scaled(design, allowance, self.max_rows, _PASSES)
            return begun.declined or self._infer(begun)
        begun = with_moments(design, allowance, self.max_rows, 3)
        return begun.declined or self._predict(begun)

    def _predict(self, begun: Standardised) -> Release:
        design, scales, units, noise = begun.design, begun.scales, begun.units, begun.noise
        mu = noise.share(begun.left - begun.tail_share)
        row_limit = longest_row(self.row_factor, units)
        rows = standardised_rows(
            design, scales, units, row_limit, response_limit=self.response_limit
        )
        matrix, deviation = noisy_gram(rows, noise, mu)
        found = found_columns(scales, units, matrix, deviation)
        units = units.keeping(found)
        matrix = without_columns(matrix, found, intercept=units.intercept)
        moments = NoisyMoments(matrix, deviation, scales.units)
        return begun.released(moments.predictor(), units, None)

    def _infer(self, begun: Standardised) -> Release:
        units, n = begun.telling_units, begun.scales.units
        scatter = self.scatter_share if self.cov_type == "robust" else 0.0
        every = units.with_response(begun.design.columns)
        found = column_moments(begun, every, begun.tail_share + scatter)
        # In orthonormal coordinates the noise has the same distribution as in the matrix.
        vectors, upper = np.linalg.qr(found.basis)
        apart = NoisyMoments(vectors.T @ found.matrix @ vectors, found.deviation, n)
        along, error = apart.solution(bootstrap=self.cov_type == "bootstrap")
        width, size = units.width, float(upper[-1, -1])
        left = max(float(apart.matrix[-1, -1]), found.deviation) / n
        error = replace(error, hidden=error.hidden * left)
        error = error.along(size * np.eye(width))
        # The last vector is the response minus its projection on the others.
        theta = size * along + upper[:width, -1]
        vectors[:, -1] = found.basis[:, -1]
        moments = NoisyMoments(vectors.T @ found.matrix @ vectors, found.deviation, n)
        back = np.asarray(np.linalg.inv(upper[:width, :width]))
        if self.cov_type == "robust":
            error = self._robust(begun, back, found.reach, moments, theta, error)
        error = error.along(back)
        assumed = "standard errors assume errors of constant variance"
        notes = () if self.cov_type == "robust" else (assumed,)
        estimand = Estimand(CLIPPED + "least squares", row_limit=found.reach)
        return replace(begun.released(back @ theta, units, error, notes), estimand=estimand)

    def _robust(
        self,
        begun: Standardised,
        change: Doubles,
        reach: float,
        moments: NoisyMoments,
        theta: Doubles,
        error: EstimateError,
    ) -> EstimateError:
        """Release second moments of scores, and replace `sampling` by their sandwich.

        change, shape (w, w): maps rows in standard units to those of `moments` and `theta`.
        reach: rows are clipped at this multiple of their expected norm, as in `moments`.
        """
        noise = begun.noise
        rows = mapped_rows(
            begun.design, begun.scales, begun.telling_units, change,
            reach * math.sqrt(max(len(theta), 1)), kept=True,
        )  # fmt: skip
        norms = noisy_score_norms(
            rows, theta, "norms of scores", noise, noise.share(_NORMS * self.scatter_share)
        )
        mu = noise.share((1 - _NORMS) * self.scatter_share)
        limit = products_limit(norms, len(theta), mu)
        sums = rows.score_products(theta, limit)
        products, deviation = noisy_products("second moments of scores", sums, limit, noise, mu)
        inverse = moments.inverse
        constant = np.asarray(moments.residual(theta) * np.linalg.inv(inverse))
        return replace(error, sampling=sandwich(inverse, constant, products, deviation))
