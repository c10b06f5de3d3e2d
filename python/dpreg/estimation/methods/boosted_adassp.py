"""Boosted AdaSSP: noisy second moments once, then rounds of noisy gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.base.errors import Argument, unusable
from dpreg.base.keywords import hints
from dpreg.base.options import Limit, check_options
from dpreg.data.design import Design
from dpreg.data.sampling import MAX_ROWS
from dpreg.estimation.base import SIZE, Allowance, Declined, Method, Release
from dpreg.estimation.inference.shrinkage import shrunk_mean
from dpreg.estimation.newton.fit import newton_fit
from dpreg.estimation.newton.rounds import newton_passes
from dpreg.estimation.newton.score_predictions import PREDICTING_PASSES, predicting
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.moments import (
    floored_inverse,
    found_columns,
    noisy_gram,
    without_columns,
)
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.releases.rows import longest_row, standardised_rows
from dpreg.estimation.releases.standardisation import LEAST_SHARE
from dpreg.estimation.standardised import Standardised, scaled, with_moments

# Weight of the sum of squared residuals relative to the gradient, in the same release.
_SQUARES_WEIGHT = 0.05
# Smallest root mean square residual for clipping thresholds, in standard deviations of the
# response.
_LEAST_RESIDUAL = 0.012
# Clipping thresholds decrease to this many root mean square residuals, if the noise of a round
# would otherwise be more than this share of the variance of residuals.
_LEAST_CLIP, _CLIPPED_NOISE = 1.5, 0.02


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedAdaSSP(Method):
    """Options of Boosted AdaSSP (Tang et al., 2023), all public.

    Columns are standardised privately.  For predictions, a noisy matrix of second moments is
    released once, and each round adds its inverse (with a floor under the eigenvalues) times a
    noisy gradient of clipped residuals to the coefficients; the clipping threshold, and with it the
    noise, decreases with the residuals.

    With inference, rounds of noisy second moments whiten the rows, so that noise is proportional
    to sampling error for every coefficient; the score equations are then solved from rounds of
    noisy scores.  Scores are clipped at a threshold chosen from noisy counts of their norms, wide
    enough to stay close to least squares.

    Parameters
    ----------
    rounds : int, default 6
        For predictions.
    average : int, default 2
        For predictions: the result is the mean of the last rounds, this many.
    gram_share : float, default 0.2
        For predictions: share for the second moments, of what is left after standardisation.
    first_clip : float, default 5.0
        For predictions: clipping threshold in the first round, in standard deviations of the
        response.
    clip : float, default 2.5
        For predictions: clipping threshold in later rounds, in root mean square residuals of the
        previous round; down to 1.5 where noise is large.
    row_factor : float, default 1.2
        For predictions: rows are clipped at this multiple of their expected norm.
    max_rows : int, default 1
        Maximum number of rows per unit, with ``dp_lm(unit=...)``; units with more rows are sampled.
        Noise increases with it.  With inference, standard errors are clustered: the scores of a
        unit are summed before their second moments are computed.

    Privacy
    -------
    guarantee : (eps, delta)-DP, by Gaussian composition
    neighbours : add or remove one unit
    public : all options, bounds, d, the names of the columns
    proof : boosted_adassp.md

    References
    ----------
    Tang et al. (2023), "Improved Differentially Private Regression via Gradient Boosting";
    Wang (2018), "Revisiting differentially private linear regression"; Kamath, Li, Singhal,
    Ullman (2019), "Privately learning high-dimensional distributions".

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> method = dpreg.BoostedAdaSSP(rounds=8)
    >>> fit = dpreg.dp_lm("log(price) ~ log(carat)", d, 1.0, 1e-6, method=method)
    >>> fit.method
    'boosted_adassp'
    """

    name: ClassVar[str] = "boosted_adassp"

    # More rounds would only add noise.
    rounds: int = Limit("from 1 to 200", lambda rounds: 1 <= rounds <= 200).option(6)
    average: int = 2
    gram_share: float = Limit(
        f"between {LEAST_SHARE:g} and {1 - LEAST_SHARE:g}",
        lambda share: LEAST_SHARE <= share <= 1 - LEAST_SHARE,
    ).option(0.2)
    first_clip: float = SIZE.option(5.0)
    clip: float = SIZE.option(2.5)
    row_factor: float = SIZE.option(1.2)
    max_rows: int = MAX_ROWS.option(1)

    def __post_init__(self) -> None:
        check_options(self)
        if not 1 <= self.average <= self.rounds:
            raise unusable("average", ("from 1 to ", Argument("rounds")), self.average)

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        if inference:
            begun = scaled(design, allowance, self.max_rows, newton_passes())
            return begun.declined or newton_fit(begun.with_constant())
        linear = design.terms.family.least_squares
        # Rows are stored, twice if not all columns are found; limits are chosen by a vote.
        passes = 4 + self.rounds if linear else PREDICTING_PASSES
        begun = with_moments(design, allowance, self.max_rows, passes)
        if begun.declined is not None:
            return begun.declined
        return self._predict(begun) if linear else predicting(begun, begun.left)

    def _predict(self, begun: Standardised) -> Release:
        design, scales, units, noise = begun.design, begun.scales, begun.units, begun.noise
        limit = longest_row(self.row_factor, units)
        rows = standardised_rows(design, scales, units, limit)
        left = begun.left - begun.tail_share
        mu = noise.share(left * self.gram_share)
        gram, deviation = noisy_gram(rows, noise, mu)
        found = found_columns(scales, units, gram, deviation)
        if not found.all():
            gram = without_columns(gram, found, intercept=units.intercept)
            units = units.keeping(found)
            rows = standardised_rows(design, scales, units, limit)
        mu = noise.share(left * (1 - self.gram_share) / self.rounds)
        estimate = self._boost(begun, rows, gram, deviation, mu)
        return begun.released(estimate, units, None)

    def _boost(
        self, begun: Standardised, rows: MappedRows, gram: Doubles, gram_deviation: float, mu: float
    ) -> Doubles:
        noise, scales = begun.noise, begun.scales
        step = floored_inverse(gram, gram_deviation)
        theta, clip = np.zeros(len(gram)), self.first_clip
        thetas, deviations = [], []
        for number in range(1, self.rounds + 1):
            gradient, squares, deviation = _noisy_round(rows, theta, clip, number, noise, mu)
            theta = theta + step @ gradient
            thetas.append(theta)
            deviations.append(deviation)
            residual = min(max(math.sqrt(squares / scales.units), _LEAST_RESIDUAL), 1.0)
            quiet = math.sqrt(_CLIPPED_NOISE / max(len(gram), 1)) * scales.units * clip / deviation
            least = min(_LEAST_CLIP, self.clip)
            clip = min(clip, min(max(quiet, least), self.clip) * residual)
        estimate = np.asarray(np.mean(thetas[-self.average :], axis=0))
        return shrunk_mean(estimate, gram, gram_deviation, step, np.array(deviations), self.average)


def _noisy_round(
    rows: MappedRows, theta: Doubles, clip: float, number: int, noise: GaussianReleases, mu: float
) -> tuple[Doubles, float, float]:
    """Release gradient and residual sum of squares; return the gradient's noise too.

    The sum of squares is at least twice its noise: smaller values are not significant.
    """
    weight = math.sqrt(_SQUARES_WEIGHT)
    noisy, scale = noise.release(f"gradient of round {number}", rows.round(theta, clip, weight), mu)
    unit = clip / _core.ROW_STEPS
    gradient_unit = unit * rows.limit / _core.ROW_STEPS
    squares_seen = max(float(noisy[-1]), 2 * scale / weight) * unit**2
    return noisy[:-1] * gradient_unit, squares_seen, scale * gradient_unit
