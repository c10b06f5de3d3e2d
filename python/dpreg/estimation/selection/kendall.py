"""DPKendall: terms with large rank correlation with the response, and small with each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from dpreg import _core
from dpreg.base.keywords import hints
from dpreg.data.design import Design
from dpreg.data.sampling import MAX_ROWS, sample_rows
from dpreg.estimation.base import Allowance
from dpreg.estimation.releases.doors import kendall
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

_SCORE = (
    "Kendall correlation with the response, less its mean with the terms chosen before, times n / 2"
)
# Sensitivity of a score of the later rounds (cpp/src/stats/kendall.md, Lemma 3).
_LATER_SENSITIVITY = _core.KENDALL_SCORE_RANGE / 2
# Ranges of the first round and of the later ones.
_RANGES = {
    "tight": (_core.KENDALL_LABEL_RANGE, _core.KENDALL_SCORE_RANGE),
    "published": (2 * _core.KENDALL_SENSITIVITY, 4 * _core.KENDALL_SENSITIVITY),
}


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class DPKendall(Selector):
    """Options of DPKendall (Dick et al., 2023), all public.

    Each of k rounds draws a term by its Kendall correlation with the response minus its mean
    correlation with the terms chosen so far.  Only the order of values is used, so no bounds are
    needed and monotone transforms of a column change nothing.  The correlation of a term of several
    columns, such as a factor, is the largest of its columns.

    Parameters
    ----------
    share : float, default 0.05
        Share of eps that the selection gets inside ``dp_lm``.
    ranges : {"tight", "published"}
        Gumbel noise of scale 2.5 / eps_round in the first round and 5 / eps_round later, or
        3 and 6 as printed.  Both are private; the second is noisier.
    max_rows : int, default 1
        Maximum number of rows per unit, with ``unit=``; units with more rows are sampled.  Noise
        increases with it.

    Privacy
    -------
    guarantee : (eps, delta)-DP; (eps, 0)-DP unless delta buys less noise for many rounds
    neighbours : add or remove one unit
    public : all options, k, the terms and their columns; not the number of rows
    proof : kendall.md

    References
    ----------
    Dick, Gillenwater and Joseph (2023), "Better Private Linear Regression Through Better
    Private Feature Selection", Algorithm 1, with the corrections listed in
    cpp/src/mechanisms/dp_kendall.md.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> selector = dpreg.DPKendall(share=0.1)
    >>> found = dpreg.dp_select("price ~ carat + depth", d, 1, 1.0, method=selector)
    >>> found.k
    1
    """

    name: ClassVar[str] = "kendall"
    holds_rows: ClassVar[bool] = True
    uses_bounds: ClassVar[bool] = False

    share: float = SHARE.option(0.05)
    ranges: Literal["tight", "published"] = "tight"
    max_rows: int = MAX_ROWS.option(1)

    def select(self, design: Design, k: int, allowance: Allowance) -> Selection:
        rounds = plan_rounds(allowance.epsilon, allowance.delta, k)
        rows = self.max_rows if design.by_unit else 1
        first, later = (rows * length for length in _RANGES[self.ranges])
        design = sample_rows(design, self.max_rows, allowance.bits)
        chosen = kendall(
            design.arrays(),
            k=k,
            epsilon_round=rounds.epsilon,
            first_range=first,
            later_range=later,
            bits=allowance.bits,
            groups=starts_of(design.terms),
        )
        d, scale = len(design.terms.candidates), (later if k > 1 else first) / rounds.epsilon
        return Selection(
            chosen=tuple(chosen),
            ordered=True,
            parts=_parts(k, allowance.epsilon, rounds, (first, later), rows),
            clarity=clarity_of(
                _SCORE, scale, math.log(max(1, d - 1)), 2.0, "(n / 2) in correlation"
            ),
            composition=rounds.composition,
        )


def _parts(
    k: int, epsilon: float, rounds: Rounds, ranges: tuple[float, float], rows: int
) -> tuple[Part, ...]:
    """Describe the first round and the later ones; shares are by rounds, `rows` those of a unit."""

    def part(label: str, count: int, length: float, sensitivity: float) -> Part:
        scale = length / rounds.epsilon
        shares, how = (epsilon * count / k, rounds.delta * count / k), f"Gumbel, scale {scale:.4g}"
        return Part(label, *shares, how, sensitivity=rows * sensitivity, scale=scale)

    first = "first term by Kendall correlation", 1, ranges[0], _core.KENDALL_SENSITIVITY
    later = f"{k - 1} more, less their mean correlation with those before", k - 1, ranges[1]
    return (part(*first), *([part(*later, _LATER_SENSITIVITY)] if k > 1 else []))
