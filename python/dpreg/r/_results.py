"""Results to and from R."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import rpy2.rinterface as ri

from dpreg import DPResults, NotReleased
from dpreg.base.arrays import Doubles
from dpreg.base.families import GAUSSIAN, Family
from dpreg.estimation.inference.estimand import Estimand
from dpreg.estimation.inference.law import TailLaw
from dpreg.estimation.inference.start import Start
from dpreg.privacy.certificate import Certificate


def result_from(fields: Mapping[str, Any]) -> DPResults | NotReleased:
    """Return the result that R described, by `fit_to_python` in embed.R."""
    common = {
        "formula": fields["formula"],
        "method": fields["method"],
        "units": fields["units"],
        "privacy": _certificate(fields["privacy"]),
        "selected": None if fields["selected"] is None else _strings(fields["selected"]),
    }
    if not fields["released"]:
        return NotReleased(**common, reason=fields["reason"], advice=fields["advice"])
    law = {k: tuple(_list(v)) for k, v in dict(fields["law"] or {}).items()}
    return DPResults(
        **common,
        response=fields["response"],
        names=tuple("Intercept" if n == "(Intercept)" else n for n in _list(fields["names"])),
        estimates=_array(fields["estimates"]),
        covariance=None if fields["covariance"] is None else _array(fields["covariance"]),
        sampling=None if fields["sampling"] is None else _array(fields["sampling"]),
        clipping=None if fields.get("clipping") is None else _array(fields["clipping"]),
        estimand=None if fields.get("estimand") is None else Estimand(**fields["estimand"]),
        start=None if fields.get("start") is None else Start.from_json(fields["start"]),
        limits=None if fields["limits"] is None else _array(fields["limits"]),
        law=TailLaw(law.get("tail", ()), law.get("critical", ())),
        notes=_strings(fields["notes"]),
        no_errors=fields["no_errors"] or "",
        family=GAUSSIAN if fields.get("family") is None else Family(**fields["family"]),
    )


def _certificate(fields: Mapping[str, Any]) -> Certificate:
    known = {k: v for k, v in fields.items() if k != "text"}
    return Certificate.from_dict({**known, "public": _list(fields["public"])})


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(str(v) for v in _list(value))


def _array(packed: Mapping[str, Any]) -> Doubles:
    dim = [int(size) for size in _list(packed["dim"])]
    doubles = np.frombuffer(packed["doubles"], "<f8").reshape(dim, order="F").copy()
    # R's NA is a NaN that makes numpy warn.
    doubles[np.isnan(doubles)] = np.nan
    return doubles


def in_notebooks(to_python: Callable[[Any], Any], to_r: Callable[[Any], Any]) -> Any:
    """Return a converter for fits, and teach it to the ``%%R`` magic of a running IPython."""
    import rpy2.robjects as ro
    from rpy2.robjects import conversion

    converter = conversion.Converter("fits of dpreg")
    for kind in (DPResults, NotReleased):
        converter.py2rpy.register(kind, to_r)
        # Assigning a fit to a name in R needs no more than this.
        ro.default_converter.py2rpy.register(kind, to_r)
    lists = conversion.NameClassMap(
        ro.vectors.ListVector, {"dp_lm": to_python, "dp_not_released": to_python}
    )
    converter.rpy2py_nc_map[ri.ListSexpVector] = lists
    magic = _magic()
    if magic is not None:
        # Cells copy it when they start.
        conversion.overlay_converter(converter, magic)
    return converter


def _magic() -> Any:
    """The converter of the ``%%R`` magic, if there is a notebook for it."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    if get_ipython() is None:
        return None
    from rpy2.ipython import rmagic

    return rmagic.default.converter
