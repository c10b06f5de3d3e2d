"""Private Frank-Wolfe: sparse coefficients within a public l1 ball."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.accounting import pure_epsilon, pure_rho
from dpreg.design import Design, Terms, Units
from dpreg.errors import BudgetError
from dpreg.mechanisms.frank_wolfe import (
    allowed_rho,
    check_l1,
    plan_parts,
    run_plan,
    screen_from,
)
from dpreg.methods._method import Allowance, Release
from dpreg.methods._scaling import Scaling, check_range, scaling_from_bounds
from dpreg.planning.frank_wolfe import (
    MAX_STEPS,
    Screen,
    check_steps,
    default_steps,
    plan_frank_wolfe,
)
from dpreg.released.certificate import Part

__all__ = ["FrankWolfe"]

# The noisy count may cost no less, or its sampler could not be used.
_LEAST_COUNT_EPSILON = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class FrankWolfe:
    """Options of private Frank-Wolfe (Talwar, Thakurta and Zhang, 2015), all public.

    Columns are mapped from their public ranges to [-1, 1], and least squares is minimised
    over coefficients (in these units) whose absolute values add up to `l1` at most.  Each step
    moves towards one coefficient, chosen privately, so that at most `steps` of them are not 0.

    Parameters
    ----------
    bounds : dict
        ``{column: (lowest, highest)}`` for the response and every regressor, known without
        the data.  Values outside are clipped.  Indicators of levels need none.
    l1 : float, default 1.0
        At 1, moving every column from the middle to the end of its range moves the
        prediction by at most half the range of the response.  Larger is more flexible, and
        noisier in proportion.
    steps : int, optional
        Default: chosen from the noisy number of units, d, eps and delta.
    screen : {None, "rnm", "adp"} or Screen
        Also screen coefficients that are 0 at the optimum.  It takes very many rows to act.
    count_share : float, default 0.02
        Share of the zCDP budget for the noisy number of units.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : all options, d, the names of the columns
    proof : frank_wolfe.md

    References
    ----------
    Talwar, Thakurta and Zhang (2015), "Nearly-optimal private LASSO", with the corrections
    listed in cpp/src/mechanisms/frank_wolfe.md.
    """

    bounds: Mapping[str, tuple[float, float]] | None = field(default=None, hash=False)
    l1: float = 1.0
    steps: int | None = None
    screen: Screen | Literal["rnm", "adp"] | None = None
    count_share: float = 0.02

    def __post_init__(self) -> None:
        check_l1(self.l1)
        if self.steps is not None:
            check_steps(self.steps)
        screen_from(self.screen)
        if not 1e-6 <= self.count_share < 1:
            raise ValueError(f"count_share must be in [1e-6, 1), got {self.count_share!r}")
        if self.bounds is not None:
            if not isinstance(self.bounds, Mapping):
                raise ValueError(
                    f"bounds must be a dict {{column: (lowest, highest)}}, got {self.bounds!r}"
                )
            for name, limits in self.bounds.items():
                check_range(name, limits)

    @property
    def name(self) -> str:
        """As `dp_lm(method=...)` spells it."""
        return "frank_wolfe"

    def check(self, d: int, epsilon: float, delta: float) -> None:
        """Refuse what cannot be used whatever the data: no delta, no bounds, too many steps."""
        if delta == 0:
            raise BudgetError(
                "delta: method='frank_wolfe' needs delta > 0, far below 1 / (number of rows); "
                "write delta=1e-6, for example"
            )
        if self.bounds is None:
            raise ValueError(
                "bounds: method='frank_wolfe' needs the public range of every column; write "
                "method=dpreg.FrankWolfe(bounds={'x': (0, 10), 'y': (0, 100)})"
            )
        rho = allowed_rho(epsilon, delta)
        most = self.steps or MAX_STEPS
        plan_frank_wolfe(rho * (1 - self.count_share), d + 1, most, self._screen())
        if pure_epsilon(rho * self.count_share) < _LEAST_COUNT_EPSILON:
            raise BudgetError("eps and delta are too small for method='frank_wolfe'")

    def release(self, design: Design, allowance: Allowance, *, inference: bool) -> Release:
        """See `dpreg.methods._method.Method`."""
        terms, rho = design.terms, allowed_rho(allowance.epsilon, allowance.delta)
        scaling = self._scaling(terms)

        epsilon_count = pure_epsilon(self.count_share * rho)
        noise = int(_core.discrete_laplace(epsilon_count, allowance.bits, 1)[0])
        units = float(max(0, design.unit_count + noise))

        columns = max(1, len(terms.names) + terms.intercept)
        rest = (1 - self.count_share) * rho
        steps = self.steps or default_steps(units, columns, rest)
        plan = plan_frank_wolfe(rest, columns, steps, self._screen())
        X, y = _unit_rows(design, scaling)
        run = run_plan(_core.DenseUnitDesign(X), y, self.l1, plan, self._screen(), allowance.bits)
        count = Part(
            "number of units",
            allowance.epsilon * self.count_share,
            allowance.delta * self.count_share,
            f"discrete Laplace noise of scale {1 / epsilon_count:.4g}; "
            f"rho {pure_rho(epsilon_count):.4g}",
        )
        spent = (plan.rho_steps + plan.rho_screening) / (1 - self.count_share)
        return Release(
            params=_params(run["weights"], scaling, terms.intercept),
            covariance=None,
            sampling=None,
            units=units,
            parts=(count, *plan_parts(plan, allowance.epsilon, allowance.delta, self.l1, spent)),
            composition="zCDP",
            notes=_notes(run, terms, self.l1, inference),
        )

    def _screen(self) -> Screen | None:
        return screen_from(self.screen)

    def _scaling(self, terms: Terms) -> Scaling:
        assert self.bounds is not None
        return scaling_from_bounds(
            terms.response, terms.names, self.bounds, intercept=terms.intercept
        )


def _unit_rows(design: Design, scaling: Scaling) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One row a unit: scaled and clipped, the constant last; rows of a unit are averaged."""
    X, y = scaling.scale_columns(design.X), scaling.scale_response(design.y)
    if design.units is not None:
        X, y = _means(X, design.units), _means(y, design.units)
    if design.terms.intercept:
        X = np.column_stack([X, np.ones(len(X))])
    # A formula without any term still has a column, which is always 0.
    return X if X.shape[1] else np.zeros((len(X), 1)), y


