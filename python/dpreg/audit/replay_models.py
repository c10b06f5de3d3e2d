"""Random calls of the functions of survival, effects and classes."""

from __future__ import annotations

from typing import Any

from dpreg.audit.replay_calls import (
    Generator,
    PublicCall,
    one_of,
    random_claim,
    random_units,
    some,
    with_levels,
)


def random_hazards(rng: Generator) -> PublicCall:
    """Rows of persons and periods, whose records have times on both sides of all cuts."""
    surv = one_of(rng, ("Surv(t, y > 0)", "Surv(a, t, y > 0)", "Surv(a, b, c == 'u')"))
    formula = f"{surv} ~ {one_of(rng, ('1', 'a', 'a + b', 'b + c', 'a + a:b'))}"
    options: dict[str, Any] = {"cuts": one_of(rng, ([0.5, 1.0, 2.0], [1.0], [0.1, 0.2, 5.0, 9.0]))}
    options["start"] = one_of(rng, (0.0, 0.0, -1.0))
    if rng.random() < 0.3:
        options |= random_units(rng)
    options |= some(rng, 0.2, weights="w", weight_limit=3.0)
    bounds = {"b": (-3.0, 3.0)} if "+ b" in formula else None
    options |= some(rng, 0.1, memory=1e6, bounds=bounds)
    options |= some(rng, 0.2, strata="p") | some(rng, 0.2, time_varying=["a"])
    used = " ".join([formula, str(options.get("strata", ""))])
    return PublicCall("dp_survival", formula, random_claim(rng), with_levels(used, options))


def random_curve(rng: Generator) -> PublicCall:
    """Tables of exits and entries, by groups with levels."""
    call = random_hazards(rng)
    surv = call.formula.partition(" ~ ")[0]
    formula = f"{surv} ~ {one_of(rng, ('1', 'c', 'p', 'c + p', 'C(p)'))}"
    kept = {k: v for k, v in call.options.items() if k in ("cuts", "start", "unit", "max_rows")}
    return PublicCall("dp_curve", formula, (call.claim[0], 0.0), with_levels(formula, kept))


def random_effect(rng: Generator) -> PublicCall:
    """A treatment of two levels, or of numbers that are 0, 1 or others."""
    method = one_of(rng, ("aipw", "aipw", "aipw", "regression", "difference"))
    right = "1" if method == "difference" else one_of(rng, ("b", "b + t", "t + p", "b + b:p", "1"))
    options: dict[str, Any] = {"treatment": one_of(rng, ("c", "c", "a")), "method": method}
    options["family"] = one_of(rng, ("gaussian", "gaussian", "binomial"))
    if method == "aipw" and rng.random() < 0.3:
        options["propensity"] = one_of(rng, (0.5, 0.2))
    elif rng.random() < 0.3:
        options["overlap"] = one_of(rng, ((0.01, 0.99), (0.3, 0.5)))
    if rng.random() < 0.3:
        options |= random_units(rng)
    options |= some(rng, 0.1, memory=1e6)
    if rng.random() < 0.3:
        options["bounds"] = {"y": one_of(rng, ((-3.0, 3.0), (0.0, 1.0)))}
    options = with_levels(right, options)
    if options["treatment"] == "c":
        # Rows of the third level are in neither arm.
        options["levels"] = {**options.get("levels", {}), "c": ["u", "v"]}
    return PublicCall("dp_effect", f"y ~ {right}", random_claim(rng), options)


def random_classes(rng: Generator) -> PublicCall:
    """Rows of classes of a column with levels; cells may hold others."""
    right = one_of(rng, ("1", "a", "a + b", "b + c", "a + a:b"))
    options: dict[str, Any] = {"bounds": {"b": (-3.0, 3.0)} if "+ b" in right else None}
    function = one_of(rng, ("dp_ordinal", "dp_multinomial"))
    if function == "dp_ordinal":
        options["link"] = one_of(rng, ("logit", "probit"))
        right += one_of(rng, ("", "", " + offset(t)"))
    if rng.random() < 0.3:
        options |= random_units(rng)
    if rng.random() < 0.2:
        options |= {"weights": "w", "weight_limit": one_of(rng, (3.0, None))}
    options |= some(rng, 0.1, memory=1e6)
    formula = f"p ~ {right}"
    return PublicCall(function, formula, random_claim(rng), with_levels(formula, options))
