"""Base classes of methods: public options, and one function that makes a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.base.errors import (
    ArgumentError,
    BudgetError,
    Options,
    Setting,
    Words,
    unknown_name,
    unusable,
    write,
)
from dpreg.base.options import Limit, check_options
from dpreg.data.design import Design, Terms
from dpreg.estimation.inference.estimand import Estimand
from dpreg.estimation.inference.law import NORMAL, TailLaw
from dpreg.estimation.inference.residuals import Diagnostics, FitStats
from dpreg.estimation.inference.start import Start
from dpreg.estimation.releases.accountant import releases_cost
from dpreg.estimation.releases.residuals import Extras
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost

NOTHING_MORE = Extras()

# Clipping thresholds, factors and rates outside this range are errors: their powers must not
# overflow.
SIZE = Limit("between 1e-06 and 1e+06", lambda size: 1e-6 <= size <= 1e6)


@dataclass(frozen=True, slots=True)
class Allowance:
    """The budget of one release, and its source of noise."""

    # epsilon, delta: charged already.
    epsilon: float
    delta: float
    bits: _core.BitSource  # The source of all noise of the release.
    # What to release in addition to the coefficients, from the same allowance.
    extras: Extras = NOTHING_MORE
    start: Start | None = None  # Public starting values, if any.


@dataclass(frozen=True, slots=True)
class Release:
    """Numbers that may be published.  Shapes: c = len(terms.coefficients)."""

    # Shape (c,): in units of the response per unit of each regressor, the intercept first.
    params: Doubles
    # Of `params`: sampling error and privacy noise together.
    covariance: Doubles | None
    # The part due to sampling, which least squares without noise would have.
    sampling: Doubles | None
    units: float  # Private estimate of the number of units.
    parts: tuple[Part, ...]  # How the budget was used, with every noise scale.
    composition: str = "basic"
    law: TailLaw = NORMAL  # Distribution of (params - truth) / standard error.
    notes: tuple[str, ...] = field(default=())  # Printed under the model, the most important first.
    blank: tuple[str, ...] = ()  # Notes on coefficients without a standard error; printed first.
    # Limits to which predictions clip each column of X and, last, their result; NaN if not known.
    limits: Doubles | None = None
    method: str | None = None  # The method that was used, if it is another one.
    # Why there are no standard errors although they were requested; empty otherwise.
    no_errors: str = ""
    cost: Cost | None = None  # Actual cost, if it is less than `Method.cost`.
    stats: FitStats | None = None
    diagnostics: Diagnostics | None = None
    # Estimated effect of clipping scores on each coefficient; see `DPResults`.
    clipping: Doubles | None = None
    estimand: Estimand | None = None  # What `params` estimate.
    start: Start | None = None  # For later fits.
    alpha: float | None = None  # Dispersion of the family, if it was estimated.
    # Second moments of total errors, and of sampling errors; see `plausible_moments`.
    moments: tuple[Doubles, Doubles] | None = None


@dataclass(frozen=True, slots=True)
class Declined:
    """The mechanism did not release.  The budget is spent."""

    reason: str  # Depends on public numbers only.
    advice: Words
    units: float
    parts: tuple[Part, ...]  # Parts that were spent before declining.
    composition: str = "basic"
    unspent: float = 0.0  # Unused epsilon; delta is treated as used.
    method: str | None = None  # The method that was used, if it is another one.
    cost: Cost | None = None  # Actual cost, if it is less than `Method.cost`.


def with_offsets(release: Release, terms: Terms) -> Release:
    """Insert offsets among the coefficients: each is 1, without error.

    release: without the offsets.
    terms: with the offsets.
    """
    size = len(terms.coefficients)
    others = np.setdiff1d(np.arange(size), [int(terms.intercept) + j for j in terms.given])

    def among(values: Doubles | None, known: float) -> Doubles | None:
        if values is None:
            return None
        found = np.full((size,) * values.ndim, known)
        found[np.ix_(*[others] * values.ndim)] = values
        return found

    params, limits = among(release.params, 1.0), None
    assert params is not None
    if release.limits is not None:
        # The location of the response does not apply to the sum of prediction and offset.
        limits = np.full((len(terms.regressors) + 1, 2), np.nan)
        limits[others[others >= terms.intercept] - terms.intercept] = release.limits[:-1]
    return replace(
        release,
        params=params,
        covariance=among(release.covariance, 0.0),
        sampling=among(release.sampling, 0.0),
        clipping=among(release.clipping, 0.0),
        limits=limits,
    )


def after_basic(composition: str) -> str:
    """Describe the composition if an earlier stage is added by basic composition."""
    return composition if composition.startswith("basic") else f"basic and {composition}"


def needs_delta(method: str, delta: float) -> None:
    """Refuse delta = 0 for a method that is not pure DP."""
    if delta == 0:
        problem = (Setting("method", method), " needs delta > 0, far below 1 / (number of rows)")
        raise BudgetError("delta", problem, (*write("delta", 1e-6), ", for example"))


def refuse_within(method: str, terms: Terms) -> None:
    """Refuse unit effects for a method that averages the rows of each unit."""
    if terms.within:
        problem = (Setting("method", method), " averages the rows of each unit, so it cannot "
                   "estimate a model with unit effects")  # fmt: skip
        raise ArgumentError("method", problem, write("method", "boosted_adassp"))


def refuse_weights(method: str, terms: Terms) -> None:
    """Refuse row weights for a method that does not support them."""
    if terms.weight is not None:
        problem = (Setting("method", method), " does not support row weights")
        raise ArgumentError("method", problem, write("method", "boosted_adassp"))


class Procedure(ABC):
    """A private regression or selection, defined by its options."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_options(self)

    name: ClassVar[str]  # Name in `dp_lm(method=...)`, or in `select`.
    holds_rows: ClassVar[bool] = False  # Whether all rows have to be in memory.
    uses_bounds: ClassVar[bool] = True  # Whether public bounds of columns are used.


class Method(Procedure):
    """A private regression: frozen options and `release`."""

    __slots__ = ()

    def check(self, terms: Terms, epsilon: float, delta: float, *, inference: bool) -> None:
        """Raise a ValueError if the options cannot be used; called before records are read."""
        needs_delta(self.name, delta)

    def cost(self, epsilon: float, delta: float) -> Cost:
        """Return the largest cost of a release with this allowance, from public numbers alone."""
        return releases_cost(epsilon, delta)

    @abstractmethod
    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        """Spend the allowance."""


T = TypeVar("T", bound=Procedure)


def options_from(
    argument: str, given: str | T, known: Mapping[str, type[T]], does: str, example: str
) -> T:
    """Return the procedure given by a name or an options object.

    does: the method that such an object must have.
    example: a name for messages.
    Raises ValueError if it is neither, naming `argument`.
    """
    if isinstance(given, str):
        if given not in known:
            raise unknown_name(argument, given, known)
        return known[given]()
    if isinstance(given, type) and given in known.values():
        made = Options(argument, given.name, given.__name__)
        raise ArgumentError(argument, "must be an object, not its class", ("write ", made))
    if not callable(getattr(given, does, None)) or isinstance(given, type):
        such = Options(argument, example, known[example].__name__)
        raise unusable(argument, ("a name or an options object such as ", such), given)
    return given
