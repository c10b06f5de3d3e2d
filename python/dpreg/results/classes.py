"""Private models of classes: probabilities and effects are post-processing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpreg.base.errors import ArgumentError, Choice, Value, unusable
from dpreg.base.levels import Level
from dpreg.data.classes import Baseline, Ordered
from dpreg.estimation.inference.law import check_alpha
from dpreg.results.contrasts import combination_errors
from dpreg.results.document import parsed, reading
from dpreg.results.fit import DPResults
from dpreg.results.predict import NewRows, design_rows
from dpreg.results.summary import Summary, summarize
from dpreg.results.terms import term_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DPMultinomial", "DPOrdinal"]

Doubles = NDArray[np.float64]

_FORMAT = 1
_CLASSES = {"levels": [(str, float, bool)], "covariates": [str]}
_DOCUMENT = {"dpreg_classes": float, "model": str, "columns": str, "fit": {str: object},
             "classes": _CLASSES}  # fmt: skip
# Of a coefficient, relative to it or to 1, for numeric derivatives.
_STEP = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class _OfClasses(DPResults):
    """What private models of classes have in common.

    Attributes
    ----------
    classes : Ordered or Baseline
        The levels of the response, and the covariates.
    columns : str
        The formula whose response is the number of the class.
    """

    classes: Any = None
    columns: str = ""

    words: ClassVar[str]
    intercepts: ClassVar[str]
    with_offsets: ClassVar[bool]
    of_levels: ClassVar[Any]

    @classmethod
    def of(cls, fit: DPResults, classes: Ordered | Baseline, columns: str) -> Self:
        """Return a fit of rows of records and classes as what it is."""
        return cls(**_fields_of(fit), classes=classes, columns=columns)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The classes of the response, in their order."""
        levels: tuple[Level, ...] = self.classes.levels
        return levels

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
        import pandas as pd

        if interval not in (None, "confidence"):
            raise unusable("interval", (Value(None), " or ", Value("confidence")), interval)
        if which not in ("mean", "class"):
            raise unusable("which", Choice(("mean", "class")), which)
        alpha = check_alpha(alpha)
        found = self._new(data, winsorise=winsorise)
        chances = self._chances(found.X, self.estimates)
        index = range(found.total) if found.index is None else found.index
        if interval is None:
            table = np.full((found.total, len(self.levels)), np.nan)
            table[found.kept] = chances
            frame = pd.DataFrame(table, index=found.index, columns=list(self.levels))
            return frame if which == "mean" else _most_probable(frame)
        flat = chances.ravel()
        error = self._errors(self._gradients(found.X).reshape(flat.size, -1))
        margin = self.law.critical_value(alpha) * error / (flat * (1 - flat))
        odds = np.log(flat) - np.log1p(-flat)
        ends = [_expit(odds - margin), _expit(odds + margin)]
        table = np.full((found.total, len(self.levels), 4), np.nan)
        table[found.kept] = np.stack([flat, error, *ends], -1).reshape(*chances.shape, 4)
        names = ("mean", "std err", "lower", "upper")
        return pd.DataFrame(
            {
                "row": np.repeat(np.array(index), len(self.levels)),
                "class": list(self.levels) * found.total,
                **dict(zip(names, table.reshape(-1, 4).T, strict=True)),
            }
        )

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def marginal_effects(self, data: Any, *, alpha: float = 0.05) -> pd.DataFrame:
        """Return average marginal effects: derivatives of probabilities, averaged over `data`.

        Parameters
        ----------
        data : data frame, dict of arrays, or path of a Parquet file
            Rows to average over: they are not protected.
        alpha : float

        Returns
        -------
        DataFrame
            One row per class and column of the formula, with columns class, term, dy/dx, std err,
            z, P>|z|, lower and upper.  Of a dummy it is the derivative, not the difference.
        """
        import pandas as pd

        alpha = check_alpha(alpha)
        X = self._new(data, winsorise=False).X
        if not len(X):
            raise ArgumentError("data", "has no complete row to average over")
        effects = self._average_effects(X, self.estimates)
        error = self._errors(_derivative(lambda b: self._average_effects(X, b), self.estimates))
        ratio, margin = effects / error, self.law.critical_value(alpha) * error
        terms = list(self.classes.covariates)
        return pd.DataFrame(
            {
                "class": np.repeat(np.array(self.levels, dtype=object), len(terms)),
                "term": terms * len(self.levels),
                "dy/dx": effects,
                "std err": error,
                "z": ratio,
                "P>|z|": np.where(np.isnan(ratio), np.nan, self.law.p_values(np.nan_to_num(ratio))),
                "lower": effects - margin,
                "upper": effects + margin,
            }
        )

    def summary(self, alpha: float = 0.05, *, exp: bool = False) -> Summary:
        """Return the table, printable as text, HTML and LaTeX; ``exp=True``: odds ratios."""
        title = f"{self._title} Regression"
        return summarize(self, self.tidy(alpha, exp=exp), alpha, exp=exp, title=title)

    def to_json(self) -> str:
        """Return everything as JSON; `from_json` reads it."""
        document = {
            "dpreg_classes": _FORMAT, "model": self.words, "columns": self.columns,
            "classes": {name: list(getattr(self.classes, name)) for name in _CLASSES},
            "fit": json.loads(super().to_json()),
        }  # fmt: skip
        return json.dumps(document, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            If `text` is something else.
        """
        with reading(f"this is not a fit of {cls.words}", _FORMAT):
            data = parsed(text, _DOCUMENT, _FORMAT)
            fit = DPResults.from_json(json.dumps(data["fit"]))
            parts = {name: tuple(values) for name, values in data["classes"].items()}
            classes = cls.of_levels(**parts)
            if data["model"] != cls.words or fit.names != classes.names:
                raise ValueError("the coefficients are not those of the classes")
        return cls.of(fit, classes, data["columns"])

    @property
    def _title(self) -> str:
        raise NotImplementedError

    def _chances(self, X: Doubles, estimates: Doubles) -> Doubles:
        """Return probabilities, shape (n, K), at covariates and coefficients."""
        raise NotImplementedError

    def _effects(self, estimates: Doubles) -> Doubles:
        """Return derivatives of the K - 1 predictors by covariate, shape (K - 1, d)."""
        raise NotImplementedError

    def _slopes(self, X: Doubles, estimates: Doubles) -> Doubles:
        """Return derivatives of probabilities by predictor, shape (n, K, K - 1)."""
        raise NotImplementedError

    def _gradients(self, X: Doubles) -> Doubles:
        """Return derivatives of probabilities by coefficient, shape (n, K, c)."""
        return np.asarray(self._slopes(X, self.estimates) @ self._rows(X))

    def _rows(self, X: Doubles) -> Doubles:
        """Return the rows of records, shape (n, K - 1, c): their predictors by coefficient."""
        count = self.classes.count
        rows = self.classes.columns(np.repeat(X, count, axis=0), np.tile(np.arange(count), len(X)))
        return np.asarray(rows.reshape(len(X), count, -1))

    def _average_effects(self, X: Doubles, estimates: Doubles) -> Doubles:
        mean = self._slopes(X, estimates).mean(axis=0)
        return np.asarray((mean @ self._effects(estimates)).ravel())

    def _new(self, data: Any, *, winsorise: bool) -> NewRows:
        """Return covariates of new records, in the order of the classes'."""
        if data is None:
            why = "must be given: predictions for the records of the fit are private"
            raise ArgumentError("data", why, "write predict(data) for rows that need no protection")
        names = self.classes.covariates
        schema = self.schema if self.columns else {}
        found = design_rows(self.columns or self.formula, schema, data, names)
        X = found.X[:, [1 + found.names.index(name) for name in names]]
        return replace(found, X=self._inside(X) if winsorise else X, names=names)

    def _inside(self, X: Doubles) -> Doubles:
        """Clip covariates to the widest of their limits in rows."""
        if self.limits is None:
            return X
        made = {name: j for j, name in enumerate(self.names)}
        known = np.where(np.isnan(self.limits), [-np.inf, np.inf], self.limits)
        for j, name in enumerate(self.classes.covariates):
            own = known[[made[each] for each in self._columns_of(name)]]
            X[:, j] = np.clip(X[:, j], own[:, 0].min(), own[:, 1].max())
        return X

    def _columns_of(self, covariate: str) -> list[str]:
        """Return the names of the coefficients of a covariate."""
        raise NotImplementedError

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

    def _errors(self, rows: Doubles) -> Doubles:
        """Return standard errors of combinations of coefficients, one a row."""
        assert self.covariance is not None
        hidden = (rows[:, np.isnan(np.diag(self.covariance))] != 0).any(axis=1)
        errors, _ = combination_errors(rows, self.covariance, related=True)
        return np.asarray(np.where(hidden, np.nan, errors))


@dataclass(frozen=True, eq=False, repr=False)
class DPOrdinal(_OfClasses):
    """A private model of ordered classes.  Holds released numbers; nothing here costs budget.

    A positive coefficient makes higher classes more probable, as in R's ``polr`` and statsmodels'
    ``OrderedModel``; those of ``low|high`` are the thresholds theta between classes.

    Attributes
    ----------
    classes : Ordered
        The levels of the response, and the covariates.
    columns : str
        The formula whose response is the number of the class.

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> rng = np.random.default_rng(1)
    >>> d = {"age": rng.random(20_000)}
    >>> d["rating"] = np.array(["low", "mid", "high"])[rng.integers(0, 3, 20_000)]
    >>> levels = {"rating": ["low", "mid", "high"]}
    >>> fit = dpreg.dp_ordinal("rating ~ age", d, 1.0, levels=levels)
    >>> fit.released
    True

    See Also
    --------
    dpreg.DPResults : its other attributes and methods, all of which are here too.
    """

    classes: Ordered = field(default_factory=lambda: Ordered((0, 1), ()))

    words: ClassVar[str] = "ordered classes"
    intercepts: ClassVar[str] = "its thresholds are intercepts"
    with_offsets: ClassVar[bool] = True
    of_levels: ClassVar[Any] = Ordered

    @property
    def thresholds(self) -> pd.Series:
        """The thresholds between classes, as released; noise may have changed their order."""
        return self.params.iloc[len(self.classes.covariates) :]

    def summary(self, alpha: float = 0.05, *, exp: bool = False) -> Summary:
        """Return the table, printable as text, HTML and LaTeX; ``exp=True``: odds ratios."""
        shown = super().summary(alpha, exp=exp)
        if (np.diff(self.thresholds) > 0).all():
            return shown
        note = "Note: the thresholds are not in rising order; predictions take them in order."
        return replace(shown, notes=(*shown.notes, note))

    @property
    def _title(self) -> str:
        return f"Ordered {self.family.link.capitalize()}"

    def _chances(self, X: Doubles, estimates: Doubles) -> Doubles:
        above = self.family.mean(self._predictors(X, estimates))
        ends = np.ones((len(X), 1))
        return np.asarray(-np.diff(np.hstack([ends, above, 0 * ends]), axis=1))

    def _slopes(self, X: Doubles, estimates: Doubles) -> Doubles:
        slope = self.family.slope(self._predictors(X, estimates))
        made = np.zeros((*slope.shape[:1], slope.shape[1] + 1, slope.shape[1]))
        place = np.arange(slope.shape[1])
        made[:, place, place] = -slope
        made[:, place + 1, place] = slope
        return made

    def _effects(self, estimates: Doubles) -> Doubles:
        return np.tile(estimates[: len(self.classes.covariates)], (self.classes.count, 1))

    def _predictors(self, X: Doubles, estimates: Doubles) -> Doubles:
        """Return those of being above each threshold, which are taken in rising order."""
        size = len(self.classes.covariates)
        return np.asarray((X @ estimates[:size])[:, None] - np.sort(estimates[size:]))

    def _rows(self, X: Doubles) -> Doubles:
        order = np.argsort(self.estimates[len(self.classes.covariates) :], kind="stable")
        return super()._rows(X)[:, order]

    def _columns_of(self, covariate: str) -> list[str]:
        return [covariate]


@dataclass(frozen=True, eq=False, repr=False)
class DPMultinomial(_OfClasses):
    """A private multinomial logit.  Holds released numbers; nothing here costs budget.

    ``car:age`` is the effect of age on the logarithm of the odds of car against the first class, as
    in R's ``multinom`` and statsmodels' ``MNLogit``.

    Attributes
    ----------
    classes : Baseline
        The levels of the response, the first of which is the baseline, and the covariates.
    columns : str
        The formula whose response is the number of the class.

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> rng = np.random.default_rng(1)
    >>> d = {"age": rng.random(20_000)}
    >>> d["rating"] = np.array(["low", "mid", "high"])[rng.integers(0, 3, 20_000)]
    >>> levels = {"rating": ["low", "mid", "high"]}
    >>> fit = dpreg.dp_multinomial("rating ~ age", d, 1.0, levels=levels)
    >>> fit.released
    True

    See Also
    --------
    dpreg.DPResults : its other attributes and methods, all of which are here too.
    """

    classes: Baseline = field(default_factory=lambda: Baseline((0, 1), ()))

    words: ClassVar[str] = "classes"
    intercepts: ClassVar[str] = "each class has one"
    with_offsets: ClassVar[bool] = False
    of_levels: ClassVar[Any] = Baseline

    @property
    def coefficients(self) -> pd.DataFrame:
        """Coefficients with one column per class after the first, as statsmodels lays them out."""
        import pandas as pd

        values = self.estimates.reshape(self.classes.count, -1).T
        rows = pd.Index(["Intercept", *self.classes.covariates], name="term")
        return pd.DataFrame(values, index=rows, columns=list(self.levels[1:]))

    @property
    def _title(self) -> str:
        return "Multinomial Logit"

    def _chances(self, X: Doubles, estimates: Doubles) -> Doubles:
        blocks = estimates.reshape(self.classes.count, -1)
        scores = np.hstack([np.zeros((len(X), 1)), blocks[:, 0] + X @ blocks[:, 1:].T])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def _slopes(self, X: Doubles, estimates: Doubles) -> Doubles:
        chances = self._chances(X, estimates)
        own = np.eye(chances.shape[1])[:, 1:]
        return np.asarray(chances[:, :, None] * (own - chances[:, None, 1:]))

    def _effects(self, estimates: Doubles) -> Doubles:
        return np.asarray(estimates.reshape(self.classes.count, -1)[:, 1:])

    def _columns_of(self, covariate: str) -> list[str]:
        return [f"{level}:{covariate}" for level in self.levels[1:]]


def _fields_of(fit: DPResults) -> dict[str, Any]:
    return {each.name: getattr(fit, each.name) for each in fields(DPResults)}


def _expit(values: Doubles) -> Doubles:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))


def _most_probable(chances: pd.DataFrame) -> pd.Series:
    """Return the class of the largest probability, None where a row is incomplete."""
    import pandas as pd

    largest = chances.to_numpy().argmax(axis=1)
    missing = chances.isna().any(axis=1).to_numpy()
    values = [None if gone else chances.columns[k]
              for k, gone in zip(largest, missing, strict=True)]  # fmt: skip
    return pd.Series(values, index=chances.index, name="prediction", dtype=object)


def _derivative(function: Any, at: Doubles) -> Doubles:
    """Return derivatives of values by coefficients, shape (values, c)."""
    columns = []
    for j, value in enumerate(at):
        step = np.zeros(len(at))
        step[j] = _STEP * max(abs(value), 1.0)
        columns.append((function(at + step) - function(at - step)) / (2 * step[j]))
    return np.column_stack(columns)
