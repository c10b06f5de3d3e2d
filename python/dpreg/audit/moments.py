"""Grey-box audit of `dp_moments`: what each of its stages loses on the worst rows there are."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd

from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.recorded import Run, composed_loss, finding_of
from dpreg.audit.worlds import Pair, hostile_pairs, person_pair, regression
from dpreg.calls.request import Request


def _run(formula: str, pair: Pair, bounds: Any, **asked: Any) -> Run:
    return Run(Request(call="dp_moments", formula=formula, eps=1.0, bounds=bounds, **asked), pair)


_BOUNDS = dict.fromkeys(("a", "b", "y"), (-1.0, 1.0))


def moments(effort: Effort) -> Finding:
    """All columns, with bounds and without, by rows and by persons."""
    # So many that there are not too few for any of its matrices.
    base = regression(2000)
    extreme = pd.DataFrame({"a": [9.0], "b": [9.0], "y": [-99.0]})
    pairs = (
        *hostile_pairs(),
        Pair("an extreme row of many", base, pd.concat([base, extreme])),
        Pair("a row like others", base, pd.concat([base, base.iloc[:1]])),
    )
    runs = [
        _run(formula, pair, bounds)
        for formula, pair, bounds in itertools.product(
            ("y ~ a + b", "y ~ a * b"), pairs, (None, _BOUNDS)
        )
    ]
    runs += [
        _run("y ~ a + b", person_pair(20, 2 * rows), _BOUNDS, unit="person", max_rows=rows)
        for rows in (1, 3, 20)
    ]
    return finding_of("dp_moments", runs, composed_loss)


CHECKS = (Check("moments", moments),)
