"""What black-box audits call of models other than linear ones.

Of each model without regressors the canary has the longest score that there is, and others have
scores so short, by their weight or their spread, that limits are below that of the canary.  There
are so few rows that hardly anything is released but two scores; coefficients show both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpreg.audit.attacks import Attack
from dpreg.audit.black_box_tables import Tables, joined, one_column, weighted
from dpreg.calls.classes import dp_multinomial, dp_ordinal
from dpreg.calls.curve import dp_curve
from dpreg.calls.effect import dp_effect
from dpreg.calls.lm import dp_glm
from dpreg.calls.survival import dp_survival

__all__ = ["MODELS"]

# At a larger delta noise is less for the same epsilon, and half as many runs tell as much of it as
# at 1e-5.
_DELTA, _RUNS = 1e-2, 2500
# So few that there are no more releases than have to be: coordinates, and two scores.
_ROWS = 400
_LIGHT = 0.1
_CLASSES = ["a", "b", "c"]


def _glm(
    family: str,
    tables: Tables,
    bounds: dict[str, tuple[float, float]] | None = None,
    weights: str | None = None,
) -> Attack:
    """Attack the mean, or the median, of a response."""
    limit = None if weights is None else 1.0
    return Attack(
        name=f"dp_glm(family={family!r})",
        call=lambda table, epsilon, bits: dp_glm(
            "y ~ 1", table, epsilon, _DELTA, family=family, bounds=bounds, weights=weights,
            weight_limit=limit, rng=bits,
        ),
        tables=tables, seen=_coefficients, delta=_DELTA, runs=_RUNS,
    )  # fmt: skip


def _coefficients(fit: Any) -> tuple[float, ...]:
    """Add up the coefficients, all of which the canary moves one way."""
    return (float(fit.params.sum()) if fit.released else 0.0,)


def _binomial() -> Attack:
    values = np.resize([0.0, 1.0], _ROWS)
    return _glm("binomial", weighted(one_column(values, 1.0), _LIGHT), weights="w")


def _quantile() -> Attack:
    values = np.linspace(-1.0, 1.0, _ROWS)
    return _glm(
        "quantile", weighted(one_column(values, 1.0), _LIGHT), {"y": (-1.0, 1.0)}, weights="w"
    )


def _log_link(family: str, middle: float) -> Attack:
    """Attack by a response half as large again as the mean, where others are near it."""
    values = middle * np.resize([0.85, 1.15], _ROWS)
    bounds = {"y": (0.5 * middle, 1.5 * middle)}
    return _glm(family, one_column(values, 1.5 * middle), bounds)


def _ordinal() -> Attack:
    """Attack by a record above both thresholds, each of which half of the records are above."""
    return _classes("dp_ordinal", dp_ordinal, ["a", "c"], "c", _coefficients)


def _multinomial() -> Attack:
    """Attack by a record of a class, which moves the coefficient of that class alone."""
    return _classes("dp_multinomial", dp_multinomial, ["a", *_CLASSES], "b", _first, runs=5000)


def _first(fit: Any) -> tuple[float, ...]:
    return (float(fit.params.iloc[0]) if fit.released else 0.0,)


def _classes(
    name: str, call: Any, known: list[str], canary: str, seen: Any, runs: int = _RUNS
) -> Attack:
    tables = joined(
        {"y": np.resize(known, _ROWS), "w": np.full(_ROWS, _LIGHT)}, {"y": canary, "w": 1.0}
    )
    return Attack(
        name=f"{name}()",
        call=lambda table, epsilon, bits: call(
            "y ~ 1", table, epsilon, _DELTA, levels={"y": _CLASSES}, weights="w",
            weight_limit=1.0, rng=bits,
        ),
        tables=tables, seen=seen, delta=_DELTA, runs=runs,
    )  # fmt: skip


def _effect() -> Attack:
    """Attack by the mean of the arm that the canary is in."""
    values, arms = np.resize([-0.3, 0.3], _ROWS), np.resize([0.0, 0.0, 1.0, 1.0], _ROWS)
    return Attack(
        name="dp_effect(method='difference')",
        call=lambda table, epsilon, bits: dp_effect(
            "y ~ 1", table, epsilon, _DELTA, treatment="arm", method="difference",
            bounds={"y": (-1.0, 1.0)}, rng=bits,
        ),
        tables=joined({"y": values, "arm": arms}, {"y": 1.0, "arm": 1.0}),
        seen=lambda found: (float(found.means[1]) if found.released else 0.0,),
        delta=_DELTA, runs=_RUNS,
    )  # fmt: skip


def _survival() -> Attack:
    """Attack by a person who lives on, and counts twice as much as others."""
    known = {"y": np.full(_ROWS, 0.5), "event": np.ones(_ROWS)}
    return Attack(
        name="dp_survival()",
        call=lambda table, epsilon, bits: dp_survival(
            "Surv(y, event) ~ 1", table, epsilon, _DELTA, cuts=[1.0], weights="w",
            weight_limit=1.0, rng=bits,
        ),
        tables=weighted(joined(known, {"y": 1.0, "event": 0.0}), 0.5),
        seen=_coefficients, delta=_DELTA, runs=_RUNS,
    )  # fmt: skip


def _curve() -> Attack:
    """Attack by one exit more among two."""
    known = {"y": [0.5, 1.5], "event": [1.0, 1.0]}
    return Attack(
        name="dp_curve()",
        call=lambda table, epsilon, bits: dp_curve(
            "Surv(y, event) ~ 1", table, epsilon, cuts=[1.0, 2.0], rng=bits
        ),
        tables=joined(known, {"y": 0.5, "event": 1.0}),
        seen=lambda found: (float(found.exits[0, 0, 0]),), delta=0.0, runs=3000, bound="events",
    )  # fmt: skip


MODELS = (
    _binomial(), _quantile(), _log_link("gamma", 1000.0), _log_link("negativebinomial", 100.0),
    _survival(), _effect(), _ordinal(), _multinomial(), _curve(),
)  # fmt: skip
