"""A private model of classes without an order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.later import pd
from dpreg.data.classes import Baseline
from dpreg.results.classes import OfClasses


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

    _saved = ("this is not a fit of classes", "dpreg_classes", "classes")

    words = "classes"
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

    def _effects(self, estimates: Doubles) -> Doubles:
        return np.asarray(estimates.reshape(self.classes.count, -1)[:, 1:])

    def _columns_of(self, covariate: str) -> list[str]:
        return [f"{level}:{covariate}" for level in self.levels[1:]]
