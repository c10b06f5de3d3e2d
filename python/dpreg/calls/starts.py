"""The start of a fit, as given by the user; refused if it is of another model."""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpreg.base.errors import Argument, ArgumentError, Setting, Words, a_kind, leave_out
from dpreg.base.text import counted
from dpreg.data.design import Terms
from dpreg.data.schema import Schema
from dpreg.estimation.base import Method
from dpreg.estimation.inference.start import Start
from dpreg.estimation.releases.spectrum import symmetric_root, without_spread
from dpreg.privacy.certificate import Certificate
from dpreg.results.fit import DPResults
from dpreg.results.models import Model
from dpreg.results.moments import DPMoments
from dpreg.results.not_released import NotReleased
from dpreg.results.predict import schema_to_dict

Origin = DPResults | DPMoments | Start

_SAME = "start from a fit of the same formula, columns and levels"
# Of the digest of a certificate, and columns that a message lists.
_DIGITS, _SHOWN = 12, 5
# Deviations of its noise that a second moment must have, and the least mean squared residual, in
# variances of the response.
_SEEN, _LEAST_RESIDUAL = 3.0, 1e-3


def start_for(
    start: object, terms: Terms, schema: Schema, method: Method, *, selects: bool, inference: bool
) -> Start | None:
    """Return where a fit starts, if the call can use it."""
    if start is None:
        return None
    if not terms.family.least_squares:
        raise _not_used("is supported for linear models only")
    if selects:
        raise _not_used(("cannot be used together with ", Argument("select")))
    if method.name not in ("auto", "boosted_adassp") or not inference:
        only = Setting("method", "boosted_adassp")
        raise _not_used(("is used only by ", only, " with standard errors"))
    found = _read(start, terms)
    _check_same(found, terms, levels_of(schema_to_dict(schema)))
    return found


def origin_from_json(text: str) -> Origin | NotReleased:
    """Read a fit, moments or a start from what its `to_json` wrote."""
    for kind in (DPResults, DPMoments, Start, NotReleased):
        with contextlib.suppress(ValueError):
            return kind.from_json(text)
    raise ValueError("this is not a fit, moments or a start of this version of dpreg")


def _read(start: object, terms: Terms) -> Start:
    if isinstance(start, Start):
        return start
    if isinstance(start, NotReleased):
        raise _not_used("was not released, so that there is nothing to start from")
    if isinstance(start, DPMoments):
        model = Model(terms.response, terms.names, terms.intercept, "")
        try:
            start.checked(model)
        except ArgumentError as error:
            raise ArgumentError("start", error.problem, _SAME) from None
        found = start_of_moments(start, model)
        found = completed(found, None, start.schema, start.formula, start.privacy)
    elif isinstance(start, DPResults):
        found = start.start
    else:
        wanted = "must be a released fit, moments or what public_start() returns, not "
        raise ArgumentError("start", wanted + a_kind(start), _SAME)
    if found is None:
        lacks = ("has no scales and second moments of all columns; fits with ",
                 Setting("method", "boosted_adassp"), " and standard errors have them")  # fmt: skip
        raise _not_used(lacks)
    return found


def _check_same(start: Start, terms: Terms, levels: Mapping[str, tuple[object, ...]]) -> None:
    """Refuse a start of another model, naming what is different."""
    if start.response != terms.response:
        raise _other(f"response {start.response!r}, not {terms.response!r}")
    names = tuple(name for name in terms.names if name not in terms.offsets)
    for more, less, word in ((start.names, names, "has"), (names, start.names, "lacks")):
        different = [name for name in more if name not in less]
        if different:
            listed = ", ".join(different[:_SHOWN]) + (", ..." if different[_SHOWN:] else "")
            raise _other(f"{counted(len(different), 'other column')} ({word} {listed})")
    if start.names != names:
        raise _other("columns in another order")
    for name, of in levels.items():
        if start.levels.get(name, of) != of:
            raise _other(f"other levels of {name!r}")
    same = (
        ("effects of units", start.within, terms.within),
        ("intercept", start.intercept, terms.intercept), ("weights", start.weights, terms.weights),
        ("offsets", set(start.offsets), set(terms.offsets)),
    )  # fmt: skip
    for what, its, wanted in same:
        if its != wanted:
            raise _other(f"its {what} differ")


def _not_used(why: Words) -> ArgumentError:
    return ArgumentError("start", why, leave_out("start"))


def _other(difference: str) -> ArgumentError:
    return ArgumentError("start", f"is of another model: {difference}", _SAME, leave_out("start"))


def levels_of(schema: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[object, ...]]:
    """Return the levels of the columns that have some, of a schema in plain data."""
    return {n: tuple(c["levels"]) for n, c in schema.items() if c["levels"] is not None}


def completed(
    start: Start | None,
    terms: Terms | None,
    schema: Mapping[str, Mapping[str, Any]],
    formula: str,
    privacy: Certificate,
) -> Start | None:
    """Say what a start was made from, and of which levels and offsets it is."""
    if start is None:
        return None
    digest = hashlib.sha256(privacy.to_json().encode()).hexdigest()[:_DIGITS]
    return replace(
        start,
        offsets=() if terms is None else terms.offsets,
        levels=levels_of(schema),
        source=f"{privacy.mechanism} release of {formula!r}, certificate {digest}",
        seeded=privacy.seeded,
    )


def public_start_of(start: Start | None) -> tuple[str, ...]:
    """Return what a certificate says of a start: it is public."""
    return () if start is None else (f"start: {start.source}",)


def about_start(start: Start | None) -> tuple[str, ...]:
    """Say where scales came from, and that a start with a seed makes this fit not private."""
    if start is None:
        return ()
    found = f"scales, second moments and starting values were taken from {start.source}"
    if start.seeded:
        found += ", which is not private because it had a seed; so this fit is not private either"
    return (found,)


def start_of_moments(moments: DPMoments, model: Model) -> Start | None:
    """Return where a fit of `model` may start; None if the moments are too noisy for it."""
    every = (*model.names, model.response)
    used = [place for name in every if (place := moments.place(name)) is not None]
    if len(used) < len(every):
        return None
    found, _ = moments.regression(model)
    vectors, upper = np.linalg.qr(moments.regressors(model))
    matrix = moments.joint.product(vectors, vectors) / moments.units
    deviation = moments.deviation / moments.units
    values, turn = np.linalg.eigh(matrix)
    values = without_spread(values, deviation)
    if not values.min(initial=np.inf) > _SEEN * deviation:
        return None
    held = (turn * values) @ turn.T
    change = np.linalg.solve(upper, symmetric_root(held, centred=model.intercept))
    places = [moments.names.index(name) for name in every]
    return Start(
        response=model.response,
        names=model.names,
        intercept=model.intercept,
        low=moments.limits[places, 0],
        high=moments.limits[places, 1],
        centre=moments.centre[used],
        scale=moments.scale[used],
        constant=np.zeros(len(every), dtype=bool),
        change=change,
        unseen=np.zeros((len(change), 0)),
        theta=np.asarray(np.linalg.solve(change, found.theta)),
        residual=max(found.residual.value / moments.units, _LEAST_RESIDUAL),
        deviation=np.full_like(held, deviation / float(values.min(initial=1.0))),
        sizes=np.ones(len(held)),
        longest=moments.reach * math.sqrt(len(change)),
        units=moments.units,
    )
