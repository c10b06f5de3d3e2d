"""What a private life table released, and the curves, tests and means that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.errors import ArgumentError, unusable
from dpreg.base.keywords import hinted
from dpreg.base.later import Axes, pd
from dpreg.base.options import is_number, is_whole
from dpreg.base.text import drawn
from dpreg.estimation.inference.law import check_alpha
from dpreg.estimation.inference.life_table import (
    LifeTable,
    area,
    crossing,
    event_cuts,
    life_table,
    log_rank,
)
from dpreg.estimation.inference.noisy_tests import concordance
from dpreg.privacy.certificate import Certificate
from dpreg.results.curve_summary import Concordance, LogRank, curve_summary, lines_below
from dpreg.results.document import Saved
from dpreg.results.summary import Summary, said_below

Columns = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DPCurve(Saved):
    """Survival curves by group, from one noisy table.  Holds released numbers only.

    What its methods return costs nothing more.

    Attributes
    ----------
    formula : str
    groups : tuple of str
        ``"all"`` if there is one.
    edges : ndarray, shape (K + 1,)
        Ends of the intervals, the first being where curves begin.
    exits : ndarray of int, shape (groups, K, 3)
        Noisy numbers of events, of persons censored inside the interval, and at its end.
    entries : ndarray of int, shape (groups, K, 2), or None
        Noisy numbers of persons that came under observation at the beginning of the interval, and
        inside it.
    variances : tuple of float
        Of the noise of each number, of exits and of entries.
    privacy : Certificate
    notes : tuple of str

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> d = {"days": np.random.default_rng(1).exponential(300, 5000), "died": np.ones(5000)}
    >>> curve = dpreg.dp_curve("Surv(days, died) ~ 1", d, eps=1.0, cuts=[90, 180, 365, 730])
    >>> curve.edges.tolist()
    [0.0, 90.0, 180.0, 365.0, 730.0]
    """

    _document = ("this is not a curve", "dpreg_curve", 1)

    formula: str
    groups: tuple[str, ...]
    edges: Doubles
    exits: Integers
    entries: Integers | None
    variances: tuple[float, float]
    privacy: Certificate
    notes: tuple[str, ...] = ()

    @property
    def nobs(self) -> float:
        """Private estimate of the number of rows that were at risk at some time."""
        return float(self.exits.sum())

    @hinted("tidy")
    def tidy(self, alpha: float = 0.05, *, simultaneous: bool = False) -> pd.DataFrame:
        """Return the curves as a table, one row per group and interval.

        Parameters
        ----------
        alpha : float, default 0.05
        simultaneous : bool, default False
            False: limits hold with probability 1 - `alpha` at each time by itself.  True: at all
            times of a group together.

        Returns
        -------
        DataFrame
            Columns group, time (the end of the interval), at_risk (at its beginning), events,
            censored (with noise), survival, std err, lower and upper; the limits include sampling
            error and privacy noise.  Where too few are at risk, survival is NaN, lower is 0, and
            upper is the one before.
        """
        return pd.DataFrame(self._columns(alpha, simultaneous=simultaneous))

    def _columns(self, alpha: float = 0.05, *, simultaneous: bool = False) -> Columns:
        """Return the columns of `tidy`."""
        alpha = check_alpha(alpha)
        tables = self._tables()
        limits = [table.limits(alpha, simultaneous=simultaneous) for table in tables]
        listed = {
            "at_risk": [table.at_risk for table in tables],
            "events": [table.events for table in tables],
            "censored": [table.censored for table in tables],
            "survival": [table.survival for table in tables],
            "std err": [table.standard_errors for table in tables],
            "lower": [lower for lower, _ in limits],
            "upper": [upper for _, upper in limits],
        }
        size = len(self.edges) - 1
        return {
            "group": [label for label in self.groups for _ in range(size)],
            "time": np.tile(self.edges[1:], len(self.groups)),
            **{name: np.concatenate(parts) for name, parts in listed.items()},
        }

    @hinted("logrank")
    def logrank(self) -> LogRank:
        """Test that the groups have the same hazard in every interval.

        Raises
        ------
        ArgumentError
            If there is one group only.
        """
        if len(self.groups) < 2:
            raise ArgumentError("formula", "has one group, and the log-rank test compares groups")
        statistic, df = log_rank(self.exits, self.entries, self.variances)
        return LogRank(statistic, df, float(special.chdtrc(df, statistic)))

    @hinted("rmst")
    def rmst(self, time: float | None = None, alpha: float = 0.05) -> pd.DataFrame:
        """Return the restricted mean survival time: the area under the curve up to `time`.

        Parameters
        ----------
        time : float, optional
            After the first edge, and at most the last; default: the last.
        alpha : float, default 0.05

        Returns
        -------
        DataFrame
            One row per group: rmst, std err, lower and upper; NaN where the curve is not estimable
            up to `time`.  The hazard is assumed to be constant within an interval.  Groups are
            independent, so variances of differences add up.
        """
        return pd.DataFrame(self._means(time, alpha)).set_index("group")

    def _means(self, time: float | None = None, alpha: float = 0.05) -> Columns:
        """Return the columns of `rmst`."""
        alpha = check_alpha(alpha)
        first, last = float(self.edges[0]), float(self.edges[-1])
        until = last if time is None else _number("time", time)
        if not first < until <= last:
            raise unusable("time", f"above {first:g} and at most {last:g}, the last cut", time)
        mean, error = np.array([area(table, self.edges, until) for table in self._tables()]).T
        margin = stats.norm.isf(alpha / 2) * error
        return {
            "group": list(self.groups),
            "rmst": mean,
            "std err": error,
            "lower": np.maximum(mean - margin, 0.0),
            "upper": np.minimum(mean + margin, until - first),
        }

    @hinted("quantile")
    def quantile(self, q: float = 0.5, alpha: float = 0.05) -> pd.DataFrame:
        """Return the time by which a share `q` has had the event; 0.5: the median.

        Returns
        -------
        DataFrame
            One row per group: time, lower and upper, where the curve and its pointwise limits cross
            1 - `q`; NaN where they do not.
        """
        return pd.DataFrame(self._quantiles(q, alpha)).set_index("group")

    def _quantiles(self, q: float = 0.5, alpha: float = 0.05) -> Columns:
        """Return the columns of `quantile`."""
        alpha = check_alpha(alpha)
        if not 0 < _number("q", q) < 1:
            raise unusable("q", "a number in (0, 1)", q)
        curves = [(table.survival, *table.limits(alpha)) for table in self._tables()]
        found = np.array([[crossing(self.edges, s, 1 - q) for s in of] for of in curves])
        # The lower limit of survival is crossed first.
        names = ("time", "lower", "upper")
        return {"group": list(self.groups), **dict(zip(names, found.T, strict=True))}

    @hinted("concordance")
    def concordance(self, alpha: float = 0.05) -> Concordance:
        """Return Harrell's concordance of the groups, which are in order of increasing risk.

        If the groups are classes of the risk that a model predicts, this is the concordance of the
        model: see the guide.  A pair whose events are in the same interval is not counted, and a
        pair in the same group counts half.

        Raises
        ------
        ArgumentError
            If there is one group only, or delayed entry.
        """
        if len(self.groups) < 2 or self.entries is not None:
            why = "has one group" if self.entries is None else "has delayed entry"
            raise ArgumentError("formula", f"{why}; concordance is that of groups from the start")
        margin = float(stats.norm.isf(check_alpha(alpha) / 2))
        found, error = concordance(self.exits, self.variances[0])
        return Concordance(
            found, error, max(found - margin * error, 0.0), min(found + margin * error, 1.0)
        )

    @hinted("event_cuts")
    def event_cuts(self, count: int) -> list[float]:
        """Return cuts for `dp_survival` that divide the events about evenly.

        They are computed from the noisy table at no further cost, and are among its cuts.

        Parameters
        ----------
        count : int
            Number of cuts; fewer are returned if one interval of the table has too large a share of
            the events.

        Returns
        -------
        list of float
            The last is the last cut of the table.

        Examples
        --------
        >>> import numpy as np, dpreg
        >>> d = {"days": np.random.default_rng(1).exponential(90, 9000), "died": np.ones(9000)}
        >>> budget = dpreg.Budget(1.0, 1e-6)
        >>> curve = dpreg.dp_curve("Surv(days, died) ~ 1", d, eps=0.1, cuts=range(10, 370, 10),
        ...                        budget=budget, rng=1)
        >>> curve.event_cuts(4)
        [30.0, 70.0, 130.0, 360.0]
        >>> fit = dpreg.dp_survival("Surv(days, died) ~ 1", d, 0.9, 1e-6, budget=budget,
        ...                         cuts=curve.event_cuts(4))
        """
        if not is_whole(count) or count < 1:
            raise unusable("count", "an integer of at least 1, such as 6", count)
        return [float(cut) for cut in event_cuts(self.exits, self.edges, int(count))]

    def plot(
        self, ax: Axes | None = None, alpha: float = 0.05, *, simultaneous: bool = True
    ) -> Axes:
        """Draw the curves with bands, and numbers at risk as released; needs matplotlib."""
        return drawn("curves.plot_curve", self, ax, alpha, simultaneous)

    def summary(self, alpha: float = 0.05, *, simultaneous: bool = False) -> Summary:
        """Return the curves, means and the test, printable as text, HTML and LaTeX."""
        limits = "simultaneous" if simultaneous else "pointwise"
        first, *means = lines_below(self.rmst(alpha=alpha), self.edges[-1], alpha, limits)
        tests = [str(self.logrank())] if len(self.groups) > 1 else []
        lines = (first, *tests, *means, *said_below(self.privacy, self.notes))
        return curve_summary(self.tidy(alpha, simultaneous=simultaneous), lines, alpha)

    def _tables(self) -> list[LifeTable]:
        entries = [None] * len(self.groups) if self.entries is None else self.entries
        return [life_table(e, n, self.variances) for e, n in zip(self.exits, entries, strict=True)]

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        edges, size = data["edges"], (len(data["groups"]), len(data["edges"]) - 1)
        if size[0] < 1 or size[1] < 1 or not (np.diff(edges) > 0).all():
            raise ValueError("edges: these must rise, and there must be a group")
        for name, kinds in (("exits", 3), ("entries", 2)):
            if data[name] is not None and data[name].shape != (*size, kinds):
                raise ValueError(f"{name}: must be of shape {(*size, kinds)}")
        if len(data["variances"]) != 2 or min(data["variances"]) < 0:
            raise ValueError("variances: these must be two, and at least 0")


def _number(name: str, value: Any) -> float:
    if not is_number(value):
        raise unusable(name, "a number", value)
    return float(value)
