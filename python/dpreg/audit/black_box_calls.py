"""What black-box audits call: for each method a table, and the row that it shows best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dpreg import _core
from dpreg.audit._bounds import Doubles
from dpreg.audit.attacks import Attack
from dpreg.audit.black_box_mechanisms import MECHANISMS
from dpreg.calls.block_test import dp_test
from dpreg.calls.curve import dp_curve
from dpreg.calls.glm import dp_glm
from dpreg.calls.lm import dp_lm
from dpreg.calls.moments import dp_moments
from dpreg.calls.survival import dp_survival
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import Method
from dpreg.estimation.methods import DPSGD, BoostedAdaSSP, TukeyEM
from dpreg.estimation.releases.rows import StandardUnits, mapped_rows
from dpreg.estimation.releases.standardisation import Scales
from dpreg.privacy.sealed import opened
from dpreg.results.fit import DPResults
from dpreg.results.survival import DPSurvival

__all__ = ["ATTACKS"]

Bits = _core.BitSource
Seen = Callable[[Any], tuple[float, ...]]

_DELTA = 1e-5
_BOUNDS = {"y": (-1.0, 1.0)}
_THINNED = "a row moves sums that results do not show, or not separately"


def _pair(values: Any, canary: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table of one column, and the same with one row more."""
    known = np.asarray(values, dtype=np.float64)
    return pd.DataFrame({"y": known}), pd.DataFrame({"y": np.append(known, canary)})


def _weighted(tables: tuple[Any, Any], each: float) -> tuple[Any, Any]:
    """Give the canary, the last row of the second table, a weight of 1, and all others another."""
    without, having = (table.assign(w=each) for table in tables)
    having.loc[len(without), "w"] = 1.0
    return without, having


def _shown(*names: str) -> Seen:
    """Return what looks at the first coefficient, and at some more numbers of a fit."""

    def seen(fit: Any) -> tuple[float, ...]:
        if not isinstance(fit, DPResults | DPSurvival):
            return (0.0,) * (1 + len(names))
        return (float(fit.params.iloc[0]), *(_NUMBERS[name](fit) for name in names))

    return seen


_NUMBERS: dict[str, Callable[[Any], float]] = {
    "units": lambda fit: float(fit.nobs),
    "variance": lambda fit: float(fit.cov_params().iloc[0, 0]),
    "sampling": lambda fit: float(fit.sampling[0]),
}


def _lm(
    name: str, formula: str, method: Method | str, tables: tuple[Any, Any], seen: Seen,
    *, inference: bool = True, remark: str = "",
) -> Attack:  # fmt: skip
    """Attack `dp_lm` with public bounds."""
    bounds = dict.fromkeys(tables[0].columns, (-1.0, 1.0))
    return Attack(
        name=name,
        call=lambda table, epsilon, bits: dp_lm(
            formula, table, epsilon, _DELTA, method=method, bounds=bounds, inference=inference,
            rng=bits,
        ),
        tables=tables, seen=seen, delta=_DELTA, remark=remark,
    )  # fmt: skip


