"""Names of arguments in other packages, and their names here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from dpreg.base.errors import Argument, Blank, KeywordError, Options, Setting, Words, closest, write

P = ParamSpec("P")
T = TypeVar("T")

_PAIR = ("write ", Argument("formula"), " and ", Argument("data"))
_SEED = ("write ", Argument("rng"), ", which makes the result reproducible but not private")

_SYNONYMS = {
    "eps": "epsilon", "data": "df dataset frame", "unit": "group groups cluster subject id",
    "levels": "categories", "k": "n_features n_features_to_select", "d": "features",
    "n": "rows nobs n_obs", "cuts": "breaks times", "start": "start_time", "ledger": "path file",
    "terms": "parm variables coefs",
}  # fmt: skip
# What is written for an argument that is missing, and for the formula of a function.
_LIKE = {"cuts": [90, 180, 365], "k": 5, "d": 10, "treatment": "arm"}
_FORMULAS = {
    "dp_moments": "~ x + z", "dp_curve": "Surv(time, event) ~ group",
    "dp_survival": "Surv(time, event) ~ x",
}  # fmt: skip

# By the name that was given: the arguments that it may stand for, and the advice where a function
# has one of them; with none, the advice is for every function.
_FOREIGN: dict[str, tuple[tuple[str, ...], Words]] = {
    **dict.fromkeys(("seed", "random_state", "random_seed", "generator"), (("rng",), _SEED)),
    **dict.fromkeys(("X", "y", "endog", "exog"), (("formula",), _PAIR)),
    "fit_intercept": (("formula",), "write 'y ~ 0 + x' for a model without intercept"),
    "intercept": (("formula",), "write 'y ~ 0 + x' for a model without intercept"),
    **dict.fromkeys(
        ("missing", "na_action", "dropna"),
        (("formula",), "leave it out: incomplete rows are dropped"),
    ),
    "family": (("formula",), "leave it out: dp_glm() has families"),
    "link": (("formula",), "leave it out: dp_glm() has links"),
    "standardisation": (("row_factor",), "leave it out: columns are scaled by a few noisy counts"),
    "exposure": (("family",), "write it into the formula: 'y ~ x + offset(log(years))'"),
    "cov_type": (("inference",), (
        "write ", Setting("method", Options("method", "adassp", "AdaSSP", {"cov_type": "robust"})),
    )),
    **dict.fromkeys(
        ("sample_weight", "freq_weights", "var_weights", "sampling_weights"),
        (("weights",), ("write ", Argument("weights"), " with the name of a column")),
    ),
    "rng": (("random_state",), ("write ", Argument("random_state"))),
    "offset": (("inference",), "write it into the formula: 'y ~ z + offset(x)'"),
    "subset": (("formula",), "filter the rows before the call, each by its own values only"),
    "ledger": (("unit",), ("write ", Argument("budget"), " with a budget that has a ledger")),
    "total_eps": (("unit",), ("write ", Argument("budget"), " with a budget of that total")),
    **dict.fromkeys(
        ("stratum", "strata"),
        (("unit",), ("write ", Argument("budget"), " with one stratum of a budget's partition()")),
    ),
    "level": (("alpha",), ("write ", Setting("alpha", 0.1), " for 90% intervals")),
    "alpha": (("inference",), (
        "pass it to a method of the result: summary(alpha=0.1); for negative binomial counts "
        "write ",
        Setting(
            "family", Options("family", "negativebinomial", "NegativeBinomial", {"alpha": 0.5})
        ),
    )),
    **dict.fromkeys(("q", "tau", "quantile", "quantiles"), (("family",), (
        "write ", Setting("family", Options("family", "quantile", "Quantile", {"q": 0.9})),
    ))),
    **dict.fromkeys(("instrument", "instruments"), (("treatment",), (
        "for two-stage least squares write dp_moments(...).iv()"))),
    "estimand": (("treatment",), "leave it out: the effect is the average over all rows"),
    **dict.fromkeys(
        ("conf_level", "confidence", "confidence_level"),
        (("inference", "alpha"), "for 90% intervals write alpha=0.1 in a method of the result: "
         "summary(alpha=0.1)"),
    ),
    **dict.fromkeys(
        ("data_norm", "sensitivity", "clip", "clipping", "clip_norm", "max_grad_norm"),
        (("bounds",), (
            "leave it out: limits are estimated with noise, or are public: ",
            Setting("bounds", {"x": (Blank("low"), Blank("high"))}),
        )),
    ),
    "delta": (("cuts", "blocks"), "leave it out: the guarantee is (eps, 0)"),
    **dict.fromkeys(
        ("reference", "baseline", "base", "ref"),
        (("levels",), "the first of the levels is the reference level: give levels in that order"),
    ),
    **dict.fromkeys(("se", "se_fit"), (("interval",), "write interval='confidence'")),
    "type": (("which",), "write which='linear' for the linear predictor"),
    **dict.fromkeys(("out", "output"), (("json",), ("write ", Argument("json")))),
    "epsilon_total": (("ledger",), ("write ", Argument("eps"))),
    **{name: ((here,), ("write ", Argument(here)))
       for here, names in _SYNONYMS.items() for name in names.split()},
}  # fmt: skip


# Functions of other packages and models, without "dp_", and the function here.
_FUNCTIONS = {
    "dp_lm": "ols wls linear regression linear_regression",
    "dp_glm": "logit logistic logistic_regression probit poisson gamma negbin quantreg",
    "dp_survival": "cox coxph phreg", "dp_curve": "km kaplan_meier survfit",
    "dp_ordinal": "polr ordered ologit", "dp_multinomial": "mnlogit multinom",
    "dp_moments": "iv ivreg cov corr", "dp_effect": "ate treatment_effect", "dp_plan": "power",
    "dp_select": "lasso select_features",
}  # fmt: skip


def function_meant_by(name: str, known: Iterable[str]) -> str | None:
    """Return the function to call instead of one that does not exist, or None."""
    plain = name.lower().removeprefix("dp_")
    for function, others in _FUNCTIONS.items():
        if plain in others.split():
            return function
    return None if name.startswith("_") else closest(name, known)


def meant_by(name: str, known: Iterable[str]) -> Words | None:
    """Return what to write for a name that is not among the known ones, or None."""
    names = list(known)
    stands_for, advice = _FOREIGN.get(name, ((), ""))
    if set(stands_for) & set(names):
        return advice
    meant = closest(name, names)
    return None if meant is None else ("write ", Argument(meant))


def hinted(name: str, **instead: Words) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that gives the name here of an argument of another package.

    instead: advice for this function alone, by the name that was given.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = inspect.signature(function).parameters
        known = [key for key in parameters if key != "self"]
        ordered = [
            key for key in known if parameters[key].kind is not inspect.Parameter.KEYWORD_ONLY
        ]
        needed = [key for key in known if parameters[key].default is inspect.Parameter.empty]
        unnamed = len(parameters) - len(known)

        @functools.wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> T:
            for key in named:
                if key not in known:
                    raise _unknown(name, key, known, instead.get(key))
            placed = len(arguments) - unnamed
            if placed > len(ordered):
                raise _too_many(name, ordered, known)
            for key in ordered[:placed]:
                if key in named:
                    raise _twice(name, key, ordered)
            for key in needed:
                if key not in named and key not in ordered[:placed]:
                    raise _missing(name, key, arguments[unnamed] if placed else None, ordered)
            return function(*arguments, **named)

        return call

    return decorate


def hints(options: type[T]) -> type[T]:
    """Decorate a class of options, so that it says what its arguments are called."""
    options.__init__ = hinted(options.__name__)(options.__init__)  # type: ignore[method-assign]
    return options


def _unknown(
    function: str, key: str, known: list[str], instead: Words | None = None
) -> KeywordError:
    advice = meant_by(key, known) if instead is None else instead
    # The value is not shown: it may be a column of weights.
    problem = f"{function}() has no such argument"
    has = f"it has {', '.join(known)}" if known else "leave it out"
    return KeywordError(key, problem, has if advice is None else advice)


def _twice(function: str, key: str, ordered: list[str]) -> KeywordError:
    place = ordered.index(key)
    problem = f"is given twice: by name, and as argument {place + 1} of {_call(function, ordered)}"
    named = [*ordered[:place], *(f"{name}=..." for name in ordered[place:])]
    return KeywordError(key, problem, f"write {_call(function, named)}")


def _missing(function: str, key: str, first: object, ordered: list[str]) -> KeywordError:
    """Return the refusal of a call without an argument, of which `first` was the first."""
    formula = _FORMULAS.get(function, "y ~ x")
    if ordered[0] == "formula" and (isinstance(first, dict) or hasattr(first, "columns")):
        return KeywordError("formula", "comes first", f"write {function}({formula!r}, data, ...)")
    if key == "eps":
        common = (*write("eps", 1.0), ", a common choice (a smaller eps is more private)")
        return KeywordError("eps", "must be given", common, "compute it with dp_plan()")
    if ordered[0] == key == "data":
        problem = "must be given: the records of the fit are private"
        return KeywordError(
            key, problem, f"write {function}(data) for rows that need no protection"
        )
    if key == "data":
        kinds = "a data frame, a dict of arrays or the path of a Parquet file"
        return KeywordError(key, "must be given", kinds)
    like = formula if key == "formula" else _LIKE.get(key, ...)
    return KeywordError(key, "must be given", write(key, like))


def _too_many(function: str, ordered: list[str], known: list[str]) -> KeywordError:
    if not known:
        advice = _WITHOUT.get(function, "leave them out")
        return KeywordError(f"{function}()", "takes no arguments", advice)
    if len(known) == len(ordered):
        problem = f"is the last argument of {_call(function, ordered)}"
        return KeywordError(known[-1], problem, "leave out what follows it")
    first = known[len(ordered)]
    problem = f"must be given by name; the positional arguments are {_call(function, ordered)}"
    if not ordered:
        problem = f"must be given by name, like all arguments of {function}()"
    return KeywordError(first, problem, write(first, ...))


# Functions without arguments, and what to write instead of one with them.
_WITHOUT = {
    "to_json": "write Path(name).write_text(fit.to_json())",
    "cov_params": "its rows and columns are named: write cov_params().loc[['x'], ['x', 'z']]",
}


def _call(function: str, arguments: list[str]) -> str:
    return f"{function}({', '.join(arguments)})"
