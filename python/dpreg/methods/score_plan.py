"""What the rounds of noisy scores spend."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["ScorePlan"]


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """Shares of the squared mu, all public.

    Attributes
    ----------
    early : tuple of float
        Of rounds whose limits follow the scores down.
    every : int
        Norms are counted before every so many of them.
    early_norms : float
        Of each of those counts.
    norms : float
        Of the counts from which the last limit comes.
    settling : tuple of float
        Of rounds with that limit, which move away from where the limits before it led.
    late : tuple of float
        Of more rounds with that limit; the result is the mean of where they lead.
    products : float
        Of the second moments of the scores.
    again : float
        Of counting norms and settling once more, with shorter rows; for late rounds, if there is
        no need.
    curvature : tuple of two floats, or ()
        Of the second derivatives of the loss, before and after those that settle; without them
        curvature is what the model starts from.
    """

    early: tuple[float, ...]
    every: int
    early_norms: float
    norms: float
    settling: tuple[float, ...]
    late: tuple[float, ...]
    products: float
    again: float = 0.0
    curvature: tuple[float, ...] = ()

    @property
    def share(self) -> float:
        """Of everything."""
        counts = self.norms + self._early_counts * self.early_norms
        rounds = (*self.early, *self.settling, *self.late, *self.curvature)
        return math.fsum((*rounds, counts, self.products, self.again))

    @property
    def _early_counts(self) -> int:
        return math.ceil(len(self.early) / self.every) if self.early_norms > 0 else 0

    @property
    def passes(self) -> int:
        """Over the rows, at most.

        Norms are counted, products are taken; rows are kept, aimed twice and kept again.
        """
        rounds = (*self.early, *self.settling, *self.late, *self.curvature)
        again = len(self.settling) + 2 if self.again > 0 else 0
        return self._early_counts + len(rounds) + again + 5

    def times(self, factor: float) -> ScorePlan:
        """Multiply all shares."""
        return ScorePlan(
            early=tuple(factor * share for share in self.early),
            every=self.every,
            early_norms=factor * self.early_norms,
            norms=factor * self.norms,
            settling=tuple(factor * share for share in self.settling),
            late=tuple(factor * share for share in self.late),
            products=factor * self.products,
            again=factor * self.again,
            curvature=tuple(factor * share for share in self.curvature),
        )
