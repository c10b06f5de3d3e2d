"""`dp_glm`: logistic, Poisson, gamma, negative binomial and quantile regression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dpreg.base.families import Family
from dpreg.base.keywords import hinted
from dpreg.base.levels import Level
from dpreg.calls.fit import fit
from dpreg.calls.request import Request
from dpreg.calls.session import Payer
from dpreg.calls.starts import Origin
from dpreg.data.bounds import Bounds
from dpreg.estimation.base import Method
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased

if TYPE_CHECKING:
    from dpreg import _core
    from dpreg.estimation.selection.base import Selector


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
    start: Origin | None = None,
    rng: int | _core.BitSource | None = None,
) -> DPResults | NotReleased:
    """Fit a generalized linear model or a quantile regression with differential privacy.

    The score equations are solved iteratively from noisy sums of clipped scores.  No bounds on
    the data are needed.

    Parameters
    ----------
    formula : str
        Wilkinson formula, ``"default ~ income + region"``.  Terms work row by row.
        ``offset(log(years))`` is a term whose coefficient is 1.
    data : data frame, dict of arrays, or path of a Parquet file
        Private.  As for `dp_lm`.
    eps : float
        Privacy parameter epsilon, greater than 0; smaller is more private.
    delta : float, optional
        Privacy parameter delta, as for `dp_lm`.
    family : str or Family, default "binomial"
        ``"binomial"``: a response in [0, 1]; other values are clipped to that range.  Link logit,
        probit or complementary log-log.  ``"poisson"``: counts or other nonnegative responses, link
        log.
        ``"gamma"``: positive responses whose standard deviation is proportional to the mean, link
        log.  ``"negativebinomial"``: counts with variance mean + alpha mean^2, link log; alpha is
        estimated by moments for 5% of the squared mu, or that of ``dpreg.NegativeBinomial(0.5)``.
        ``"quantile"`` or ``dpreg.Quantile(0.9)``: the median or another quantile of the response.
        ``"gaussian"``: as `dp_lm`.
    link : {"logit", "probit", "cloglog"}, optional
        For ``"binomial"``; the other families have one link each.
    method : str or options object, default "auto"
        For families other than ``"gaussian"``: ``"auto"`` or ``"boosted_adassp"`` (a
        `BoostedAdaSSP`); for ``"binomial"`` and ``"poisson"`` also ``"tukey"`` (a `TukeyEM`), the
        Tukey median of Firth fits to many parts of the data.
    select, k, split, levels, bounds, unit, max_rows, weights, weight_limit, budget, inference
        As for `dp_lm`.
    fit_stats, diagnostics, memory, start, rng
        As for `dp_lm`; `start` is for ``family="gaussian"``.

    Returns
    -------
    DPResults or NotReleased

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : estimation/methods/boosted_adassp.md; with a selection, estimation/selection/stage.md

    Notes
    -----
    The estimand is that of maximum likelihood with influential rows and scores clipped;
    `DPResults.estimand` has the thresholds and the largest effect of clipping.  Scores of probit
    and complementary log-log models are unbounded, so these use unweighted score equations
    (residual times row), as the logit does: they are consistent, with a small loss of efficiency.
    Standard errors are sandwich estimates plus the privacy noise, and so are valid for
    overdispersed counts.  For separated data the coefficients are finite, because each step is
    bounded; without inference they are shrunk.

    With rows of persons and periods, ``link="cloglog"`` is the grouped proportional hazards model
    (Prentice and Gloeckler, 1978): its exponentials are hazard ratios.

    Examples
    --------
    >>> import dpreg
    >>> fit = dpreg.dp_glm("I(price > 5000) ~ carat", dpreg.load_diamonds(), eps=1.0)
    >>> fit.params.index.tolist()
    ['Intercept', 'carat']
    """
    return fit(Request.of("dp_glm", locals()), data)