def _means(values: NDArray[np.float64], units: Units) -> NDArray[np.float64]:
    """Mean of the rows of each unit; a unit has at least one."""
    first = units.offsets[:-1].astype(np.intp)
    if not len(first):
        return values[:0]
    sums = np.add.reduceat(values[units.rows.astype(np.intp)], first, axis=0)
    counts = np.diff(units.offsets.astype(np.int64)).astype(np.float64)
    return sums / counts.reshape(-1, *[1] * (values.ndim - 1))


def _params(weights: NDArray[np.float64], scaling: Scaling, intercept: bool) -> NDArray[np.float64]:
    """Put the coefficients in the user's units, the intercept first."""
    d = len(scaling.scale)
    slopes = scaling.slopes(weights[:d])
    if not intercept:
        return slopes
    return np.concatenate([[scaling.intercept(slopes, float(weights[d]))], slopes])


def _notes(run: dict[str, Any], terms: Terms, l1: float, inference: bool) -> tuple[str, ...]:
    weights = run["weights"][: len(terms.names)]
    support = [name for name, w in zip(terms.names, weights, strict=False) if w != 0]
    notes = [
        f"{len(run['path'])} steps in the l1 ball of radius {l1:g}, columns mapped from their "
        "bounds to [-1, 1]",
        f"{len(support)} of {len(terms.names)} coefficients are not 0"
        + (f": {', '.join(support)}" if support else ""),
    ]
    if terms.intercept:
        notes.append(
            "zeros are exact in the mapped columns and stay exact here; the intercept takes up "
            "the middles of the ranges"
        )
    if len(run["screened"]):
        constant = len(terms.names)
        names = [terms.names[j] if j < constant else "constant" for j in run["screened"]]
        notes.append(f"screened: {', '.join(names)}")
    if inference:
        notes.append(
            "no standard errors: a sparse, shrunken estimate that follows noisy choices has "
            "no known law around the truth"
        )
    return tuple(notes)
