"""DP-SIS: terms with the largest inner products with the response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from dpreg import _core
from dpreg.base.errors import ArgumentError, Blank, write
from dpreg.base.keywords import hints
from dpreg.base.options import Limit
from dpreg.data.bounds import column_bounds
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import MAX_ROWS, sample_rows
from dpreg.estimation.base import Allowance
from dpreg.estimation.inference.clarity import Clarity
from dpreg.estimation.releases.doors import canonical, peeled
from dpreg.estimation.releases.scaling import SENSITIVITY, ClippedProducts
from dpreg.estimation.selection.base import (
    SHARE,
    Rounds,
    Selection,
    Selector,
    clarity_of,
    plan_rounds,
    starts_of,
)
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost

_SCORE = "size of the sum of products of columns and response, each scaled to [-1, 1]"
_WHAT = "n in mean product"
NOISE = {"exponential": _core.NoiseLaw.EXPONENTIAL, "gumbel": _core.NoiseLaw.GUMBEL}


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class DPSIS(Selector):
    """Options of DP-SIS (Swope et al., 2024), all public.

    Columns and response are mapped by their public bounds to [-1, 1] and clipped; a column is
    scored by the size of its inner product with the response, a term by the largest score of its
    columns.  Every column needs bounds, ``dp_select(bounds=...)`` or ``dp_lm(bounds=...)``; those
    of dummies follow from their levels.  Columns are centred at the middle of their bounds:
    scores are less accurate if the bounds are far from symmetric about the mean.

    Parameters
    ----------
    top_k : {"canonical", "peel"}
        The canonical Lipschitz mechanism, one draw; or k rounds of peeling, which also say
        which term came first.
    gamma : float, default 0.5
        In [0, 1); of the canonical mechanism.
    noise : {"exponential", "gumbel"}
        Of the canonical mechanism.
    share : float, default 0.05
        Share of eps that the selection gets inside ``dp_lm``.
    max_rows : int, default 1
        Maximum number of rows per unit, with ``unit=``; units with more rows are sampled.  Noise
        increases with it.

    Privacy
    -------
    guarantee : (eps, delta)-DP; (eps, 0)-DP unless delta buys less noise for many rounds
    neighbours : add or remove one unit
    public : all options, bounds, k, the terms and their columns; not the number of rows
    proof : sis.md

    References
    ----------
    Swope, Khanna, Doldo, Roy and Raff (2024), "Feature Selection from Differentially Private
    Correlations", Algorithm 1, with the corrections listed in
    cpp/src/mechanisms/canonical_lipschitz.md.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> sis = dpreg.DPSIS(top_k="peel")
    >>> limits = {"price": (0, 20_000), "carat": (0, 6), "depth": (40, 80)}
    >>> dpreg.dp_select("price ~ carat + depth", d, 1, 1.0, method=sis, bounds=limits).selected
    ('carat',)
    """

    name: ClassVar[str] = "sis"

    top_k: Literal["canonical", "peel"] = "canonical"
    gamma: float = Limit("in [0, 1)", lambda gamma: 0 <= gamma < 1).option(0.5)
    noise: Literal["exponential", "gumbel"] = "exponential"
    share: float = SHARE.option(0.05)
    max_rows: int = MAX_ROWS.option(1)

    def check(self, terms: Terms, k: int, epsilon: float, delta: float) -> None:
        Selector.check(self, terms, k, epsilon, delta)
        names, low = (*terms.names, terms.response), column_bounds(terms)[:, 0]
        without = [name for name, limit in zip(names, low, strict=True) if math.isnan(limit)]
        if without:
            such = write("bounds", {without[0]: (Blank("low"), Blank("high")), ...: ...})
            raise ArgumentError(
                "bounds",
                f"the 'sis' selection needs public bounds of {without[0]!r}",
                (*such, " with an entry for each column and the response"),
            )

    def cost(self, k: int, epsilon: float, delta: float) -> Cost:
        if self.top_k == "peel":
            return Selector.cost(self, k, epsilon, delta)
        return Cost.pure(epsilon).claimed(epsilon, delta)

    def select(self, design: Design, k: int, allowance: Allowance) -> Selection:
        rows = self.max_rows if design.by_unit else 1
        (low, high), starts = column_bounds(design.terms).T, tuple(starts_of(design.terms))
        products = ClippedProducts((low + high) / 2, (high - low) / 2, starts, rows)
        scores = sample_rows(design, self.max_rows, allowance.bits).total(products)
        d, bits = len(design.terms.candidates), allowance.bits
        if self.top_k == "peel":
            rounds = plan_rounds(allowance.epsilon, allowance.delta, k)
            chosen = peeled(scores, k=k, epsilon=k * rounds.epsilon, bits=bits)
            scale = scores.range / rounds.epsilon
            how = f"Gumbel, scale {scale:.4g}"
            clarity = clarity_of(_SCORE, scale, math.log(max(1, d - 1)), 1.0, _WHAT)
        else:
            rounds = Rounds(allowance.epsilon, "basic", 0.0)
            chosen = canonical(
                scores, k=k, epsilon=rounds.epsilon, gamma=self.gamma, noise=NOISE[self.noise],
                bits=bits,
            )  # fmt: skip
            rate = allowance.epsilon / scores.range
            scale = 1 / rate
            noise = f"canonical Lipschitz mechanism, {self.noise} noise"
            how = f"{noise}, {rate:.4g} for each unit of loss"
            clarity = self._clarity_of_sets(d, k, rate)
        label, spent = f"{k} terms by inner products", (allowance.epsilon, rounds.delta)
        part = Part(label, *spent, how, sensitivity=rows * SENSITIVITY, scale=scale)
        return Selection(
            chosen=tuple(chosen),
            ordered=self.top_k == "peel",
            parts=(part,),
            clarity=clarity,
            composition=rounds.composition,
        )

    def _clarity_of_sets(self, d: int, k: int, rate: float) -> Clarity:
        if self.gamma == 0:
            return Clarity(
                score=_SCORE,
                scale=1 / rate,
                margin=None,
                reading="with gamma = 0 no lead guarantees that the k-th term is selected.",
            )
        sets = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
        return clarity_of(
            _SCORE, 1 / (rate * self.gamma), sets, 1.0, _WHAT,
            "the k terms with the largest scores are returned with probability about 95% or "
            "more when each of them leads all others by",
        )  # fmt: skip
