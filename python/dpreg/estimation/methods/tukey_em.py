"""TukeyEM: a private point of large Tukey depth among many small least-squares fits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.base.errors import Argument, ArgumentError, BudgetError, Setting, unusable, write
from dpreg.base.keywords import hints
from dpreg.base.options import Limit, check_options
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import sample_rows
from dpreg.estimation.base import (
    Allowance,
    Declined,
    Method,
    Release,
    needs_delta,
    refuse_weights,
    refuse_within,
)
from dpreg.estimation.blocks.block_glm import fit_glm_blocks
from dpreg.estimation.blocks.model_rows import assigned, noisy_units, rows_of_models
from dpreg.estimation.blocks.tukey_report import (
    NOT_PASSED,
    Layout,
    advice_on,
    coefficients,
    declined,
    parts_of,
    too_few,
)
from dpreg.estimation.inference.estimand import Estimand
from dpreg.estimation.inference.law import NORMAL
from dpreg.estimation.planning.tukey import TukeyPlan, plan_tukey, release_law, small_batch_factor
from dpreg.estimation.releases.accountant import GaussianReleases, releases_cost
from dpreg.estimation.releases.doors import tukey
from dpreg.estimation.releases.standardisation import magnitudes
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost

# Part of `limits_share` for counts of magnitudes.
_MAGNITUDES = 0.98
# Least share of epsilon and delta for count and limits, and least epsilon for limits: accounting
# fails below these.
_LEAST_SHARE = 1e-3
_LEAST_LIMITS = 1e-9
# Only to detect columns of a batch that are collinear.
_NO_RIDGE = 1e-12
# Information of a row on a coefficient of a family, relative to a linear model, where means are
# neither rare nor nearly certain.  Blocks are larger by the inverse.
_TELLING = {"gaussian": 1.0, "binomial": 0.15, "poisson": 0.2}
# `tukey_em` refuses smaller values.
_LEAST_DELTA = 2.0**-50


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class TukeyEM(Method):
    """Options of TukeyEM (Amin et al., 2023), all public.

    The rows are split into `models` batches, each of which gives one least-squares fit, or for a
    binomial or Poisson family a fit by Firth's (1993) bias-reduced method.  After a private test
    that this is safe, a point of large Tukey depth among the fits (coordinate by coordinate) is
    released.  No bounds on the data are needed.  Where the model is misspecified or errors are
    skewed, this median of small fits may differ from one fit to all rows.  For a binomial family it
    also differs where slopes are large: Firth's method corrects the mean of a small fit, but its
    median is closer to 0.  Of 60 intervals of level 95% with 20,000 and 50,000 rows, 90 to 93%
    contained a slope of 0.5 per standard deviation of the regressor, 72 to 83% a slope of 1, and 45
    to 68% a slope of 1.5.  `BoostedAdaSSP` has no such bias.

    Parameters
    ----------
    models : int, optional
        Number of fits.  Default: chosen from the noisy number of rows, d, eps and delta.
    ridge : float, optional
        Ridge of each least-squares fit, relative to the diagonal of its correlation matrix.
        Default: 1e-12 with inference, which shrinks no estimable coefficient; 0.01 without
        inference, which predicts better.
    refinements : int, default 0
        Further steps of iterated Tikhonov regularisation.
    partition : {"slots", "independent"}
        Assignment of rows to batches: a random injection into batches of equal size, or
        independently for each row.
    count_share : float, default 0.02
        Share of eps for the noisy number of rows.
    limits_share : float, default 0.05
        Share of eps and of delta for the limits at which `predict` winsorises new rows; 0: no
        limits.
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

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> fit = dpreg.dp_lm("log(price) ~ log(carat)", d, 1.0, 1e-6, method=dpreg.TukeyEM())
    >>> fit.method
    'tukey'
    """

    name: ClassVar[str] = "tukey"
    uses_bounds: ClassVar[bool] = False

    models: int | None = Limit("at least 2", lambda models: models >= 2).option(None)
    ridge: float | None = Limit("at least 0 and finite", lambda r: 0 <= r < np.inf).option(None)
    refinements: int = Limit("an integer from 0 to 1000", lambda k: 0 <= k <= 1000).option(0)
    partition: Literal["slots", "independent"] = "slots"
    count_share: float = Limit(
        f"in [{_LEAST_SHARE}, 1)", lambda share: _LEAST_SHARE <= share < 1
    ).option(0.02)
    limits_share: float = 0.05
    grid_exponent: int = Limit("in [-500, 500]", lambda power: abs(power) <= 500).option(-60)

    def __post_init__(self) -> None:
        check_options(self)
        limits = self.limits_share
        if not (limits == 0 or _LEAST_SHARE <= limits < 1 - self.count_share):
            wanted = f"0 or in [{_LEAST_SHARE}, 1 - count_share)"
            raise unusable("limits_share", wanted, limits)

    def check(self, terms: Terms, epsilon: float, delta: float, *, inference: bool) -> None:
        """Refuse delta = 0: the test may let unsafe data pass with probability delta."""
        needs_delta(self.name, delta)
        refuse_within(self.name, terms)
        refuse_weights(self.name, terms)
        if terms.given:
            why = " does not support offsets with a link function"
            instead = write("method", "boosted_adassp")
            raise ArgumentError("method", (Setting("method", self.name), why), instead)
        if (1 - self.limits_share) * delta < _LEAST_DELTA:
            small = (f"{delta:.3g} is too small for ", Setting("method", "tukey"))
            larger = ("write a larger one, such as ", Setting("delta", 1e-10))
            raise BudgetError("delta", small, larger)
        if self.models is not None:
            # With a given number of models this condition is public.
            layout = Layout(len(terms.names), terms.intercept, inference)
            plan = self._plan(0.0, layout, epsilon, delta, 1.0)
            if not _rounding_is_paid(plan, layout):
                raise BudgetError(
                    "eps",
                    (f"{epsilon:.4g} is too small for ", Setting("models", self.models),
                     ": rounding would use more than the budget of the draw"),
                    "write fewer models", ("a larger ", Argument("eps")),
                )  # fmt: skip

    def cost(self, epsilon: float, delta: float) -> Cost:
        left = Cost.approximate((1 - self.limits_share) * epsilon, (1 - self.limits_share) * delta)
        if self.limits_share == 0:
            return left
        limits = releases_cost(self.limits_share * epsilon, self.limits_share * delta)
        return (left + limits).claimed(epsilon, delta)

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        d, intercept = len(design.terms.names), design.terms.intercept
        layout = Layout(d, intercept, inference)

        epsilon_count = self.count_share * allowance.epsilon
        units, counted = noisy_units(design, epsilon_count, allowance.bits)
        family = design.terms.family
        telling = _TELLING[family.name]
        plan = self._plan(units, layout, allowance.epsilon, allowance.delta, telling)
        delta = (1 - self.limits_share) * allowance.delta
        parts = (counted, *parts_of(plan, delta))
        # Scales need residuals: the plan has no error if batches leave none.
        left = self._left(allowance.epsilon, allowance.delta)
        advice = partial(advice_on, layout, allowance.epsilon, left, telling, self.models)
        few = plan.batch * telling < d + 2 or (inference and math.isinf(plan.error))
        if few or not _rounding_is_paid(plan, layout):
            reason = too_few(units, layout.d, self.models)
            return declined(reason, advice(), units, allowance, parts[:1])
        assignment = assigned(design, plan.models, plan.batch, self.partition, allowance.bits)
        fits = assignment.map(lambda of: self._fits(design, of, layout))
        point = tukey(fits, self.grid_exponent, plan, delta, allowance.bits)
        if point is None:
            return declined(NOT_PASSED, advice(), units, allowance, parts[:2])
        law_of = partial(release_law, plan.models, layout.size, plan.epsilon_sample, plan.depth)
        law = law_of() if inference else None
        factor = small_batch_factor(units / plan.models * telling, d)
        found = coefficients(point, layout, law, factor, self.grid_exponent)
        notes: list[str] = []
        if law is not None and not found.identified.all():
            law = law_of(shallowest=True)
            found = coefficients(point, layout, law, factor, self.grid_exponent)
            names = np.array(design.terms.coefficients)[~found.identified]
            notes.append(
                f"not estimable in most parts of the data at this eps: {', '.join(names)}; this "
                "increases the standard errors of the other coefficients"
            )
        limits, spent = self._limits(design, allowance)
        return Release(
            params=found.params,
            covariance=found.covariance,
            sampling=found.sampling,
            units=units,
            parts=parts + spent,
            law=NORMAL if law is None else law.law,
            notes=tuple(notes),
            estimand=Estimand(f"Tukey median of {plan.models:,} fits"),
            limits=limits,
        )

    def _plan(
        self, units: float, layout: Layout, epsilon: float, delta: float, telling: float
    ) -> TukeyPlan:
        left = self._left(epsilon, delta)
        found = plan_tukey(telling * units, layout.d, layout.size, *left, models=self.models)
        return replace(found, batch=math.ceil(max(units, 1.0) / found.models))

    def _left(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta of the test and the draw."""
        return epsilon * (1 - self.count_share - self.limits_share), delta * (1 - self.limits_share)

    def _limits(
        self, design: Design, allowance: Allowance
    ) -> tuple[Doubles | None, tuple[Part, ...]]:
        """Release limits of the regressors, from one row per unit."""
        if self.limits_share * allowance.epsilon < _LEAST_LIMITS or not design.terms.names:
            return None, ()
        epsilon, delta = self.limits_share * allowance.epsilon, self.limits_share * allowance.delta
        noise = GaussianReleases(epsilon, delta, allowance.bits)
        rows = sample_rows(design, 1, allowance.bits)
        columns = np.arange(design.columns)
        mu = noise.share(_MAGNITUDES)
        sizes, _ = magnitudes(rows, columns, np.ones(len(columns)), noise, mu)
        high = np.array([np.nan if size is None else size for size in sizes])
        limits = np.column_stack([-high, high])
        unknown = np.full((1, 2), np.nan)  # the response has no limits
        scales = ", ".join(f"{part.scale:.4g}" for part in noise.parts)
        label = "limits of the regressors, for predictions"
        text = f"histogram of magnitudes, discrete Gaussian, scale {scales}"
        sensitivity = noise.parts[0].sensitivity
        part = Part(label, epsilon, delta, text, sensitivity=sensitivity)
        return np.vstack([limits, unknown]), (part,)

    def _fits(self, design: Design, assignment: _core.Assignment, layout: Layout) -> Doubles:
        family = design.terms.family
        if not family.least_squares:
            return fit_glm_blocks(design, assignment, family, log_spreads=layout.spreads)
        ridge = self.ridge
        if ridge is None:
            ridge = _NO_RIDGE if layout.spreads else 0.01
        fits = [
            _core.fit_batches(
                rows.X,
                rows.y,
                of,
                unit_offsets=rows.unit_offsets,
                unit_rows=rows.unit_rows,
                ridge=ridge,
                refinements=self.refinements,
                intercept=layout.intercept,
                log_spreads=layout.spreads,
            )
            for rows, of in rows_of_models(design, assignment)
        ]
        return np.vstack(fits)


def _rounding_is_paid(plan: TukeyPlan, layout: Layout) -> bool:
    """Whether the core accepts the planned draw, from public numbers."""
    return _core.rounding_is_paid(plan.models, layout.size, plan.epsilon_sample)
