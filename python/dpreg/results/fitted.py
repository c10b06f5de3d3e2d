"""The released numbers of a fit, and tables of them by coefficient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import GAUSSIAN, Family
from dpreg.base.keywords import hinted
from dpreg.base.later import pd
from dpreg.estimation.inference.estimand import Estimand
from dpreg.estimation.inference.law import NORMAL, TailLaw
from dpreg.estimation.inference.residuals import Diagnostics, FitStats
from dpreg.estimation.inference.start import Start
from dpreg.privacy.certificate import Certificate
from dpreg.results.described import DescribedModel

Table = TypeVar("Table", "pd.DataFrame", "pd.Series[Any]")


def is_offset(name: str) -> bool:
    """Return whether a coefficient is that of an offset, which is 1."""
    return name.startswith("offset(")


def estimated(table: Table) -> Table:
    """Leave offsets out of a series or table by coefficient, because theirs is fixed."""
    found: Table = table[~table.index.map(is_offset).to_numpy(dtype=bool)]
    return found


# Without slots: with them Python 3.11 raises a TypeError when an unknown attribute is set.
@dataclass(frozen=True, eq=False)
class Fitted:
    """Fields of `DPResults`, which describes them."""

    formula: str
    response: str
    names: tuple[str, ...]
    method: str
    estimates: Doubles
    covariance: Doubles | None
    sampling: Doubles | None
    units: float
    privacy: Certificate
    schema: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    law: TailLaw = NORMAL
    notes: tuple[str, ...] = ()
    selected: tuple[str, ...] | None = None
    limits: Doubles | None = None
    no_errors: str = ""
    family: Family = GAUSSIAN
    stats: FitStats | None = None
    diagnostics: Diagnostics | None = None
    clipping: Doubles | None = None
    estimand: Estimand | None = None
    start: Start | None = None

    @property
    def params(self) -> pd.Series:
        """Coefficients, labelled by term; those of offsets are 1 and left out, as in `tidy`."""
        return estimated(self._series(self.estimates, "coef"))

    @property
    def bse(self) -> pd.Series:
        """Standard errors, sampling and privacy together; NaN without inference."""
        return estimated(self._series(self._standard_errors(), "std err"))

    @property
    def nobs(self) -> float:
        """Private estimate of the number of protected units, or of the rows drawn from them."""
        return self.units

    @property
    def model(self) -> DescribedModel:
        """Names of the response and the coefficients, for statsmodels' `summary_col`."""
        seeded = " (NOT PRIVATE)" if self.privacy.seeded else ""
        return DescribedModel(self.response + seeded, list(self.params.index))

    @hinted("cov_params")
    def cov_params(self) -> pd.DataFrame:
        """Covariance of the coefficients, sampling and privacy together."""
        names = list(self.names)
        table = pd.DataFrame(self._known_covariance, index=names, columns=names)
        return estimated(estimated(table).T)

    @property
    def _known_covariance(self) -> Doubles:
        """Return `covariance`, NaN where it was not released."""
        missing = np.full((len(self.names),) * 2, np.nan)
        return missing if self.covariance is None else self.covariance

    def _standard_errors(self) -> Doubles:
        return np.sqrt(np.diag(self._known_covariance))

    def _series(self, values: Doubles, name: str) -> pd.Series:
        return pd.Series(values, index=pd.Index(self.names, name="term"), name=name)
