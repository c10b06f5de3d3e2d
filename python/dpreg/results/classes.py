"""Private models of classes: probabilities and effects are post-processing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles
from dpreg.base.errors import Choice, Value, unusable
from dpreg.base.keywords import hinted
from dpreg.base.later import pd
from dpreg.base.levels import Level
from dpreg.estimation.inference.law import check_alpha
from dpreg.results.contrasts import wald_columns
from dpreg.results.margins import Change, changes
from dpreg.results.predict import bound_source, term_columns
from dpreg.results.stacked import StackedResults
from dpreg.results.summary import Summary, summarize


@dataclass(frozen=True, eq=False, repr=False)
class OfClasses(StackedResults):
    """What private models of classes have in common.

    Attributes
    ----------
    classes : Ordered or Baseline
        The levels of the response, and the covariates.
    columns : str
        The formula whose response is the number of the class.
    """

    classes: Any = None

    _template: ClassVar[Mapping[str, Any]] = {
        "levels": tuple[object, ...], "covariates": tuple[str, ...],
    }  # fmt: skip

    words: ClassVar[str]
    intercepts: ClassVar[str]
    with_offsets: ClassVar[bool]
    of_levels: ClassVar[Any]

    @property
    def levels(self) -> tuple[Level, ...]:
        """The classes of the response, in their order."""
        levels: tuple[Level, ...] = self.classes.levels
        return levels

    @hinted("predict", type="leave it out; the most probable class is predict(data).idxmax(axis=1)")
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def predict(
        self,
        data: Any = None,
        *,
        winsorise: bool = True,
        interval: str | None = None,
        alpha: float = 0.05,
        which: str = "mean",
    ) -> pd.Series | pd.DataFrame:
        """Predict probabilities of the classes for the rows of `data`.

        Parameters
        ----------
        data : data frame, dict of arrays, or path of a Parquet file
            With the columns of the right-hand side.  They are not protected.
        winsorise : bool, default True
            Clip covariates to `limits`, if there are any, to avoid extrapolation.
        interval : {None, "confidence"}
            "confidence": intervals of level 1 - `alpha` for each probability, of the delta method
            on the logit scale, in which sampling error and privacy noise are.
        alpha : float
        which : {"mean", "class"}
            Probabilities, or the most probable class.

        Returns
        -------
        DataFrame or Series
            One column per class; with an interval one row per row of `data` and class, with columns
            row, class, mean, std err, lower and upper.  NaN where a row is incomplete.
        """
        if interval not in (None, "confidence"):
            raise unusable("interval", (Value(None), " or ", Value("confidence")), interval)
        if which not in ("mean", "class"):
            raise unusable("which", Choice(("mean", "class")), which)
        alpha = check_alpha(alpha)
        found = self._new(data, winsorise=winsorise)
        if interval is None:
            table = np.full((found.total, len(self.levels)), np.nan)
            table[found.kept] = self._chances(found.X, self.estimates)
            frame = pd.DataFrame(table, index=found.index, columns=list(self.levels))
            return frame if which == "mean" else _most_probable(frame)
        names = ("mean", "std err", "lower", "upper")
        return found.several("class", self.levels, names, self._intervals(found.X, alpha))

    @hinted("marginal_effects")
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def marginal_effects(self, data: Any, *, alpha: float = 0.05) -> pd.DataFrame:
        """Return average marginal effects of variables on probabilities, averaged over `data`.

        Parameters
        ----------
        data : data frame, dict of arrays, or path of a Parquet file
            Rows to average over: they are not protected.
        alpha : float

        Returns
        -------
        DataFrame
            One row per class and variable, with columns class, term, dy/dx, std err, z, P>|z|,
            lower and upper; variables are as for `DPResults.marginal_effects`.
        """
        alpha, names = check_alpha(alpha), self._of_records
        schema = self.schema if self.columns else {}
        bound = bound_source(self.columns or self.formula, schema, data, names)
        found = list(changes(*bound, names))
        table = {
            "class": np.repeat(np.array(self.levels, dtype=object), len(found)),
            "term": [change.label for change in found] * len(self.levels),
        }
        return pd.DataFrame({**table, **self._effects_table(found, alpha)})

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def _effects_table(self, found: Sequence[Change], alpha: float) -> dict[str, Doubles]:
        """Return the columns of `marginal_effects` that are numbers, one row a class and change."""
        means = [change.per_unit(lambda X: self._chances(X, self.estimates)) for change in found]
        gradients = np.array([change.per_unit(self._gradients) for change in found])
        effects = np.array(means).T.ravel()
        error = self._errors(np.swapaxes(gradients, 0, 1).reshape(effects.size, -1))
        tests = wald_columns(effects, error, self.law, alpha)
        return {"dy/dx": effects, "std err": error, **tests}

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def _intervals(self, X: Doubles, alpha: float) -> Doubles:
        """Return probabilities, their errors and limits, shape (n, K, 4)."""
        chances = self._chances(X, self.estimates)
        flat = chances.ravel()
        error = self._errors(self._gradients(X).reshape(flat.size, -1))
        margin = self.law.critical_value(alpha) * error / (flat * (1 - flat))
        odds = special.logit(flat)
        ends = [special.expit(odds - margin), special.expit(odds + margin)]
        return np.stack([flat, error, *ends], -1).reshape(*chances.shape, 4)

    def _gradients(self, X: Doubles) -> Doubles:
        """Return derivatives of probabilities by coefficient, shape (n, K, c)."""
        return np.asarray(self._slopes(X, self.estimates) @ self._rows(X))

    def summary(self, alpha: float = 0.05, *, exp: bool = False) -> Summary:
        """Return the table, printable as text, HTML and LaTeX; ``exp=True``: odds ratios."""
        return summarize(self, self.tidy(alpha, exp=exp), alpha, exp=exp, model=self._title)

    @classmethod
    def _model(cls, **parts: Any) -> tuple[Any, tuple[str, ...]]:
        classes = cls.of_levels(**parts)
        return classes, classes.names

    @property
    def _of_records(self) -> tuple[str, ...]:
        return tuple(self.classes.covariates)

    @property
    @abstractmethod
    def _title(self) -> str:
        """Return what the table is of, without "Regression"."""

    @abstractmethod
    def _chances(self, X: Doubles, estimates: Doubles) -> Doubles:
        """Return probabilities, shape (n, K), at covariates and coefficients."""

    @abstractmethod
    def _slopes(self, X: Doubles, estimates: Doubles) -> Doubles:
        """Return derivatives of probabilities by predictor, shape (n, K, K - 1)."""

    def _rows(self, X: Doubles) -> Doubles:
        """Return the rows of records, shape (n, K - 1, c): their predictors by coefficient."""
        own = np.tile(np.eye(self.classes.count), (len(X), 1, 1))
        return np.asarray(self.classes.columns(X, own))

    @property
    def _intercepts(self) -> set[str]:
        """Return the names of the thresholds, or of the intercepts of the classes."""
        slopes = [name for each in self.classes.covariates for name in self._columns_of(each)]
        return set(self.names).difference(slopes)

    def _terms(self) -> dict[str, list[int]]:
        """Return the places of the coefficients of each term; intercepts are of none."""
        if not self.columns:
            return term_columns(self.formula, {}, self.names)
        covariates = self.classes.covariates
        found = term_columns(self.columns, self.schema, covariates)
        place = {name: j for j, name in enumerate(self.names)}
        return {
            term: [place[each] for j in own for each in self._columns_of(covariates[j])]
            for term, own in found.items()
        }


def _most_probable(chances: pd.DataFrame) -> pd.Series:
    """Return the class of the largest probability, None where a row is incomplete."""
    largest = chances.to_numpy().argmax(axis=1)
    missing = chances.isna().any(axis=1).to_numpy()
    values = [None if gone else chances.columns[k]
              for k, gone in zip(largest, missing, strict=True)]  # fmt: skip
    return pd.Series(values, index=chances.index, name="prediction", dtype=object)
