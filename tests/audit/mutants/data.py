"""What depends on records besides released numbers."""

from __future__ import annotations

import numpy as np
from audit.patches import EXACT_GRAM, OPEN, Mutant, edited, swapped
from unsealed import arrays_of

from dpreg import _core
from dpreg.data import design, expanded
from dpreg.data import sampling as _units
from dpreg.data.periods import RowsOfPeriods
from dpreg.estimation import standardised as _standardised
from dpreg.estimation.methods import adassp
from dpreg.estimation.releases import column_scaling
from dpreg.estimation.releases import moments as _sums
from dpreg.estimation.releases import rows as _rows
from dpreg.estimation.releases.exits import ExitTable
from dpreg.estimation.releases.quantised import ScoresByCell
from dpreg.estimation.releases.standardisation import Standardisation


def _from_data(real):
    """Bounds from the data where none were given, as two of the peers do."""

    def scales(rows, noise, bounds, **more):
        table = np.column_stack(arrays_of(rows))
        given = np.isfinite(bounds).all(axis=1)
        low = np.where(given, bounds[:, 0], table.min(axis=0, initial=0.0))
        high = np.where(given, bounds[:, 1], table.max(axis=0, initial=1.0))
        return real(rows, noise, np.column_stack([low, np.maximum(high, low + 1)]), **more)

    return scales


def _unclipped_moments(real):
    def moments(x, middle, half):
        u = (np.asarray(x) - middle) / half
        u = np.where(np.isfinite(u), np.clip(u, -1e6, 1e6), 0.0)
        steps = 2.0**_core.MOMENT_BITS
        sums = [[len(u)], u.sum(axis=0), (np.clip(u, -1e3, 1e3) ** 2).sum(axis=0)]
        return np.rint(np.concatenate(sums) * steps).astype(np.int64)

    return moments


DATA = [
    Mutant(
        "bounds read from the data",
        swapped(_standardised, "column_scales", _from_data),
        ("adassp",),
    ),
    Mutant(
        "clipping by a bound that depends on the data",
        edited(_rows, "standardised_rows", ("recipe = _recipe(", "row_limit *= 1 + float(np.abs(" + OPEN + "(design.arrays()).y[:5000]).max(initial=0.0) > 5)\n    recipe = _recipe(")),
        ("adassp",),
    ),
    Mutant(
        "clipping skipped",
        swapped(_core, "moment_sums", _unclipped_moments),
        ("frank_wolfe",),
    ),
    Mutant(
        "n in the divisor read exactly",
        edited(Standardisation, "_moments", ("units = max(float(noisy[0]), 1.0)", "units = max(float(" + OPEN + "(sums)[0]) * 2.0**-_core.MOMENT_BITS, 1.0)")),
        ("frank_wolfe",),
    ),
    Mutant(
        "standard errors from exact residuals",
        edited(
            adassp.AdaSSP, "_robust", ("moments.residual(theta) *", "float(" + OPEN + "(rows.score_norms(theta)).sum()) *"),
        ),
        ("adassp",),
    ),
    Mutant(
        "lambda_min over positive eigenvalues only, failing without one",
        edited(_sums, "floored_inverse", ("floor_of(values, deviation)", "values[values > 3 * deviation].min() + deviation")),
        ("adassp", "boosted_adassp", "no surprises"),
    ),
    Mutant(
        "lambda_min of the exact matrix",
        edited(_sums, "noisy_gram", ("    unit = (", "    scale *= 1 + float(np.linalg.eigvalsh(" + EXACT_GRAM + ")[0] > 0) + float(" + OPEN + "(rows.gram())[0]) * 1e-12\n    unit = (")),
        ("adassp",),
    ),
    Mutant(
        "an exception that names a cell",
        edited(design, "design_of", ("assert y is not None", "assert y is not None\n        if len(y) and y.max() > 1e6: raise ValueError(f'y = {y.max()}')")),
        ("no surprises",),
    ),
    Mutant(
        "a warning about constant columns",
        edited(column_scaling, "column_scales", ("given = np.asarray(np", "import warnings\n    X = " + OPEN + "(rows.arrays()).X\n    if len(X) and (X == X[:1]).all(): warnings.warn('constant columns')\n    given = np.asarray(np")),
        ("no surprises",),
    ),
    Mutant(
        "all rows of a person, noise for one",
        edited(_units, "sample_rows", ("place < max_rows", "place >= 0")),
        ("units",),
    ),
    Mutant(
        "more rows a person than noise was made for",
        edited(_standardised, "releases_for", ("max_rows if design.by_unit else 1", "1")),
        ("units",),
    ),
    Mutant(
        "each row of a person and period is a unit",
        edited(expanded, "expanded", ("return Design.of_rows(", "return Design.of(*rows.arrays(), terms) if rows.count else Design.of_rows(")),
        ("survival",),
    ),
    Mutant(
        "the last interval ends at the last time of the data",
        edited(RowsOfPeriods, "_made", ("edges = np.array(self.periods.edges)", "edges = np.array(self.periods.edges)\n    edges[-1] = max(edges[-1], np.max(y, initial=0.0))")),
        ("survival",),
    ),
    Mutant(
        "an event is in the sums of its interval and of all later ones",
        edited(ScoresByCell, "__call__", ("X[y == cell], y[y == cell]", "X[y <= cell], y[y <= cell]")),
        ("survival",),
    ),
    Mutant(
        "the table of exits is said to move by half as much",
        edited(ExitTable, "seal", ("_core.counts_sensitivity(np.ones(1 + self.of.entry))", "0.5")),
        ("survival",),
    ),
]  # fmt: skip
