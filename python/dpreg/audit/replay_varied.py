"""Other options, factors and containers, for some replays.

Each takes a generator of its own: calls and tables are drawn by another, and would be others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpreg.audit.replay_calls import FILES, Generator, PublicCall, one_of, with_levels
from dpreg.estimation.methods import DPSGD, AdaSSP, Auto, BoostedAdaSSP, FrankWolfe, TukeyEM
from dpreg.estimation.releases.standardisation import Standardisation
from dpreg.estimation.selection import DPSIS, DPKendall, SubLasso, TwoStage

Options = dict[str, Any]

# So many calls have other options of their method or selector.
_SHARE = 0.25
_SCALING = {"standardisation": Standardisation(zooms=1, bins=8, moment_share=0.2)}
_MODELS: tuple[Options, ...] = (
    {"penalty": 0.01}, {"count_share": 0.5}, {"partition": "independent"}, {"models": 3},
)  # fmt: skip
_OTHERS: dict[type, tuple[Options, ...]] = {
    AdaSSP: (
        {"cov_type": "nonrobust"}, {"cov_type": "bootstrap"}, {"scatter_share": 0.2},
        {"row_factor": 4.0, "response_limit": 1.0},
    ),
    BoostedAdaSSP: (
        {"gram_share": 0.6}, {"first_clip": 1.0, "clip": 1.0}, {"row_factor": 3.0},
    ),
    DPSGD: ({"clip": 0.1}, {"learning_rate": 0.5}, {"row_factor": 3.0}),
    FrankWolfe: ({"l1": 5.0}, {"reach": 0.5}, {"count_share": 0.5}, {"screen": "adp"}, _SCALING),
    TukeyEM: (
        {"ridge": 0.1, "models": 4}, {"refinements": 2, "partition": "independent"},
        {"count_share": 0.5}, {"limits_share": 0.0}, {"grid_exponent": -20},
    ),
    Auto: ({"count_share": 0.2},),
    DPKendall: ({"ranges": "published"},),
    DPSIS: ({"gamma": 0.1}, {"top_k": "peel", "noise": "gumbel"}),
    SubLasso: (*_MODELS, {"batch": "d"}),
    TwoStage: _MODELS,
}  # fmt: skip
# Of mechanisms on arrays, and those with options of a method.
_ARRAYS: dict[str, tuple[Options, ...]] = {
    "dp_frank_wolfe": ({"start": "random"}, {"screen": "adp"}),
    "dp_kendall": ({"ranges": "published"},),
    "dp_sis": ({"gamma": 0.1}, {"top_k": "peel"}, {"top_k": "peel", "noise": "gumbel"}),
}  # fmt: skip
_FITS: dict[str, type] = {
    "adassp": AdaSSP, "boosted_adassp": BoostedAdaSSP, "dpsgd": DPSGD, "tukey_em": TukeyEM,
}  # fmt: skip


# So many calls have factors, and so many tables are in files or partitions.
_FACTORS_SHARE, _FILES_SHARE = 0.15, 0.15
_FACTORS = (
    "y ~ r", "y ~ a + r", "y ~ a + c + p", "y ~ c + p + r", "y ~ a + b + r + p", "y ~ c * p",
    "y ~ a + c:r", "y ~ 0 + r + p",
)  # fmt: skip
_WITH_FACTORS = ("dp_lm", "dp_glm", "dp_moments")


def varied(rng: Generator, call: PublicCall) -> PublicCall:
    """Give some calls other options, or call another function instead.

    rng: not that which calls and tables are drawn by, which would be others.
    """
    if rng.random() >= _SHARE * (1 + 2 * call.of_arrays):
        return call
    if call.of_arrays:
        return _of_arrays(rng, call)
    options = dict(call.options)
    for name in ("method", "select"):
        others = _OTHERS.get(type(options.get(name)))
        if others is not None:
            options[name] = replace(options[name], **one_of(rng, others))
    if call.function == "dp_moments":
        options["memory"] = 1e6
    function = call.function
    if "select" in options and rng.random() < 0.5:
        function = "dp_glm"
        options["family"] = one_of(rng, ("gaussian", "binomial", "poisson"))
    return replace(call, function=function, options=options)


def with_factors(rng: Generator, call: PublicCall) -> PublicCall:
    """Give some fits, and moments, several factors, or one with levels that few rows have."""
    plain = call.function in _WITH_FACTORS and "select" not in call.options
    plain &= "|" not in call.formula and getattr(call.options.get("method"), "name", "") != "tukey"
    if rng.random() >= _FACTORS_SHARE or not plain:
        return call
    moments = call.function == "dp_moments"
    formula = one_of(rng, _FACTORS[:-1] if moments else _FACTORS)
    options = {k: v for k, v in call.options.items() if k not in ("levels", "bounds")}
    bounds = call.options.get("bounds")
    if bounds and "y" in bounds:
        options["bounds"] = {"y": bounds["y"]}
    return replace(call, formula=formula, options=with_levels(formula, options))


def elsewhere(rng: Generator, call: PublicCall) -> PublicCall:
    """Hold some tables in files, or in partitions."""
    if rng.random() >= _FILES_SHARE:
        return call
    return replace(call, container=one_of(rng, FILES))


def _of_arrays(rng: Generator, call: PublicCall) -> PublicCall:
    options = dict(call.options)
    if call.function in _ARRAYS:
        if call.function == "dp_kendall" and rng.random() < 0.5:
            models = one_of(rng, ("sqrt(n)", "n/k", "n/d", 3))
            options |= {"models": models, **one_of(rng, _MODELS)}
            return replace(call, function="sub_lasso", options=options)
        options |= one_of(rng, _ARRAYS[call.function])
        return replace(call, options=options)
    function = one_of(rng, tuple(_FITS))
    method, claim = _FITS[function], call.claim
    changed = method(**one_of(rng, _OTHERS[method]))
    if function == "tukey_em":
        options.pop("bounds", None)
    if function == "dpsgd":
        # Its noise takes seconds to find, once for each claim.
        changed, claim = replace(changed, steps=3), (1.0, 1e-5)
    options["options"] = changed
    return replace(call, function=function, claim=claim, options=options)
