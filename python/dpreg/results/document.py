"""A result as JSON, and what that has to look like, so that a wrong one is refused."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import CLOGLOG, FAMILIES, PROBIT, Family, NegativeBinomial, Quantile
from dpreg.estimation.inference.estimand import Estimand
from dpreg.estimation.inference.law import TailLaw
from dpreg.estimation.inference.residuals import Diagnostics, FitStats
from dpreg.estimation.inference.start import Start
from dpreg.privacy.certificate import Certificate

_FORMAT = 8
_ARRAYS = ("estimates", "covariance", "sampling", "clipping", "limits")
_KINDS = ("residual", "pearson", "response")
_STATS = ("rsquared", "rsquared_error", "scale", "scale_error", "most_residual")
_TUPLES = ("names", "notes", "selected")

_PART = {
    "label": str, "epsilon": float, "delta": float, "noise": str, "sensitivity": (float, None),
    "scale": (float, None), "mu": (float, None), "rho": (float, None),
}  # fmt: skip
_COLUMN = {"kind": str, "levels": ([(str, float, bool)], None), "ordered": bool}
# With bounds where a term makes a basis of the column.
COLUMN = (_COLUMN, {**_COLUMN, "bounds": [float]})
CERTIFICATE = {
    "claim": str, "mechanism": str, "epsilon": float, "delta": float, "unit": str,
    "composition": str, "parts": [_PART], "public": [str], "seeded": bool, "version": str,
    "request": {str: object},
}  # fmt: skip
_FAMILY = {"name": str, "link": str, "loss": str, "level": (float, None)}
# A type, a tuple of alternatives, [of entries], {key: of value}, or {str: of any value}.
_DOCUMENT = {
    "dpreg_results": float, "formula": str, "response": str, "names": [str], "method": str,
    "estimates": [(float, None)], "covariance": ([[(float, None)]], None),
    "sampling": ([(float, None)], None), "clipping": ([(float, None)], None),
    "limits": ([[(float, None)]], None), "units": float,
    "privacy": CERTIFICATE,
    "schema": {str: COLUMN}, "law": {"tail": [float], "critical": [float]}, "notes": [str],
    "selected": ([str], None), "no_errors": str,
    "stats": (dict.fromkeys(_STATS, (float, None)), None),
    "diagnostics": ({
        "kind": str, "counts": [[float]], "deviation": float, "fitted": [float],
        "residual": [float],
    }, None),
    "estimand": ({
        "name": str, "row_limit": (float, None), "score_limit": (float, None),
        "units_clipped": (float, None), "clipping_effect": (float, None),
        "surely_clipped": (float, None),
    }, None),
    "start": ({
        "low": [float], "high": [float], "centre": [float], "scale": [float], "theta": [float],
        "constant": [bool], "change": [[float]], "unseen": [[float]], "response": str,
        "names": [str], "intercept": bool, "residual": float, "deviation": float, "longest": float,
        "units": float, "within": bool, "weights": (str, None), "offsets": [str],
        "levels": {str: [(str, float, bool)]}, "source": str, "seeded": bool,
    }, None),
    "family": (_FAMILY, {**_FAMILY, "alpha": float}),
}  # fmt: skip


def written(fields: Mapping[str, Any]) -> str:
    """Return the fields of a result as JSON."""
    law, privacy = fields["law"], fields["privacy"]
    document = {
        "dpreg_results": _FORMAT,
        **fields,
        **{name: _listed(fields[name]) for name in _ARRAYS},
        "law": {"tail": law.tail, "critical": law.critical},
        "privacy": privacy.to_dict(),
        "family": _plain_family(fields["family"]),
        "estimand": None if fields["estimand"] is None else asdict(fields["estimand"]),
        "start": None if fields["start"] is None else fields["start"].to_dict(),
        "stats": _plain_stats(fields["stats"]),
        "diagnostics": _plain_diagnostics(fields["diagnostics"]),
    }
    return json.dumps(document, indent=2, allow_nan=False)


def _plain_family(family: Family) -> dict[str, Any]:
    """Return its fields; a dispersion only where there is one."""
    plain = asdict(family)
    return plain if family.alpha is not None else {k: plain[k] for k in _FAMILY}


def _plain_stats(stats: FitStats | None) -> dict[str, float | None] | None:
    if stats is None:
        return None
    return {name: None if math.isnan(v) else v for name, v in asdict(stats).items()}


def _plain_diagnostics(found: Diagnostics | None) -> dict[str, Any] | None:
    if found is None:
        return None
    listed = {name: _listed(getattr(found, name)) for name in ("counts", "fitted", "residual")}
    return {"kind": found.kind, **listed, "deviation": found.deviation}


def _stats_from(data: Mapping[str, float | None] | None) -> FitStats | None:
    if data is None:
        return None
    return FitStats(**{name: math.nan if v is None else v for name, v in data.items()})


def _diagnostics_from(data: Mapping[str, Any] | None) -> Diagnostics | None:
    if data is None:
        return None
    arrays = {name: np.asarray(data[name], dtype=np.float64)
              for name in ("counts", "fitted", "residual")}  # fmt: skip
    return Diagnostics(kind=data["kind"], deviation=data["deviation"], **arrays)


def _listed(values: Doubles | None) -> list[Any] | None:
    """Return nested lists with None for NaN, which JSON does not have."""
    if values is None:
        return None
    objects = values.astype(object)
    objects[np.isnan(values)] = None
    listed: list[Any] = objects.tolist()
    return listed


@contextmanager
def reading(what: str, number: int) -> Iterator[None]:
    """Say `what` a text is, and of which format, to whoever finds something else in it."""
    try:
        yield
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{what} of format {number}: {error}") from None


def parsed(text: str, document: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return what is in JSON, but for the number of the format.

    Parameters
    ----------
    document : mapping
        What has to be there; the number of the format comes first.
    number : int
        Of the format.
    """
    data: dict[str, Any] = json.loads(text)
    check_fields(data, document)
    if data.pop(next(iter(document))) != number:
        raise ValueError("another format")
    return data


