"""Random calls: functions, formulas, families and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpreg.audit.replay_calls import (
    CONTAINERS,
    LEVELS,
    STRATA,
    Generator,
    PublicCall,
    one_of,
    random_claim,
    random_units,
    some,
    with_levels,
)
from dpreg.audit.replay_models import random_classes, random_curve, random_effect, random_hazards
from dpreg.audit.replay_varied import elsewhere, varied, with_factors
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
from dpreg.data.problem import pose
from dpreg.estimation.methods import DPSGD, AdaSSP, Auto, BoostedAdaSSP, FrankWolfe, TukeyEM
from dpreg.estimation.selection import DPSIS, DPKendall, SubLasso, TwoStage

_FORMULAS = (
    "y ~ a + b", "y ~ a + b", "y ~ a", "y ~ 1", "y ~ 0 + a + b", "y ~ a * b", "y ~ a + c",
    "y ~ 0 + c", "y ~ a + b + a:c", "y ~ a + I(b**2)", "y ~ a + poly(b, 2, raw=True)",
    "log(y) ~ a", "y ~ a + log(t)",
)  # fmt: skip
_OFFSETS = ("y ~ a + offset(b)", "y ~ a + offset(log(t))", "y ~ 0 + a + c + offset(t)")
_PANELS = ("y ~ a + b | who", "y ~ a | who", "y ~ a | who + p")
_TERMS = ("y ~ a + b", "y ~ a + b + t", "y ~ a + c + t", "y ~ a + poly(b, 2, raw=True)")
FAMILIES = (
    BINOMIAL, BINOMIAL, PROBIT, CLOGLOG, POISSON, POISSON, GAMMA, NegativeBinomial(0.5),
    NegativeBinomial(), Quantile(0.5), Quantile(0.9), GAUSSIAN,
)  # fmt: skip


def random_call(rng: Generator) -> PublicCall:
    """Draw one call; a few of them are refused, which must not depend on the data either."""
    kinds, weights = zip(*_KINDS, strict=True)
    kind = int(rng.choice(len(kinds), p=np.array(weights) / sum(weights)))
    call = with_factors(rng.spawn(1)[0], varied(rng.spawn(1)[0], kinds[kind](rng)))
    if call.of_arrays:
        return call
    stratum = one_of(rng, STRATA) if rng.random() < 0.08 else None
    call = replace(call, container=one_of(rng, CONTAINERS), stratum=stratum)
    return elsewhere(rng.spawn(1)[0], call)


def _without(call: PublicCall, *names: str) -> dict[str, Any]:
    return {name: value for name, value in call.options.items() if name not in names}


def boosted(rng: Generator) -> BoostedAdaSSP:
    return BoostedAdaSSP() if rng.random() < 0.8 else BoostedAdaSSP(rounds=3, average=1)


def random_adassp(rng: Generator) -> PublicCall:
    return random_fit(rng, "dp_lm", AdaSSP())


def random_boosted(rng: Generator) -> PublicCall:
    return random_fit(rng, "dp_lm", boosted(rng))


def random_family(rng: Generator) -> PublicCall:
    return random_fit(rng, "dp_glm", boosted(rng), one_of(rng, FAMILIES))


def random_auto(rng: Generator) -> PublicCall:
    call = random_fit(rng, "dp_lm", Auto(candidates=one_of(rng, (Auto().candidates, ("tukey",)))))
    options = _without(call, "fit_stats", "diagnostics", "start")
    return replace(call, options={**options, "inference": False})


def random_rare(rng: Generator) -> PublicCall:
    """A fit of columns a and b, and mostly of their product."""
    method = one_of(rng, (BoostedAdaSSP(), BoostedAdaSSP(), AdaSSP()))
    inference = some(rng, 0.25, inference=False)
    formula = one_of(rng, ("y ~ a * b", "y ~ a * b", "y ~ a + b"))
    return PublicCall("dp_lm", formula, random_claim(rng), {"method": method, **inference})


def random_tukey(rng: Generator) -> PublicCall:
    models = one_of(rng, (None, 4, 30))
    method = TukeyEM(models=models, partition=one_of(rng, ("slots", "independent")))
    family = one_of(rng, (GAUSSIAN, GAUSSIAN, BINOMIAL, POISSON))
    options: dict[str, Any] = {**_spelled_family(family), "method": method}
    formula = one_of(rng, _FORMULAS[:8])
    options |= some(rng, 0.3, unit="who")
    return PublicCall("dp_glm", formula, random_claim(rng), with_levels(formula, options))


def random_dpsgd(rng: Generator) -> PublicCall:
    # Its noise takes seconds to find, once for each claim.
    call = random_fit(rng, "dp_lm", DPSGD(steps=3))
    options = _without(call, *_MORE, "weights", "max_rows")
    claim = one_of(rng, ((1.0, 1e-5), (20.0, 1e-2)))
    return replace(call, claim=claim, options=options)


def random_frank_wolfe(rng: Generator) -> PublicCall:
    screen = one_of(rng, (None, "rnm"))
    call = random_fit(rng, "dp_lm", FrankWolfe(steps=int(rng.integers(1, 12)), screen=screen))
    options = _without(call, *_MORE, "weights", "max_rows")
    return replace(call, options=options)


def _spelled_family(family: Family) -> dict[str, Any]:
    """As a user asks for it."""
    if family.level is not None or family.alpha is not None:
        return {"family": family}
    link = {"link": family.link} if family in (PROBIT, CLOGLOG) else {}
    return {"family": family.name, **link}


# What not every method has.
_MORE = ("fit_stats", "diagnostics", "weight_limit", "memory", "start")


def random_fit(
    rng: Generator, function: str, method: Any, family: Family | None = None
) -> PublicCall:
    linear = family is None or family.least_squares
    kind = rng.random()
    panel = linear and kind < 0.15
    formula = one_of(rng, _PANELS if panel else _OFFSETS if kind < 0.3 else _FORMULAS)
    options: dict[str, Any] = {"method": method}
    if family is not None:
        options |= _spelled_family(family)
    if panel or rng.random() < 0.3:
        options |= random_units(rng, 4)
    if not panel and rng.random() < 0.25:
        options["weights"] = "w"
        if rng.random() < 0.5:
            options["weight_limit"] = one_of(rng, (0.5, 3.0))
    options |= some(rng, 0.3, inference=False)
    for name in ("fit_stats", "diagnostics"):
        fits = "weights" not in options and (linear or name != "fit_stats")
        if (fits and rng.random() < 0.25) or rng.random() < 0.01:
            options[name] = True
    options |= some(rng, 0.03, memory=1e6)
    plain = method.name == "boosted_adassp" and not {"weights", "inference"} & set(options)
    if (linear and plain and rng.random() < 0.25) or rng.random() < 0.01:
        # `random_case` has tables to start from.
        options["start"] = None
    options = with_levels(formula, options)
    return PublicCall(function, formula, random_claim(rng), _with_bounds(rng, formula, options))


def random_moments(rng: Generator) -> PublicCall:
    formula = one_of(rng, [each for each in _FORMULAS if "0 +" not in each])
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        options |= random_units(rng, 4)
    options = _with_bounds(rng, formula, with_levels(formula, options))
    return PublicCall("dp_moments", formula, random_claim(rng), options)


def _selector(rng: Generator) -> Any:
    rows = int(rng.integers(1, 4))
    by_rows = DPKendall(max_rows=rows), DPSIS(max_rows=rows), DPSIS(top_k="peel", max_rows=rows)
    return one_of(rng, (*by_rows, TwoStage(), SubLasso(models=3), SubLasso()))


def _select(rng: Generator) -> PublicCall:
    formula, selector = one_of(rng, _TERMS), _selector(rng)
    options: dict[str, Any] = {"method": selector, "k": int(rng.integers(1, 3))}
    options |= some(rng, 0.3, unit="who")
    options = with_levels(formula, options)
    if selector.uses_bounds:
        options = _with_bounds(rng, formula, options, everything=True)
    epsilon, delta = random_claim(rng)
    return PublicCall("dp_select", formula, (epsilon, one_of(rng, (0.0, delta))), options)


def random_selected(rng: Generator) -> PublicCall:
    """A selection, then a fit."""
    formula, selector = one_of(rng, _TERMS), _selector(rng)
    selector = replace(selector, share=one_of(rng, (0.05, 0.5)))
    options: dict[str, Any] = {"select": selector, "k": 1, "method": BoostedAdaSSP()}
    # What assigns units to models would have to know those of its part.
    if selector.name in ("kendall", "sis") and rng.random() < 0.5:
        options["split"] = one_of(rng, (0.25, 0.5, 0.9))
    options |= some(rng, 0.3, unit="who")
    options = with_levels(formula, options)
    options = _with_bounds(rng, formula, options, everything=selector.uses_bounds)
    return PublicCall("dp_lm", formula, random_claim(rng), options)


def _arrays(rng: Generator) -> PublicCall:
    """A mechanism by itself, on arrays."""
    name = one_of(rng, ("adassp", "boosted_adassp", "dp_kendall", "dp_sis", "dp_frank_wolfe"))
    epsilon, delta = random_claim(rng)
    if name in ("dp_kendall", "dp_sis"):
        options: dict[str, Any] = {"k": int(rng.integers(1, 3))}
        if name == "dp_sis":
            response = one_of(rng, ((-1.0, 1.0), (0.0, 50.0)))
            options |= {"x_bounds": (-1.0, 1.0), "y_bounds": response}
        return PublicCall(name, "y a b t", (epsilon, 0.0), options)
    if name == "dp_frank_wolfe":
        options = {"l1": one_of(rng, (0.5, 1.0, 4.0)), "steps": int(rng.integers(1, 12)),
                   "screen": one_of(rng, (None, "rnm"))}  # fmt: skip
    else:
        options = {"intercept": bool(rng.random() < 0.5), "inference": bool(rng.random() < 0.5)}
        if rng.random() < 0.5:
            options["bounds"] = {"y": (-3.0, 3.0), "x0": (-3.0, 3.0)}
    return PublicCall(name, "y a b", (epsilon, delta), options)


_KINDS: tuple[tuple[Callable[[Generator], PublicCall], int], ...] = (
    (random_boosted, 24), (random_family, 30), (random_adassp, 8), (random_auto, 5),
    (random_tukey, 4), (random_dpsgd, 2), (random_frank_wolfe, 3), (random_moments, 10),
    (_select, 6), (random_selected, 5), (random_hazards, 4), (random_curve, 2), (_arrays, 4),
    (random_effect, 6), (random_classes, 6),
)  # fmt: skip


def _with_bounds(
    rng: Generator, formula: str, options: dict[str, Any], *, everything: bool = False
) -> dict[str, Any]:
    """None, of the response, or of all columns."""
    kind = 1.0 if everything else rng.random()
    if kind < 0.4:
        return options
    response = formula.partition("~")[0].strip()
    names = [response]
    if kind > 0.7:
        plain: dict[str, Any] = {n: [0.0] for n in ("a", "b", "t", "y")}
        plain |= {n: ["u"] for n in (*LEVELS, "who")}
        terms = pose(formula, plain, options.get("levels"), options.get("unit")).terms
        names += [name for name in terms.names if not name.startswith("offset(")]
    low, high = one_of(rng, ((-1.0, 1.0), (-3.0, 3.0), (0.0, 1.0), (-100.0, 1000.0)))
    return {**options, "bounds": dict.fromkeys(names, (low, high))}
