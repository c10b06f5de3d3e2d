"""The intervals of a fit of proportional hazards, and what its coefficients compare."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.data.periods import WHOLE, Periods


@dataclass(frozen=True, kw_only=True)
class FittedPeriods(Periods):
    """The intervals of a fit, and who left in them."""

    # Noisy numbers, for each stratum and interval: of events, of records censored inside the
    # interval and at its end; and, with delayed entry, of those that entered at its beginning and
    # inside it.
    exits: tuple[float, ...] = ()

    @property
    def table(self) -> Doubles:
        """The same, shape (strata, K, 3 or 5)."""
        return np.array(self.exits).reshape(1 + len(self.strata), self.count, -1)

    @property
    def at_risk(self) -> Doubles:
        """Noisy number at risk at the beginning of each interval, of all strata."""
        exits, entries = np.split(self.table.sum(axis=0), [3], axis=1)
        left = np.concatenate([[0.0], exits.sum(axis=1).cumsum()[:-1]])
        if not entries.size:
            return np.asarray(exits.sum() - left)
        inside = np.concatenate([[0.0], entries[:-1, 1].cumsum()])
        return np.asarray(entries[:, 0].cumsum() + inside - left)

    def per_unit_of_time(self, estimates: Doubles, covariance: Doubles | None) -> Doubles:
        """Return coefficients of hazards per unit of time, from those of shares of intervals.

        What is 0 without a standard error stays that.
        """
        lengths = np.log(np.diff(self.edges))
        shift = np.zeros(len(estimates))
        shift[0] = math.log(WHOLE) - lengths[0]
        later = 1 + len(self.covariates) + len(self.varying)
        shift[later : later + self.count - 1] = lengths[0] - lengths[1:]
        if covariance is not None:
            shift[(estimates == 0) & np.isnan(np.diag(covariance))] = 0.0
        return np.asarray(estimates + shift)

    def reference(self, *, exp: bool = False) -> str:
        """Say with what coefficients compare, or their exponentials."""
        begin, end = (f"{edge:.12g}" for edge in self.edges[:2])
        where = ", in the first of the strata" if self.strata else ""
        note = (
            f"Reference: the intercept is the {'' if exp else 'log '}hazard per unit of time in "
            f"({begin}, {end}] where covariates are 0 or at reference levels{where}"
        )
        if self.count == 1:
            return f"{note}."
        return f"{note}; interval[T.t] compares the hazard in the interval up to t with it."
