"""DP-SGD for squared loss, on privately standardised columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpreg import _core
from dpreg.base.errors import Argument, BudgetError, Setting, write
from dpreg.base.keywords import hints
from dpreg.base.options import Limit
from dpreg.data.bounds import column_bounds
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import (
    SIZE,
    Allowance,
    Declined,
    Method,
    Release,
    needs_delta,
    refuse_weights,
)
from dpreg.estimation.releases.accountant import RESERVE, releases_cost
from dpreg.estimation.releases.doors import Steps, descent
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.releases.rows import longest_row, standardised_rows
from dpreg.estimation.releases.standardisation import Scales, Standardisation
from dpreg.estimation.standardised import VOTE_SHARE, with_moments
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost
from dpreg.privacy.gdp import discreteness, gdp_mu
from dpreg.privacy.pld import noise_multiplier

# Below this, noise is too large for exact sampling, and the result useless.
_LEAST_MU = 1e-3
_COMPOSITION = "privacy loss distribution (PLD)"
_NO_ERRORS = "the distribution of the accumulated noise has no simple form"
# Privacy losses are composed with tails cut off at 10^-15; a delta of that order is not resolved.
_LEAST_DELTA = 1e-14


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class DPSGD(Method):
    """Options of differentially private stochastic gradient descent, all public.

    Columns are standardised privately.  Each step sums the gradients of a Poisson sample of the
    rows, with clipped residuals, and adds Gaussian noise.  The result is the mean of the last
    half of the steps.  The defaults are for standardised columns and need no tuning.

    Parameters
    ----------
    steps : int, default 400
    rate : float, default 0.1
        Sampling probability of a row.
    clip : float, default 2.5
        Clipping threshold of residuals, in standard deviations of the response.
    learning_rate : float, optional
        Step size for the mean gradient.  Default: min(0.5, 3 / (width + 1)), below twice the
        inverse of the largest eigenvalue of most correlation matrices.
    row_factor : float, default 1.2
        Rows are clipped at this multiple of their expected norm.

    Privacy
    -------
    guarantee : (eps, delta)-DP, by composition of privacy loss distributions
    neighbours : add or remove one unit, which gives one row
    public : all options, bounds, d, the names of the columns
    proof : dpsgd.md

    References
    ----------
    Abadi et al. (2016), "Deep learning with differential privacy", Algorithm 1.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> fit = dpreg.dp_lm("log(price) ~ log(carat)", d, 1.0, 1e-6, method=dpreg.DPSGD(steps=100))
    >>> fit.method
    'dpsgd'
    """

    name: ClassVar[str] = "dpsgd"

    steps: int = Limit("at least 1", lambda steps: steps >= 1).option(400)
    rate: float = Limit("in [1e-6, 1]", lambda rate: 1e-6 <= rate <= 1).option(0.1)
    clip: float = SIZE.option(2.5)
    learning_rate: float | None = SIZE.option(None)
    row_factor: float = SIZE.option(1.2)

    def check(self, terms: Terms, epsilon: float, delta: float, *, inference: bool) -> None:
        """Refuse delta = 0, and budgets for which exact noise is not possible."""
        needs_delta(self.name, delta)
        refuse_weights(self.name, terms)
        if delta < _LEAST_DELTA:
            least = ("must be at least 1e-14 for ", Setting("method", "dpsgd"))
            raise BudgetError("delta", (*least, f", got {delta:.4g}"))
        if gdp_mu(epsilon, delta) < _LEAST_MU:
            raise BudgetError(
                "eps",
                (f"{epsilon:.4g} at ", Setting("delta", float(f"{delta:.3g}")),
                 " is too small for ", Setting("method", "dpsgd")),
                ("write a larger ", Argument("eps")), write("method", "boosted_adassp"),
            )  # fmt: skip
        multiplier = self._multiplier(terms, epsilon, delta)
        width = len(terms.names) + terms.intercept
        sigma = math.ceil(multiplier * _core.gradient_sensitivity(width))
        # If some columns are not used, it is smaller.
        if discreteness(sigma, width * self.steps) > RESERVE * min(epsilon, 1.0):
            problem = ("is too small, or ", Argument("steps"), " too many, for exact noise")
            raise BudgetError("eps", problem)

    def _multiplier(self, terms: Terms, epsilon: float, delta: float) -> float:
        """Return the noise multiplier of the steps, after standardisation and the vote."""
        scales = Standardisation()
        given = np.isfinite(column_bounds(terms)).all()
        share = scales.moment_share if given else scales.share
        beside = releases_cost(epsilon, delta).mu * math.sqrt(share + VOTE_SHARE)
        rate = _core.poisson_rate(self.rate)
        left = (1 - 2 * RESERVE) * epsilon, (1 - 4 * RESERVE) * delta
        return noise_multiplier(*left, rate, self.steps, beside)

    def cost(self, epsilon: float, delta: float) -> Cost:
        # Composition of sampled releases gives one pair (epsilon, delta), and no mu.
        return Cost.approximate(epsilon, delta)

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        # Amplification by sampling holds for single rows, so each unit gives one.
        begun = with_moments(design, allowance, 1, 2 + self.steps)
        if begun.declined is not None:
            return replace(begun.declined, composition=_COMPOSITION)
        scales = begun.scales
        units = begun.units.keeping(scales.identified[:-1])
        limit = longest_row(self.row_factor, units)
        rows = standardised_rows(begun.design, scales, units, limit)
        # As in `check`, so it cannot be refused now.
        multiplier = self._multiplier(design.terms, allowance.epsilon, allowance.delta)
        theta, part = self._descend(rows, scales, multiplier, allowance.bits)
        found = begun.released(theta, units, None)
        parts, no_errors = (*found.parts, part), _NO_ERRORS if inference else ""
        return replace(found, parts=parts, composition=_COMPOSITION, no_errors=no_errors)

    def _descend(
        self, rows: MappedRows, scales: Scales, multiplier: float, bits: _core.BitSource
    ) -> tuple[np.ndarray, Part]:
        width, rate = rows.width, _core.poisson_rate(self.rate)
        sensitivity = _core.gradient_sensitivity(width)
        sigma = math.ceil(multiplier * sensitivity)
        learning_rate = self.learning_rate or min(0.5, 3 / (width + 1))
        steps = Steps(self.steps, rate, rate * scales.units, self.clip, learning_rate)
        theta = descent(rows, steps, sigma, bits)
        label = f"{self.steps} gradients, each of a Poisson sample at rate {rate:.4g}"
        how = f"discrete Gaussian, scale {sigma:.4g}"
        part = Part(label, 0.0, 0.0, how, sensitivity=sensitivity, scale=float(sigma))
        return theta, part
