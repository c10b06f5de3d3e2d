"""Steps of DP-SGD on neighbours: one path, and the same rows in the samples of both."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg import _core
from dpreg.audit.recorded import Claim
from dpreg.audit.recordings import Call, Leak, Recording
from dpreg.base.arrays import Doubles, Sums
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.privacy.pld import sampled_epsilon
from dpreg.privacy.sealed import opened

# Of the bits of both runs, and how many bits of a rate there are.
_SEED, _BITS = 7, 32
# Losses of steps are rounded up to multiples of this, times epsilon.
_GRID = 1e-3


@dataclass(frozen=True, slots=True)
class Steps:
    """What `_core.dpsgd` did with a table, step by step."""

    rows: list[_core.QuantisedRows]  # Of one row each, in the order in which they are sampled.
    path: list[Doubles]  # Coefficients before each step.

    def gradient(self, row: int, theta: Doubles, clip: float) -> Sums:
        """Return what a row adds to the sum of a step that it is in."""
        return self.rows[row].round(theta.tolist(), clip)[0]


def moved_share(first: Recording, second: Recording) -> float:
    """Put both tables on the path of the first, with coupled samples; return how far a sum moved.

    Rows that are in both tables are in the same samples, and add the same; the one that came, or
    went, is taken to be in each sample.

    Returns: the share of the sensitivity, at most.
    Raises Leak if the core did something else with one of the tables, if a row that is in both adds
        something else, or if a sum moved by more than its sensitivity.
    """
    mine, theirs = _steps_of(_descent(first)), _steps_of(_descent(second))
    clip, both = _descent(first).public["clip"], min(len(mine.rows), len(theirs.rows))
    longer = mine if len(mine.rows) > both else theirs
    if len(longer.rows) > both + 1:
        raise Leak(f"{len(longer.rows) - both} rows more in the samples of one table")
    moved = 0.0
    # No step leads to the last two.
    for theta in [*mine.path, *(np.full(_descent(first).private.width, x) for x in (-3.0, 3.0))]:
        for row in range(both):
            if (mine.gradient(row, theta, clip) != theirs.gradient(row, theta, clip)).any():
                raise Leak(f"row {row} of both tables adds something else to a step")
        for row in range(both, len(longer.rows)):
            added = longer.gradient(row, theta, clip).astype(np.float64)
            moved = max(moved, float(np.linalg.norm(added)))
    stated = _stated(first)
    if moved > stated * (1 + 1e-9):
        raise Leak(f"a gradient of sensitivity {stated:.6g} moved by {moved:.6g}")
    return moved / stated


def sampled_loss(first: Recording, second: Recording, claim: Claim) -> float:
    """Loss at delta of all Gaussian releases, and of the sampled steps by what they state.

    What a table moved is not asked: a row that is nothing at one point may be much at another.
    """
    public = _descent(first).public
    spent = math.hypot(*(stage.mu for stage in first.stages))
    multiplier, rate = public["sigma"] / _stated(first), _core.poisson_rate(public["rate"])
    grid = _GRID * max(1.0, claim[0])
    return sampled_epsilon(multiplier, rate, public["steps"], spent, claim[1], discretisation=grid)


def _descent(recording: Recording) -> Call:
    (call,) = (call for call in recording.calls if call.name == "dpsgd")
    return call


def _stated(recording: Recording) -> float:
    """Return the sensitivity of a step, as the certificate has it."""
    document, _ = json.JSONDecoder().raw_decode(recording.outcome)
    return float(document["privacy"]["parts"][-1]["sensitivity"])


def _steps_of(call: Call) -> Steps:
    """Take the steps once more, row by row; the core must come to the same bits."""
    rows, public = call.private, {**call.public}
    del public["shape of the data"]
    arrays, how = opened(rows._design.arrays()), rows._recipe.standardisation()
    each = [
        _core.QuantisedRows(arrays.X[k : k + 1], arrays.y[k : k + 1], how)
        for k in range(len(arrays.y))
    ]
    found = _core.dpsgd(rows.like, opened(rows.blocks()), **public, bits=_core.TestBits(_SEED))
    steps, mean = _walked(each, rows, public)
    if not np.array_equal(found, mean):
        raise Leak(f"sampled steps lead to {mean.tolist()} row by row, and to {found.tolist()}")
    return steps


def _walked(
    each: list[_core.QuantisedRows], rows: MappedRows, public: dict[str, Any]
) -> tuple[Steps, Doubles]:
    """See dpsgd.cpp."""
    bits, steps = _core.TestBits(_SEED), Steps(each, [])
    threshold = math.floor(math.ldexp(public["rate"], _BITS))
    unit = public["clip"] * rows.limit / float(_core.ROW_STEPS) ** 2
    length = public["learning_rate"] * unit / public["expected"]
    theta, mean = np.zeros(rows.width), np.zeros(rows.width)
    averaged = (public["steps"] + 1) // 2
    for step in range(public["steps"]):
        steps.path.append(theta)
        sample = _sample(len(each), threshold, bits)
        parts = [steps.gradient(row, theta, public["clip"]) for row in sample]
        noise = _core.discrete_gaussian(public["sigma"], bits, rows.width)
        theta = theta + length * np.sum([*parts, noise], axis=0).astype(np.float64)
        if step + averaged >= public["steps"]:
            mean = mean + theta / averaged
    return steps, mean


def _sample(rows: int, threshold: int, bits: _core.BitSource) -> set[int]:
    """Return which rows are in a sample: each by 32 bits that are its own."""
    first, rest, chosen, word = threshold >> 24, threshold & 0xFFFFFF, set[int](), 0
    for row in range(rows):
        if row % 8 == 0:
            word = bits.next()
        byte = word >> 8 * (row % 8) & 0xFF
        if byte < first or (byte == first and bits.next() & 0xFFFFFF < rest):
            chosen.add(row)
    return chosen
