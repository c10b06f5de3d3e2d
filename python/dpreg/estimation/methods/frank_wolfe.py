"""Private Frank-Wolfe: sparse coefficients within a public l1 ball."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.base.keywords import hints
from dpreg.base.options import Limit, check_options
from dpreg.data.bounds import column_bounds
from dpreg.data.design import Arrays, Design, Terms
from dpreg.data.observations import RowCount
from dpreg.data.sampling import one_row_a_unit
from dpreg.estimation.base import (
    Allowance,
    Declined,
    Method,
    Release,
    needs_delta,
    refuse_weights,
    refuse_within,
)
from dpreg.estimation.inference.covariance import hidden_note
from dpreg.estimation.methods.frank_wolfe_run import (
    DELTA_LEFT,
    L1,
    UnitRows,
    allowed_rho,
    plan_parts,
    run_plan,
)
from dpreg.estimation.planning.frank_wolfe import (
    MAX_STEPS,
    STEPS,
    Screen,
    default_steps,
    plan_frank_wolfe,
    screen_from,
)
from dpreg.estimation.releases.accountant import RESERVE, GaussianReleases
from dpreg.estimation.releases.scaling import Scaling, scaling_from_bounds, scaling_from_scales
from dpreg.estimation.releases.standardisation import Standardisation
from dpreg.estimation.standardised import response_not_found
from dpreg.privacy.cost import Cost
from dpreg.privacy.zcdp import pure_rho

_NO_ERRORS = (
    "the sampling distribution of a sparse, shrunken estimate after noisy selection is unknown"
)


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class FrankWolfe(Method):
    """Options of private Frank-Wolfe (Talwar, Thakurta and Zhang, 2015), all public.

    Columns are standardised privately and clipped to [-1, 1], and least squares is minimised
    over coefficients (in these units) whose absolute values add up to `l1` at most.  Each step
    moves towards one coefficient, chosen privately, so that at most `steps` are nonzero.
    If every column has public bounds (`dp_lm(bounds=...)`, or declared levels), these are
    mapped to [-1, 1] and nothing is spent on standardisation.

    Parameters
    ----------
    l1 : float, default 1.0
        Bound on the l1 norm.  At 1, moving every column from the middle to the end of its range
        changes the prediction by at most half the range of the response.  Noise is proportional
        to it.
    steps : int, optional
        Default: chosen from the noisy number of units, d, eps and delta.
    screen : {None, "rnm", "adp"} or Screen
        Also screen coefficients that are 0 at the optimum.  It needs very many rows to have an
        effect.
    reach : float, default 3.0
        Without bounds: this many standard deviations around the mean, or the range of the values
        if it is smaller, are mapped to [-1, 1].
    standardisation : Standardisation
        Its shares are shares of the zCDP budget.
    count_share : float, default 0.02
        Share of the zCDP budget for the noisy number of units when every column has bounds.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : all options, bounds, d, the names of the columns
    proof : frank_wolfe.md

    References
    ----------
    Talwar, Thakurta and Zhang (2015), "Nearly-optimal private LASSO", with the corrections
    listed in cpp/src/mechanisms/frank_wolfe.md.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> method = dpreg.FrankWolfe(l1=1.5)
    >>> fit = dpreg.dp_lm("log(price) ~ log(carat) + depth", d, 1.0, 1e-6, method=method)
    >>> fit.method
    'frank_wolfe'
    """

    name: ClassVar[str] = "frank_wolfe"
    holds_rows: ClassVar[bool] = True

    l1: float = L1.option(1.0)
    steps: int | None = STEPS.option(None)
    screen: Screen | Literal["rnm", "adp"] | None = None
    reach: float = Limit("greater than 0 and at most 100", lambda r: 0 < r <= 100).option(3.0)
    standardisation: Standardisation = field(default_factory=Standardisation)
    count_share: float = Limit("in [1e-6, 1)", lambda share: 1e-6 <= share < 1).option(0.02)

    def __post_init__(self) -> None:
        check_options(self)
        screen_from(self.screen)

    def check(self, terms: Terms, epsilon: float, delta: float, *, inference: bool) -> None:
        """Refuse options that cannot be used with any data: no delta, too many steps."""
        needs_delta(self.name, delta)
        refuse_within(self.name, terms)
        refuse_weights(self.name, terms)
        left = 1 - max(self.count_share, self.standardisation.share)
        rho = left * allowed_rho(epsilon, delta)
        plan_frank_wolfe(rho, _columns(terms), self.steps or MAX_STEPS, self.screen)

    def cost(self, epsilon: float, delta: float) -> Cost:
        rho, failure = allowed_rho(epsilon, delta), (1 - DELTA_LEFT) * delta
        return Cost.concentrated(rho, epsilon, delta, failure, RESERVE * min(epsilon, 1.0))

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        terms, rho = design.terms, allowed_rho(allowance.epsilon, allowance.delta)
        noise = GaussianReleases(
            allowance.epsilon, allowance.delta, allowance.bits, total=math.sqrt(2 * rho)
        )
        bounds = column_bounds(terms)
        design = one_row_a_unit(design, bounds)
        found = self._scaling(design, bounds, noise)
        parts = tuple(replace(part, mu=None, rho=pure_rho(part.mu or 0.0)) for part in noise.parts)
        if isinstance(found, Declined):
            return replace(found, parts=parts)
        scaling, units = found

        rest = rho - math.fsum(part.rho or 0.0 for part in parts)
        steps = self.steps or default_steps(units, _columns(terms), rest)
        plan = plan_frank_wolfe(rest, _columns(terms), steps, self.screen)
        rows = design.arrays().map(lambda of: _unit_rows(of, scaling, intercept=terms.intercept))
        run = run_plan(rows, self.l1, plan, allowance.bits)
        return Release(
            params=_params(run["weights"], scaling, terms.intercept),
            covariance=None,
            sampling=None,
            units=units,
            parts=(*parts, *plan_parts(plan, self.l1)),
            composition="zCDP",
            notes=_notes(run, terms, scaling, self.l1),
            limits=scaling.limits,
            no_errors=_NO_ERRORS if inference else "",
        )

    def _scaling(
        self, design: Design, bounds: Doubles, noise: GaussianReleases
    ) -> tuple[Scaling, float] | Declined:
        """Return how columns are scaled, and the noisy number of units."""
        intercept = design.terms.intercept
        if np.isfinite(bounds).all():
            count = design.total(RowCount())
            noisy, _ = noise.release("number of units", count, noise.share(self.count_share))
            return scaling_from_bounds(bounds, intercept=intercept), max(0.0, float(noisy[0]))
        scales = self.standardisation.release(design, noise, bounds)
        if not scales.response_found:
            return response_not_found(scales, noise, "zCDP")
        return scaling_from_scales(scales, self.reach, intercept=intercept), scales.units


def _columns(terms: Terms) -> int:
    """Return the number of columns of the mechanism, with the constant; at least one."""
    return max(1, len(terms.names) + terms.intercept)


def _unit_rows(rows: Arrays, scaling: Scaling, *, intercept: bool) -> UnitRows:
    """Scale and clip every row, the constant last."""
    X = scaling.scale_columns(rows.X)
    if intercept:
        X = np.column_stack([X, np.ones(len(X))])
    # A formula without terms still has one column, which is 0.
    X = X if X.shape[1] else np.zeros((len(X), 1))
    return UnitRows(_core.DenseUnitDesign(X), scaling.scale_response(rows.y))


def _params(weights: Doubles, scaling: Scaling, intercept: bool) -> Doubles:
    """Convert the coefficients to the user's units, the intercept first."""
    d = len(scaling.used)
    slopes = scaling.slopes(weights[:d])
    if not intercept:
        return slopes
    return np.concatenate([[scaling.intercept(slopes, float(weights[d]))], slopes])


def _notes(run: dict[str, Any], terms: Terms, scaling: Scaling, l1: float) -> tuple[str, ...]:
    d = len(terms.names)
    kept = (run["weights"][:d] != 0) & scaling.used
    support = [name for name, k in zip(terms.names, kept, strict=True) if k]
    notes = [
        *hidden_note(~scaling.used, terms.names, inference=False),
        f"{len(support)} of {d} coefficients are nonzero"
        + (f": {', '.join(support)}" if support else ""),
    ]
    if terms.intercept:
        notes.append(
            "zero coefficients are exactly 0, and the intercept absorbs the column centres"
        )
    notes.append(
        f"{len(run['path'])} steps in the l1 ball of radius {l1:g}, columns mapped to [-1, 1]"
    )
    if len(run["screened"]):
        names = [terms.names[j] if j < d else "constant" for j in run["screened"]]
        notes.append(f"screened: {', '.join(names)}")
    return tuple(notes)
