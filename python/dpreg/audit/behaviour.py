"""What has to be true of a call besides its numbers: order, randomness, no surprises."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpreg import _core
from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit._patch import replaced
from dpreg.audit.worlds import hostile_pairs, regression
from dpreg.calls.lm import dp_lm
from dpreg.estimation.base import Method
from dpreg.estimation.methods import DPSGD, AdaSSP, BoostedAdaSSP, FrankWolfe, TukeyEM
from dpreg.privacy.account import Account
from dpreg.privacy.bits import bit_source
from dpreg.privacy.sealed import ExactSums

__all__ = ["CHECKS"]

_METHODS: tuple[Method, ...] = (
    TukeyEM(), TukeyEM(models=4), AdaSSP(), BoostedAdaSSP(), DPSGD(steps=3),
    FrankWolfe(steps=5, screen="rnm"),
)  # fmt: skip


def _finding(mechanism: str, faults: list[str], cases: int) -> Finding:
    """A claim of 0: nothing at all may be lost here."""
    return Finding(
        mechanism=mechanism, how="grey box", epsilon=0.0, delta=0.0,
        lower=math.inf if faults else 0.0, runs=cases, remark="; ".join(faults)[:300],
    )  # fmt: skip


def charged_first(effort: Effort) -> Finding:
    """No cell and no number of rows is read before the budget is charged."""
    faults, cases = [], 0
    for method in _METHODS:
        for unit in (None, "who"):
            seen: list[str] = []
            table = regression(30).assign(who=np.arange(30))
            data = {name: _Tripwire(table[name].to_numpy(), seen) for name in table}
            with replaced(Account, "reserve", _noting(Account, "reserve", seen, "charge")):
                dp_lm("y ~ a", data, 1.0, 1e-3, method=method, unit=unit, rng=effort.seed)
            cases += 1
            if seen.count("charge") != 1 or seen.index("charge") > seen.index("read"):
                faults.append(f"{method.name}: {seen}")
    return _finding("charged before a record is read", faults, cases)


class _Tripwire:
    """A column that notes when it is read; its type may be asked for, and its length."""

    def __init__(self, values: NDArray[Any], seen: list[str]) -> None:
        self.dtype = values.dtype
        self._values, self._seen = values, seen

    def __len__(self) -> int:
        return len(self._values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        self._seen.append("read")
        return self._values


def _noting(owner: type, name: str, seen: list[str], what: str) -> Callable[..., Any]:
    real = owner.__dict__[name]

    def noting(*arguments: Any, **named: Any) -> Any:
        seen.append(what)
        return real(*arguments, **named)

    return noting


def fresh_noise(effort: Effort) -> Finding:
    """No two fits, and no two draws of one fit, have the same noise, at one instant either."""
    faults = []
    for method in _METHODS:
        draws: list[bytes] = []
        outcomes: list[str] = []
        with ExitStack() as stack:
            for clock in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter_ns"):
                stack.enter_context(replaced(time, clock, lambda: 1_800_000_000))
            stack.enter_context(
                replaced(_core, "discrete_gaussian", _keeping(_core.discrete_gaussian, draws))
            )
            for _ in range(3):
                fit = dp_lm("y ~ a", regression(2000), 20.0, 1e-2, method=method)
                # Of a method that declined nothing but a small count can be seen, twice the same.
                outcomes += [fit.to_json()] if fit.released else []
                if fit.privacy.seeded:
                    faults.append(f"{method.name}: seeded by itself")
        if len(set(outcomes)) < len(outcomes):
            faults.append(f"{method.name}: fits repeat themselves")
        if len(set(draws)) < len(draws):
            faults.append(f"{method.name}: noise is used twice")
    streams = {bit_source(None).next() for _ in range(100)}
    if len(streams) < 100:
        faults.append("sources of bits repeat one another")
    return _finding("fresh noise", faults, 3 * len(_METHODS))


def _keeping(real: Callable[..., Any], draws: list[bytes]) -> Callable[..., Any]:
    def drawing(sigma: int, bits: Any, size: int) -> Any:
        noise = real(sigma, bits, size)
        # Short vectors of a small scale repeat by chance.
        if size * math.log2(sigma + 1) > 60:
            draws.append(noise.tobytes())
        return noise

    return drawing


def on_the_grid(effort: Effort) -> Finding:
    """Noisy sums are integers times a public power of two, whatever the data."""
    from dpreg.estimation.releases.accountant import GaussianReleases

    faults, cases = [], 0
    bits = _core.TestBits(effort.seed)
    for epsilon, sums in ((1.0, np.array([1, -7, 12])), (0.01, np.arange(5)), (50.0, np.zeros(2))):
        noise = GaussianReleases(epsilon, 1e-5, bits)
        exact = ExactSums(sums.astype(np.int64), 1.0)
        out, _ = noise.release("x", exact, noise.share(0.5))
        cases += len(out)
        scaled = np.ldexp(out, 40)
        if (scaled != np.rint(scaled)).any() or np.abs(out).max() > 2.0**52:
            faults.append(f"eps={epsilon}: {out}")
    return _finding("outputs on a public grid", faults, cases)


def no_surprises(effort: Effort) -> Finding:
    """Odd rows raise nothing and warn of nothing."""
    faults, cases = [], 0
    tables = [pair.having for pair in hostile_pairs(30)]
    tables += [tables[0].iloc[:1], tables[0] * 0, tables[0] * np.nan, tables[0] * 1e305]
    for method in _METHODS:
        for table in tables:
            for formula in ("y ~ a + b", "y ~ 0 + a"):
                cases += 1
                fault = _surprise(formula, table, method, effort.seed + cases)
                if fault:
                    faults.append(f"{method.name}, {formula}: {fault}")
    return _finding("no exception or warning from data", faults, cases)


def _surprise(formula: str, table: pd.DataFrame, method: Method, seed: int) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            fit = dp_lm(formula, table, 0.5, 1e-3, method=method, rng=seed)
            str(fit.summary())
            fit.to_json()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


CHECKS = (
    Check("charged first", charged_first),
    Check("fresh noise", fresh_noise),
    Check("grid", on_the_grid),
    Check("no surprises", no_surprises),
)
