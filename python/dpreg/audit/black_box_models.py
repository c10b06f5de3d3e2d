"""What black-box audits call of models other than linear ones.

Of each model without regressors the canary has the longest score that there is, and others have
scores so short, by their weight or their spread, that limits are below that of the canary.  There
are so few rows that hardly anything is released but two scores; coefficients show both.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dpreg.audit.attacks import Attack, first_coefficient
from dpreg.audit.worlds import Tables, joined, one_column, weighted
from dpreg.calls.classes import dp_multinomial, dp_ordinal
from dpreg.calls.curve import dp_curve
from dpreg.calls.effect import dp_effect
from dpreg.calls.lm import dp_glm
from dpreg.calls.survival import dp_survival

# At a larger delta noise is less for the same epsilon, and half as many runs tell as much of it as
# at 1e-5.
_DELTA, _RUNS = 1e-2, 2500
# So few that there are no more releases than have to be: coordinates, and two scores.
_ROWS = 400
_LIGHT = 0.1
_WEIGHTS = {"weights": "w", "weight_limit": 1.0}


def _attack(
    name: str, function: Any, formula: str, tables: Tables, options: dict[str, Any],
    seen: Any = None,
) -> Attack:  # fmt: skip
    """Attack by all coefficients, unless something else is `seen`."""
    asked = partial(function, formula, **options)
    return Attack(name, asked, tables, seen or _coefficients, _DELTA, _RUNS)


def _glm(family: str, tables: Tables, options: dict[str, Any]) -> Attack:
    """Attack the mean, or the median, of a response."""
    options = {"family": family, **options}
    return _attack(f"dp_glm(family={family!r})", dp_glm, "y ~ 1", tables, options)


def _coefficients(fit: Any) -> tuple[float, ...]:
    """Add up the coefficients, all of which the canary moves one way."""
    return (float(fit.params.sum()) if fit.released else 0.0,)


def _binomial() -> Attack:
    values = np.resize([0.0, 1.0], _ROWS)
    return _glm("binomial", weighted(one_column(values, 1.0), _LIGHT), _WEIGHTS)


def _quantile() -> Attack:
    values = np.linspace(-1.0, 1.0, _ROWS)
    options = {"bounds": {"y": (-1.0, 1.0)}, **_WEIGHTS}
    return _glm("quantile", weighted(one_column(values, 1.0), _LIGHT), options)


def _log_link(family: str, middle: float) -> Attack:
    """Attack by a response half as large again as the mean, where others are near it."""
    values = middle * np.resize([0.85, 1.15], _ROWS)
    bounds = {"y": (0.5 * middle, 1.5 * middle)}
    return _glm(family, one_column(values, 1.5 * middle), {"bounds": bounds})


def _ordinal() -> Attack:
    """Attack by a record above both thresholds, each of which half of the records are above."""
    known = np.resize(["a", "c"], _ROWS)
    tables = weighted(joined({"y": known}, {"y": "c"}), _LIGHT)
    options = {"levels": {"y": ["a", "b", "c"]}, **_WEIGHTS}
    return _attack("dp_ordinal()", dp_ordinal, "y ~ 1", tables, options)


def _multinomial() -> Attack:
    """Attack by a record of a class that two fifths of the records have, and 1/40 of the weight.

    Rows are held to a share of the information that the number of records says, which is more than
    that of so rare a class.  Steps then go a third of the way to the root, and what is left of the
    start and of all three is in the result.  Of whole steps it shows the last alone.
    """
    known = {"y": np.repeat(["a", "b"], (540, 360)), "w": np.repeat([1.0, 0.04], (540, 360))}
    tables = joined(known, {"y": "b", "w": 1.0})
    options = {"levels": {"y": ["a", "b"]}, **_WEIGHTS}
    return _attack("dp_multinomial()", dp_multinomial, "y ~ 1", tables, options, first_coefficient)


def _effect() -> Attack:
    """Attack by the mean of the arm that the canary is in."""
    values, arms = np.resize([-0.3, 0.3], _ROWS), np.resize([0.0, 0.0, 1.0, 1.0], _ROWS)
    options = {"treatment": "arm", "method": "difference", "bounds": {"y": (-1.0, 1.0)}}
    tables = joined({"y": values, "arm": arms}, {"y": 1.0, "arm": 1.0})
    name = "dp_effect(method='difference')"
    second = lambda found: (float(found.means[1]) if found.released else 0.0,)  # noqa: E731
    return _attack(name, dp_effect, "y ~ 1", tables, options, second)


def _survival() -> Attack:
    """Attack by a person who lives on, and counts twice as much as others."""
    known = {"y": np.full(_ROWS, 0.5), "event": np.ones(_ROWS)}
    tables = weighted(joined(known, {"y": 1.0, "event": 0.0}), 0.5)
    options = {"cuts": [1.0], **_WEIGHTS}
    return _attack("dp_survival()", dp_survival, "Surv(y, event) ~ 1", tables, options)


def _curve() -> Attack:
    """Attack by one exit more among two."""
    known = {"y": [0.5, 1.5], "event": [1.0, 1.0]}
    return Attack(
        "dp_curve()", partial(dp_curve, "Surv(y, event) ~ 1", cuts=[1.0, 2.0]),
        joined(known, {"y": 0.5, "event": 1.0}), lambda found: (float(found.exits[0, 0, 0]),), 0.0,
        3000, "events",
    )  # fmt: skip


MODELS = (
    _binomial(), _quantile(), _log_link("gamma", 1000.0), _log_link("negativebinomial", 100.0),
    _survival(), _effect(), _ordinal(), _multinomial(), _curve(),
)  # fmt: skip
