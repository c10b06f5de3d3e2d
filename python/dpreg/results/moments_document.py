"""Moments as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpreg.privacy.certificate import Certificate
from dpreg.results.document import CERTIFICATE, COLUMN, check_bounds, parsed, reading
from dpreg.results.models import Models

_FORMAT = 2
_PLAIN = ("formula", "names", "deviation", "reach", "kurtosis", "units", "schema", "notes")
_ARRAYS = ("used", "trusted", "centre", "scale", "basis", "matrix", "limits")
_DOCUMENT = {
    "dpreg_moments": float, "formula": str, "names": [str], "used": [float],
    "trusted": [bool], "centre": [float], "scale": [float], "basis": [[float]],
    "matrix": [[float]], "deviation": float, "reach": float, "kurtosis": float, "units": float,
    "limits": [[float]], "privacy": CERTIFICATE, "schema": {str: COLUMN}, "notes": [str],
}  # fmt: skip
_TYPES = {"used": np.int64, "trusted": np.bool_}


def written(moments: Models) -> str:
    """Return JSON."""
    return json.dumps(
        {
            "dpreg_moments": _FORMAT,
            **{name: getattr(moments, name) for name in _PLAIN},
            **{name: getattr(moments, name).tolist() for name in _ARRAYS},
            "privacy": moments.privacy.to_dict(),
        },
        indent=2,
        allow_nan=False,
    )


def read_fields(text: str) -> dict[str, Any]:
    """Return the fields of `DPMoments` from what `written` wrote."""
    with reading("these are not moments", _FORMAT):
        data = parsed(text, _DOCUMENT, _FORMAT)
        check_bounds(data["schema"])
        for name in _ARRAYS:
            data[name] = np.array(data[name], dtype=_TYPES.get(name, np.float64))
        _check_shapes(data)
    tuples = {name: tuple(data[name]) for name in ("names", "notes")}
    return {**data, **tuples, "privacy": Certificate.from_dict(data["privacy"])}


def _check_shapes(data: Mapping[str, Any]) -> None:
    d, k = len(data["names"]), len(data["used"])
    shapes = {
        "trusted": (d,), "centre": (k,), "scale": (k,), "basis": (k + 1, k + 1),
        "matrix": (k + 1, k + 1), "limits": (d, 2),
    }  # fmt: skip
    for name, shape in shapes.items():
        if data[name].shape != shape:
            raise ValueError(f"{name}: {d} columns, {k} of them used, need shape {shape}")
    inside = (data["used"] >= 0).all() and (data["used"] < d).all()
    if not inside or len(set(data["used"].tolist())) < k:
        raise ValueError(f"used: these are not places of {d} columns")
    sizes = (data["units"], data["kurtosis"], *data["scale"])
    if min(sizes) <= 0 or data["deviation"] < 0:
        raise ValueError("scale, units, kurtosis or deviation: too small")
