"""Two-stage and SubLasso: small Lasso fits vote for terms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from dpreg import _core
from dpreg.base.keywords import hints
from dpreg.base.options import Limit
from dpreg.base.text import counted
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import Allowance
from dpreg.estimation.blocks.model_rows import Partition, assigned, noisy_units
from dpreg.estimation.inference.clarity import Clarity
from dpreg.estimation.releases.doors import lasso_votes
from dpreg.estimation.selection.base import (
    SHARE,
    WINS,
    Selection,
    Selector,
    check_choice,
    check_k,
    starts_of,
)
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost

_MOST_MODELS = 2**20


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStage(Selector):
    """Options of the first stage of two-stage selection (Kifer et al., 2012), all public.

    About sqrt(n) models, each a Lasso fit on about sqrt(n) units, vote for the k terms with
    the largest coefficients, that of a term being the largest of its columns in standard
    deviations; k terms are peeled from the votes.

    A term gets at most one vote from each model, and the noise of each of k rounds has scale 2 k /
    eps.  If the eps of the selection is below about 2 k (log(d) + 3) / sqrt(n), no lead can exceed
    the noise, whatever the data, and a note says so.  More models do not help, because each then
    has fewer rows.  `DPKendall`, whose scores grow with n, still detects correlations of 10 k
    (log(d) + 3) / (n eps).

    Parameters
    ----------
    models : int, optional
        Number of fits.  Default: the root of the noisy number of units.
    penalty : float, default 0.1
        Penalty of the Lasso, for columns and response scaled to variance 1 within a batch.
    partition : {"slots", "independent"}
        Assignment of units to batches: a random injection into batches of equal size, or
        independently for each unit.
    count_share : float, default 0.1
        Share of the epsilon of the selection for the noisy number of units.
    share : float, default 0.05
        Share of eps that the selection gets inside ``dp_lm``.

    Privacy
    -------
    guarantee : (eps, 0)-DP
    neighbours : add or remove one unit
    public : all options, k, the terms and their columns; not the number of rows
    proof : two_stage.md

    References
    ----------
    Kifer, Smith and Thakurta (2012), "Private Convex Empirical Risk Minimization and
    High-dimensional Regression"; Swope et al. (2024), section 2.2.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> selector = dpreg.TwoStage(penalty=0.2)
    >>> found = dpreg.dp_select("price ~ carat + depth", d, 1, 1.0, 1e-6, method=selector)
    >>> found.k
    1
    """

    name: ClassVar[str] = "two_stage"
    holds_rows: ClassVar[bool] = True
    uses_bounds: ClassVar[bool] = False

    models: int | None = Limit(
        "between 1 and 2**20", lambda models: 1 <= models <= _MOST_MODELS
    ).option(None)
    penalty: float = Limit("finite and at least 0", lambda size: 0 <= size < math.inf).option(0.1)
    partition: Partition = "slots"
    count_share: float = SHARE.option(0.1)
    share: float = SHARE.option(0.05)

    def check(self, terms: Terms, k: int, epsilon: float, delta: float) -> None:
        check_k(k, len(terms.candidates))
        check_choice((1 - self.count_share) * epsilon / k)
        check_choice(self.count_share * epsilon)

    def _models(self, units: float, k: int, d: int) -> int:
        """Return the default number of fits."""
        return max(1, math.isqrt(int(units)))

    def cost(self, k: int, epsilon: float, delta: float) -> Cost:
        count = self.count_share * epsilon
        votes = Cost.choices((epsilon - count) / k, k, epsilon - count, 0.0)
        return (Cost.pure(count) + votes).claimed(epsilon, delta)

    def select(self, design: Design, k: int, allowance: Allowance) -> Selection:
        d = len(design.terms.candidates)
        epsilon_count = self.count_share * allowance.epsilon
        epsilon_votes = allowance.epsilon - epsilon_count
        units, count_part = noisy_units(design, epsilon_count, allowance.bits)
        count = self._models(units, k, design.columns) if self.models is None else self.models
        models = min(count, _MOST_MODELS)
        batch = max(1, math.ceil(units / models))
        chosen = lasso_votes(
            design.arrays(),
            assigned(design, models, batch, self.partition, allowance.bits),
            penalty=self.penalty,
            k=k,
            epsilon=epsilon_votes,
            bits=allowance.bits,
            groups=starts_of(design.terms),
        )
        scale = k * _core.VOTE_RANGE / epsilon_votes
        margin = Clarity.margin_of(scale, math.log(max(1, d - 1)))
        label, how = f"{k} terms by the votes of {models} Lasso fits", f"Gumbel, scale {scale:.4g}"
        moved = _core.VOTE_SENSITIVITY
        votes = Part(label, epsilon_votes, 0.0, how, sensitivity=moved, scale=scale)
        reading = f"{WINS} {margin:,.0f} votes of the {models:,} that it can have."
        return Selection(
            chosen=tuple(chosen),
            ordered=True,
            parts=(count_part, votes),
            clarity=Clarity("votes", scale, margin, reading),
            units=units,
            notes=tuple(_notes(models, batch, d, margin)),
        )


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class SubLasso(TwoStage):
    """Options of SubLasso (Dick et al., 2023, Algorithm 2), all public.

    As `TwoStage`, with as many models as there are batches of k, or of d, units.  Batches of a few
    units contain little information: with k below about 5 `TwoStage` or ``batch="d"`` is better.

    Parameters
    ----------
    batch : {"k", "d"}
        Models by the noisy number of units over k, or over d.
    models : int, optional
        Number of fits, instead.
    penalty, partition, count_share, share
        As for `TwoStage`.

    Privacy
    -------
    guarantee : (eps, 0)-DP
    neighbours : add or remove one unit
    public : all options, k, the terms and their columns; not the number of rows
    proof : two_stage.md

    References
    ----------
    Dick, Gillenwater and Joseph (2023), "Better Private Linear Regression Through Better
    Private Feature Selection", section 4.1.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> selector = dpreg.SubLasso(penalty=0.2)
    >>> found = dpreg.dp_select("price ~ carat + depth", d, 1, 1.0, 1e-6, method=selector)
    >>> found.k
    1
    """

    name: ClassVar[str] = "sub_lasso"

    batch: Literal["k", "d"] = "k"

    def _models(self, units: float, k: int, d: int) -> int:
        return max(1, int(units) // (k if self.batch == "k" else d))


def _notes(models: int, batch: int, d: int, margin: float) -> Iterator[str]:
    """Return notes on the fits that voted, and on too few units or inconclusive votes."""
    yield f"{counted(models, 'model')} of up to {counted(batch, 'unit')} each voted"
    if batch <= d:
        yield (
            f"a fit to so few units contains little information on {counted(d, 'candidate')}; use "
            "'kendall' or fewer models"
        )
    if margin > models:
        yield (
            f"even a term with the votes of all {models:,} models is selected by chance only, "
            f"because noise requires a lead of {margin:,.0f} votes; use 'kendall', a smaller k or "
            "a larger eps"
        )
