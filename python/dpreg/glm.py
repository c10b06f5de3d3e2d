"""`dp_glm`: logistic, Poisson and quantile regression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dpreg.data.bounds import Bounds
from dpreg.data.schema import Level
from dpreg.families import Family, family_from, with_link
from dpreg.keywords import hinted
from dpreg.methods.base import Method
from dpreg.pipeline import fit
from dpreg.privacy.payment import Payer
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.sums.residuals import Extras

if TYPE_CHECKING:
    from dpreg import _core
    from dpreg.selection.base import Selector

__all__ = ["dp_glm"]


@hinted("dp_glm")
def dp_glm(
    formula: str,
    data: Any,
    eps: float,
    delta: float | None = None,
    *,
    family: str | Family = "binomial",
    link: str | None = None,
    method: str | Method = "auto",
    select: str | Selector | None = None,
    k: int | None = None,
    split: float | None = None,
    levels: Mapping[str, Iterable[Level]] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    weights: str | None = None,
    weight_limit: float | None = None,
    budget: Payer | None = None,
    inference: bool = True,
    fit_stats: bool = False,
    diagnostics: bool = False,
    memory: float | None = None,
    rng: int | _core.BitSource | None = None,
) -> DPResults | NotReleased:
    """Fit a generalized linear model or a quantile regression with differential privacy.

    Scores, residuals times rows, are added up with noise, round after round, until their
    sum is 0 but for the noise.  No bounds are needed.

    Parameters
    ----------
    formula : str
        Wilkinson formula, ``"default ~ income + region"``.  Terms work row by row.
        ``offset(log(years))`` is a term whose coefficient is 1.
    data : data frame, dict of arrays, or path of a Parquet file
        Private.  As for `dp_lm`.
    eps : float
        Privacy loss in nats, greater than 0.
    delta : float, optional
        Failure probability, as for `dp_lm`.
    family : {"binomial", "poisson", "gaussian", "quantile"} or Family, default "binomial"
        ``"binomial"``: a response of 0 and 1, or of shares between them; others are clipped to
        that range.  Link logit, or probit.  ``"poisson"``: counts, or anything not negative.  Link
        log.
        ``"quantile"``, or ``dpreg.Quantile(0.9)``: the median, or another quantile of the response.
        ``"gaussian"``: `dp_lm`.
    link : {"logit", "probit"}, optional
        Of ``"binomial"``; the other families have one link each.
    method : str or options object, default "auto"
        ``"auto"`` and ``"boosted_adassp"``, or a `BoostedAdaSSP`, are the methods for families
        other than ``"gaussian"``; and ``"tukey"``, or a `TukeyEM`, for ``"binomial"`` and
        ``"poisson"``, the middle of Firth fits to many parts.
    select, k, split, levels, bounds, unit, max_rows, weights, weight_limit, budget, inference
        As for `dp_lm`.
    fit_stats, diagnostics, memory, rng
        As for `dp_lm`.

    Returns
    -------
    DPResults or NotReleased

    Raises
    ------
    ValueError
        For wrong use, before a record is read; never depending on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : methods/boosted_adassp.md; with a selection, selection/stage.md

    Notes
    -----
    Estimated is what maximum likelihood estimates, but for a few long rows and scores that count
    less; a note of the result says how long.  The score of a probit has no bound, so the equations
    are those of residuals times rows there too, as of a logit: right for the same model, and
    hardly less precise.  Standard errors are those of a sandwich, so they hold
    for overdispersed counts too, with the privacy noise added.  Where the data are separated,
    or nearly, coefficients are finite: noise keeps them from growing, and they are shrunk.

    Examples
    --------
    >>> import dpreg
    >>> fit = dpreg.dp_glm("I(price > 5000) ~ carat", dpreg.load_diamonds(), eps=1.0)
    >>> fit.params.index.tolist()
    ['Intercept', 'carat']
    """
    return fit(
        "dp_glm",
        with_link(family_from(family), link),
        formula,
        data,
        eps,
        delta,
        method=method,
        select=select,
        k=k,
        split=split,
        levels=levels,
        bounds=bounds,
        unit=unit,
        max_rows=max_rows,
        weights=weights,
        weight_limit=weight_limit,
        budget=budget,
        inference=inference,
        extras=Extras(fit_stats, diagnostics),
        memory=memory,
        rng=rng,
    )
