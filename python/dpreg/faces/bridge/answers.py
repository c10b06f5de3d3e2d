"""Results for R: releases as plain values, and later questions about them.

R keeps a release as JSON beside its own numbers; what it asks is computed here from that, and
costs nothing.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

import dpreg
from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.start import Start
from dpreg.estimation.planning.planned import Planned, power_curve, width_curve
from dpreg.faces.bridge.rows import Sent, packed
from dpreg.privacy.certificate import Certificate
from dpreg.results.classes import OfClasses
from dpreg.results.effect import below
from dpreg.results.margins import Change
from dpreg.results.models import Model
from dpreg.results.moment_models import correlations, mean_and_deviation, rsquared, two_stage_fit


def plain(value: Any) -> Any:
    """Return `value` as something both bridges convert faithfully."""
    if value is None or isinstance(value, (bool, str, bytearray)):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)  # integers beyond 2**31 would come out as 0 or -1
    if isinstance(value, np.ndarray):
        return {"doubles": packed(value), "dim": [float(size) for size in value.shape]}
    if isinstance(value, Certificate):
        return {"text": value.brief, **{k: plain(v) for k, v in value.to_dict().items()}}
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    return [plain(v) for v in value]


@singledispatch
def fields(found: Any) -> dict[str, Any]:
    """Return what R makes an object of a release, a test or a plan of."""
    return {"text": str(found), **plain(found)}


@fields.register
def _(fit: dpreg.DPResults) -> dict[str, Any]:
    return {"released": True, **plain(replace(fit, start=None)), "json": fit.to_json()}


@fields.register
def _(none: dpreg.NotReleased) -> dict[str, Any]:
    found = {"text": str(none), "json": none.to_json(), **none._fields(), "advice": none.advice}
    return {"released": False, **plain(found)}


@fields.register
def _(curve: dpreg.DPCurve) -> dict[str, Any]:
    return {**plain(curve), "json": curve.to_json(), "nobs": curve.nobs}


@fields.register
def _(effect: dpreg.DPEffect) -> dict[str, Any]:
    shown = effect._columns(0.05)
    numbers = {"coefficients": shown["coef"], "covariance": effect._covariance(),
               "sampling": shown["sampling"]}  # fmt: skip
    return {
        **plain(effect), "json": effect.to_json(), "nobs": effect.nobs, "released": True,
        "names": list(effect._labels()), **plain(numbers), "text": "\n".join(below(effect)),
    }  # fmt: skip


@fields.register
def _(moments: dpreg.DPMoments) -> dict[str, Any]:
    values, errors = correlations(moments)
    means, deviations = np.array([mean_and_deviation(moments, n) for n in moments.names]).T
    return {
        "json": moments.to_json(), "names": list(moments.names), "nobs": moments.units,
        "mean": plain(means), "sd": plain(deviations), "correlations": plain(values),
        "errors": plain(errors), "notes": list(moments.notes), "privacy": plain(moments.privacy),
    }  # fmt: skip


@fields.register
def _(start: Start) -> dict[str, Any]:
    return {"json": start.to_json(), "source": start.source, "names": list(start.names)}


@fields.register
def _(plan: Planned) -> dict[str, Any]:
    epsilons, widths = width_curve(plan)
    effects, powers, exact = power_curve(plan)
    curves = {"curve": {"eps": epsilons, "width": widths},
              "detection": {"effect": effects, "power": powers, "exact": exact}}  # fmt: skip
    words = {"text": str(plan), "exact": plan.model.exact, "of_effects": plan.model.of_effects}
    return {**words, "title": plan.title, **plain(plan), **plain(curves)}


def answer(request: Sent) -> Any:
    """Answer what R asks of a release, of which it has kept the JSON."""
    release_of, answer_of = _ANSWERS[request["what"]]
    return answer_of(release_of(request["json"]), request)


def _rows(request: Sent) -> Doubles:
    return np.frombuffer(request["rows"], "<f8").reshape((int(request["count"]), -1), order="F")


def _changes(request: Sent) -> list[Change]:
    """Rows with the lower value of a variable, then with the higher, one variable after another."""
    width = np.frombuffer(request["widths"], "<f8").reshape((int(request["changes"]), -1))
    rows = _rows(request).reshape((len(width), 2, width.shape[1], -1))
    return [Change("", low, high, by) for (low, high), by in zip(rows, width, strict=True)]


def _survival(fit: dpreg.DPSurvival, request: Sent) -> dict[str, Doubles]:
    X = _rows(request)
    curves = fit._curves(X, request["alpha"], simultaneous=bool(request["simultaneous"]))
    surv, lower, upper = curves.reshape(-1, 3).T
    time = np.tile(fit.periods.edges[1:], len(X))
    return {"time": time, "surv": surv, "lower": lower, "upper": upper}


def _classes_of(text: str) -> OfClasses:
    ordered = json.loads(text)["model"] == dpreg.DPOrdinal.words
    return (dpreg.DPOrdinal if ordered else dpreg.DPMultinomial).from_json(text)


def _model(moments: dpreg.DPMoments, request: Sent) -> Model:
    names = tuple(request["names"])
    return moments.checked(
        Model(request["response"], names, bool(request["intercept"]), request["formula"])
    )


def _moments_lm(moments: dpreg.DPMoments, request: Sent) -> dict[str, Any]:
    model = _model(moments, request)
    if request.get("instruments") is None:
        return fields(moments.fitted(model))
    others = _model(moments, {**request, "names": request["instruments"], "formula": ""})
    return fields(two_stage_fit(moments, model, others))


_CURVE, _HAZARDS = dpreg.DPCurve.from_json, dpreg.DPSurvival.from_json
_MOMENTS = dpreg.DPMoments.from_json
# What is asked: how to read the release, and what is answered of it.
_ANSWERS: dict[str, tuple[Callable[[str], Any], Callable[[Any, Sent], Any]]] = {
    "curve": (
        _CURVE,
        lambda curve, of: curve._columns(of["alpha"], simultaneous=bool(of["simultaneous"])),
    ),
    "rmst": (_CURVE, lambda curve, of: curve._means(of.get("time"), of["alpha"])),
    "quantile": (_CURVE, lambda curve, of: curve._quantiles(of["q"], of["alpha"])),
    "concordance": (_CURVE, lambda curve, of: curve.concordance(of["alpha"])),
    "logrank": (_CURVE, lambda curve, of: curve.logrank()),
    "cuts": (_CURVE, lambda curve, of: np.array(curve.event_cuts(int(of["count"])))),
    "baseline": (_HAZARDS, lambda fit, of: fit._baseline(of["alpha"])),
    "survival": (_HAZARDS, _survival),
    "probs": (
        _classes_of,
        lambda fit, of: fit._intervals(_rows(of), of["alpha"]).transpose(1, 0, 2),
    ),
    "effects": (_classes_of, lambda fit, of: fit._effects_table(_changes(of), of["alpha"])),
    "moments_lm": (_MOMENTS, _moments_lm),
    "moments_r2": (
        _MOMENTS,
        lambda moments, of: rsquared(moments, _model(moments, of), of["alpha"]),
    ),
}
