"""A private proportional hazards model: ratios, baseline and curves are post-processing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, add
from dpreg.base.families import POISSON
from dpreg.base.keywords import hinted
from dpreg.base.later import Axes, pd
from dpreg.base.text import drawn
from dpreg.data.formula.surv import SurvFormula
from dpreg.data.periods import EXPOSURE, WHOLE, Periods
from dpreg.estimation.inference.law import check_alpha
from dpreg.estimation.inference.life_table import largest_error
from dpreg.results.contrasts import WaldTest
from dpreg.results.fit import DPResults
from dpreg.results.predict import term_columns
from dpreg.results.stacked import StackedResults
from dpreg.results.summary import Summary, summarize

_TITLE, _NAMES = "Proportional Hazards", tuple[str, ...]
# Larger cumulative hazards are certain events, and smaller ones none.
_FARTHEST = 700.0


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


@dataclass(frozen=True, eq=False, repr=False)
class DPSurvival(StackedResults):
    """A private proportional hazards model.  Holds released numbers; nothing here costs budget.

    Coefficients are logarithms of hazard ratios; those of ``interval[T.365]`` are of the hazard in
    the interval that ends at 365, compared with the first.  The intercept is the logarithm of the
    hazard per unit of time in the first interval, where covariates are 0 or at reference levels,
    in the first of the strata: the first row of `baseline_hazard`.

    Attributes
    ----------
    periods : FittedPeriods
        The intervals, which coefficients are of covariates, strata and time, and noisy numbers of
        events and of records at risk.
    columns : str
        The formula of the records.

    See Also
    --------
    dpreg.DPResults : its other attributes and methods, all of which are here too.

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> rng = np.random.default_rng(1)
    >>> d = {"days": rng.exponential(300, 50_000), "age": rng.random(50_000)}
    >>> d["died"] = np.ones(50_000)
    >>> fit = dpreg.dp_survival("Surv(days, died) ~ age", d, 1.0, cuts=[90, 180, 365])
    >>> "age" in fit.params
    True
    """

    periods: FittedPeriods = field(
        default_factory=lambda: FittedPeriods(edges=(0.0, 1.0), exits=(0.0,) * 3)
    )

    _saved = ("this is not a survival fit", "dpreg_survival", "periods")
    _template: ClassVar[Mapping[str, Any]] = {
        "edges": tuple[float, ...], **dict.fromkeys(("covariates", "strata", "varying"), _NAMES),
        "exits": tuple[float, ...],
    }  # fmt: skip

    @classmethod
    def of_hazards(
        cls, fit: DPResults, periods: Periods, exits: Doubles, surv: SurvFormula
    ) -> DPSurvival:
        """Return a fit of rows of persons and periods as what it is.

        Parameters
        ----------
        exits : ndarray
            See `FittedPeriods`.
        """
        own = {each.name: getattr(periods, each.name) for each in fields(Periods)}
        fitted = FittedPeriods(**own, exits=tuple(exits.ravel().tolist()))
        estimates = fitted.per_unit_of_time(fit.estimates, fit.covariance)
        # Its family is Poisson to whoever reads it, as its document says.
        poisson = replace(fit, family=POISSON, estimates=estimates)
        return cls.of(poisson, fitted, surv.columns)

    @property
    def events(self) -> float:
        """Private estimate of the number of events, at least 0."""
        return max(float(self.periods.table[:, :, 0].sum()), 0.0)

    @hinted("predict", **dict.fromkeys(("times", "type"), "write predict_survival(data)"))
    def predict(
        self,
        data: Any = None,
        *,
        winsorise: bool = True,
        interval: str | None = None,
        alpha: float = 0.05,
        which: str = "linear",
    ) -> pd.Series | pd.DataFrame:
        """Refuse: see `predict_survival` for curves, and `t_test` for hazard ratios."""
        problem = "a time to an event has no prediction that is one number"
        raise ArgumentError("predict", problem, "write predict_survival(data)")

    def marginal_effects(self, data: Any, *, alpha: float = 0.05) -> pd.DataFrame:
        """Refuse: hazard ratios are the effects."""
        problem = "effects of this model are hazard ratios"
        raise ArgumentError("marginal_effects", problem, "write conf_int(exp=True)")

    def ph_test(self) -> WaldTest:
        """Test that hazards are proportional: effects of `time_varying` terms do not change.

        Raises
        ------
        ArgumentError
            If the fit has no such terms, or one of their coefficients has no standard error.
        """
        if not self.periods.varying:
            problem = "needs terms whose effect may change with time"
            raise ArgumentError("time_varying", problem, add("time_varying", ["age"]))
        wanted = [float(name in self.periods.interactions) for name in self.names]
        return self.wald_test(np.diag(wanted)[np.array(wanted) > 0])

    @hinted("baseline_hazard")
    def baseline_hazard(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the hazard where covariates are 0, in the first of the strata.

        Returns
        -------
        DataFrame
            One row per interval: start, stop, hazard per unit of time with pointwise limits lower
            and upper, and cumulative, the cumulative hazard at its end.
        """
        return pd.DataFrame(self._baseline(alpha))

    def _baseline(self, alpha: float) -> dict[str, Doubles]:
        alpha = check_alpha(alpha)
        reference = np.zeros((1, len(self.periods.covariates) + len(self.periods.strata)))
        rows = self._rows(reference)[0]
        edges = np.array(self.periods.edges)
        log_hazard = rows @ self.estimates - np.log(np.diff(edges))
        margin = self.law.critical_value(alpha) * self._errors(rows)
        return {
            "start": edges[:-1],
            "stop": edges[1:],
            "hazard": np.exp(log_hazard),
            "lower": np.exp(log_hazard - margin),
            "upper": np.exp(log_hazard + margin),
            "cumulative": np.cumsum(np.exp(log_hazard) * np.diff(edges)),
        }

    @hinted("predict_survival")
    def predict_survival(
        self, data: Any, alpha: float = 0.05, *, simultaneous: bool = False, winsorise: bool = True
    ) -> pd.DataFrame:
        """Return survival curves of new persons at the cuts, given survival up to the first edge.

        Parameters
        ----------
        data : data frame, dict of arrays, or path of a Parquet file
            Covariates and strata of persons, constant over time.  They are not protected.
        alpha : float, default 0.05
        simultaneous : bool, default False
            Limits hold at all cuts of a person together; else pointwise, at each by itself.
        winsorise : bool, default True
            Clip covariates to `limits`, if there are any, to avoid extrapolation.

        Returns
        -------
        DataFrame
            One row per person and cut: row (that of the data), time, survival, and limits lower and
            upper, which include sampling error and privacy noise.  NaN where a person is
            incomplete, or a coefficient that is needed has no standard error.
        """
        found = self._new(data, winsorise=winsorise)
        curves = self._curves(found.X, alpha, simultaneous=simultaneous)
        names = ("survival", "lower", "upper")
        return found.several("time", self.periods.edges[1:], names, curves)

    def plot_survival(
        self, data: Any, ax: Axes | None = None, alpha: float = 0.05, *, simultaneous: bool = True
    ) -> Axes:
        """Plot the curves of `predict_survival` with bands; needs matplotlib."""
        return drawn("curves.plot_survival", self, data, ax, alpha, simultaneous)

    def summary(self, alpha: float = 0.05, *, exp: bool = False) -> Summary:
        """Return the table, printable as text, HTML and LaTeX; ``exp=True``: hazard ratios."""
        counts = {"Records": self.units, "Events": self.events}
        table = self.tidy(alpha, exp=exp)
        shown = summarize(self, table, alpha, exp=exp, model=_TITLE, counts=counts)
        shown = replace(shown, notes=(self.periods.reference(exp=exp), *shown.notes))
        if not self.periods.varying:
            return shown
        try:
            test = self.ph_test()
        except ArgumentError:
            found = "not estimable at this eps"
        else:
            found = f"chi2 = {test.statistic:.4g} on {test.df_num} df, p-value {test.pvalue:.4g}"
        return replace(shown, notes=(f"Test of proportional hazards: {found}.", *shown.notes))

    @classmethod
    def _model(cls, **parts: Any) -> tuple[FittedPeriods, tuple[str, ...]]:
        periods = FittedPeriods(**parts)
        if len(periods.edges) < 2 or any(a >= b for a, b in itertools.pairwise(periods.edges)):
            raise ValueError("periods.edges must be two or more increasing numbers")
        if not set(periods.varying) <= set(periods.covariates):
            raise ValueError("periods.varying are not among the covariates")
        cells = (1 + len(periods.strata)) * periods.count
        if len(periods.exits) not in (3 * cells, 5 * cells):
            raise ValueError("periods.exits must be 3 or 5 numbers for each stratum and interval")
        return periods, ("Intercept", *periods.names, EXPOSURE)

    @property
    def _of_records(self) -> tuple[str, ...]:
        return (*self.periods.covariates, *self.periods.strata)

    def _terms(self) -> dict[str, list[int]]:
        """Return the places of the coefficients of each term; those of the baseline are of none."""
        terms = term_columns(self.columns, self.schema, self.names)
        strata = {self.names.index(name) for name in self.periods.strata}
        return {term: places for term, places in terms.items() if not strata & set(places)}

    def _rows(self, X: Doubles) -> Doubles:
        """Return the rows of persons, shape (persons, K, c), each at risk in whole intervals."""
        count, size = self.periods.count, len(self.periods.covariates)
        every = np.repeat(X, count, axis=0)
        interval = np.tile(np.arange(count), len(X))
        columns = self.periods.columns(every[:, :size], every[:, size:], interval)
        rows = np.zeros((len(X), count, len(self.names)))
        rows[:, :, 0] = 1.0
        rows[:, :, 1 : 1 + columns.shape[1]] = columns.reshape(len(X), count, -1)
        rows[:, :, self.names.index(EXPOSURE)] = np.log(np.diff(self.periods.edges))
        return rows

    @np.errstate(over="ignore", invalid="ignore")
    def _curves(self, X: Doubles, alpha: float, *, simultaneous: bool = False) -> Doubles:
        """Return survival and its limits at the cuts, shape (persons, K, 3).

        Errors are those of the logarithm of the cumulative hazard, to first order.
        """
        alpha, parts = check_alpha(alpha), []
        for rows in self._rows(X):
            hazards = np.exp(np.clip(rows @ self.estimates, -_FARTHEST, _FARTHEST))
            cumulative = np.cumsum(hazards)
            gradient = np.cumsum(hazards[:, None] * rows, axis=0) / cumulative[:, None]
            errors = self._errors(gradient)
            far = self.law.critical_value(alpha)
            if simultaneous:
                assert self.covariance is not None
                known = gradient[~np.isnan(errors)]
                covariance = np.where(np.isnan(self.covariance), 0.0, self.covariance)
                far = largest_error(known @ covariance @ known.T, alpha)
            factor = np.exp(far * errors)
            ends = (cumulative, cumulative * factor, cumulative / factor)
            parts.append(np.exp(-np.column_stack(ends)))
        return np.array(parts).reshape(-1, self.periods.count, 3)
