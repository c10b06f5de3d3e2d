"""Grey-box audit of `dp_moments`: what each of its stages loses on the worst rows there are."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pandas as pd

from dpreg import _core
from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.recorded import Claim, composed_loss, finding_of
from dpreg.audit.worlds import Pair, hostile_pairs, person_pair, regression
from dpreg.moments import dp_moments

__all__ = ["CHECKS", "MomentsRun"]


@dataclass(frozen=True, slots=True)
class MomentsRun:
    """One call of `dp_moments` on neighbours, and models of what it released.

    Attributes
    ----------
    formula : str
    pair : Pair
    bounds : dict or None
    unit : str or None
    max_rows : int
    """

    formula: str
    pair: Pair
    bounds: dict[str, tuple[float, float]] | None = None
    unit: str | None = None
    max_rows: int = 1

    def __str__(self) -> str:
        return f"{self.formula}, {self.pair.label}"

    def count_units(self, table: pd.DataFrame) -> int:
        """No mechanism here draws a noisy number of units."""
        return len(table)

    def outcome(self, table: pd.DataFrame, claim: Claim) -> str:
        """Release, and return all that comes out."""
        moments = dp_moments(
            self.formula, table, *claim, bounds=self.bounds, unit=self.unit,
            max_rows=self.max_rows, rng=_core.TestBits(7),
        )  # fmt: skip
        return moments.to_json()


_BOUNDS = dict.fromkeys(("a", "b", "y"), (-1.0, 1.0))


def moments(effort: Effort) -> Finding:
    """All columns, with bounds and without, by rows and by persons."""
    base = regression(900)
    extreme = pd.DataFrame({"a": [9.0], "b": [9.0], "y": [-99.0]})
    pairs = (
        *hostile_pairs(),
        Pair("an extreme row of many", base, pd.concat([base, extreme])),
        Pair("a row like others", base, pd.concat([base, base.iloc[:1]])),
    )
    runs = [
        MomentsRun(formula, pair, bounds)
        for formula, pair, bounds in itertools.product(
            ("y ~ a + b", "y ~ a * b"), pairs, (None, _BOUNDS)
        )
    ]
    runs += [
        MomentsRun("y ~ a + b", person_pair(20, 2 * rows), _BOUNDS, "person", rows)
        for rows in (1, 3, 20)
    ]
    return finding_of("dp_moments", runs, composed_loss)


CHECKS = (Check("moments", moments),)
