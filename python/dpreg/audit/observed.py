"""All that can be seen of a call besides released numbers, and the rows that a method gets."""

from __future__ import annotations

import itertools
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dpreg.calls.isolation import redirected
from dpreg.calls.lm import dp_lm
from dpreg.data.design import Design
from dpreg.estimation.base import Method, Release
from dpreg.privacy.budget import Budget
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost
from dpreg.privacy.sealed import opened

_EPSILON, _DELTA = 1.0, 1e-4


@dataclass(slots=True)
class Probe(Method):
    """A method that reads every record and releases nothing of them."""

    holds_rows = uses_bounds = True

    name: ClassVar[str] = "probe"
    seen: list[Design] = field(default_factory=list)

    def check(self, *arguments: Any, **named: Any) -> None:
        """Take everything."""

    def cost(self, epsilon: float, delta: float) -> Cost:
        """Charge all of it."""
        return Cost.approximate(epsilon, delta)

    def release(self, design: Design, allowance: Any, *, inference: bool) -> Release:
        """Keep the design; release zeros."""
        self.seen.append(design)
        size = len(design.terms.coefficients)
        return Release(np.zeros(size), None, None, 1.0, (Part("nothing", 0.0, 0.0, "none"),))


@dataclass(frozen=True, slots=True)
class Observed:
    """What came out of one call."""

    failure: tuple[str, str] | None  # Type and text of the exception.
    warned: tuple[str, ...]
    said: bytes  # Output of the process, in whatever language, and logs of the package.
    charges: tuple[tuple[str, float], ...]  # Label and epsilon of each.
    document: str | None  # The result as JSON, of which all that it prints is a function.
    design: Design | None  # What the method got.

    @property
    def quiet(self) -> bool:
        """Whether there is a result, paid for once, and nothing else."""
        return (self.failure, self.warned, self.said, len(self.charges)) == (None, (), b"", 1)


def observe(formula: str, data: Any, **arguments: Any) -> Observed:
    """Call `dp_lm` with a `Probe`, and note everything."""
    budget, probe = Budget(3.0, 1e-3), Probe()

    def call() -> str:
        fit = dp_lm(formula, data, _EPSILON, _DELTA, method=probe, budget=budget, **arguments)
        return fit.to_json()

    seen = watch(call, budget)
    return replace(seen, design=probe.seen[0] if probe.seen else None)


def watch(call: Callable[[], str], budget: Budget) -> Observed:
    """Make any call that pays with a budget, and note everything but what a method gets."""
    failure, document = None, None
    with warnings.catch_warnings(record=True) as warned, _listening() as said:
        warnings.simplefilter("always")
        try:
            document = call()
        except BaseException as error:  # a panic of polars is no Exception
            failure = type(error).__name__, str(error)
    charges = tuple((charge.label, charge.epsilon) for charge in budget.charges)
    texts = tuple(str(w.message) for w in warned)
    return Observed(failure, texts, b"".join(said), charges, document, None)


@contextmanager
def _listening() -> Iterator[list[bytes]]:
    """Note output of the process, that of Python, which need not go there, and logs."""
    said: list[bytes] = []
    logger = logging.getLogger("dpreg")
    level = logger.level
    with tempfile.TemporaryFile() as output:
        number = output.fileno()
        with (
            redirected(1, number),
            redirected(2, number),
            open(number, "w", closefd=False, buffering=1, errors="backslashreplace") as file,
            redirect_stdout(file),
            redirect_stderr(file),
        ):
            handler = logging.StreamHandler(file)
            logger.addHandler(handler)
            logger.setLevel(1)
            try:
                yield said
            finally:
                logger.removeHandler(handler)
                logger.setLevel(level)
        output.seek(0)
        said.append(output.read())


def difference(without: Observed, having: Observed, *, grouped: bool) -> str:
    """Say what tells two neighbours apart, `having` with one unit more; empty: nothing does."""
    for name in ("failure", "warned", "said", "charges", "document"):
        mine, theirs = getattr(without, name), getattr(having, name)
        if mine != theirs:
            return f"{name}: {mine!r} and {theirs!r}"
    if without.design is None or having.design is None:
        return ""
    return _rows_apart(without.design, having.design, grouped=grouped)


def _rows_apart(without: Design, having: Design, *, grouped: bool) -> str:
    """The rows of `having` are those of `without`, in their order, and those of one unit."""
    before, after = _bits(without), _bits(having)
    added = len(after) - len(before)
    if not grouped:
        inserted = any(before == after[:k] + after[k + added :] for k in range(len(before) + 1))
        return "" if added in (0, 1) and inserted else "more than one row changed"
    groups, others = _groups(having), _groups(without)
    # Of all units of `having` one at most, with all of its rows, is not there without it.
    for unit in (frozenset[int](), *groups):
        kept = [i for i in range(len(after)) if i not in unit]
        place = {old: new for new, old in enumerate(kept)}
        if [after[i] for i in kept] != before:
            continue
        if {frozenset(place[i] for i in g) for g in groups if g != unit} == others:
            return ""
    return "more than one unit changed"


def _groups(design: Design) -> set[frozenset[int]]:
    """The rows of each unit, as places."""
    records = opened(design.records)
    if records.units is None:
        return {frozenset([i]) for i in range(records.unit_count)}
    offsets, rows = records.units.offsets.astype(int), records.units.rows.astype(int)
    return {frozenset(rows[a:b].tolist()) for a, b in itertools.pairwise(offsets)}


def _bits(design: Design) -> list[bytes]:
    """Each row of the design, to the last bit."""
    rows = opened(design.arrays())
    return [row.tobytes() for row in np.column_stack([rows.X, rows.y])]