def _through_origin() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return tables in which no row but the canary moves a line through the origin from 0."""
    without, _ = _pair(np.zeros(1000), 1.0)
    without = without.assign(a=np.resize([-0.5, 0.5], 1000))
    return without, pd.concat([without, pd.DataFrame({"y": [1.0], "a": [1.0]})], ignore_index=True)


def _tukey() -> Attack:
    """Attack by the noisy number of rows, of too few for more."""
    method = TukeyEM(count_share=0.9, limits_share=0.0)
    return Attack(
        name="dp_lm(TukeyEM(count_share=0.9))",
        call=lambda table, epsilon, bits: dp_lm(
            "y ~ 1", table, epsilon, _DELTA, method=method, rng=bits
        ),
        tables=_pair(np.zeros(3), 1.0), seen=lambda found: (float(found.units),), delta=_DELTA,
        bound="events", remark="the number of rows alone",
    )  # fmt: skip


def _glm(
    family: str, known: Any, canary: float, *, rows: int = 1000, weight: float | None = None,
    bounds: dict[str, tuple[float, float]] | None = None,
) -> Attack:  # fmt: skip
    """Attack a model of a mean; with a weight, all rows but the canary count so much."""
    tables = _pair(np.resize(known, rows), canary)
    more: dict[str, Any] = {} if weight is None else {"weights": "w", "weight_limit": 1.0}
    return Attack(
        name=f"dp_glm(family={family!r})",
        call=lambda table, epsilon, bits: dp_glm(
            "y ~ 1", table, epsilon, _DELTA, family=family, bounds=bounds, rng=bits, **more
        ),
        tables=tables if weight is None else _weighted(tables, weight), seen=_shown(), delta=_DELTA,
    )  # fmt: skip


def _moments() -> Attack:
    """Attack by what the matrix of moments has beyond the exact one of all rows but the canary."""
    known = np.resize([-0.3, 0.3], 1000)
    tables = _pair(known, 1.0)
    without, having = (_moments_design(table["y"].to_numpy()) for table in tables)

    def seen(found: Any) -> tuple[float, ...]:
        if len(found.used) == 0:
            return (0.0,)
        base, more = _exact_moments(without, found), _exact_moments(having, found)
        moved = more - base
        # A log-likelihood ratio: the noise of an entry and of its mirror image is one number.
        gain = np.sum(moved * (found.matrix - base)) - np.sum(moved**2) / 2
        return (float(gain / found.deviation**2),)

    return Attack(
        name="dp_moments()",
        call=lambda table, epsilon, bits: dp_moments(
            "~ y", table, epsilon, _DELTA, bounds=_BOUNDS, rng=bits
        ),
        tables=tables, seen=seen, delta=_DELTA,
        remark="the matrix alone, which gets 90% of the squared mu",
    )  # fmt: skip


def _moments_design(y: Doubles) -> Design:
    return Design.of(y[:, None].copy(), y.copy(), Terms("y", ("y",), True))


def _exact_moments(design: Design, found: Any) -> Doubles:
    """Return the moments of a table by the released basis, without noise."""
    units = StandardUnits(
        columns=np.array([0]), centre=found.centre, scale=found.scale, y_centre=0.0, y_scale=1.0,
        intercept=True,
    )  # fmt: skip
    limits = np.array([_BOUNDS["y"]] * 2)
    scales = Scales(
        low=limits[:, 0], high=limits[:, 1], centre=np.zeros(2), scale=np.ones(2),
        given=np.ones(2, bool), spread=np.ones(2), seen=np.ones(2, bool), response_found=True,
        units=found.units,
    )  # fmt: skip
    limit = found.reach * np.sqrt(units.width)
    change = np.asarray(np.linalg.inv(found.basis))
    rows = mapped_rows(design, scales, units, change, limit, kept=False)
    upper = np.zeros((units.width, units.width))
    upper[np.triu_indices(units.width)] = opened(rows.gram())
    matrix = upper + np.triu(upper, 1).T
    return np.asarray(matrix * (rows.limit / _core.ROW_STEPS) ** 2)


def _test() -> Attack:
    return Attack(
        name="dp_test()",
        call=lambda table, epsilon, bits: dp_test(
            lambda block: 0.0 if (block["y"] > 0).any() else 1.0, table, epsilon, blocks=2, rng=bits
        ),
        tables=_pair([0.0], 1.0), seen=lambda found: (float(found.count),), delta=0.0,
        bound="events",
    )  # fmt: skip


def _survival() -> Attack:
    """Attack by a person who lives on, and counts twice as much as others."""
    without, having = (pair.assign(event=1.0) for pair in _pair(np.full(1000, 0.5), 1.0))
    having.loc[1000, "event"] = 0.0
    return Attack(
        name="dp_survival()",
        call=lambda table, epsilon, bits: dp_survival(
            "Surv(y, event) ~ 1", table, epsilon, _DELTA, cuts=[1.0], weights="w",
            weight_limit=1.0, rng=bits,
        ),
        tables=_weighted((without, having), 0.5), seen=_shown(), delta=_DELTA,
    )  # fmt: skip


def _curve() -> Attack:
    tables = [pair.assign(event=1.0) for pair in _pair([0.5, 1.5], 0.5)]
    return Attack(
        name="dp_curve()",
        call=lambda table, epsilon, bits: dp_curve(
            "Surv(y, event) ~ 1", table, epsilon, cuts=[1.0, 2.0], rng=bits
        ),
        tables=(tables[0], tables[1]), seen=lambda found: (float(found.exits[0, 0, 0]),),
        delta=0.0, bound="events",
    )  # fmt: skip


ATTACKS: dict[str, Attack] = {
    attack.name: attack
    for attack in (
        _lm("dp_lm()", "y ~ 1", "boosted_adassp", _pair(np.zeros(1000), 1.0), _shown()),
        _glm("binomial", [0.0, 1.0], 1.0, rows=3000, weight=0.2),
        _glm("gamma", 1000.0, 1500.0, bounds={"y": (500.0, 1500.0)}),
        _glm("negativebinomial", 100.0, 150.0, bounds={"y": (50.0, 150.0)}),
        _survival(),
        _tukey(),
        _lm(
            "dp_lm(method='adassp')", "y ~ 0 + a", "adassp", _through_origin(),
            _shown("units", "variance", "sampling"), remark=_THINNED,
        ),
        _lm(
            "dp_lm(BoostedAdaSSP(rounds=1), inference=False)", "y ~ 1",
            BoostedAdaSSP(rounds=1, average=1, gram_share=0.1, row_factor=1.0),
            _pair(np.zeros(1000), 1.0), _shown(), inference=False,
        ),
        _lm(
            "dp_lm(DPSGD(steps=20))", "y ~ 0 + a",
            DPSGD(steps=20, rate=0.5, clip=0.1, learning_rate=1e-3), _through_origin(), _shown(),
        ),
        *MECHANISMS, _moments(), _test(), _curve(),
    )
}  # fmt: skip
