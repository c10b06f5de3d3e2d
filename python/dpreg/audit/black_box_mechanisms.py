"""What black-box audits call of `dpreg.mechanisms`: arrays, and the row that each shows best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpreg import mechanisms
from dpreg.audit.attacks import Attack


def _frank_wolfe() -> Attack:
    """Twenty rows hold the first step in place; the second then shows what one row asks for.

    Of all numbers of like rows and responses this is the best by exact enumeration, and whether any
    vertex is positive the best event.
    """
    y = np.append(np.full(20, -0.725), 1.0)
    x = np.ones((21, 1))
    return Attack(
        "mechanisms.dp_frank_wolfe()",
        lambda rows, epsilon, delta, rng: mechanisms.dp_frank_wolfe(
            x[:rows], y[:rows], epsilon, delta, l1=1.0, steps=2, rng=rng
        ),
        (20, 21), lambda fit: (float((fit.path > 0).any()),), 1e-5, 250_000, "concentrated",
        "of the rho of its composition: on these two tables it loses 0.22 at most",
    )  # fmt: skip


def _selected(name: str, asked: Callable[..., Any], tables: tuple[Any, Any]) -> Attack:
    """Attack a selection by whether it is of the first columns."""
    seen = lambda chosen: (float(max(chosen) < len(chosen)),)  # noqa: E731
    return Attack(name, asked, tables, seen, 0.0, 20_000, "events")


def _kendall() -> Attack:
    """Attack by a row in which one column starts to agree with y, and eight stop."""
    y = np.arange(4.0)
    X = np.column_stack([[0.0, 0.0, 0.0, 1.0], *[[0.0, 1.0, 2.0, -1.0]] * 8])
    return _selected(
        "mechanisms.dp_kendall()",
        lambda n, epsilon, rng: mechanisms.dp_kendall(X[:n], y[:n], 1, epsilon, rng=rng),
        (3, 4),
    )


def _sis() -> Attack:
    """Attack by a row that raises two sums of products and lowers four."""
    X = np.ones((3, 6))
    X[0, 0], X[2, 2:] = 0.0, -1.0
    return _selected(
        "mechanisms.dp_sis(k=2)",
        lambda n, epsilon, rng: mechanisms.dp_sis(
            X[:n], np.ones(n), 2, epsilon, x_bounds=(-1.0, 1.0), y_bounds=(-1.0, 1.0), rng=rng
        ),
        (2, 3),
    )


def _sub_lasso() -> Attack:
    """Attack by a row so large that its model votes for the other column."""
    y = np.resize([-1.0, 1.0, 2.0], 90)
    X = np.column_stack([np.zeros(90), y])
    tables = (X, y), (np.vstack([X, [1e6, 0.0]]), np.append(y, 1e6))
    return _selected(
        "mechanisms.sub_lasso()",
        lambda table, epsilon, rng: mechanisms.sub_lasso(
            table[0], table[1], 1, epsilon, models=6, partition="independent", rng=rng
        ),
        tables,
    )


KENDALL = _kendall()
MECHANISMS = (_frank_wolfe(), KENDALL, _sis(), _sub_lasso())
