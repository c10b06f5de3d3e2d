"""What black-box audits call of `dpreg.mechanisms`: arrays, and the row that each shows best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpreg import mechanisms
from dpreg._core import BitSource
from dpreg.audit.attacks import Attack

_DELTA = 1e-5


def _frank_wolfe() -> Attack:
    """Twenty rows hold the first step in place; the second then shows what one row asks for.

    Of all numbers of like rows and responses this is the best by exact enumeration, and whether any
    vertex is positive the best event.
    """
    y = np.append(np.full(20, -0.725), 1.0)
    x = np.ones((21, 1))
    return Attack(
        name="mechanisms.dp_frank_wolfe()",
        call=lambda rows, epsilon, bits: mechanisms.dp_frank_wolfe(
            x[:rows], y[:rows], epsilon, _DELTA, l1=1.0, steps=2, rng=bits
        ),
        tables=(20, 21), seen=lambda fit: (float((fit.path > 0).any()),), delta=_DELTA,
        runs=250_000, bound="concentrated",
        remark="of the rho of its composition: on these two tables it loses 0.22 at most",
    )  # fmt: skip


def _selected(
    name: str, call: Callable[[Any, float, BitSource], Any], tables: tuple[Any, Any], runs: int
) -> Attack:
    """Attack a selection by whether it is of the first columns."""
    return Attack(
        name=name, call=call, tables=tables,
        seen=lambda chosen: (float(max(chosen) < len(chosen)),), delta=0.0, runs=runs,
        bound="events",
    )  # fmt: skip


def _kendall() -> Attack:
    """Attack by a row in which one column starts to agree with y, and eight stop."""
    y = np.arange(4.0)
    X = np.column_stack([[0.0, 0.0, 0.0, 1.0], *[[0.0, 1.0, 2.0, -1.0]] * 8])
    return _selected(
        "mechanisms.dp_kendall()",
        lambda n, epsilon, bits: mechanisms.dp_kendall(X[:n], y[:n], 1, epsilon, rng=bits),
        (3, 4), 20_000,
    )  # fmt: skip


def _sis() -> Attack:
    """Attack by a row that raises two sums of products and lowers four."""
    X = np.ones((3, 6))
    X[0, 0], X[2, 2:] = 0.0, -1.0
    return _selected(
        "mechanisms.dp_sis(k=2)",
        lambda n, epsilon, bits: mechanisms.dp_sis(
            X[:n], np.ones(n), 2, epsilon, x_bounds=(-1.0, 1.0), y_bounds=(-1.0, 1.0), rng=bits
        ),
        (2, 3), 20_000,
    )  # fmt: skip


def _sub_lasso() -> Attack:
    """Attack by a row so large that its model votes for the other column."""
    y = np.resize([-1.0, 1.0, 2.0], 90)
    X = np.column_stack([np.zeros(90), y])
    tables = (X, y), (np.vstack([X, [1e6, 0.0]]), np.append(y, 1e6))
    return _selected(
        "mechanisms.sub_lasso()",
        lambda table, epsilon, bits: mechanisms.sub_lasso(
            table[0], table[1], 1, epsilon, models=6, partition="independent", rng=bits
        ),
        tables, 20_000,
    )  # fmt: skip


MECHANISMS = (_frank_wolfe(), _kendall(), _sis(), _sub_lasso())
