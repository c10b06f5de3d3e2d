"""Grey-box audits: what each stage of a whole fit loses on the worst rows there are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.recorded import Run, composed_loss, divided_loss, finding_of, run_of
from dpreg.audit.replay_calls import PublicCall
from dpreg.audit.sampled_steps import moved_loss
from dpreg.audit.worlds import Pair, hostile_pairs, large_pairs, person_pair, regression
from dpreg.base.families import (
    BINOMIAL,
    CLOGLOG,
    GAMMA,
    GAUSSIAN,
    POISSON,
    PROBIT,
    Family,
    NegativeBinomial,
    Quantile,
)
from dpreg.calls.public_data import public_start
from dpreg.data.bounds import Bounds
from dpreg.estimation import standardised
from dpreg.estimation.base import Method
from dpreg.estimation.methods import DPSGD, AdaSSP, Auto, BoostedAdaSSP, TukeyEM
from dpreg.estimation.selection import DPSIS, DPKendall, SubLasso, TwoStage
from dpreg.estimation.selection.base import Selector

_BOUNDS = {"a": (-1.0, 1.0), "b": (-1.0, 1.0), "y": (-1.0, 1.0)}
# Without bounds of the response what is too small to find it is declined.
_RESPONSE = {"y": _BOUNDS["y"]}
_PERSON: dict[str, Any] = {"unit": "person", "bounds": _RESPONSE}
# A method and public bounds of columns.
_Bounded = tuple[Method, dict[str, Bounds] | None]
_FORMULAS = ("y ~ a + b", "y ~ 0 + a + b", "y ~ 1")
# At this claim 900 rows are enough for TukeyEM.
_LARGE = (20.0, 0.01)


def _runs(
    methods: tuple[Method | _Bounded, ...],
    pairs: tuple[Pair, ...],
    formulas: tuple[str, ...] = _FORMULAS,
    inferences: tuple[bool, ...] = (True, False),
) -> Iterator[Run]:
    """All of them; with bounds on a regressor the formula must have it."""
    for each, formula, pair, inference in itertools.product(methods, formulas, pairs, inferences):
        method, bounds = each if isinstance(each, tuple) else (each, None)
        if formula != "y ~ 1" or set(bounds or {}) <= {"y"}:
            yield run_of(method, formula, pair, inference, bounds=bounds)


@partial(Check, "adassp")
def adassp(effort: Effort) -> Finding:
    methods = (AdaSSP(), (AdaSSP(), _BOUNDS))
    runs = _runs(methods, hostile_pairs() + large_pairs())
    return finding_of("adassp", runs, composed_loss)


@partial(Check, "boosted_adassp")
def boosted_adassp(effort: Effort) -> Finding:
    methods = (BoostedAdaSSP(), (BoostedAdaSSP(rounds=3), _BOUNDS))
    runs = _runs(methods, hostile_pairs() + large_pairs())
    return finding_of("boosted_adassp", runs, composed_loss)


@partial(Check, "least squares")
def least_squares(effort: Effort) -> Finding:
    """Errors of so many rows that each of their sums is released, some of columns far from 0."""
    large, persons = large_pairs(), person_pair(450, 3)
    pairs = (*large, _far_from_0(large[0]), _far_from_0(large[2]))
    runs = [
        run_of(BoostedAdaSSP(), formula, pair)
        for formula, pair in itertools.product(_FORMULAS, pairs)
    ]
    runs += [
        run_of(BoostedAdaSSP(max_rows=3), formula, pair, unit="person")
        for formula, pair in (("y ~ a + b", _far_from_0(persons)), ("y ~ a + b | person", persons))
    ]
    runs += [*_started(large, persons)]
    # Tables of so many rows have their curvature released.
    runs += [
        run_of(BoostedAdaSSP(), _FORMULAS[0], pair, family=family)
        for family, pair in itertools.product(
            (BINOMIAL, POISSON, GAMMA, NegativeBinomial(), Quantile(0.2)), large[:2]
        )
    ]
    # The row that comes has the largest weight by far.
    runs += [
        run_of(BoostedAdaSSP(), "y ~ a", large[0], family=family, weights="b")
        for family in (GAUSSIAN, POISSON)
    ]
    return finding_of("least squares with errors", runs, composed_loss, _LARGE)


def _started(large: tuple[Pair, ...], persons: Pair) -> Iterator[Run]:
    """Fits that start from public data, which hold, have another mean, or are far too few."""
    public = regression(900, seed=2)
    others = public.assign(a=public["a"] + 9, b=3 * public["b"])
    for table, formula, pair in itertools.product(
        (public, others, public[:20]), _FORMULAS[:2], (large[0], hostile_pairs()[0])
    ):
        yield run_of(BoostedAdaSSP(), formula, pair, start=public_start(formula, table))
    for formula in ("y ~ a + b", "y ~ a + b | person"):
        table = public.assign(person=np.arange(900) // 3)
        start = public_start(formula, table, unit="person")
        yield run_of(BoostedAdaSSP(max_rows=3), formula, persons, unit="person", start=start)


def _far_from_0(pair: Pair) -> Pair:
    tables = (table.assign(a=table["a"] + 300) for table in (pair.without, pair.having))
    return Pair(f"{pair.label}, far from 0", *tables)


@partial(Check, "families")
def families(effort: Effort) -> Finding:
    """Scores, curvatures and counts of other losses."""
    every = (BINOMIAL, PROBIT, CLOGLOG, POISSON, GAMMA, NegativeBinomial(0.5), NegativeBinomial(),
             Quantile(0.2))  # fmt: skip
    runs = [
        run_of(BoostedAdaSSP(), formula, pair, inference, family=family, bounds=bounds)
        for family, pair in itertools.product(every, hostile_pairs())
        for formula, bounds in ((_FORMULAS[0], None), ("y ~ a + offset(b)", _RESPONSE))
        for inference in (True, False)
        if family.link == "log" or "offset" not in formula
    ]
    return finding_of("families", runs, composed_loss)


@partial(Check, "extras and weights")
def extras_and_weights(effort: Effort) -> Finding:
    """Sums and counts over residuals, and rows that weigh as a cell of theirs says."""
    thorough = effort.scale >= 1
    pairs = hostile_pairs() + large_pairs() if thorough else hostile_pairs()
    boosted: _Bounded = BoostedAdaSSP(), _RESPONSE
    counts = {"diagnostics": True}
    both = {**counts, "fit_stats": True}
    fits: tuple[tuple[Family, _Bounded, dict[str, bool]], ...] = (
        (GAUSSIAN, boosted, both), (GAUSSIAN, (AdaSSP(), None), both),
        (BINOMIAL, (BoostedAdaSSP(), None), counts), (POISSON, boosted, counts),
    )  # fmt: skip
    runs = [
        run_of(method, "y ~ a + b", pair, inference, family=family, bounds=bounds, **extras)
        for pair, inference in itertools.product(pairs, (True, False) if thorough else (False,))
        for family, (method, bounds), extras in fits
    ]
    runs += [
        run_of(BoostedAdaSSP(), "y ~ a", pair, family=family, bounds=_RESPONSE, weights="b")
        for pair, family in itertools.product(hostile_pairs(), (GAUSSIAN, POISSON))
    ]
    person = BoostedAdaSSP(max_rows=3)
    runs.append(run_of(person, "y ~ a + b", person_pair(20), **_PERSON, **both))
    return finding_of("extras and weights", runs, composed_loss)


@partial(Check, "limits of predictions")
def predictions(effort: Effort) -> Finding:
    """Nearly all is spent on the vote of a row on the limits of predictions."""
    with patch.object(standardised, "VOTE_SHARE", 0.7):
        runs = _runs((AdaSSP(),), large_pairs(), _FORMULAS[:1], (False,))
        return finding_of("limits of predictions", runs, composed_loss, _LARGE)


@partial(Check, "dpsgd")
def dpsgd(effort: Effort) -> Finding:
    method, pairs = DPSGD(steps=40), hostile_pairs()
    runs = [*_runs(((method, _RESPONSE),), pairs)]
    if effort.scale < 1:
        runs = [*_runs(((method, _RESPONSE),), (pairs[0], pairs[5]), _FORMULAS[:1])]
    runs.append(run_of(method, "y ~ a + b", person_pair(20), **_PERSON))
    return finding_of("dpsgd", runs, moved_loss)


@partial(Check, "units")
def units(effort: Effort) -> Finding:
    """A person's rows move together, and no more of them than the method says."""
    methods: tuple[Method, ...] = tuple(
        how(max_rows=rows) for how in (AdaSSP, BoostedAdaSSP) for rows in (3, 1)
    )
    pair = person_pair(20)
    runs = [run_of(method, "y ~ a + b", pair, **_PERSON) for method in methods]
    # Rows that vary within the person that comes, or its deviations from their mean were 0.
    varied = pair.having.assign(a=lambda t: np.where(t.index % 2, t["a"], -t["a"]))
    effects = Pair("a person who varies", varied.iloc[: len(pair.without)], varied)
    runs += [run_of(method, "y ~ a + b | person", effects, **_PERSON) for method in methods]
    runs += [
        run_of(methods[0], "y ~ a + offset(b)", each, bounds=_RESPONSE) for each in hostile_pairs()
    ]
    return finding_of("units of several rows", runs, composed_loss)


