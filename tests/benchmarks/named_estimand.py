"""What the header of a fit names: the root of its shortened score, without noise, in a whole table.

A fit of a sample is watched, so that its limits, its directions and its standard units are known.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import numpy as np

from dpreg import _core
from dpreg.audit._patch import replaced
from dpreg.methods import boosted_adassp

# Scores of a unit, on average, are 0 within this, in their root mean square.
ROOT = 2e-5
MOST_STEPS = 5_000


@dataclass
class Watched:
    """What a fit found before its coefficients; None where it took another way."""

    units: object = None
    directions: object = None
    rows: object = None
    root: object = None

    def estimand(self, X, y):
        """Coefficients, the intercept first, that the fit estimates in a table of rows."""
        recipe = self.rows._recipe
        recipe = replace(recipe, row_limit=min(recipe.row_limit, self.root.row_limit))
        rows = _core.QuantisedRows(np.ascontiguousarray(X), y, recipe.standardisation())
        theta = root_of(rows, self.root.theta, self.root.cut.limit)
        d = X.shape[1]
        return self.units.to_user(d) @ (self.directions.map @ theta) + self.units.offset(d)


def root_of(rows, theta, limit):
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
        if np.abs(score).max() < ROOT:
            return ahead
        after = ahead + inverse @ score
        number = 0 if score @ (after - theta) < 0 else number + 1
        ahead = after + number / (number + 3) * (after - theta)
        theta = after
    raise RuntimeError("no root was found")


@contextlib.contextmanager
def watched():
    """Watch fits within the block; yields what the last of them found."""
    found = Watched()

    def kept(name, *into):
        real = getattr(boosted_adassp, name)

        def call(*arguments, **options):
            result = real(*arguments, **options)
            for attribute, of in into:
                setattr(found, attribute, of(arguments, result))
            return result

        return replaced(boosted_adassp, name, call)

    with (
        kept("mapped_rows", ("units", lambda given, _: given[2])),
        kept("precondition", ("directions", lambda _, result: result)),
        kept(
            "score_root",
            ("rows", lambda given, _: given[0]),
            ("root", lambda _, result: result),
        ),
    ):
        yield found
