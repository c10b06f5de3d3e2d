"""A private regression, after release: every method here is post-processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.errors import Choice, Value, unusable
from dpreg.base.families import GAUSSIAN
from dpreg.base.keywords import hinted
from dpreg.base.later import Axes, pd
from dpreg.base.text import drawn
from dpreg.estimation.inference.law import check_alpha
from dpreg.results import margins, predict
from dpreg.results.contrasts import coefficient_columns
from dpreg.results.described import why_absent
from dpreg.results.document import Saved, check_fit
from dpreg.results.fitted import estimated
from dpreg.results.summary import Summary, summarize
from dpreg.results.testing import LinearTests


# Without slots: with them Python 3.11 raises a TypeError when an unknown attribute is set.
@dataclass(frozen=True, eq=False, repr=False)
class DPResults(Saved, LinearTests):
    """A private regression.  Holds released numbers only; nothing here costs budget.

    Attributes
    ----------
    formula : str
    response : str
    names : tuple of str, length c
        Of the coefficients, the intercept first if there is one.
    method : str
    estimates : ndarray, shape (c,)
        In units of the linear predictor, which for least squares are those of the response, per
        unit of each regressor.
    covariance : ndarray, shape (c, c), or None
        Sampling error and privacy noise together; None without inference, or if the method has no
        standard errors (`no_errors`).
    sampling : ndarray, shape (c,), or None
        Standard errors of the fit without noise.
    units : float
        Private estimate of the number of units, or of rows for a method that samples the rows of
        units.
    privacy : Certificate
    schema : mapping of str to mapping
        Columns the formula uses: kind and levels, for `predict`.
    law : TailLaw
        Distribution of estimate over standard error.
    notes : tuple of str
        The most important first; `summary` prints two.
    selected : tuple of str or None
        Terms kept by private selection.
    limits : ndarray, shape (d + 1, 2), or None
        Range of each regressor and, last, of the response; `predict` clips new rows and
        predictions to them.  NaN: unknown.
    no_errors : str
        Why the method has no standard errors; empty if it has or if they were not requested.
    family : Family
        With its link.
    stats : FitStats or None
        R squared and the mean squared residual; None unless ``fit_stats=True`` paid for them.
    diagnostics : Diagnostics or None
        Numbers of rows by fitted mean and residual; None unless ``diagnostics=True`` paid.
    clipping : ndarray, shape (c,), or None
        Estimated effect of clipping scores on each coefficient, compared with least squares
        (maximum likelihood) without clipping, if all clipped scores point in one direction; from
        noisy counts of large scores, whose tail is extrapolated.  None: not estimated.  NaN: not
        estimable.  Not a bound, and not included in the standard errors: a few extreme rows are
        not detected, and values that were clipped to `bounds`, or responses of a log link to the
        limit in `notes`, not counted.
    estimand : Estimand or None
        What the coefficients estimate, the clipping thresholds, and the largest of the estimated
        effects of clipping, in standard errors; None: not described.
    start : Start or None
        For later fits of the same formula: ``dp_lm(start=fit)``.  None: the method has none.

    See Also
    --------
    dpreg.NotReleased : what `dp_lm` and `dp_glm` return when the mechanism declines.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> fit = dpreg.dp_lm("log(price) ~ log(carat)", d, 1.0, 1e-6)
    >>> fit.conf_int().shape
    (2, 2)
    >>> dpreg.DPResults.from_json(fit.to_json()).params.equals(fit.params)
    True
    """

    _document = ("this is not a dpreg result", "dpreg_results", 8)
    _blank = True

    @property
    def tvalues(self) -> pd.Series:
        """Coefficients over standard errors."""
        return self.tidy()["z"]

    @property
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of the hypotheses that coefficients are 0."""
        return self.tidy()["P>|z|"]

    @hinted("conf_int")
    def conf_int(self, alpha: float = 0.05, *, exp: bool = False) -> pd.DataFrame:
        """Intervals that cover coefficients, or exponentials, with probability 1 - `alpha`."""
        table = self.tidy(alpha, exp=exp)[["lower", "upper"]]
        return table.set_axis([0, 1], axis=1)

    @hinted("tidy")
    def tidy(self, alpha: float = 0.05, *, exp: bool = False) -> pd.DataFrame:
        """Return a table with one row per coefficient that was estimated.

        Parameters
        ----------
        alpha : float
        exp : bool, default False
            Exponentials of coefficients and intervals: odds ratios of logits, ratios of means of a
            log link.  Standard errors stay those of the coefficients.

        Returns
        -------
        DataFrame
            Columns coef, std err, sampling, privacy, z, P>|z|, lower, upper, clipping.  The
            square of `std err` is the sum of the squares of `sampling` and `privacy`.
        """
        alpha = check_alpha(alpha)
        error, unknown = self._standard_errors(), np.full(len(self.names), np.nan)
        sampling = unknown if self.sampling is None else self.sampling
        found = coefficient_columns(self.estimates, error, sampling, self.law, alpha)
        if exp:
            with np.errstate(invalid="ignore", over="ignore"):
                found |= {name: np.exp(found[name]) for name in ("coef", "lower", "upper")}
        found["clipping"] = unknown if self.clipping is None else self.clipping
        return estimated(pd.DataFrame(found, index=pd.Index(self.names, name="term")))

    @hinted("predict")
    @np.errstate(over="ignore", invalid="ignore")  # a warning would be about a cell
    def predict(
        self,
        data: Any = None,
        *,
        winsorise: bool = True,
        interval: str | None = None,
        alpha: float = 0.05,
        which: str = "mean",
    ) -> pd.Series | pd.DataFrame:
        """Predict the response for the rows of `data`; NaN where a row is incomplete.

        Parameters
        ----------
        data : data frame, dict of arrays, or path of a Parquet file
            With the columns of the right-hand side that the coefficients need.  They are
            not protected.  It must be given: fitted values of the records are private.
        winsorise : bool, default True
            Clip regressors and then predictions to `limits`, if there are any, to avoid
            extrapolation.  False: the linear predictor itself.
        interval : {None, "confidence", "prediction"}
            "confidence": intervals of level 1 - `alpha` for the mean response, extended to include
            the prediction where it is clipped.  For a method that releases no covariances
            (``"tukey"``) they are conservative and wide.  "prediction": intervals for a new
            observation with a normal error, given the residual scale that ``fit_stats=True``
            released.
        alpha : float
        which : {"mean", "linear"}
            The mean response (for a quantile regression the quantile), or the linear predictor.

        Returns
        -------
        Series, or DataFrame with columns mean, std err, lower and upper
        """
        if interval not in (None, "confidence", "prediction"):
            wanted = (Value(None), ", ", Value("confidence"), " or ", Value("prediction"))
            raise unusable("interval", wanted, interval)
        scale = predict.error_variance(self) if interval == "prediction" else 0.0
        if which not in ("mean", "linear"):
            raise unusable("which", Choice(("mean", "linear")), which)
        alpha = check_alpha(alpha)
        rows = predict.design_rows(self.formula, self.schema, data, self.names)
        X = rows.X
        least, most = -np.inf, np.inf
        if winsorise and self.limits is not None:
            low, high = np.where(np.isnan(self.limits), [-np.inf, np.inf], self.limits).T
            first = X.shape[1] - len(low) + 1
            X[:, first:] = np.clip(X[:, first:], low[:-1], high[:-1])
            least, most = low[-1], high[-1]
        family = self.family if which == "mean" else GAUSSIAN
        predictor = X @ self.estimates
        if interval is not None:
            return predict.mean_intervals(
                self, rows, predictor, alpha, family, (least, most), scale
            )
        return rows.series(np.clip(family.mean(predictor), least, most))

    @hinted("marginal_effects")
    @np.errstate(over="ignore", invalid="ignore")  # a warning would be about a cell
    def marginal_effects(self, data: Any, *, alpha: float = 0.05) -> pd.DataFrame:
        """Return average marginal effects of variables on the mean response.

        The effect of a numeric variable is the derivative through all terms that contain it, such
        as ``x * z`` and ``I(x ** 2)``; that of a level is the difference from the first level.

        Parameters
        ----------
        data : data frame, dict of arrays, or path of a Parquet file
            Rows to average over, such as a public grid or one row of interest.  They are not
            protected.
        alpha : float

        Returns
        -------
        DataFrame
            Columns dy/dx, std err, z, P>|z|, lower and upper; rows are the variables, and
            differences of levels as ``g: b - a``.  NaN: a discontinuous term, such as ``I(x > 0)``
            or ``floor(x)``, has no derivative.  Where the method releases no covariances
            (``"tukey"``) errors are upper bounds.
        """
        return margins.marginal_effects(self, data, check_alpha(alpha))

    @property
    def rsquared(self) -> float:
        """Share of the variance of the response that the line explains; see `fit_stats`."""
        if self.stats is None:
            raise AttributeError(why_absent("rsquared", type(self)))
        return self.stats.rsquared

    @property
    def scale(self) -> float:
        """Mean squared residual; see `fit_stats`."""
        if self.stats is None:
            raise AttributeError(why_absent("scale", type(self)))
        return self.stats.scale

    def fit_stats(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return R squared, and sigma, the root of `scale`, with intervals.

        Both are of the released line, noise in its coefficients included.  The interval of sigma is
        that of its logarithm.

        Returns
        -------
        DataFrame
            Rows R-squared and sigma; columns estimate, std err, lower and upper.

        Raises
        ------
        ValueError
            If ``fit_stats=True`` was not asked for.
        """
        return predict.stats_table(self.stats, check_alpha(alpha))

    def plot_residuals(self, ax: Axes | None = None) -> Axes:
        """Draw noisy numbers of rows by fitted mean and residual; needs ``diagnostics=True``."""
        return drawn("diagnostics.plot_residuals", self, ax)

    def plot_qq(self, ax: Axes | None = None) -> Axes:
        """Draw quantiles of residuals against normal ones; needs ``diagnostics=True``."""
        return drawn("diagnostics.plot_qq", self, ax)

    def plot_calibration(self, ax: Axes | None = None) -> Axes:
        """Draw observed against predicted shares of a binomial family, with intervals."""
        return drawn("diagnostics.plot_calibration", self, ax)

    @hinted("plot")
    def plot(
        self, ax: Axes | None = None, alpha: float = 0.05, *, terms: Sequence[str] | None = None
    ) -> Axes:
        """Draw the coefficients with intervals, sampling and privacy parts; needs matplotlib.

        Parameters
        ----------
        ax : Axes, optional
            Of matplotlib.  Default: of a new figure.
        alpha : float
        terms : str or sequence of str, optional
            Which coefficients, in this order.  Default: all but the intercept.
        """
        return drawn("coefficients.plot_coefficients", self, ax, alpha, terms)

    @hinted("summary")
    def summary(self, alpha: float = 0.05, *, exp: bool = False) -> Summary:
        """Return the table, printable as text, HTML and LaTeX; `exp` as for `tidy`."""
        return summarize(self, self.tidy(alpha, exp=exp), alpha, exp=exp)

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        check_fit(data)

    @property
    def _intercepts(self) -> set[str]:
        """Return the names of the coefficients of no term."""
        return {"Intercept"}