@partial(Check, "tukey")
def tukey(effort: Effort) -> Finding:
    methods = (TukeyEM(), TukeyEM(models=30), TukeyEM(models=30, partition="independent"))
    pairs = large_pairs() + (hostile_pairs() if effort.scale >= 1 else hostile_pairs()[2:3])
    formulas = _FORMULAS if effort.scale >= 1 else _FORMULAS[:1]
    runs = [*_runs(methods, pairs, formulas)]
    runs += [run_of(m, "y ~ a + b", person_pair(900), unit="person") for m in methods]
    return finding_of("tukey: what its stages ask for", runs, composed_loss, _LARGE)


@partial(Check, "auto")
def auto(effort: Effort) -> Finding:
    """Each method, and TukeyEM declining early, by its test, and not at all."""
    base = regression(900)
    wild = base.assign(y=np.random.default_rng(1).standard_cauchy(900) ** 9)
    corner = pd.DataFrame({"a": [9.0], "b": [9.0], "y": [-99.0]})
    pairs = (
        *large_pairs(), Pair("models that disagree", wild, pd.concat([wild, corner])),
        *hostile_pairs(),
    )  # fmt: skip
    methods = (Auto(), *(Auto(candidates=(name,)) for name in ("tukey", "adassp")))
    runs = [*_runs(methods, pairs, _FORMULAS[:1])]
    runs += [run_of(m, "y ~ a + b", person_pair(900), unit="person") for m in methods]
    return finding_of("auto: what its stages ask for", runs, composed_loss, _LARGE)