def fields_from(text: str) -> dict[str, Any]:
    """Return the fields of a result that `written` made a text of."""
    with reading("this is not a dpreg result", _FORMAT):
        data = parsed(text, _DOCUMENT, _FORMAT)
        _check_values(data)
    found = {name: None if data[name] is None else np.asarray(data[name], dtype=np.float64)
             for name in _ARRAYS}  # fmt: skip
    tuples = {name: None if data[name] is None else tuple(data[name]) for name in _TUPLES}
    law = TailLaw(*(tuple(data["law"][k]) for k in ("tail", "critical")))
    privacy = Certificate.from_dict(data["privacy"])
    family = Family(**data["family"])
    more = {"stats": _stats_from(data["stats"]),
            "estimand": None if data["estimand"] is None else Estimand(**data["estimand"]),
            "start": None if data["start"] is None else Start.from_dict(data["start"]),
            "diagnostics": _diagnostics_from(data["diagnostics"])}  # fmt: skip
    return {**data, **found, **tuples, "law": law, "privacy": privacy, "family": family, **more}


def _check_values(data: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the first entry which does not go with the others."""
    size = len(data["names"])
    shapes = {**dict.fromkeys(("estimates", "sampling", "clipping"), (size,)),
              "covariance": (size, size)}  # fmt: skip
    for name, shape in shapes.items():
        if data[name] is not None and _shape(data[name]) != shape:
            raise ValueError(f"{name}: {size} coefficients need an array of shape {shape}")
    if any((row[i] or 0.0) < 0 for i, row in enumerate(data["covariance"] or [])):
        raise ValueError("covariance: a variance is below 0")
    check_bounds(data["schema"])
    if data["limits"] is not None:
        _check_limits(data["limits"], size + 1 - (data["names"][:1] == ["Intercept"]))
    if Family(**data["family"]) not in _families(**data["family"]):
        raise ValueError("family: there is no such family")
    if data["diagnostics"] is not None:
        _check_diagnostics(data["diagnostics"])
    if data["start"] is not None:
        Start.from_dict(data["start"])
    tail, critical = (np.array(data["law"][k], dtype=np.float64) for k in ("tail", "critical"))
    falling = ((tail > 0) & (tail < 1)).all() and (np.diff(tail) < 0).all()
    rising = (np.diff(critical, prepend=0.0) > 0).all()
    if len(tail) != len(critical) or len(tail) == 1 or not (falling and rising):
        raise ValueError("law: tail must fall and critical must rise, at two places or more")


def check_bounds(schema: Mapping[str, Any]) -> None:
    """Raise a ValueError for bounds of a column that are not two rising numbers."""
    for name, column in schema.items():
        bounds = column.get("bounds")
        if bounds is not None and (len(bounds) != 2 or not bounds[0] < bounds[1]):
            raise ValueError(f"schema.{name}.bounds must be two rising numbers")


def check_fields(data: Any, wanted: Any) -> None:
    """Raise a ValueError that names the first entry of `data` which is not as `wanted`."""
    _check(data, wanted, "")


def _families(level: float | None, alpha: float | None = None, **_: str) -> list[Family]:
    if alpha is not None:
        return [NegativeBinomial(alpha)]
    return [*FAMILIES.values(), PROBIT, CLOGLOG] if level is None else [Quantile(level)]


def _check_limits(limits: list[Any], columns: int) -> None:
    if _shape(limits) != (columns, 2):
        raise ValueError(f"limits: {columns} columns with the response need two each")
    if any(low > high for low, high in limits if low is not None and high is not None):
        raise ValueError("limits: the first of two is not above the second")


def _check_diagnostics(data: Any) -> None:
    size = tuple(len(data[name]) - 1 for name in ("fitted", "residual"))
    if _shape(data["counts"]) != size or data["kind"] not in _KINDS or data["deviation"] < 0:
        raise ValueError(f"diagnostics: counts of shape {size} are needed, of a kind {_KINDS}")
    for name in ("fitted", "residual"):
        if not (np.diff(data[name]) > 0).all():
            raise ValueError(f"diagnostics: the ends of bins, {name}, must rise")


def _shape(lists: list[Any]) -> tuple[int, ...]:
    if not lists or not isinstance(lists[0], list):
        return (len(lists),)
    widths = {len(row) for row in lists}
    return len(lists), widths.pop() if len(widths) == 1 else -1


def _check(value: Any, wanted: Any, path: str) -> None:
    if not _fits(value, wanted):
        raise ValueError(f"{path or 'the document'} is not as in a result")
    chosen = next((w for w in wanted if _fits(value, w)), None) if _is_choice(wanted) else wanted
    if isinstance(chosen, list):
        for number, entry in enumerate(value):
            _check(entry, chosen[0], f"{path}[{number}]")
    elif isinstance(chosen, dict):
        for key, entry in value.items():
            _check(entry, chosen.get(str, None) or chosen[key], f"{path}.{key}".lstrip("."))


def _is_choice(wanted: Any) -> bool:
    return isinstance(wanted, tuple)


def _fits(value: Any, wanted: Any) -> bool:
    """Whether the outermost of `value` is as wanted."""
    if _is_choice(wanted):
        return any(_fits(value, one) for one in wanted)
    if wanted is None:
        return value is None
    if isinstance(wanted, dict):
        return isinstance(value, dict) and (str in wanted or value.keys() == wanted.keys())
    if isinstance(wanted, list):
        return isinstance(value, list)
    if wanted is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and abs(value) <= sys.float_info.max
    return isinstance(value, wanted)
