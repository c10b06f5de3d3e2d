"""What every method is: public options, and one function that makes a release."""

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

# Clipping thresholds, factors and rates beyond these are errors, and powers of them must be
# doubles.
SIZE = Limit("between 1e-06 and 1e+06", lambda size: 1e-6 <= size <= 1e6)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one release may spend, and what it has to use for it."""

    # epsilon, delta: charged already.
    epsilon: float
    delta: float
    bits: _core.BitSource  # The source of all noise of the release.
    # What to release beside the coefficients, out of the same allowance.
    extras: Extras = NOTHING_MORE
    start: Start | None = None  # Public: where to start; None: nowhere.


@dataclass(frozen=True, slots=True)
class Release:
    """Numbers that may be published.  Shapes: c = len(terms.coefficients)."""

    # Shape (c,): in units of the response per unit of each regressor, the intercept first.
    params: Doubles
    # Of `params`: sampling error and privacy noise together.
    covariance: Doubles | None
    # The part of the standard errors that least squares without noise would have.
    sampling: Doubles | None
    units: float  # Private estimate of the number of units.
    parts: tuple[Part, ...]  # How the budget was used, with every noise scale.
    composition: str = "basic"
    law: TailLaw = NORMAL  # Of (params - truth) / standard error.
    notes: tuple[str, ...] = field(default=())  # Printed under the model, the most important first.
    blank: tuple[str, ...] = ()  # Those on coefficients without an error, which come before.
    # Where predictions move each column of X and, last, themselves; NaN where nothing is known.
    limits: Doubles | None = None
    method: str | None = None  # What was used, when that is another method.
    # Why there are no standard errors though they were asked for; empty otherwise.
    no_errors: str = ""
    cost: Cost | None = None  # What it has cost, when that is less than `Method.cost` said.
    stats: FitStats | None = None
    diagnostics: Diagnostics | None = None
    # Estimated effect of clipping scores on each coefficient; see `DPResults`.
    clipping: Doubles | None = None
    estimand: Estimand | None = None  # What `params` estimate.
    start: Start | None = None  # For later fits.
    alpha: float | None = None  # Dispersion of the family, where it was estimated.
    # Second moments of errors, and of those of sampling; see `plausible_moments`.
    moments: tuple[Doubles, Doubles] | None = None


@dataclass(frozen=True, slots=True)
class Declined:
    """The mechanism did not release.  The budget is spent."""

    reason: str  # Depends on public numbers only.
    advice: Words
    units: float
    parts: tuple[Part, ...]  # Of what was done before declining.
    composition: str = "basic"
    unspent: float = 0.0  # Epsilon that no part has used; delta is taken to be used.
    method: str | None = None  # What was used, when that is another method.
    cost: Cost | None = None  # What it has cost, when that is less than `Method.cost` said.


def with_offsets(release: Release, terms: Terms) -> Release:
    """Put offsets among the coefficients: each is 1, and known.

    release: without them.
    terms: with them.
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
        # The location of the response says nothing about the values to which an offset is added.
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
    """Say how parts add up when a stage before them is added by basic composition."""
    return composition if composition.startswith("basic") else f"basic and {composition}"


def needs_delta(method: str, delta: float) -> None:
    """Refuse delta = 0 for a method that is not pure."""
    if delta == 0:
        problem = (Setting("method", method), " needs delta > 0, far below 1 / (number of rows)")
        raise BudgetError("delta", problem, (*write("delta", 1e-6), ", for example"))


def refuse_within(method: str, terms: Terms) -> None:
    """Refuse effects of units for a method that takes the mean of the rows of each."""
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
    """A private regression or selection, by its options."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_options(self)

    name: ClassVar[str]  # As `dp_lm(method=...)`, or `select`, spells it.
    holds_rows: ClassVar[bool] = False  # Whether all rows have to be in memory.
    uses_bounds: ClassVar[bool] = True  # Whether public bounds of columns are used.


class Method(Procedure):
    """A private regression: frozen options and `release`."""

    __slots__ = ()

    def check(self, terms: Terms, epsilon: float, delta: float, *, inference: bool) -> None:
        """Raise a ValueError if the options cannot be used; called before records are read."""
        needs_delta(self.name, delta)

    def cost(self, epsilon: float, delta: float) -> Cost:
        """Say what a release with this allowance costs at most, from public numbers alone."""
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
    """Return the procedure that a name or an options object stands for.

    does: the function that such an object has.
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