@partial(Check, "pipelines")
def pipelines(effort: Effort) -> Finding:
    """Selection of a column, then a fit."""
    selectors: tuple[Selector, ...] = (
        DPKendall(share=0.5), DPSIS(share=0.5), SubLasso(share=0.5, models=3),
        DPSIS(top_k="peel", share=0.5), TwoStage(share=0.5),
    )  # fmt: skip
    methods: tuple[_Bounded, ...] = ((AdaSSP(), _RESPONSE), (TukeyEM(), None))
    runs = [
        run_of(method, "y ~ a + b", pair, select=each, bounds=_BOUNDS if each.uses_bounds else own)
        for each, (method, own), pair in itertools.product(selectors, methods, hostile_pairs())
    ]
    runs += [
        run_of(AdaSSP(), "y ~ a + b", person_pair(20), select=each, **_PERSON)
        for each in selectors
        if isinstance(each, (SubLasso, TwoStage))
    ]
    # A term of two columns, both of which a row raises while it lowers the other term.
    base, formula = regression(60), "y ~ a + poly(b, 2, raw=True)"
    row = pd.DataFrame({"a": [-1.0], "b": [-1.0], "y": [1.0]})
    bounds = dict.fromkeys(("a", "poly(b, 2, raw=True)", "y"), (-1.0, 1.0))
    pairs = (Pair("one term more, one less", base, pd.concat([base, row])), *hostile_pairs()[:3])
    grouped = DPSIS(share=0.9)
    runs += [run_of(AdaSSP(), formula, pair, select=grouped, bounds=bounds) for pair in pairs]
    return finding_of("selection, then a fit", runs, composed_loss)


@partial(Check, "split")
def split(effort: Effort) -> Finding:
    """Selection from some units, a fit to the others."""
    shares = (0.1, 0.5, 0.9) if effort.scale < 1 else (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    runs = (
        run_of(AdaSSP(), "y ~ a + b", pair, select=DPSIS(), split=share, bounds=_BOUNDS)
        for pair, share in itertools.product(hostile_pairs(), shares)
    )
    return finding_of("selection and fit on different units", runs, divided_loss)


@partial(Check, "moments")
def moments(effort: Effort) -> Finding:
    """All columns, with bounds and without, by rows and by persons."""
    # So many that there are not too few for any of its matrices.
    base = regression(2000)
    extreme = pd.DataFrame({"a": [9.0], "b": [9.0], "y": [-99.0]})
    pairs = (
        *hostile_pairs(),
        Pair("an extreme row of many", base, pd.concat([base, extreme])),
        Pair("a row like others", base, pd.concat([base, base.iloc[:1]])),
    )
    runs = [
        _moments(formula, pair, bounds=bounds)
        for formula, pair, bounds in itertools.product(
            ("y ~ a + b", "y ~ a * b"), pairs, (None, _BOUNDS)
        )
    ]
    persons = {"unit": "person", "bounds": _BOUNDS}
    runs += [
        _moments("y ~ a + b", person_pair(20, 2 * rows), max_rows=rows, **persons)
        for rows in (1, 3, 20)
    ]
    return finding_of("dp_moments", runs, composed_loss)


def _moments(formula: str, pair: Pair, **asked: Any) -> Run:
    return PublicCall("dp_moments", formula, _LARGE, asked), pair
