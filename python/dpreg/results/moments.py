"""Second moments, after release: every regression among the columns is post-processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.errors import ArgumentError, unusable
from dpreg.base.keywords import hinted
from dpreg.base.later import Axes, pd
from dpreg.base.text import drawn
from dpreg.results import moment_models
from dpreg.results.contrasts import WaldTest
from dpreg.results.document import Saved, check_schema
from dpreg.results.fit import DPResults
from dpreg.results.models import Model, Models
from dpreg.results.summary import Summary


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DPMoments(Saved, Models):
    """Noisy second moments of all columns.  Models computed from them cost no further budget.

    Attributes
    ----------
    formula : str
    names : tuple of str, length d
        Of the columns, dummies one by one; without the intercept.
    used : ndarray of int, shape (k,)
        Columns whose scale is estimable.
    trusted : ndarray of bool, shape (d,)
        False: the location of the column is not estimable.
    centre, scale : ndarray, shape (k,)
        By which the columns in `used` were standardised.
    basis, matrix : ndarray, shape (1 + k, 1 + k)
        See `dpreg.estimation.inference.joint_moments`.
    deviation : float
        Of the noise on the diagonal of `matrix`.
    reach : float
        Rows whose norm is above this multiple of the typical norm are clipped.
    kurtosis : float
        Kurtosis of the rows, relative to that of the normal distribution.
    units : float
        Private estimate of the number of rows.
    limits : ndarray, shape (d, 2)
        Regressors, and then predictions, are clipped to these.
    privacy : Certificate
    schema : mapping
        Columns of the data: kind and levels.
    notes : tuple of str

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> m = dpreg.dp_moments("~ price + carat + depth", d, eps=1.0)
    >>> m.corr().shape
    (3, 3)
    >>> m.lm("price ~ depth").params.index.tolist()
    ['Intercept', 'depth']
    """

    _document = ("these are not moments", "dpreg_moments", 2)

    @property
    def nobs(self) -> float:
        """Private estimate of the number of rows."""
        return self.units

    @hinted("lm")
    def lm(self, formula: str) -> DPResults:
        """Fit a linear model of any of the columns by any others.

        Parameters
        ----------
        formula : str
            ``"price ~ carat + cut"``: each column that it makes must be one of `names`.

        Returns
        -------
        DPResults
            Standard errors combine privacy noise and sampling error, and assume errors of constant
            variance.

        Raises
        ------
        ArgumentError
            If a column was not released, or the scale of the response is not estimable.
        """
        return self.fitted(self.model(formula))

    @hinted("iv")
    def iv(self, formula: str, instruments: str) -> DPResults:
        """Two-stage least squares.

        Parameters
        ----------
        formula : str
            ``"wage ~ educ + age"``
        instruments : str
            Right-hand side with all instruments and all exogenous regressors,
            ``"~ nearcollege + age"``; at least as many columns as `formula` has.

        Returns
        -------
        DPResults
            Its notes have the first-stage statistic of each regressor that is not an instrument.
        """
        model = self.model(formula)
        if not isinstance(instruments, str):
            raise unusable("instruments", "a string such as '~ z + a'", instruments)
        right = instruments.partition("~")[2] if "~" in instruments else instruments
        exogenous = self.model(f"{model.formula.partition('~')[0]} ~ {right}")
        return moment_models.two_stage_fit(self, model, exogenous)

    def anova(self, small: str, large: str) -> WaldTest:
        """Test the smaller of two nested models: that the other coefficients are all 0.

        A Wald test in the larger model, with privacy noise in the covariance.
        """
        first, second = self.model(small), self.model(large)
        more = [name for name in second.names if name not in first.names]
        nested = first.response == second.response and first.intercept <= second.intercept
        if not nested or not more or not set(first.names) < set(second.names):
            why = "must have the response of the larger and some of its terms"
            raise ArgumentError("small", why, "write small='y ~ a', large='y ~ a + b'")
        if first.intercept != second.intercept:
            more.append("Intercept")
        fit = self.fitted(second)
        return fit.wald_test(np.array([[float(n == m) for n in fit.names] for m in more]))

    def rsquared(self, formula: str, alpha: float = 0.05) -> pd.Series:
        """R squared with an interval of level 1 - `alpha`, sampling and privacy together.

        It is that of the clipped rows: where tails are heavy and explained by the model, R squared
        of all rows is larger, and the interval does not include the difference.

        Returns
        -------
        Series
            rsquared, lower, upper, sampling, privacy: the last two are standard errors, `sampling`
            for normally distributed rows.
        """
        return pd.Series(moment_models.rsquared(self, self.model(formula), alpha))

    def compare(self, formulas: Sequence[str]) -> pd.DataFrame:
        """Compare models of one response: R squared, sigma, AIC and BIC.

        Returns
        -------
        DataFrame
            One row per formula, sorted by BIC: terms, rsquared, sigma, aic, bic and noise, the
            standard deviation due to privacy noise of the difference of its AIC from that of the
            first.
        """
        return moment_models.compare_models(self, [self.model(formula) for formula in formulas])

    def subsets(self, formula: str, best: int = 10) -> pd.DataFrame:
        """Compare all models that leave terms of `formula` out; return the `best` by BIC.

        Factors are kept or left out as a whole.  As after any selection, intervals of the chosen
        model are too narrow: test it on other data, or choose before looking.
        """
        return moment_models.all_subsets(self, formula, best)

    def vif(self, formula: str) -> pd.Series:
        """Variance inflation of each regressor: 1 / (1 - R squared) on the others."""
        model, values = self.model(formula), []
        for name in model.names:
            if self.place(name) is None:
                values.append(np.nan)
                continue
            others = tuple(other for other in model.names if other != name)
            left, _ = self.regression(Model(name, others, True, ""))
            values.append(self.total(name).value / left.residual.value)
        return pd.Series(values, index=pd.Index(model.names, name="term"), name="VIF")

    def corr(self) -> pd.DataFrame:
        """Correlations of all columns; NaN for columns whose scale is not estimable."""
        return self._labelled(0)

    def corr_errors(self) -> pd.DataFrame:
        """Standard errors of `corr`: sampling error (of normal rows) and privacy noise together."""
        return self._labelled(1)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the correlations; needs matplotlib."""
        return drawn("coefficients.plot_correlations", self, ax)

    def summary(self) -> Summary:
        """Return means, deviations and correlations of clipped rows; text, HTML and LaTeX."""
        return moment_models.summarize_moments(self)

    def _labelled(self, which: int) -> pd.DataFrame:
        labels = pd.Index(self.names)
        return pd.DataFrame(moment_models.correlations(self)[which], index=labels, columns=labels)

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        check_schema(data["schema"])
        d, k = len(data["names"]), len(data["used"])
        shapes = {
            "trusted": (d,), "centre": (k,), "scale": (k,), "basis": (k + 1, k + 1),
            "matrix": (k + 1, k + 1), "limits": (d, 2),
        }  # fmt: skip
        for name, shape in shapes.items():
            if data[name].shape != shape:
                raise ValueError(f"{name}: {d} columns, {k} of them used, need shape {shape}")
        inside = (data["used"] >= 0).all() and (data["used"] < d).all()
        if not inside or len(set(data["used"].tolist())) < k:
            raise ValueError(f"used: these are not places of {d} columns")
        sizes = (data["units"], data["kurtosis"], *data["scale"])
        if min(sizes) <= 0 or data["deviation"] < 0:
            raise ValueError("scale, units, kurtosis or deviation: too small")
