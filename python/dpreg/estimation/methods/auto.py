"""The method that public simulations expect to do best for this many rows and columns."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import ClassVar

from dpreg.base.errors import ArgumentError, Choice, Setting, leave_out, unusable
from dpreg.base.keywords import hints
from dpreg.base.options import Limit, check_options
from dpreg.base.text import counted, share_lost
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import MAX_ROWS
from dpreg.estimation.base import (
    Allowance,
    Declined,
    Method,
    Release,
    after_basic,
    needs_delta,
    refuse_weights,
    refuse_within,
)
from dpreg.estimation.methods.adassp import AdaSSP
from dpreg.estimation.methods.boosted_adassp import BoostedAdaSSP
from dpreg.estimation.methods.tukey_em import TukeyEM
from dpreg.estimation.planning.auto import TABULATED, WITH_INFERENCE, best_method, expect
from dpreg.estimation.releases.doors import noisy_counts
from dpreg.privacy.cost import Cost

# With a smaller share of epsilon the count could not be drawn.
_LEAST_SHARE = 1e-3
# Loss, as a share of the explained variance, from which the choice is reported.
_REPORTED_LOSS = 0.01
# The method used if TukeyEM declines.
_FALLBACK = "boosted_adassp"


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(Method):
    """Options of the automatic choice, all public.

    A noisy number of units is released.  Given it, d, eps and delta, the candidate with the
    smallest expected prediction error in a table of public simulations gets the rest of the
    budget.  If TukeyEM is chosen and declines, the unspent share goes to Boosted AdaSSP.

    Parameters
    ----------
    candidates : tuple of str, default ("boosted_adassp", "adassp", "tukey")
        Of candidates whose expected R squared differs by less than 0.1%, the first is chosen.
        With inference Boosted AdaSSP is chosen if it is a candidate, because its intervals have the
        best coverage of least squares on real data.  TukeyEM does not support bounds or weights
        and is not chosen with them.
    count_share : float, default 0.01
        Share of eps for the noisy number of units.
    max_rows : int, default 1
        Maximum number of rows per unit, with ``dp_lm(unit=...)``, for candidates with this option;
        TukeyEM averages all rows of a unit.

    Privacy
    -------
    guarantee : (eps, delta)-DP, by basic composition
    neighbours : add or remove one unit
    public : all options, d, the names of the columns
    proof : auto.md

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> auto = dpreg.Auto(candidates=("adassp",))
    >>> dpreg.dp_lm("log(price) ~ log(carat)", d, 1.0, 1e-6, method=auto).method
    'adassp'
    """

    name: ClassVar[str] = "auto"

    candidates: tuple[str, ...] = TABULATED
    count_share: float = Limit(
        f"between {_LEAST_SHARE} and 0.5", lambda share: _LEAST_SHARE <= share <= 0.5
    ).option(0.01)
    max_rows: int = MAX_ROWS.option(1)

    def __post_init__(self) -> None:
        check_options(self)
        unknown = sorted(set(self.candidates) - set(TABULATED))
        if unknown or not self.candidates:
            raise unusable("candidates", ("some of ", Choice(tuple(TABULATED))), self.candidates)

    def check(self, terms: Terms, epsilon: float, delta: float, *, inference: bool) -> None:
        """Refuse delta = 0, and a delta too small to be halved for TukeyEM."""
        needs_delta(self.name, delta)
        if not self._candidates(terms):
            refuse_within("tukey", terms)
            refuse_weights("tukey", terms)
            problem = ("is not used by ", Setting("method", "tukey"))
            raise ArgumentError("bounds", problem, leave_out("bounds"))
        if "tukey" in self._candidates(terms):
            rest = (1 - self.count_share) * epsilon
            self._method("tukey").check(terms, rest, delta / 2, inference=inference)

    def cost(self, epsilon: float, delta: float) -> Cost:
        rest = (1 - self.count_share) * epsilon
        # TukeyEM may be followed by its fallback.
        costs = [
            self._method(name).cost(rest, delta) for name in self.candidates if name != "tukey"
        ]
        if "tukey" in self.candidates:
            fallback = self._method(_FALLBACK).cost(rest, delta / 2)
            costs.append(self._method("tukey").cost(rest, delta / 2) + fallback)
        dearest = functools.reduce(Cost.or_else, costs)
        return (Cost.pure(self.count_share * epsilon) + dearest).claimed(epsilon, delta)

    def decided(self, *, inference: bool) -> Method:
        """Return the method if there is no choice, so that no count is paid for."""
        if inference and WITH_INFERENCE in self.candidates:
            return self._method(WITH_INFERENCE)
        return self

    def _candidates(self, terms: Terms) -> tuple[str, ...]:
        summed = terms.within or terms.weight is not None or bool(terms.bounds)
        return tuple(name for name in self.candidates if name != "tukey" or not summed)

    def _method(self, name: str) -> Method:
        if name == "tukey":
            return TukeyEM()
        summed = AdaSSP if name == "adassp" else BoostedAdaSSP
        return summed(max_rows=self.max_rows)

    def release(
        self, design: Design, allowance: Allowance, *, inference: bool
    ) -> Release | Declined:
        count = self.count_share * allowance.epsilon
        rest = (1 - self.count_share) * allowance.epsilon
        label = "number of units, to choose the method"
        (counted_units,), part = noisy_counts(label, design.unit_count, count, allowance.bits)
        units = float(max(0, counted_units))
        d = len(design.terms.regressors)
        candidates = self._candidates(design.terms)
        chosen = best_method(candidates, units, d, rest, allowance.delta)
        loss = expect(chosen, units, d, rest, allowance.delta).loss
        why = (
            f"method {chosen!r} was chosen for about {units:,.0f} units and "
            f"{counted(d, 'regressor')} at this eps; expected loss of R squared: "
            f"{share_lost(loss)} (public simulation)"
        )
        # With a fallback, each of the two methods gets half of delta.
        delta = allowance.delta / 2 if chosen == "tukey" else allowance.delta
        spend = Allowance(rest, delta, allowance.bits, allowance.extras)
        cost = Cost.pure(count) + self._method(chosen).cost(rest, delta)
        outcome = self._method(chosen).release(design, spend, inference=inference)
        # A choice with negligible loss is not reported.
        plain = loss < _REPORTED_LOSS and chosen != "tukey"
        if chosen == "tukey":
            why += "; half of delta is reserved for Boosted AdaSSP in case TukeyEM declines"
        if isinstance(outcome, Declined) and outcome.unspent > 0:
            why = f"TukeyEM declined, and Boosted AdaSSP used the rest of the budget ({why})"
            fallback = Allowance(outcome.unspent, delta, allowance.bits)
            first = (replace(part, label=f"TukeyEM: {part.label}") for part in outcome.parts)
            chosen = _FALLBACK
            cost += self._method(chosen).cost(outcome.unspent, delta)
            outcome = self._method(chosen).release(design, fallback, inference=inference)
            outcome = replace(outcome, parts=(*first, *outcome.parts))
            if isinstance(outcome, Declined):
                reason = f"TukeyEM declined, then Boosted AdaSSP declined: {outcome.reason}"
                outcome = replace(outcome, reason=reason)
        if isinstance(outcome, Release) and not plain:
            outcome = replace(outcome, notes=(*outcome.notes, why))
        return replace(
            outcome,
            parts=(part, *outcome.parts),
            composition=after_basic(outcome.composition),
            method=chosen,
            cost=cost.claimed(allowance.epsilon, allowance.delta),
        )
