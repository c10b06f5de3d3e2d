"""Releases other than `GaussianReleases`: noisy counts, and mechanisms of the core.

Only here, outside the data package, are sealed values opened: each function passes the contents
directly to a mechanism and returns its release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.base.arrays import Doubles, Sums
from dpreg.data.design import Arrays
from dpreg.estimation.planning.tukey import TukeyPlan
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.privacy.certificate import Part
from dpreg.privacy.sealed import Counts, Scores, Sealed, opened


def noisy_counts(
    label: str, counts: Counts, epsilon: float, bits: _core.BitSource, rows: int = 1
) -> tuple[Sums, Part]:
    """Add discrete Laplace noise to counts.

    label: for the certificate.
    rows: maximum number of rows of a unit.
    """
    exact, most = opened(counts), 1 if counts.of_units else rows
    each = epsilon_of_row(epsilon, most)
    noise = np.asarray(_core.discrete_laplace(each, bits, exact.size)).reshape(exact.shape)
    how = f"discrete Laplace, scale {1 / each:.4g}"
    part = Part(label, epsilon, 0.0, how, sensitivity=float(most), scale=1 / each)
    return exact + noise, part


def epsilon_of_row(epsilon: float, rows: int) -> float:
    """Return the epsilon per row of a unit, rounded down so that the total is at most epsilon."""
    return epsilon if rows == 1 else math.nextafter(epsilon / rows, 0.0)


def tukey(
    fits: Sealed[Doubles], grid_exponent: int, plan: TukeyPlan, delta: float, bits: _core.BitSource
) -> Doubles | None:
    """Draw a point of large depth among fits, if the test passes: see `_core.tukey_em`."""
    return _core.tukey_em(
        _core.DepthRegions(opened(fits), grid_exponent),
        depth=plan.depth,
        epsilon_test=plan.epsilon_test,
        epsilon_sample=plan.epsilon_sample,
        delta=delta,
        bits=bits,
    )


class Steps(NamedTuple):
    """Gradient steps, as `_core.dpsgd` names them.  Public."""

    steps: int
    rate: float
    expected: float
    clip: float
    learning_rate: float


def descent(rows: MappedRows, steps: Steps, sigma: int, bits: _core.BitSource) -> Doubles:
    """Take noisy gradient steps: see `_core.dpsgd`."""
    return _core.dpsgd(rows.like, opened(rows.blocks()), **steps._asdict(), sigma=sigma, bits=bits)


def peeled(scores: Scores, *, k: int, epsilon: float, bits: _core.BitSource) -> list[int]:
    """Draw k candidates, one after another: see `_core.peel`."""
    return _places(_core.peel(opened(scores), k=k, range=scores.range, epsilon=epsilon, bits=bits))


def canonical(
    scores: Scores,
    *,
    k: int,
    epsilon: float,
    gamma: float,
    noise: _core.NoiseLaw,
    bits: _core.BitSource,
) -> list[int]:
    """Draw k candidates at once: see `_core.canonical_lipschitz`."""
    return _places(
        _core.canonical_lipschitz(
            opened(scores),
            k=k,
            range=scores.range,
            epsilon=epsilon,
            gamma=gamma,
            noise=noise,
            bits=bits,
        )
    )


def kendall(
    rows: Sealed[Arrays],
    *,
    k: int,
    epsilon_round: float,
    first_range: float,
    later_range: float,
    bits: _core.BitSource,
    groups: Sequence[int],
) -> list[int]:
    """Draw k candidates by rank correlations: see `_core.dp_kendall`."""
    arrays = opened(rows)
    return _places(
        _core.dp_kendall(
            arrays.X,
            arrays.y,
            k=k,
            epsilon_round=epsilon_round,
            first_range=first_range,
            later_range=later_range,
            bits=bits,
            groups=groups,
        )
    )


def lasso_votes(
    rows: Sealed[Arrays],
    assignment: Sealed[_core.Assignment],
    *,
    penalty: float,
    k: int,
    epsilon: float,
    bits: _core.BitSource,
    groups: Sequence[int],
) -> list[int]:
    """Draw k candidates by the votes of Lasso fits: see `_core.sub_lasso`."""
    arrays = opened(rows)
    return _places(
        _core.sub_lasso(
            arrays.X,
            arrays.y,
            opened(assignment),
            unit_offsets=arrays.unit_offsets,
            unit_rows=arrays.unit_rows,
            penalty=penalty,
            k=k,
            epsilon=epsilon,
            bits=bits,
            groups=groups,
        )
    )


def _places(chosen: NDArray[np.uint64]) -> list[int]:
    return [int(j) for j in chosen]
