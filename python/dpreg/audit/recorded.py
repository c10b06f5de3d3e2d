"""Runs of a method on two neighbours in which every released number is made to agree.

Each release of the first run is recorded and handed to the second one, so that both take
the same public path.  On it the losses of the stages can be measured one by one, and what
comes out in the end must be the same: it is a function of what was released.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpreg import _core
from dpreg.audit._patch import replaced
from dpreg.audit.worlds import Pair
from dpreg.design import Design, read_design
from dpreg.formula import FormulaSpec
from dpreg.frame import Table
from dpreg.methods._gaussian import GaussianReleases
from dpreg.methods._method import Allowance, Declined, Method, Release

__all__ = ["Leak", "Recording", "design_of", "replayed"]

Doubles = NDArray[np.float64]
Watch = Callable[..., Any]


class Leak(Exception):  # noqa: N818
    """Something came out that is no function of what was released."""


@dataclass(slots=True)
class Stage:
    """One release: the exact vector, the scale of the noise of each entry, what came out."""

    label: str
    exact: Doubles
    scales: Doubles
    out: Doubles


@dataclass(slots=True)
class Recording:
    """All releases of one run, and its outcome.

    Attributes
    ----------
    stages : list of Stage
        Gaussian releases.
    calls : list of (str, dict)
        Other mechanisms, with their arguments.
    results : list
        What those returned.
    private : list
        The records that they were given.
    units : int
        How many there are.
    outcome : Release or Declined or None
    """

    stages: list[Stage] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    private: list[Any] = field(default_factory=list)
    units: int = 0
    outcome: Release | Declined | None = None

    def mu_against(self, other: Recording) -> float:
        """Return the root of the sum of squared shifts, in deviations of the noise."""
        total = 0.0
        for mine, theirs in zip(self.stages, other.stages, strict=True):
            total += float((((mine.exact - theirs.exact) / mine.scales) ** 2).sum())
        return math.sqrt(total)


def design_of(formula: str, table: pd.DataFrame, unit: str | None = None) -> Design:
    """Return what `dp_lm` makes of a table before a method sees it."""
    source = Table(table)
    return read_design(FormulaSpec(formula, source.schema), source, unit)


def replayed(
    method: Method,
    formula: str,
    pair: Pair,
    epsilon: float,
    delta: float,
    *,
    inference: bool,
    unit: str | None = None,
) -> tuple[Recording, Recording]:
    """Run `method` on both sides of `pair`, the second run on the path of the first.

    Raises
    ------
    Leak
        If the outcomes differ, if a stage is missing on one side, if public parameters of
        a mechanism differ, or if either run raises or warns.
    """
    first, second = Recording(), Recording()
    for here, script, table in ((first, None, pair.without), (second, first, pair.having)):
        design = design_of(formula, table, unit)
        here.units = design.unit_count
        with warnings.catch_warnings(), _watching(here, script):
            warnings.simplefilter("error")
            allowance = Allowance(epsilon, delta, _core.TestBits(7))
            try:
                here.outcome = method.release(design, allowance, inference=inference)
            except Leak:
                raise
            except Exception as error:
                raise Leak(f"{type(error).__name__}: {error}") from error
    _compare(first, second)
    return first, second


def _compare(first: Recording, second: Recording) -> None:
    if len(first.stages) != len(second.stages) or len(first.calls) != len(second.calls):
        raise Leak("the neighbours took different numbers of stages")
    for (name, public), (other, same) in zip(first.calls, second.calls, strict=True):
        if name != other or public != same:
            raise Leak(f"public parameters of {name} differ: {public} and {same}")
    mine, theirs = (_plain(r.outcome) for r in (first, second))
    for key, value in mine.items():
        if repr(value) != repr(theirs.get(key)):
            raise Leak(f"{key} is no function of what was released: {value} and {theirs.get(key)}")


def _plain(outcome: Release | Declined | None) -> dict[str, Any]:
    if outcome is None:
        raise Leak("nothing came out")
    with np.printoptions(threshold=10**9, floatmode="unique"):
        return {k: repr(v) for k, v in asdict(outcome).items()}


@contextmanager
def _watching(here: Recording, script: Recording | None) -> Iterator[None]:
    """Record every release in `here`; with a `script`, return what it says instead."""
    with ExitStack() as stack:
        wrap: list[tuple[Any, str, Watch]] = [
            (GaussianReleases, "release", _gaussian_watch),
            (_core, "discrete_laplace", _count_watch),
            (_core, "tukey_em", _tukey_watch),
            (_core, "dpsgd", _dpsgd_watch),
            (_core, "L1Gradient", _gradient_watch),
            (_core, "dp_frank_wolfe", _frank_wolfe_watch),
            (_core, "assign_to_slots", _assignment_watch),
            (_core, "assign_independently", _assignment_watch),
        ]
        for owner, name, watch in wrap:
            real: Callable[..., Any] = owner.__dict__[name]
            stack.enter_context(replaced(owner, name, watch(name, real, here, script)))
        yield


def _gaussian_watch(
    name: str, real: Callable[..., Doubles], here: Recording, script: Recording | None
) -> Watch:
    def release(self: GaussianReleases, label: str, sums: Any, *rest: Any, **named: Any) -> Doubles:
        def probe(noise: int) -> tuple[Doubles, list[tuple[int, int]]]:
            """Release with a constant for noise: 0 shows the sums, 1 the unit of the noise."""
            drawn: list[tuple[int, int]] = []

            def constant(sigma: int, bits: Any, size: int) -> NDArray[np.int64]:
                drawn.append((sigma, size))
                return np.full(size, noise * sigma, dtype=np.int64)

            trial = copy.copy(self)
            trial.parts = list(self.parts)
            with replaced(_core, "discrete_gaussian", constant):
                return np.array(real(trial, label, sums, *rest, **named)).ravel(), drawn

        exact, drawn = probe(0)
        if sum(size for _, size in drawn) != exact.size:
            raise Leak(f"{label}: {exact.size} numbers, noise for {sum(s for _, s in drawn)}")
        # The noise of each entry was its own scale in the second probe.
        scales = np.abs(probe(1)[0] - exact)
        if (scales == 0).any():
            raise Leak(f"{label}: a number without noise")
        out = np.array(real(self, label, sums, *rest, **named))
        number = len(here.stages)
        if script is not None:
            if number >= len(script.stages) or script.stages[number].out.shape != out.shape:
                raise Leak(f"{label}: the neighbours took different stages")
            out = script.stages[number].out.copy()
        here.stages.append(Stage(label, exact, scales, out.copy()))
        return out

    return release


def _next(here: Recording, script: Recording | None, name: str, public: dict[str, Any]) -> int:
    here.calls.append((name, public))
    number = len(here.results)
    if script is not None and number >= len(script.results):
        raise Leak(f"{name} was called on one side only")
    return number


def _count_watch(
    name: str, real: Callable[..., NDArray[np.int64]], here: Recording, script: Recording | None
) -> Watch:
    def noise(epsilon: float, bits: Any, size: int) -> NDArray[np.int64]:
        number = _next(here, script, name, {"epsilon": epsilon, "size": size})
        if script is None:
            drawn = real(epsilon, bits, size)
        else:  # as much less as there are units more
            drawn = script.results[number] - (here.units - script.units)
        here.results.append(drawn)
        return drawn

    return noise


def _tukey_watch(
    name: str, real: Callable[..., Doubles | None], here: Recording, script: Recording | None
) -> Watch:
    def draw(regions: Any, *, bits: Any, **public: Any) -> Doubles | None:
        shape = {"points": regions.points, "dimension": regions.dimension}
        number = _next(here, script, name, {**public, **shape})
        here.private.append(regions)
        point = real(regions, bits=bits, **public) if script is None else script.results[number]
        here.results.append(point)
        return point

    return draw


def _dpsgd_watch(
    name: str, real: Callable[..., Doubles], here: Recording, script: Recording | None
) -> Watch:
    def descend(rows: Any, *, bits: Any, **public: Any) -> Doubles:
        number = _next(here, script, name, {**public, "width": rows.width})
        here.private.append(rows)
        theta = real(rows, bits=bits, **public) if script is None else script.results[number]
        here.results.append(theta)
        return theta

    return descend


def _assignment_watch(
    name: str, real: Callable[..., Any], here: Recording, script: Recording | None
) -> Watch:
    def assign(n: int, *public: Any) -> Any:
        _next(here, script, name, {"layout": public[:-1]})
        assignment = real(n, *public)
        here.results.append(assignment)
        return assignment

    return assign


def _gradient_watch(
    name: str, real: Callable[..., Any], here: Recording, script: Recording | None
) -> Watch:
    def make(design: Any, y: Doubles, *, l1: float, **start: Any) -> Any:
        # A run changes its gradient: what is kept can make another one.
        here.private.append(lambda: real(design, y, l1=l1, **start))
        here.calls.append((name, {"l1": l1, **start}))
        here.results.append(None)
        return real(design, y, l1=l1, **start)

    return make


def _frank_wolfe_watch(
    name: str, real: Callable[..., Any], here: Recording, script: Recording | None
) -> Watch:
    def run(gradient: Any, *, bits: Any, **public: Any) -> Any:
        l1 = here.calls[-1][1]["l1"]
        number = _next(here, script, name, {**public, "l1": l1})
        found = real(gradient, bits=bits, **public) if script is None else script.results[number]
        here.results.append(found)
        return found

    return run
