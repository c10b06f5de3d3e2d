"""`dp_lm` and `dp_glm`: linear, logistic, Poisson, gamma and quantile regression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dpreg.base.families import Family
from dpreg.base.keywords import hinted
from dpreg.base.levels import Level
from dpreg.calls.fit import fit
from dpreg.calls.request import Request
from dpreg.calls.session import Payer
from dpreg.calls.starts import Origin
from dpreg.data.bounds import Bounds
from dpreg.estimation.base import Method
from dpreg.estimation.selection.base import Selector
from dpreg.privacy.bits import Rng
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased


@hinted("dp_lm")
def dp_lm(
    formula: str,
    data: Any,
    eps: float,
    delta: float | None = None,
    *,
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
    rng: Rng | None = None,
) -> DPResults | NotReleased:
    """Fit a linear regression with differential privacy.

    Parameters
    ----------
    formula : str
        Wilkinson formula, ``"price ~ carat + cut"``.  The value of a term in one row may depend on
        that row only.  ``"y ~ x | person"`` with ``unit="person"`` has a fixed effect of each
        person: all columns are demeaned by person, and neither the effects nor the intercept is
        released.  ``"y ~ x | person + period"`` also has an effect of each period but the first,
        whose levels must be declared.  ``offset(t)`` is a term with coefficient 1: it is subtracted
        from the response, and bounds of the response apply to the difference.
    data : data frame, dict of arrays, path, dataset, stream or query
        Private.  A data frame of pandas, polars or pyarrow; Parquet files, by path, folder,
        pattern or list; polars LazyFrames, pyarrow datasets and record batch readers, DuckDB
        relations and ibis tables, which are read once, in batches, and only the columns of the
        formula; Dask and Spark DataFrames, whose workers sum their own partitions.  A Python list
        in a dict has no declared type and is read as numbers.
    eps : float
        Privacy parameter epsilon, greater than 0; smaller is more private.
    delta : float, optional
        Privacy parameter delta, in (0, 1); it should be below 1 / (number of rows).  Default: 1e-5,
        or with a `budget` the same fraction of its delta as `eps` is of its eps.
    method : str or options object, default "auto"
        ``"auto"``, ``"boosted_adassp"``, ``"adassp"``, ``"tukey"``, ``"dpsgd"``,
        ``"frank_wolfe"``, or an object with options: `Auto`, `BoostedAdaSSP`, `AdaSSP`,
        `TukeyEM`, `DPSGD` or `FrankWolfe`, such as ``dpreg.TukeyEM(models=1000)``.
    select : str or options object, optional
        Select `k` terms privately before the fit, with a share of eps (5% by default):
        ``"kendall"``, ``"two_stage"``, ``"sub_lasso"``, ``"sis"``, or an object with options:
        `DPKendall`, `TwoStage`, `SubLasso` or `DPSIS`, such as ``dpreg.DPKendall(share=0.1)``.
        The dummies of a factor are kept or dropped together; the intercept is always kept.
    k : int, optional
        Number of terms that `select` keeps; 5 is a good first choice.
    split : float, optional
        Probability that a unit is used for selection instead of estimation.  Intervals are then
        valid despite the selection, and both stages have all of eps, with fewer units each.
    levels : dict, optional
        ``{column: levels}`` for categorical columns whose type does not declare them; any list,
        array or index.  Levels of a numeric column are numbers.  A misspelled level looks like a
        rare one: if the number of observations is much too small, compare spelling, case and
        blanks with the data.
    bounds : dict, optional
        ``{column: (low, high)}``: public limits of columns of the design (``"carat"``, or
        ``"log(carat)"`` if that is the term), of all columns of a term, or of the response.  Values
        beyond them are clipped, and the coefficients are those of clipped values.  Bounds must be
        known without the data; wide ones cost little.  In a study of two or three hundred rows they
        replace an estimate of the scale of a column, on which no budget is spent, and should be
        tight.  Terms ``poly(x, 2)``, ``ns(x, 3)`` and ``bs(x, df=5)`` need the bounds of ``x``:
        polynomials are orthogonal on them, knots divide them into equal parts.
        ``"boosted_adassp"``, ``"adassp"``, ``"dpsgd"`` and ``"frank_wolfe"`` use bounds, therefore
        ``"auto"`` too; ``select="sis"`` needs those of all columns.
    unit : str, optional
        Column that names the protected unit, such as a person with several rows.  It is not a
        regressor, and ``.`` leaves it out.  Default: one row is one unit.
    max_rows : int, optional
        Maximum number of rows used per unit, 1 by default; units with more rows are sampled, and
        noise increases with it.  For methods and selectors that have this option.
    weights : str, optional
        Column of row weights, such as inverse variances or survey weights.  Its values are
        private; ``.`` leaves it out.  Rows with a weight of 0 or less are dropped.  For
        ``"boosted_adassp"`` and ``"adassp"``, and so for ``"auto"``.
    weight_limit : float, optional
        Public.  Larger weights are clipped at this value.  Default: four times an upper quantile of
        the weights, estimated privately.  It does not affect privacy, because weighted rows are
        clipped again.
    budget : Budget or StratumBudget, optional
        Charged before a record is read; a call that exceeds it is refused.  With one stratum of
        `Budget.partition`, only the rows of that stratum are used.
    inference : bool, default True
        Also release standard errors and intervals.
    fit_stats : bool, default False
        Also release R squared and the residual scale, with standard errors, for 5% of the squared
        mu of the fit; see `DPResults.fit_stats`.  `predict` then has prediction intervals.
    diagnostics : bool, default False
        Also release numbers of rows by fitted mean and residual, for 10% of the squared mu; see
        `DPResults.plot_residuals`, `DPResults.plot_qq` and, for a binomial family,
        `DPResults.plot_calibration`.
    memory : float, optional
        Bytes of memory for rows; further rows go to temporary files, with the same result.
        Default: a quarter of the machine's memory.  Not supported where all rows must be in
        memory: ``"frank_wolfe"``, and every `select` except ``"sis"``.
    start : DPResults, DPMoments or Start, optional
        An earlier release of the same formula, columns and levels: last month's fit or that of a
        pilot, `DPMoments` that have all columns, or what `public_start` makes of public data.
        Scales, second moments and starting values are taken from it at no cost, so that intervals
        are nearly as narrow as possible at this eps.  The data may be different: 5% of the budget
        (10% in small tables) is spent on a check of second moments and residuals, and where they
        have changed, the fit estimates them anew and says so in a note.  If columns have become
        collinear since, this is detected in about nine of ten fits; in the others their slopes are
        those of the start, with standard errors that are too small.  A start must be released or
        public: numbers computed from private records without noise would break the privacy of this
        fit.  For ``"boosted_adassp"`` with inference, and so for ``"auto"``.
    rng : int or bit source, optional
        Source of the noise.  Default: the entropy of the operating system, with a new key for each
        call.  An integer is a seed: the result is reproducible and **not private**, and is labelled
        so; use seeds for tests and examples only.  With a seed an error after the charge is shown
        in full; without a seed its message is withheld.

    Returns
    -------
    DPResults or NotReleased
        `NotReleased` if the mechanism declined.

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : that of the method in estimation/methods and of the selector in
        estimation/selection;
        combined by basic composition, where selection spends eps only (stage.md)

    Examples
    --------
    >>> import dpreg
    >>> fit = dpreg.dp_lm("price ~ carat", dpreg.load_diamonds(), eps=1.0)
    >>> fit.params.index.tolist()
    ['Intercept', 'carat']
    """
    return fit(Request.of("dp_lm", locals()), data)


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
    rng: Rng | None = None,
) -> DPResults | NotReleased:
    """Fit a generalized linear model or a quantile regression with differential privacy.

    The score equations are solved iteratively from noisy sums of clipped scores.  No bounds on
    the data are needed.

    Parameters
    ----------
    formula : str
        Wilkinson formula, ``"default ~ income + region"``, with terms as in `dp_lm`.
        ``offset(log(years))`` is a term whose coefficient is 1.
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
    data, eps, delta, select, k, split, levels, bounds, unit, max_rows, weights, weight_limit
        As for `dp_lm`.
    budget, inference, fit_stats, diagnostics, memory, start, rng
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
    `DPResults.estimand` has the thresholds and the estimated effect of clipping.  Scores of probit
    and complementary log-log models are unbounded, so these use unweighted score equations
    (residual times row), as the logit does: they are consistent, with a small loss of efficiency.
    Standard errors are sandwich estimates plus the privacy noise, so they are valid for
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
