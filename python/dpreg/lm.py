"""`dp_lm`: linear regression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dpreg.data.bounds import Bounds
from dpreg.data.schema import Level
from dpreg.families import GAUSSIAN
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

__all__ = ["dp_lm"]


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
    rng: int | _core.BitSource | None = None,
) -> DPResults | NotReleased:
    """Fit a linear regression with differential privacy.

    Parameters
    ----------
    formula : str
        Wilkinson formula, ``"price ~ carat + cut"``.  Terms work row by row.  With
        ``unit="person"``, ``"y ~ x | person"`` has an effect of each person: their means are
        taken off all columns, and effects and intercept are not released.
        ``"y ~ x | person + period"`` also has one of each period but the first; its levels must
        be declared.  ``offset(t)`` is a term whose coefficient is 1: it is taken off the response,
        to which bounds then apply.
    data : data frame, dict of arrays, path, dataset, stream or query
        Private.  pandas, polars, pyarrow and whatever else narwhals reads; Parquet files, by path,
        folder, pattern or list; polars LazyFrames, pyarrow datasets and record batch readers,
        DuckDB relations, ibis tables: read once, in batches, only the columns of the formula.
        Dask and Spark DataFrames, whose partitions add up their own rows.  A Python list in a
        dict declares no type, so it is read as numbers, and a note says so.
    eps : float
        Privacy loss in nats, greater than 0.
    delta : float, optional
        Failure probability, in (0, 1) as every method needs one; below 1 / (number of rows).
        Default: 1e-5, or with a `budget` the share of its delta that `eps` is of its eps.
    method : str or options object, default "auto"
        ``"auto"``, ``"boosted_adassp"``, ``"adassp"``, ``"tukey"``, ``"dpsgd"``,
        ``"frank_wolfe"``, or an object with options: `Auto`, `BoostedAdaSSP`, `AdaSSP`,
        `TukeyEM`, `DPSGD` or `FrankWolfe`, such as ``dpreg.TukeyEM(models=1000)``.
    select : str or options object, optional
        Choose `k` terms privately first, with a share of eps (5% by default, of the options
        object): ``"kendall"``, ``"two_stage"``, ``"sub_lasso"``, ``"sis"``, or an object with
        options: `DPKendall`, `TwoStage`, `SubLasso` or `DPSIS`, such as
        ``dpreg.DPKendall(share=0.1)``.  A factor is kept or left with all its dummies; the
        intercept is no candidate and always kept.
    k : int, optional
        How many terms `select` keeps; 5 is a good first choice.
    split : float, optional
        Chance of a unit to be used for `select` and not for the fit: then intervals are honest,
        not conditional on the choice, and both stages have all of eps, on fewer units.
    levels : dict, optional
        ``{column: levels}`` for categorical columns whose type does not declare them, in any
        list, array or index; of a column of numbers, numbers.  Levels that no cell has are not
        told from levels that few have: when the number of observations comes out far too small,
        compare their spelling, case and blanks with the data.
    bounds : dict, optional
        ``{column: (low, high)}``: public limits of columns of the design (``"carat"``, as
        ``"log(carat)"`` where that is the term), of all columns of a term, or of the response.
        Values beyond them are clipped.  Columns with bounds cost nothing: the privacy spent on
        finding where values lie goes to the others.  Limits must be known without the data, and
        generous ones cost little.  Of use to ``"boosted_adassp"``, ``"adassp"``, ``"dpsgd"``,
        ``"frank_wolfe"``, so to ``"auto"`` too, and to ``select="sis"``, which needs all of them.
    unit : str, optional
        Column that names the protected unit, such as a person with several rows.  It is no
        regressor, and ``.`` leaves it out.  Default: one row is one unit.
    max_rows : int, optional
        Rows that a unit may give, 1 by default; of units with more, that many are drawn, and noise
        grows with it.  For methods that add up rows and selections with an option of that name.
    weights : str, optional
        Column of weights of rows, as of inverse variances or of a survey: each adds to the
        sums that are released as often as it says.  Its cells
        are private; ``.`` leaves it out.  Rows whose weight is not above 0 are incomplete.  For
        ``"boosted_adassp"`` and ``"adassp"``, so for ``"auto"`` too.
    weight_limit : float, optional
        Public: larger weights count as this.  Default: found privately, four times what nearly all
        are below.  No limit widens what a row may add: rows are shortened after they are weighed.
    budget : Budget or StratumBudget, optional
        Charged before a record is read; refuses when it cannot cover the call.  With one of the
        strata of `Budget.partition` the call uses the rows of that stratum and no others.
    inference : bool, default True
        Also release what standard errors and intervals need.
    fit_stats : bool, default False
        Also release R squared and the residual scale, with errors, for 5% of the squared mu of the
        fit; see `DPResults.fit_stats`.  `predict` then has intervals for new observations.
    diagnostics : bool, default False
        Also release numbers of rows by fitted mean and residual, for 10% of the squared mu; see
        `DPResults.plot_residuals`, `DPResults.plot_qq` and, of a binomial family,
        `DPResults.plot_calibration`.
    memory : float, optional
        Bytes that rows may take before others go to temporary files; the result is the same.
        Default: a quarter of the machine's.  Refused where all rows have to be in memory:
        ``"frank_wolfe"``, and every `select` but ``"sis"``.
    rng : int or bit source, optional
        Where the noise comes from.  Default: the entropy of the operating system, with a fresh
        key for each call.  An integer, the seed, makes the result reproducible and **not
        private**, as every form of it then says; use it for tests and examples only.  What fails
        after the charge is shown whole then; without a seed that it failed, and not how.

    Returns
    -------
    DPResults or NotReleased
        The second when the mechanism itself declined.

    Raises
    ------
    ValueError
        For wrong use, before a record is read; never depending on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : the files of the method, in dpreg/methods, and of the selection, in dpreg/selection;
        together by basic composition, the selection spending eps only (selection/stage.md)

    Examples
    --------
    >>> import dpreg
    >>> fit = dpreg.dp_lm("price ~ carat", dpreg.load_diamonds(), eps=1.0)
    >>> fit.params.index.tolist()
    ['Intercept', 'carat']
    """
    return fit(
        "dp_lm",
        GAUSSIAN,
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
