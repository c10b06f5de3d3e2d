"""What has to be true of a call besides its numbers: order, randomness, no surprises."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpreg import _core
from dpreg.audit._finding import nothing_lost
from dpreg.audit.worlds import hostile_pairs, regression
from dpreg.calls.lm import dp_lm
from dpreg.estimation.base import Method
from dpreg.estimation.methods import DPSGD, AdaSSP, BoostedAdaSSP, FrankWolfe, TukeyEM
from dpreg.privacy.account import Account
from dpreg.privacy.bits import bit_source
from dpreg.privacy.sealed import ExactSums

_METHODS: tuple[Method, ...] = (
    TukeyEM(), TukeyEM(models=4), AdaSSP(), BoostedAdaSSP(), DPSGD(steps=3),
    FrankWolfe(steps=5, screen="rnm"),
)  # fmt: skip


_CLAIM = (1.0, 1e-3)


@nothing_lost("charged first", "charged before a record is read")
def _before_the_charge(seed: int) -> Iterator[str]:
    """No cell and no number of rows is read before the budget is charged."""
    for method in _METHODS:
        for unit in (None, "who"):
            seen: list[str] = []
            table = regression(30).assign(who=np.arange(30))
            data = {name: _Tripwire(table[name].to_numpy(), seen) for name in table}
            with patch.object(Account, "reserve", _noting(Account.reserve, seen)):
                dp_lm("y ~ a", data, *_CLAIM, method=method, unit=unit, rng=seed)
            first = seen.count("charge") == 1 and seen.index("charge") < seen.index("read")
            yield "" if first else f"{method.name}: {seen}"


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


def _noting(real: Callable[..., Any], seen: list[str]) -> Callable[..., Any]:
    def noting(*arguments: Any, **named: Any) -> Any:
        seen.append("charge")
        return real(*arguments, **named)

    return noting


@nothing_lost("fresh noise", "fresh noise")
def _repeated(seed: int) -> Iterator[str]:
    """No two fits, and no two draws of one fit, have the same noise, at one instant either."""
    streams = {bit_source(None).next() for _ in range(100)}
    yield "" if len(streams) == 100 else "sources of bits repeat one another"
    for method in _METHODS:
        draws: list[bytes] = []
        outcomes: list[str] = []
        with ExitStack() as stack:
            for clock in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter_ns"):
                stack.enter_context(patch.object(time, clock, lambda: 1_800_000_000))
            stack.enter_context(
                patch.object(_core, "discrete_gaussian", _keeping(_core.discrete_gaussian, draws))
            )
            for _ in range(3):
                fit = dp_lm("y ~ a", regression(2000), 20.0, 1e-2, method=method)
                # Of a method that declined nothing but a small count can be seen, twice the same.
                outcomes += [fit.to_json()] if fit.released else []
        yield f"{method.name}: seeded by itself" if fit.privacy.seeded else ""
        yield f"{method.name}: fits repeat themselves" if _repeats(outcomes) else ""
        yield f"{method.name}: noise is used twice" if _repeats(draws) else ""


def _repeats(values: Sequence[Any]) -> bool:
    return len(set(values)) < len(values)


def _keeping(real: Callable[..., Any], draws: list[bytes]) -> Callable[..., Any]:
    def drawing(sigma: int, bits: Any, size: int) -> Any:
        noise = real(sigma, bits, size)
        # Short vectors of a small scale repeat by chance.
        if size * math.log2(sigma + 1) > 60:
            draws.append(noise.tobytes())
        return noise

    return drawing


@nothing_lost("grid", "outputs on a public grid")
def _off_the_grid(seed: int) -> Iterator[str]:
    """Noisy sums are integers times a public power of two, whatever the data."""
    from dpreg.estimation.releases.accountant import GaussianReleases

    bits = _core.TestBits(seed)
    for epsilon, sums in ((1.0, np.array([1, -7, 12])), (0.01, np.arange(5)), (50.0, np.zeros(2))):
        noise = GaussianReleases(epsilon, 1e-5, bits)
        exact = ExactSums(sums.astype(np.int64), 1.0)
        out, _ = noise.release("x", exact, noise.share(0.5))
        scaled = np.ldexp(out, 40)
        off = (scaled != np.rint(scaled)).any() or np.abs(out).max() > 2.0**52
        yield f"eps={epsilon}: {out}" if off else ""


@nothing_lost("no surprises", "no exception or warning from data")
def _surprises(seed: int) -> Iterator[str]:
    """Odd rows raise nothing and warn of nothing."""
    tables = [having for _, having in hostile_pairs(30).values()]
    tables += [tables[0].iloc[:1], tables[0] * 0, tables[0] * np.nan, tables[0] * 1e305]
    cases = itertools.product(_METHODS, tables, ("y ~ a + b", "y ~ 0 + a"))
    for number, (method, table, formula) in enumerate(cases, 1):
        fault = _surprise(formula, table, method, seed + number)
        yield f"{method.name}, {formula}: {fault}" if fault else ""


def _surprise(formula: str, table: pd.DataFrame, method: Method, seed: int) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            fit = dp_lm(formula, table, *_CLAIM, method=method, rng=seed)
            str(fit.summary())
            fit.to_json()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""
