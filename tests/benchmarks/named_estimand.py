"""What the header of a fit names: the root of its shortened score, without noise, in a whole table.

A fit of a sample is watched, so that its limits, its directions and its standard units are known.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from dpreg import _core
from dpreg.estimation.newton import fit as newton_fit

# The mean of the scores is 0 within this share of their typical norm.
ROOT = 2e-5
MOST_STEPS = 5_000


@dataclass
class Watched:
    """What a fit found before its coefficients; None where it took another way."""

    fit: object = None
    begun: object = None

    def estimand(self, X, y):
        """Coefficients, the intercept first, that the fit estimates in a table of rows."""
        how = self.fit.rows._recipe.standardisation()
        rows = _core.QuantisedRows(np.ascontiguousarray(X), y, how)
        sizes = self.fit.model.found.sizes  # of regressors in these rows
        begin, limits = self.fit.path.theta / sizes, self.fit.limits
        theta = root_of(rows, begin, limits.limit, limits.norm) * sizes
        units, d = self.begun.telling_units, X.shape[1]
        return units.to_user(d) @ (self.fit.model.found.change @ theta) + units.offset(d)


def root_of(rows, theta, limit, norm):
    """Where the sum of shortened scores is 0: the least of a sum of Huber losses.

    By accelerated steps, begun again where they go uphill (O'Donoghue and Candes, 2015), in the
    metric of the second moments, than which no such sum is more curved.
    """
    unit = limit / _core.SCORE_STEPS / rows.rows
    moments = rows.gram() * ((rows.limit / _core.ROW_STEPS) ** 2 / rows.rows)
    inverse = np.linalg.pinv(moments, hermitian=True)
    ahead, number = theta, 0
    for _ in range(MOST_STEPS):
        score = rows.score(ahead, limit) * unit
        if np.abs(score).max() < ROOT * norm:
            return ahead
        after = ahead + inverse @ score
        number = 0 if score @ (after - theta) < 0 else number + 1
        ahead = after + number / (number + 3) * (after - theta)
        theta = after
    raise RuntimeError("no root was found")


@contextlib.contextmanager
def watched():
    """Watch fits within the block; yields what the last of them found."""
    found, errors = Watched(), newton_fit.newton_errors

    def kept(fit, begun, *more):
        found.fit, found.begun = fit, begun
        return errors(fit, begun, *more)

    with patch.object(newton_fit, "newton_errors", kept):
        yield found
