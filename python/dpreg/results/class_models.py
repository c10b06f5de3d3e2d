"""Private models of ordered classes, and of classes without an order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.later import pd
from dpreg.data.classes import Baseline, Ordered
from dpreg.results.classes import OfClasses
from dpreg.results.summary import Summary


@dataclass(frozen=True, eq=False, repr=False)
class DPOrdinal(OfClasses):
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

    _saved = ("this is not a fit of ordered classes", "dpreg_classes", "classes")

    words = "ordered classes"
    _head: ClassVar[Mapping[str, str]] = {"model": words}
    intercepts = "its thresholds are intercepts"
    with_offsets = True
    of_levels = Ordered

    @property
    def thresholds(self) -> pd.Series:
        """The thresholds between classes, as released; noise may have changed their order."""
        return self._series(self.estimates, "coef").iloc[len(self.classes.covariates) :]

    def summary(self, alpha: float = 0.05, *, exp: bool = False) -> Summary:
        """Return the table, printable as text, HTML and LaTeX; ``exp=True``: odds ratios."""
        shown = super().summary(alpha, exp=exp)
        if (np.diff(self.thresholds) > 0).all():
            return shown
        note = "Note: the thresholds are not in increasing order; predictions take them in order."
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

    def _predictors(self, X: Doubles, estimates: Doubles) -> Doubles:
        """Return those of being above each threshold, which are taken in increasing order."""
        size = len(self.classes.covariates)
        return np.asarray((X @ estimates[:size])[:, None] - np.sort(estimates[size:]))

    def _rows(self, X: Doubles) -> Doubles:
        order = np.argsort(self.estimates[len(self.classes.covariates) :], kind="stable")
        return super()._rows(X)[:, order]


@dataclass(frozen=True, eq=False, repr=False)
class DPMultinomial(OfClasses):
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
    >>> d["travel"] = np.array(["bus", "car", "walk"])[rng.integers(0, 3, 20_000)]
    >>> levels = {"travel": ["bus", "car", "walk"]}
    >>> fit = dpreg.dp_multinomial("travel ~ age", d, 1.0, levels=levels)
    >>> fit.released
    True

    See Also
    --------
    dpreg.DPResults : its other attributes and methods, all of which are here too.
    """

    classes: Baseline = field(default_factory=lambda: Baseline((0, 1), ()))

    _saved = ("this is not a fit of classes", "dpreg_classes", "classes")

    words = "classes"
    _head: ClassVar[Mapping[str, str]] = {"model": words}
    intercepts = "each class has one"
    with_offsets = False
    of_levels = Baseline
    _title = "Multinomial Logit"

    @property
    def coefficients(self) -> pd.DataFrame:
        """Coefficients with one column per class after the first, as statsmodels lays them out."""
        values = self.estimates.reshape(self.classes.count, -1).T
        rows = pd.Index(["Intercept", *self.classes.covariates], name="term")
        return pd.DataFrame(values, index=rows, columns=list(self.levels[1:]))

    def _chances(self, X: Doubles, estimates: Doubles) -> Doubles:
        blocks = estimates.reshape(self.classes.count, -1)
        scores = np.hstack([np.zeros((len(X), 1)), blocks[:, 0] + X @ blocks[:, 1:].T])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def _slopes(self, X: Doubles, estimates: Doubles) -> Doubles:
        chances = self._chances(X, estimates)
        own = np.eye(chances.shape[1])[:, 1:]
        return np.asarray(chances[:, :, None] * (own - chances[:, None, 1:]))

    def _columns_of(self, covariate: str) -> list[str]:
        return [f"{level}:{covariate}" for level in self.levels[1:]]
