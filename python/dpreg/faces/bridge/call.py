"""What R calls: plain values in, plain values out, never an exception.

Only str, float, int, bool, None, lists, dicts and bytes cross the border, because the
converters of reticulate and rpy2 change missing values, numpy arrays and data frames
without saying so.  Columns come as bytes, from a function of R that is called when the budget
has been charged.  An exception becomes a value too: it would
abort the process from an rpy2 callback, and R wants a condition with a class.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import typing
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpreg
from dpreg.base.errors import BudgetError, shown
from dpreg.base.passes import Progress
from dpreg.calls.block_test import Blocks, PValues, statistic_of, test_by_blocks
from dpreg.calls.request import Request
from dpreg.calls.session import Payer
from dpreg.calls.starts import origin_from_json
from dpreg.data.source import quietly
from dpreg.estimation.planning.curves import power_curve, width_curve
from dpreg.estimation.planning.hazards import SurvivalPlan
from dpreg.faces.bridge.budgets import budget_state, new_budget, partition, payer_of
from dpreg.faces.bridge.rows import column_kinds, model_matrix
from dpreg.faces.bridge.words import in_r, told_in_r
from dpreg.privacy.certificate import Certificate
from dpreg.results.effect import below
from dpreg.results.models import Model
from dpreg.results.moment_models import correlations, rsquared, two_stage_fit
from dpreg.results.stacked import StackedResults

Sent = Mapping[str, Any]

# R is told how far a release has come from so many seconds on.
_PATIENCE = 1.0
# What is not an argument of the same name, and what is a whole number.
_ASIDE = ("matrix", "formula", "budget", "progress")
_WHOLE = ("k", "max_rows", "blocks", "n", "d", "events")


def call(function: str, request: Sent) -> dict[str, Any]:
    """Call one of the functions below.

    Returns
    -------
    dict
        ``{"value": ...}``, or ``{"error": {"kind", "message"}}``; kinds are "budget", "usage"
        and "python".
    """
    try:
        # Warnings of numpy and pandas may depend on records; those of dpreg do not exist.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {"value": told_in_r(plain(_FUNCTIONS[function](request)))}
    except Exception as error:
        text = "\n".join([str(error), *getattr(error, "__notes__", ())])
        return {"error": {"kind": _kind(error), "message": in_r(text)}}


def _kind(error: Exception) -> str:
    """Return what R makes a class of condition of."""
    if hasattr(error, "__notes__"):  # after the charge: of memory, or from a seed
        return "python"
    if isinstance(error, BudgetError):
        return "budget"
    return "usage" if isinstance(error, ValueError) else "python"


def plain(value: Any) -> Any:
    """Return `value` as something both bridges convert faithfully."""
    if value is None or isinstance(value, (bool, str, bytearray)):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)  # integers beyond 2**31 would come out as 0 or -1
    if isinstance(value, np.ndarray):
        return _packed(value)
    if isinstance(value, Certificate):
        return {"text": value.brief, **{k: plain(v) for k, v in value.to_dict().items()}}
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    return [plain(v) for v in value]


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    doubles = np.asarray(array, dtype="<f8")
    # A bytearray becomes a raw vector in R; bytes do not.
    return {
        "doubles": bytearray(doubles.tobytes(order="F")),
        "dim": [float(size) for size in doubles.shape],
    }


def _given(request: Sent) -> dict[str, Any]:
    """Return the arguments that R sent, as Python takes them."""
    given = {k: v for k, v in request.items() if k not in _ASIDE and v is not None}
    for name, value in given.items():
        if name in _WHOLE:
            given[name] = _whole(name, value)
        elif name in ("method", "select", "family"):
            given[name] = _options(value)
        elif name == "bounds":
            given[name] = {column: tuple(limits) for column, limits in dict(value).items()}
        elif name == "start" and isinstance(value, str):  # of a curve it is a number
            given[name] = origin_from_json(value)
        elif name == "overlap":
            given[name] = tuple(value)
        elif name == "rng":
            given[name] = int(value)
    return given


def _payer(request: Sent) -> Payer | None:
    return None if request.get("budget") is None else payer_of(request["budget"])


def _release(name: str, request: Sent) -> Any:
    """Call a function of dpreg with what R sent, by name."""
    function, payer, given = _newer(name), _payer(request), _given(request)
    matrix = model_matrix(request["matrix"], None if payer is None else payer.stratum)
    known = inspect.signature(function).parameters
    for argument in given:
        if argument not in known:
            raise ValueError(
                f"{argument}: dpreg {dpreg.__version__} in Python does not know this argument; "
                "install a newer one with install_dpreg()"
            )
    with _shown(request.get("progress")):
        return function(request["formula"], matrix, unit=matrix.unit, budget=payer, **given)


def _shown(show: Callable[[str], Any] | None) -> AbstractContextManager[None]:
    """Tell a function of R how far releases have come."""
    if show is None:
        return nullcontext()

    def told(found: Progress) -> None:
        if found.seconds >= _PATIENCE:
            quietly(show, str(found))

    return dpreg.progress(told)


def _options(sent: Any) -> Any:
    """Turn ``{"kind", "options"}`` into the options object of that name."""
    if not isinstance(sent, Mapping):
        return sent
    cls = _newer(sent["kind"])
    hints = typing.get_type_hints(cls)
    given = {k: _option(k, v, hints.get(k)) for k, v in dict(sent["options"] or {}).items()}
    return cls(**given)


def _option(name: str, value: Any, hint: Any) -> Any:
    if isinstance(value, Mapping) and "kind" in value:
        return _options(value)
    kinds = set(typing.get_args(hint)) or {hint}
    if isinstance(value, float) and int in kinds and float not in kinds:
        return _whole(name, value)
    return tuple(value) if isinstance(value, list) else value


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise ValueError(f"{name} must be a whole number, got {shown(value)}")
    return int(value)


def _fit_by(name: str) -> Callable[[Sent], dict[str, Any]]:
    return lambda request: result_fields(_release(name, request))


def result_fields(fit: dpreg.DPResults | dpreg.NotReleased) -> dict[str, Any]:
    """Return what R makes a fit of."""
    if isinstance(fit, dpreg.NotReleased):
        fields = {**fit._fields(), "advice": fit.advice}
        fields = {"released": False, "text": str(fit), **plain(fields)}
    else:
        start = None if fit.start is None else fit.start.to_json()
        fields = {"released": True, **plain(fit), "start": start}
        if isinstance(fit, StackedResults):
            fields["json"] = fit.to_json()
    return {**told_in_r(fields)}


def _kept(found: Any) -> dict[str, Any]:
    """Return what R keeps of a result; it asks more of it later, with the whole of `json`."""
    return {**plain(found), "json": found.to_json(), "nobs": found.nobs}


def _select(request: Sent) -> dict[str, Any]:
    found = _release("dp_select", request)
    return {"text": str(found), **plain(found)}


def _test(request: Sent) -> dict[str, Any]:
    """Test by blocks, with p-values of a function of R; see rwrapper/R/block_test.R."""
    given = _given(request)
    ask, labels = given.pop("p_value"), given.pop("labels")

    def opened() -> tuple[PValues, NDArray[np.int64]]:
        def p_value(rows: NDArray[np.int64], seed: int) -> float:
            block = {"rows": bytearray(rows.astype("<i4").tobytes()), "seed": float(seed)}
            return statistic_of(ask, block, seed)

        return p_value, np.frombuffer(quietly(labels), "<i4").astype(np.int64)

    asked = Request(
        call="dp_test", formula=given["name"], eps=given["eps"], delta=0.0,
        method=Blocks(given.get("blocks"), given["threshold"]), unit=given.get("unit"),
        budget=_payer(request), rng=given.get("rng"),
    )  # fmt: skip
    found = test_by_blocks(asked, None, opened)
    return {"text": str(found), "p_value": found.pvalue, **plain(found)}


def _effect(request: Sent) -> dict[str, Any]:
    """Release an effect, with what follows from its two means."""
    found = _release("dp_effect", request)
    if isinstance(found, dpreg.NotReleased):
        return result_fields(found)
    shown = found._columns(0.05)
    numbers = {"coefficients": shown["coef"], "covariance": found._covariance(),
               "sampling": shown["sampling"]}  # fmt: skip
    return {**_kept(found), "released": True, "names": list(found._labels()), **plain(numbers),
            "text": "\n".join(below(found))}  # fmt: skip


def _curve_table(request: Sent) -> dict[str, Any]:
    """Return what R asks of a curve, as columns: a table, means, quantiles; or other facts."""
    curve, what = dpreg.DPCurve.from_json(request["curve"]), request["what"]
    if what == "logrank":
        return dataclasses.asdict(curve.logrank())
    if what == "cuts":
        return {"cuts": plain(np.array(curve.event_cuts(int(request["count"]))))}
    alpha = request["alpha"]
    if what == "concordance":
        found = dataclasses.asdict(curve.concordance(alpha))
        columns = {name: np.array([value]) for name, value in found.items()}
    elif what == "rmst":
        columns = curve._means(request.get("time"), alpha)
    elif what == "quantile":
        columns = curve._quantiles(request["q"], alpha)
    else:
        columns = curve._columns(alpha, simultaneous=bool(request["simultaneous"]))
    return {name.replace(" ", "_"): plain(values) for name, values in columns.items()}


def _survival_table(request: Sent) -> dict[str, Any]:
    """Return what R asks of a fit of hazards, as columns: the baseline, or curves of persons."""
    fit, alpha = dpreg.DPSurvival.from_json(request["fit"]), request["alpha"]
    if request["what"] == "baseline":
        return {name: plain(values) for name, values in fit._baseline(alpha).items()}
    persons = int(request["persons"])
    X = np.frombuffer(request["rows"], "<f8").reshape((persons, -1), order="F")
    curves = fit._curves(X, alpha, simultaneous=bool(request["simultaneous"])).reshape(-1, 3)
    columns = dict(zip(("survival", "lower", "upper"), curves.T, strict=True))
    return {"time": plain(np.tile(fit.periods.edges[1:], persons)),
            **{name: plain(values) for name, values in columns.items()}}  # fmt: skip


def _classes_table(request: Sent) -> dict[str, Any]:
    """Return what R asks of a model of classes: probabilities with limits, or mean effects."""
    text, count = request["fit"], int(request["count"])
    ordered = json.loads(text)["model"] == dpreg.DPOrdinal.words
    fit = (dpreg.DPOrdinal if ordered else dpreg.DPMultinomial).from_json(text)
    X = np.frombuffer(request["rows"], "<f8").reshape((count, -1), order="F")
    if request["what"] == "probs":
        columns = fit._intervals(X, request["alpha"]).reshape(-1, 4).T
        return dict(zip(("mean", "error", "lower", "upper"), map(plain, columns), strict=True))
    names = ("effect", "error", "ratio", "p", "lower", "upper")
    effects = fit._effects_table(X, request["alpha"]).values()
    return dict(zip(names, map(plain, effects), strict=True))


def _public_start(request: Sent) -> dict[str, Any]:
    matrix = model_matrix(request["matrix"], None)
    found = dpreg.public_start(request["formula"], matrix, unit=matrix.unit)
    return {"json": found.to_json(), "source": found.source, "names": list(found.names)}


def _moments(request: Sent) -> dict[str, Any]:
    found = _release("dp_moments", request)
    values, errors = correlations(found)
    centre, scale = np.full((2, len(found.names)), np.nan)
    centre[found.used], scale[found.used] = found.centre, found.scale
    return {
        "json": found.to_json(), "names": list(found.names), "nobs": found.units,
        "mean": plain(centre), "sd": plain(scale), "correlations": plain(values),
        "errors": plain(errors), "notes": list(found.notes), "privacy": plain(found.privacy),
    }  # fmt: skip


def _asked(request: Sent) -> tuple[dpreg.DPMoments, Model]:
    moments = dpreg.DPMoments.from_json(request["moments"])
    names = tuple(request["names"])
    model = Model(request["response"], names, bool(request["intercept"]), request["formula"])
    return moments, moments.checked(model)


def _moments_lm(request: Sent) -> dict[str, Any]:
    moments, model = _asked(request)
    if request.get("instruments") is None:
        found, units = moments.regression(model)
        return result_fields(moments.fit_of(model, found, units, ()))
    instruments = tuple(request["instruments"])
    others = moments.checked(Model(model.response, instruments, model.intercept, ""))
    return result_fields(two_stage_fit(moments, model, others))


def _moments_r2(request: Sent) -> dict[str, float]:
    return rsquared(*_asked(request), request["alpha"])


def _plan(request: Sent) -> dict[str, Any]:
    plan = _newer("dp_plan")(**_given(request))
    if isinstance(plan, SurvivalPlan):
        return {"text": str(plan), **plain(plan)}
    epsilons, widths = width_curve(plan)
    effects, powers, exact = power_curve(plan)
    return {"text": str(plan), "exact": plan.exact, **plain(plan),
            "curve": plain({"eps": epsilons, "width": widths}),
            "detection": plain({"effect": effects, "power": powers, "exact": exact})}  # fmt: skip


def _newer(name: str) -> Callable[..., Any]:
    found = next((getattr(m, name) for m in _modules() if hasattr(m, name)), None)
    if not callable(found):
        raise ValueError(
            f"{name}: dpreg {dpreg.__version__} in Python does not have it; "
            "install a newer one with install_dpreg()"
        )
    function: Callable[..., Any] = found
    return function


def _modules() -> tuple[Any, ...]:
    """Where functions and options classes are, whatever the version."""
    from dpreg.estimation import methods
    from dpreg.estimation.releases import standardisation

    return dpreg, methods, standardisation


def frame_columns(frame: Any) -> dict[str, Any]:
    """Return a pandas data frame column by column; missing codes of categories are 0."""
    columns: dict[str, Any] = {}
    for name, column in frame.items():
        if hasattr(column, "cat"):
            columns[str(name)] = {
                "codes": np.asarray(column.cat.codes, dtype=np.float64) + 1,
                "levels": [str(level) for level in column.cat.categories],
                "ordered": bool(column.cat.ordered),
            }
        else:
            columns[str(name)] = {"values": np.asarray(column, dtype=np.float64)}
    return columns


def _defaults(request: Sent) -> dict[str, Any]:
    """Return the defaults of an options class, so that R can be tested to have the same."""
    cls = _newer(request["kind"])
    found = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        default = parameter.default
        nested = dataclasses.is_dataclass(default) or "factory" in repr(default)
        found[name] = "<object>" if nested else default
    return found


_FUNCTIONS: dict[str, Callable[[Sent], Any]] = {
    **{f: _fit_by(f"dp_{f}") for f in ("lm", "glm", "survival", "ordinal", "multinomial")},
    "curve": lambda request: _kept(_release("dp_curve", request)),
    "effect": _effect,
    "curve_table": _curve_table,
    "survival_table": _survival_table,
    "classes_table": _classes_table,
    "public_start": _public_start,
    "moments": _moments,
    "moments_lm": _moments_lm,
    "moments_r2": _moments_r2,
    "select": _select,
    "test": _test,
    "plan": _plan,
    "new_budget": new_budget,
    "partition": partition,
    "budget_state": budget_state,
    "columns": lambda request: column_kinds(list(request["paths"])),
    "diamonds": lambda _: frame_columns(dpreg.load_diamonds()),
    "defaults": _defaults,
    "version": lambda _: dpreg.__version__,
}
