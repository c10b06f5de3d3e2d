"""TukeyEM: many small least-squares fits, and a private point deep among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.design import Design, Terms
from dpreg.errors import BudgetError
from dpreg.methods._gaussian import GaussianReleases
from dpreg.methods._method import Allowance, Declined, Release, needs_delta
from dpreg.methods._units import sample_rows
from dpreg.methods.standardisation import Standardisation
from dpreg.planning.tukey import TukeyPlan, least_units, plan_tukey, small_batch_factor
from dpreg.planning.tukey_law import ReleaseLaw, release_law
from dpreg.released.certificate import Part
from dpreg.released.law import TailLaw

__all__ = ["TukeyEM"]

_T = TypeVar("_T", float, int)

# Log spreads of columns that are constant in a batch are 745 (batch_fit.cpp); of those
# above this, the square is no longer a double.
_NO_SPREAD = 350.0
# The whole of a share goes to the histogram of magnitudes: outliers are what predictions need
_HISTOGRAMS = Standardisation(magnitude_share=0.98, moment_share=0.01, zoom_share=0.001, zooms=0)
# With less of epsilon and delta, limits could not be accounted for.
_LEAST_SHARE = 1e-3
# Smaller ones are refused by `tukey_em`.
_LEAST_DELTA = 2.0**-50
# Grid points are within 2^125 steps of 0 (stats/depth.hpp).
_GRID_BITS = 125


@dataclass(frozen=True, slots=True, kw_only=True)
class TukeyEM:
    """Options of TukeyEM (Amin et al., 2023), all public.

    Each of `models` batches of rows gives one least-squares fit; a point that is deep
    among the fits, coordinate by coordinate, is released after a private test that such
    a point can be released safely.  No bounds on the data are needed.

    Parameters
    ----------
    models : int, optional
        How many fits.  Default: chosen from the noisy number of rows, d, eps and delta.
    ridge : float, optional
        Ridge of each fit, relative to the diagonal of its correlation matrix.  Default: 0.03
        with inference, 0.01 without.
    refinements : int, optional
        Further steps of iterated Tikhonov regularisation.  Default: 4 with inference, which
        shrinks a slope by less than one part in ten million along directions of unit
        variance; 0 without, which predicts better.
    partition : {"slots", "independent"}
        How rows come to batches: a random injection into batches of equal size, or each
        row by itself.
    count_share : float, default 0.02
        Share of eps for the noisy number of rows.
    limits_share : float, default 0.05
        Share of eps, and of delta, for limits at which `predict` winsorises new rows; 0
        for none.
    grid_exponent : int, default -60
        Coefficients are released as multiples of 2**grid_exponent, within
        +-2**(125 + grid_exponent).

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : all options, d, the names of the columns
    proof : tukey_em.md

    References
    ----------
    Amin, Joseph, Ribero and Vassilvitskii (2023), "Easy differentially private linear
    regression", Algorithm 2, with the corrections listed in tukey_em.md.
    """

    models: int | None = None
    ridge: float | None = None
    refinements: int | None = None
    partition: Literal["slots", "independent"] = "slots"
    count_share: float = 0.02
    limits_share: float = 0.05
    grid_exponent: int = -60

    def __post_init__(self) -> None:
        if self.models is not None and self.models < 2:
            raise ValueError(f"models must be at least 2, got {self.models}")
        if not 0 <= (self.ridge or 0.0) < np.inf or (self.refinements or 0) < 0:
            raise ValueError("ridge must be at least 0 and finite, refinements at least 0")
        if self.partition not in ("slots", "independent"):
            raise ValueError(f"partition must be 'slots' or 'independent', got {self.partition!r}")
        limits = self.limits_share == 0 or _LEAST_SHARE <= self.limits_share < 1 - self.count_share
        if not (0 < self.count_share < 1 and limits):
            raise ValueError(
                f"count_share must be in (0, 1), and limits_share 0 or in [{_LEAST_SHARE}, "
                f"1 - count_share), got {self.count_share} and {self.limits_share}"
            )
        if not -500 <= self.grid_exponent <= 500:
            raise ValueError(f"grid_exponent must be in [-500, 500], got {self.grid_exponent}")

    @property
    def name(self) -> str:
        """As `dp_lm(method=...)` spells it."""
        return "tukey"

    def check(self, terms: Terms, epsilon: float, delta: float) -> None:
        """Refuse delta = 0: the test may let unsafe data pass with probability delta."""
        needs_delta(self.name, delta)
        if (1 - self.limits_share) * delta < _LEAST_DELTA:
            raise BudgetError(
                f"delta: {delta:.3g} is too small for what method='tukey' does with it; write "
                "a larger one, such as delta=1e-10"
            )

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        """See `dpreg.methods._method.Method`."""
        d, intercept = len(design.terms.names), design.terms.intercept
        layout = _Layout(d, intercept, inference)

        epsilon_count = self.count_share * allowance.epsilon
        noise = int(_core.discrete_laplace(epsilon_count, allowance.bits, 1)[0])
        units = float(max(0, design.unit_count + noise))

        plan = self._plan(units, layout, allowance)
        delta = (1 - self.limits_share) * allowance.delta
        parts = _parts(epsilon_count, plan, delta)
        # Spreads need residuals: the plan has no error when batches leave none.
        if plan.batch < d + 2 or (inference and math.isinf(plan.error)):
            return _too_few(units, layout, allowance, parts[:1])
        fits = self._fit(design, plan, layout, allowance.bits)
        point = _core.tukey_em(
            _core.DepthRegions(fits, self.grid_exponent),
            depth=plan.depth,
            epsilon_test=plan.epsilon_test,
            epsilon_sample=plan.epsilon_sample,
            delta=delta,
            bits=allowance.bits,
        )
        if point is None:
            return _not_passed(units, layout, allowance, parts[:2])
        law = release_law(plan.models, layout.size, plan.epsilon_sample, plan.depth)
        factor = small_batch_factor(units / plan.models, d)
        found = _coefficients(point, layout, law, factor, self.grid_exponent)
        notes = [_estimand(plan)]
        if not found.identified.all():
            names = np.array(design.terms.coefficients)[~found.identified]
            notes.append(f"not identified at this eps, set to 0: {', '.join(names)}")
        limits, spent = self._limits(design, allowance)
        return Release(
            params=found.params,
            covariance=found.covariance,
            sampling=_sampling(found.covariance, law),
            units=units,
            parts=parts + spent,
            law=TailLaw(law.tail, law.critical),
            notes=tuple(notes),
            limits=limits,
        )

    def _plan(self, units: float, layout: _Layout, allowance: Allowance) -> TukeyPlan:
        epsilon = (1 - self.count_share - self.limits_share) * allowance.epsilon
        delta = (1 - self.limits_share) * allowance.delta
        return plan_tukey(units, layout.d, layout.size, epsilon, delta, models=self.models)

    def _limits(
        self, design: Design, allowance: Allowance
    ) -> tuple[NDArray[np.float64] | None, tuple[Part, ...]]:
        """Release where the regressors lie, by one row of each unit."""
        if self.limits_share == 0 or not design.terms.names:
            return None, ()
        epsilon, delta = self.limits_share * allowance.epsilon, self.limits_share * allowance.delta
        noise = GaussianReleases(epsilon, delta, allowance.bits)
        limits = _HISTOGRAMS.limits(sample_rows(design, 1, allowance.bits).X, noise)
        scales = ", ".join(f"{part.scale:.4g}" for part in noise.parts)
        label = "limits of the regressors, for predictions"
        text = f"histogram of magnitudes, discrete Gaussian noise of scale {scales}"
        sensitivity = noise.parts[0].sensitivity
        return limits, (Part(label, epsilon, delta, text, sensitivity=sensitivity),)

    def _fit(
        self, design: Design, plan: TukeyPlan, layout: _Layout, bits: _core.BitSource
    ) -> NDArray[np.float64]:
        n = design.unit_count
        assignment = (
            _core.assign_to_slots(n, plan.models, plan.batch, bits)
            if self.partition == "slots"
            else _core.assign_independently(n, plan.models, bits)
        )
        return _core.fit_batches(
            design.X,
            design.y,
            assignment,
            unit_offsets=None if design.units is None else design.units.offsets,
            unit_rows=None if design.units is None else design.units.rows,
            ridge=_given(self.ridge, 0.03 if layout.spreads else 0.01),
            refinements=_given(self.refinements, 4 if layout.spreads else 0),
            intercept=layout.intercept,
            log_spreads=layout.spreads,
        )


def _given(option: _T | None, default: _T) -> _T:
    return default if option is None else option


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in a model vector; see cpp/include/dpreg/stats/batch_fit.hpp."""

    d: int
    intercept: bool
    spreads: bool

    @property
    def size(self) -> int:
        return sum(self._lengths())

    def _lengths(self) -> tuple[int, int, int, int, int]:
        i, s = int(self.intercept), int(self.spreads)
        return self.d, i, i * self.d, s * self.d, s * i

    def split(self, point: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Slopes, mean of y, means of x, log spreads of slopes, log spread of intercept."""
        return np.split(point, np.cumsum(self._lengths())[:-1])


@dataclass(frozen=True, slots=True)
class _Coefficients:
    """What a released point says, the intercept first; see `Release`."""

    params: NDArray[np.float64]
    covariance: NDArray[np.float64] | None
    identified: NDArray[np.bool_]


def _coefficients(
    point: NDArray[np.float64], layout: _Layout, law: ReleaseLaw, factor: float, grid_exponent: int
) -> _Coefficients:
    """Put the intercept together, and the covariance if there are spreads.

    A slope that most models could not see has an infinite spread, and one at the far end
    of the grid was drawn from models without a middle: both are set to 0.  `factor` is that of
    small batches.
    """
    slopes, mean_y, means_x, log_spread, log_error = layout.split(point)
    if not layout.spreads:
        always = np.ones(layout.intercept + layout.d, dtype=bool)
        return _Coefficients(_with_constant(slopes, mean_y, means_x), None, always)
    far = np.abs(slopes) > 2.0 ** (_GRID_BITS - 20 + grid_exponent)
    identified = ~far & (log_spread < _NO_SPREAD)
    slopes = np.where(identified, slopes, 0.0)
    # Squares of standard errors near the end of the range of doubles are infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.exp(np.where(identified, log_spread, -np.inf)) * factor / law.spread_divisor
        covariance = np.diag((law.scale * spread) ** 2)
        if layout.intercept:
            error = law.scale * factor * float(np.exp(log_error[0]))
            covariance = _with_intercept(np.diag(covariance), means_x, error)
    identified = np.concatenate([np.ones(int(layout.intercept), dtype=bool), identified])
    covariance[~identified, :] = covariance[:, ~identified] = np.nan
    covariance[~np.isfinite(covariance)] = np.nan
    return _Coefficients(_with_constant(slopes, mean_y, means_x), covariance, identified)


def _estimand(plan: TukeyPlan) -> str:
    """Say what the coefficients are the middle of."""
    return (
        f"the middle of {plan.models} fits to parts of up to {plan.batch} units each, which may "
        "differ from one fit to all where the model is not linear or errors are skewed"
    )


def _with_constant(
    slopes: NDArray[np.float64], mean_y: NDArray[np.float64], means_x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Put the intercept before the slopes, if there is a mean of y to make it from."""
    return np.concatenate([mean_y - slopes @ means_x, slopes]) if len(mean_y) else slopes


def _with_intercept(
    variance: NDArray[np.float64], means: NDArray[np.float64], error: float
) -> NDArray[np.float64]:
    """Covariance of (mean_y - slopes @ means, slopes), the parts released independently."""
    cross = -means * variance
    # The slopes alone contribute means' diag(variance) means: less cannot be true.
    corner = max(error * error, float(means**2 @ variance))
    top = np.concatenate([[corner], cross])
    return np.vstack([top, np.column_stack([cross, np.diag(variance)])])


def _sampling(
    covariance: NDArray[np.float64] | None, law: ReleaseLaw
) -> NDArray[np.float64] | None:
    if covariance is None:
        return None
    return np.sqrt(np.diag(covariance)) * min(1.0, law.sampling / law.scale)


def _parts(epsilon_count: float, plan: TukeyPlan, delta: float) -> tuple[Part, ...]:
    threshold = _core.release_threshold(plan.epsilon_test, delta)
    return (
        _laplace_part("number of units", epsilon_count),
        _laplace_part(
            "test that a deep model can be released",
            plan.epsilon_test,
            f", threshold {threshold}",
        ),
        Part(
            "draw of a deep model",
            plan.epsilon_sample,
            delta,
            f"exponential mechanism on depth, at least {plan.depth} of {plan.models} models",
            sensitivity=float(_core.DEPTH_SENSITIVITY),
            scale=2 * _core.DEPTH_SENSITIVITY / plan.epsilon_sample,
        ),
    )


def _laplace_part(label: str, epsilon: float, remark: str = "") -> Part:
    noise = f"discrete Laplace noise of scale {1 / epsilon:.4g}{remark}"
    return Part(label, epsilon, 0.0, noise, sensitivity=1.0, scale=1 / epsilon)


def _too_few(
    units: float, layout: _Layout, allowance: Allowance, parts: tuple[Part, ...]
) -> Declined:
    return Declined(
        reason=f"about {units:,.0f} units are too few for {_regressors(layout.d)} at this eps",
        advice=_advice(layout, allowance),
        units=units,
        parts=parts,
        unspent=allowance.epsilon - math.fsum(part.epsilon for part in parts),
    )


def _not_passed(
    units: float, layout: _Layout, allowance: Allowance, parts: tuple[Part, ...]
) -> Declined:
    return Declined(
        reason="the fits on the parts of the data did not agree well enough to release one safely",
        advice=_advice(layout, allowance),
        units=units,
        parts=parts,
        unspent=allowance.epsilon - math.fsum(part.epsilon for part in parts),
    )


def _advice(layout: _Layout, allowance: Allowance) -> str:
    need = least_units(layout.d, layout.size, allowance.epsilon, allowance.delta)
    fewer = "inference=False (fewer numbers to release), " if layout.spreads else ""
    return (
        f"TukeyEM with {_regressors(layout.d)} at eps={allowance.epsilon:.4g} wants about "
        f"{need:,} units; try a larger eps, fewer or less sparse regressors, {fewer}"
        "or another method"
    )


def _regressors(d: int) -> str:
    return "1 regressor" if d == 1 else f"{d} regressors"
