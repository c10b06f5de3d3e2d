"""Audits of private selection, of columns and of steps: ranges of scores, and draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpreg import _core
from dpreg.audit._bounds import epsilon_between
from dpreg.audit._finding import Check, Effort, each_case
from dpreg.audit.black_box_calls import KENDALL
from dpreg.audit.sampled import Bits, Run, sampled
from dpreg.base.arrays import Doubles
from dpreg.mechanisms import dp_sis


@each_case("kendall scores", "dp_kendall: ranges of its scores", "exact", 1.0)
def kendall_scores(effort: Effort) -> Iterator[tuple[float, str]]:
    """Scores of both kinds over all tables of 0 to 3 rows of 3 values, and one row more."""
    rows = list(itertools.product(range(2), range(3), range(2)))
    for n in range(4):
        for table in itertools.combinations_with_replacement(rows, n):
            for row in rows:
                change = _scores((*table, row)) - _scores(table)
                # A rival may move by as much in the other direction.
                labels = _span(change[:2], -_core.KENDALL_SENSITIVITY, _core.KENDALL_LARGEST_RISE)
                scores = _span(change[2:], -2.5, 2.5)
                used = labels / _core.KENDALL_LABEL_RANGE, scores / _core.KENDALL_SCORE_RANGE
                lost = max(used) if np.isfinite(used).all() else math.inf
                yield lost, f"{table} and {row}"


def _scores(table: tuple[tuple[int, ...], ...]) -> Doubles:
    """|tau| of two columns with the response, and of either less that with the other."""
    values = np.array(table, dtype=np.float64).reshape(len(table), 3)
    a, b, y = values.T
    with_y = [abs(_core.kendall_tau(c, y)) for c in (a, b)]
    between = abs(_core.kendall_tau(a, b))
    return np.array([*with_y, with_y[0] - between, with_y[1] - between])


def _span(change: Doubles, low: float, high: float) -> float:
    """Distance of a change from the far end of the interval that proofs give."""
    return float(max(change.max() - low, high - change.min(), np.ptp(change)))


@each_case("peel worlds", "peel: its law", "exact", 1.0)
def peel_law(effort: Effort) -> Iterator[tuple[float, str]]:
    """Peeling two of four, over score vectors whose changes have the range."""
    grid = [np.array(s) for s in itertools.product([0.0, 1.0, 2.0], repeat=4)]
    for a, b in itertools.combinations(grid, 2):
        if np.ptp(a - b) <= 2.0:
            yield epsilon_between(_peeled(a, 0.25), _peeled(b, 0.25), 0.0), ""


def _peeled(scores: Doubles, rate: float) -> Doubles:
    weights = np.exp(rate * scores)
    return np.array(
        [
            weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i])
            for i, j in itertools.permutations(range(len(scores)), 2)
        ]
    )


# What changes by 1 in either direction has a range of 2; two are chosen.
_PEEL = (np.zeros(18), np.append(np.ones(2), np.full(16, -1.0)))
_CANONICAL = (np.array([-1.0, 0, 0, 0, 0, 0]), np.array([0.0, 1, -1, -1, -1, -1]))


def _two(name: str, pair: tuple[Doubles, Doubles], **options: Any) -> Check:
    """Runs by whether the first two are chosen."""

    def one_run(side: int, bits: Bits) -> float:
        asked = {"k": 2, "range": 2.0, "epsilon": 3.0, "bits": bits, **options}
        return float(max(getattr(_core, name)(pair[side], **asked)) < 2)

    title = f"{name}: two of {len(pair[0])}"
    return sampled(f"{name} runs", title, (3.0, 0.0), 200_000)(lambda: one_run)


PEEL_RUNS = _two("peel", _PEEL)
CANONICAL_RUNS = _two(
    "canonical_lipschitz", _CANONICAL, gamma=0.5, noise=_core.NoiseLaw.EXPONENTIAL
)


@sampled("kendall runs", "dp_kendall: one column", (2.0, 0.0), 30_000)
def kendall() -> Run:
    """One column starts to agree with y in the last row, and eight stop."""
    return lambda side, bits: KENDALL.run(KENDALL.tables[side], 2.0, bits)[0]


@sampled("sis runs", "dp_sis: one column", (2.0, 0.0), 40_000)
def sis() -> Run:
    """The last row raises one sum of products and lowers twenty."""
    X, unit = np.ones((2, 21)), (-1.0, 1.0)
    X[0, 0], X[1, 1:] = 0.0, -1.0

    def one_run(side: int, bits: Bits) -> float:
        n = 1 + side
        chosen = dp_sis(
            X[:n], np.ones(n), 1, 2.0, x_bounds=unit, y_bounds=unit, top_k="peel", rng=bits
        )
        return float(chosen[0] == 0)

    return one_run


@sampled("sub_lasso runs", "sub_lasso: one column", (2.0, 0.0), 40_000)
def sub_lasso() -> Run:
    """Four models; one of them votes for the other column."""
    y = np.tile([0.0, 1.0, 0.0, 1.0], 4)
    assignment = _core.fixed_assignment(list(range(16)), list(range(0, 17, 4)))
    tables = []
    for voters in (1, 2):
        X = np.zeros((16, 2))
        X[: 4 * voters, 0] = y[: 4 * voters]
        X[4 * voters :, 1] = y[4 * voters :]
        tables.append(X)

    def one_run(side: int, bits: Bits) -> float:
        found = _core.sub_lasso(
            tables[side], y, assignment, penalty=0.1, k=1, epsilon=2.0, bits=bits
        )
        return float(found[0] == 0)

    return one_run


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
        before = _screening_scores(table, start)
        for row in rows:
            change = np.append(_screening_scores((*table, row), start) - before, 0.0)
            used = float(np.ptp(change)) / (_core.SCREENING_RANGE + _core.SCREENING_ROUNDING)
            yield used, f"{len(table)} rows {table[:2]} at {start}, and {row}"


def _screening_scores(table: tuple[tuple[float, ...], ...], start: list[int]) -> Doubles:
    values = np.array(table, dtype=np.float64).reshape(len(table), 3)
    design = _core.DenseUnitDesign(np.ascontiguousarray(values[:, :2]))
    gradient = _core.L1Gradient(design, np.ascontiguousarray(values[:, 2]), l1=1.0, start=start)
    return np.asarray(_core.screening_scores(gradient, np.ones(2, dtype=np.uint8)))
