"""Audits of private Frank-Wolfe: its steps, its screening, and what a replayed path loses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.audit._finding import Effort, each_case
from dpreg.audit.recordings import Leak, Recording
from dpreg.audit.sampled import Run, sampled
from dpreg.base.arrays import Doubles
from dpreg.privacy.zcdp import bounded_range_rho, pure_rho, zcdp_epsilon


def zcdp_loss(first: Recording, second: Recording, claim: tuple[float, float]) -> float:
    """Loss at delta of all stages together, by zero-concentrated privacy."""
    rho = pure_rho(first.mu_against(second))
    if [call.name for call in first.calls] != ["L1Gradient", "dp_frank_wolfe"]:
        raise Leak("one run of Frank-Wolfe was expected")
    start, run = first.calls
    public, found = run.public, run.result
    gradients = [recording.calls[0].private() for recording in (first, second)]
    active: NDArray[np.uint8] = np.ones(len(gradients[0].values()), dtype=np.uint8)
    screened = dict(zip(found["screened"], found["screened_at"], strict=True))
    for step, vertex in enumerate(found["path"], start=1):
        change = np.abs(gradients[0].values() - gradients[1].values())[active > 0]
        # Of +l1 e_j the score changes by as much as that of -l1 e_j, the other way.
        used = 2 * float(change.max()) / _core.vertex_score_range(start.public["l1"])
        rho += bounded_range_rho(used * public["epsilon_step"])
        for gradient in gradients:
            gradient.step(abs(int(vertex)) - 1, vertex > 0)
        for after in public["after"]:
            if after == step:
                rho += _screening_rho(gradients, active, public["epsilon_screen"])
        for column, when in screened.items():
            if when == step:
                active[column] = 0
                for gradient in gradients:
                    gradient.drop(int(column))
    return zcdp_epsilon(rho, claim[1])


def _screening_rho(gradients: list[Any], active: NDArray[np.uint8], epsilon: float) -> float:
    scores = [_core.screening_scores(gradient, active)[active > 0] for gradient in gradients]
    change = np.append(scores[1] - scores[0], 0.0)  # that of the dummy
    return bounded_range_rho(epsilon * float(np.ptp(change)) / _core.SCREENING_RANGE)


@sampled("vertex runs", "frank_wolfe: one vertex", (2.0, 0.0), 200_000)
def vertex() -> Run:
    """One step: a row raises the score of one vertex and lowers all its rivals."""
    columns, rows = 22, 6
    base = np.tile(np.append([1.0, 0.0], np.full(columns - 2, -1.0)), (rows, 1))
    start = np.zeros(columns, dtype=np.int64)
    start[1] = -_core.START_WEIGHT
    active = np.append([1, 0], np.ones(columns - 2)).astype(np.uint8)
    sides = []
    for more in (0, 1):
        X = np.vstack([base, np.ones((more, columns))])
        design = _core.DenseUnitDesign(X)
        gradient = _core.L1Gradient(design, np.ones(rows + more), l1=1.0, start=start)
        sides.append((gradient, _core.VertexBounds(gradient, active=active)))
    return lambda side, bits: _core.draw_vertex(*sides[side], 2.0, bits) == 1


@each_case("screening scores", "screening: range of its scores", "exact", 1.0)
def screening(effort: Effort) -> Iterator[tuple[float, str]]:
    """Scores and the dummy over all tables of up to 3 rows, many rows alike, and one more."""
    rows = list(itertools.product((-1.0, 1.0), (-1.0, 0.0, 1.0), (-1.0, 1.0)))
    tables = [t * c for n in (0, 1, 2) for t in itertools.combinations_with_replacement(rows, n)
              for c in (1, 60)]  # fmt: skip
    weight = _core.START_WEIGHT
    for table, start in itertools.product(tables, ([0, 0], [weight, 0], [-weight, 0], [0, weight])):
        before = _scores(table, start)
        for row in rows:
            change = np.append(_scores((*table, row), start) - before, 0.0)
            used = float(np.ptp(change)) / (_core.SCREENING_RANGE + _core.SCREENING_ROUNDING)
            yield used, f"{len(table)} rows {table[:2]} at {start}, and {row}"


def _scores(table: tuple[tuple[float, ...], ...], start: list[int]) -> Doubles:
    values = np.array(table, dtype=np.float64).reshape(len(table), 3)
    design = _core.DenseUnitDesign(np.ascontiguousarray(values[:, :2]))
    gradient = _core.L1Gradient(design, np.ascontiguousarray(values[:, 2]), l1=1.0, start=start)
    return np.asarray(_core.screening_scores(gradient, np.ones(2, dtype=np.uint8)))
