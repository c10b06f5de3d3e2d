"""AdaSSP: ridge regression from noisy second moments, the ridge as small as the noise allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dpreg._options import check_options
from dpreg.design import Design, Terms
from dpreg.methods._bounds import Bounds, column_bounds
from dpreg.methods._gaussian import GaussianReleases
from dpreg.methods._method import LARGEST_OPTION, Allowance, Declined, Release, needs_delta
from dpreg.methods._sums import Doubles, floored_inverse, noisy_gram, standardised_rows
from dpreg.methods._units import check_max_rows, sample_rows
from dpreg.methods._wald import EstimateError, hidden_by_floor, unidentified_note, user_errors
from dpreg.methods.standardisation import Standardisation
from dpreg.released.bootstrap import bootstrapped

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
    response_limit : float, default 4.0
        Clip of the response, in its standard deviations.
    row_factor : float, default 1.2
        Rows longer than this many times their expected length are shrunk to it.
    max_rows : int, default 1
        Rows that a protected unit may give, when ``dp_lm(unit=...)`` names one; of units with
        more, that many are drawn.  All noise grows with it.
    bounds : mapping, optional
        ``{column: (low, high)}``, public limits of columns of the design and of the response.
    cov_type : {"wald", "bootstrap"}, default "wald"
        Standard errors by the delta method; or by a parametric bootstrap from what was released,
        which also corrects the bias that noise and floor give the estimate.
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

    response_limit: float = 4.0
    row_factor: float = 1.2
    max_rows: int = 1
    bounds: Mapping[str, Bounds] | None = None
    cov_type: Literal["wald", "bootstrap"] = "wald"
    standardisation: Standardisation = field(default_factory=Standardisation)

    def __post_init__(self) -> None:
        check_options(self)
        check_max_rows(self.max_rows)
        if not all(0 < limit <= LARGEST_OPTION for limit in (self.response_limit, self.row_factor)):
            raise ValueError("response_limit and row_factor must be greater than 0 and at most 1e6")

    @property
    def name(self) -> str:
        """As `dp_lm(method=...)` spells it."""
        return "adassp"

    def check(self, terms: Terms, epsilon: float, delta: float) -> None:
        """Refuse delta = 0 and bounds that cannot be used."""
        needs_delta(self.name, delta)
        column_bounds(self.bounds, terms)

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        """See `dpreg.methods._method.Method`."""
        rows_a_unit = 1 if design.units is None else self.max_rows
        noise = GaussianReleases(
            allowance.epsilon, allowance.delta, allowance.bits, rows=rows_a_unit
        )
        design = sample_rows(design, self.max_rows, allowance.bits)
        bounds = column_bounds(self.bounds, design.terms)
        scales = self.standardisation.release(design.X, design.y, noise, bounds)
        rows = standardised_rows(
            design,
            scales,
            self.row_factor,
            winsorise=not inference,
            response_limit=self.response_limit,
        )
        mu = noise.share(1.0 - self.standardisation.share)
        moments, deviation = noisy_gram(rows, noise, mu)
        gram, cross = moments[:-1, :-1], moments[:-1, -1]
        inverse = floored_inverse(gram, deviation)
        theta = inverse @ cross
        d = len(design.terms.names)
        to_user = rows.to_user(d)
        error = None
        if inference:
            theta, error = self._error(moments, deviation, inverse, theta, scales.units)
        covariance, sampling, hidden = user_errors(error, to_user, scales.seen)
        notes = self._notes() if inference else ()
        return Release(
            params=to_user @ theta + rows.offset(d),
            covariance=covariance,
            sampling=sampling,
            units=scales.units,
            parts=tuple(noise.parts),
            composition="Gaussian (GDP)",
            notes=notes + unidentified_note(hidden, design.terms.coefficients),
            limits=np.column_stack([scales.low, scales.high])[:-1],
        )

    def _notes(self) -> tuple[str, ...]:
        return (
            "standard errors assume errors of constant variance; responses beyond "
            f"{self.response_limit:.3g} standard deviations are clipped, which moves coefficients "
            "where the response is skewed or has heavy tails",
        )

    def _error(
        self, moments: Doubles, deviation: float, inverse: Doubles, theta: Doubles, units: float
    ) -> tuple[Doubles, EstimateError]:
        """Return the estimate, corrected by a bootstrap, and its error."""
        gram, cross, square = moments[:-1, :-1], moments[:-1, -1], moments[-1, -1]
        residual = max((square - 2 * theta @ cross + theta @ gram @ theta) / units, 0.0)
        if self.cov_type == "bootstrap":
            theta, sampling, privacy = bootstrapped(
                moments, deviation, theta, residual, floored_inverse
            )
            return theta, EstimateError(sampling, privacy, hidden_by_floor(gram, deviation))
        return theta, _wald(gram, deviation, inverse, theta, residual)


def _wald(
    gram: Doubles, deviation: float, inverse: Doubles, theta: Doubles, residual: float
) -> EstimateError:
    """Delta method for the solution of noisy normal equations.

    The residual of the equations at the truth is a sum over rows, of covariance `residual` gram,
    and the noise of (cross - gram theta): with variance v on the diagonal of the moments and
    v / 2 elsewhere, (v / 2) ((1 + |theta|^2) I + theta theta').
    """
    half = deviation**2 / 2
    noise = half * ((1 + theta @ theta) * np.eye(len(theta)) + np.outer(theta, theta))
    return EstimateError(
        sampling=residual * inverse @ np.linalg.inv(inverse) @ inverse,
        privacy=inverse @ noise @ inverse,
        hidden=hidden_by_floor(gram, deviation),
    )
