"""Grey-box audits: what each stage of a whole fit loses on the worst rows there are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpreg import _core
from dpreg.accounting.gdp import gdp_epsilon
from dpreg.accounting.pld import sampled_epsilon
from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.recorded import Leak, Recording, replayed
from dpreg.audit.worlds import Pair, hostile_pairs, regression
from dpreg.methods import DPSGD, AdaSSP, BoostedAdaSSP, TukeyEM
from dpreg.methods._method import Method

__all__ = ["CHECKS", "finding_of"]

_BOUNDS = {"a": (-1.0, 1.0), "b": (-1.0, 1.0), "y": (-1.0, 1.0)}
_FORMULAS = ("y ~ a + b", "y ~ 0 + a + b", "y ~ 1")


@dataclass(frozen=True, slots=True)
class Run:
    """One replay: options, formula, neighbours, and whether inference is asked for."""

    method: Method
    formula: str
    pair: Pair
    inference: bool
    unit: str | None = None

    def __str__(self) -> str:
        inference = "" if self.inference else ", no inference"
        unit = "" if self.unit is None else f", unit {self.unit}"
        return f"{self.formula}, {self.pair.label}{inference}{unit}"


Loss = Callable[[Recording, Recording, float], float]


def finding_of(
    mechanism: str, runs: Iterator[Run], loss: Loss, epsilon: float, delta: float
) -> Finding:
    """Replay all `runs`; the largest loss, or infinity where something leaks."""
    worst, count, remark = 0.0, 0, ""
    for run in runs:
        count += 1
        try:
            recordings = replayed(
                run.method, run.formula, run.pair, epsilon, delta,
                inference=run.inference, unit=run.unit,
            )  # fmt: skip
            lost = loss(*recordings, delta)
        except Leak as leak:
            return Finding(
                mechanism=mechanism, how="grey box", epsilon=epsilon, delta=delta,
                lower=math.inf, runs=count, remark=f"{run}: {leak}"[:300],
            )  # fmt: skip
        if lost > worst:
            worst, remark = lost, str(run)
    return Finding(
        mechanism=mechanism, how="grey box", epsilon=epsilon, delta=delta, lower=worst,
        runs=count, remark=remark,
    )  # fmt: skip


def gaussian_loss(first: Recording, second: Recording, delta: float) -> float:
    """Gaussian releases on one path: a Gaussian with a shift of mu deviations."""
    return gdp_epsilon(first.mu_against(second), delta)


def dpsgd_loss(first: Recording, second: Recording, delta: float) -> float:
    """As `gaussian_loss`, and the sampled steps by what the row moves a full gradient."""
    mu = first.mu_against(second)
    (_, public), rows, more = first.calls[0], first.private[0], second.private[0]
    moved = 0.0
    for theta in itertools.product((-3.0, 0.0, 3.0), repeat=public["width"]):
        (here, _), (there, _) = (r.round(list(theta), public["clip"]) for r in (rows, more))
        moved = max(moved, float(np.linalg.norm((there - here).astype(np.float64))))
    if moved == 0:
        return gdp_epsilon(mu, delta)
    rate = _core.poisson_rate(public["rate"])
    return sampled_epsilon(public["sigma"] / moved, rate, public["steps"], mu, delta)


def tukey_loss(first: Recording, second: Recording, delta: float) -> float:
    """What the mechanisms were told that they may lose; infinite beyond delta."""
    total, failure = 0.0, 0.0
    for name, public in first.calls:
        if name == "discrete_laplace":
            total += public["epsilon"] * public["size"]
        elif name == "tukey_em":
            total += public["epsilon_test"] + public["epsilon_sample"]
            failure += public["delta"]
    return total if failure <= delta else math.inf


def _runs(
    methods: tuple[Method, ...], pairs: tuple[Pair, ...], formulas: tuple[str, ...] = _FORMULAS
) -> Iterator[Run]:
    for method, formula, pair, inference in itertools.product(
        methods, formulas, pairs, (True, False)
    ):
        yield Run(method, formula, pair, inference)


def _person_pair(rows: int) -> Pair:
    """One more person, of five rows all alike and extreme."""
    base = regression(40).assign(person=np.repeat(np.arange(20), 2))
    row = pd.DataFrame({"a": [1.0], "b": [1.0], "y": [1.0], "person": [99]})
    return Pair(f"a person of {rows} rows", base, pd.concat([base, *([row] * rows)]))


def adassp(effort: Effort) -> Finding:
    methods = (AdaSSP(), AdaSSP(bounds=_BOUNDS))
    return finding_of("adassp", _without_odd(methods), gaussian_loss, 1.0, 1e-5)


def boosted_adassp(effort: Effort) -> Finding:
    methods = (BoostedAdaSSP(), BoostedAdaSSP(bounds=_BOUNDS, rounds=3))
    return finding_of("boosted_adassp", _without_odd(methods), gaussian_loss, 1.0, 1e-5)


def _without_odd(methods: tuple[Method, ...]) -> Iterator[Run]:
    """All pairs; with bounds on a regressor the formula must have it."""
    for run in _runs(methods, hostile_pairs()):
        if run.formula != "y ~ 1" or getattr(run.method, "bounds", None) is None:
            yield run


def dpsgd(effort: Effort) -> Finding:
    pairs = hostile_pairs()
    runs = _runs((DPSGD(steps=40),), pairs)
    if effort.scale < 1:
        runs = _runs((DPSGD(steps=40),), (pairs[0], pairs[5]), _FORMULAS[:1])
    return finding_of("dpsgd", runs, dpsgd_loss, 1.0, 1e-5)


def units(effort: Effort) -> Finding:
    """A person's rows move together, and no more of them than the method says."""
    pair = _person_pair(5)
    methods = (AdaSSP(max_rows=3), BoostedAdaSSP(max_rows=3), AdaSSP())
    runs = (Run(m, "y ~ a + b", pair, True, "person") for m in methods)
    return finding_of("units of several rows", runs, gaussian_loss, 1.0, 1e-5)


def tukey(effort: Effort) -> Finding:
    large = tuple(
        Pair(label, base, pd.concat([base, row]))
        for label, base, row in (
            ("an extreme row", regression(900), pd.DataFrame({"a": [9.0], "b": [9], "y": [-99]})),
            ("a missing cell", regression(900), pd.DataFrame({"a": [np.nan], "b": [0], "y": [0]})),
        )
    )
    methods = (TukeyEM(), TukeyEM(models=30), TukeyEM(models=30, partition="independent"))
    pairs = large + (hostile_pairs() if effort.scale >= 1 else hostile_pairs()[2:3])
    formulas = _FORMULAS if effort.scale >= 1 else _FORMULAS[:1]
    mechanism = "tukey: what its stages ask for"
    return finding_of(mechanism, _runs(methods, pairs, formulas), tukey_loss, 20.0, 0.01)


CHECKS = (
    Check("adassp", adassp),
    Check("boosted_adassp", boosted_adassp),
    Check("dpsgd", dpsgd),
    Check("units", units),
    Check("tukey", tukey),
)
