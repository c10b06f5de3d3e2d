"""The same seed gives the same numbers in Python, in R, and in R embedded in Python.

Run by `.ci/r`, which has R and rpy2 and sets DPREG_R_LIBRARY to where the R package is.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import dpreg
from dpreg.estimation import methods

LIBRARY = os.environ.get("DPREG_R_LIBRARY")
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs R: run make test-r")

FORMULA = "log(price) ~ log(carat) + depth + cut"
# Public, and given to every method that uses bounds.
BOUNDS = {"log(price)": (5, 10), "log(carat)": (-2, 2), "depth": (40, 80)}
R_BOUNDS = "list(`log(price)` = c(5, 10), `log(carat)` = c(-2, 2), depth = c(40, 80))"

CASES = [(name, bounded) for name in methods.METHODS for bounded in (False, True)
         if not bounded or methods.METHODS[name]().uses_bounds]  # fmt: skip
SELECTIONS = ["kendall", "two_stage", "sub_lasso", "sis"]

PRELUDE = """
show <- function(x) cat(format(x, digits = 17, scientific = TRUE), sep = "\\n")
diamonds <- load_diamonds()
diamonds$cut <- factor(diamonds$cut, ordered = FALSE)
diamonds$depth[c(5, 77)] <- NA
"""


def table():
    diamonds = dpreg.load_diamonds()
    diamonds["cut"] = diamonds["cut"].cat.as_unordered()
    diamonds.loc[[4, 76], "depth"] = np.nan
    return diamonds


def numbers(fit):
    table = fit.tidy()[["coef", "std err", "P>|z|", "lower", "upper"]].to_numpy()
    return np.concatenate([table.ravel(order="F"), [fit.nobs], fit.predict(NEW)])


NEW = table().iloc[[0, 1000, 40000]]
R_NUMBERS = """
numbers <- function(fit) {
  table <- tidy(fit, conf.int = TRUE)
  unname(c(table$estimate, table$std.error, table$p.value, table$conf.low, table$conf.high,
           nobs(fit), predict(fit, diamonds[c(1, 1001, 40001), ])))
}
"""


WIDER = "log(price) ~ log(carat) + depth + table + x"
WIDER_BOUNDS = {**BOUNDS, "table": (40, 80), "x": (0, 12)}
R_WIDER_BOUNDS = f"c({R_BOUNDS}, list(table = c(40, 80), x = c(0, 12)))"


def of_method(name, bounded):
    bounds = f", bounds = {R_BOUNDS}" if bounded else ""
    asked = f'eps = 3, delta = 1e-6, method = "{name}", rng = 12345{bounds}'
    return f"show(numbers(dp_lm({FORMULA}, diamonds, {asked})))"


def of_selector(name):
    bounds = f", bounds = {R_WIDER_BOUNDS}" if name == "sis" else ""
    asked = f'k = 2, eps = 1, method = "{name}", rng = 9{bounds}'
    return f'cat(dp_select({WIDER}, diamonds, {asked})$selected, "\\n")'


TOTALS = [
    {"eps": 2.0}, {"eps": 2.0, "accounting": "gdp"}, {"eps": 2.0, "accounting": "zcdp"},
    {"mu": 0.7}, {"rho": 0.2},
]  # fmt: skip


def of_budget(total):
    asked = ", ".join(f"{k} = {v!r}".replace("'", '"') for k, v in total.items())
    return f"""
    budget <- dp_budget({asked})
    strata <- dp_partition(budget, "cut", c("Ideal", "Good"))
    for (payer in list(strata$Ideal, strata$Good, budget))
      show(coef(dp_lm(log(price) ~ log(carat), diamonds, eps = 0.5, delta = 1e-6,
                      method = "adassp", budget = payer, rng = 1)))
    show(unlist(as.data.frame(budget)[c("eps", "delta", "mu", "rho", "failure")]))
    """


MODELS = ["ordinal", "multinomial"]


def of_classes(name):
    return f"""
    fit <- dp_{name}(cut ~ log(carat) + table, diamonds, eps = 3, delta = 1e-6, rng = 7)
    chances <- predict(fit, diamonds[c(1, 1001), ], "probs")
    show(unname(c(fit$estimates, sqrt(diag(vcov(fit))), t(chances))))
    """


PROGRAM = {
    **{f"{name},{bounded}": of_method(name, bounded) for name, bounded in CASES},
    "plan": "plan <- dp_plan(50000, 3, 1); show(c(plan$released, plan$width, plan$loss))",
    "power": (
        "p <- dp_plan(d = 3, eps = 1, effect = .05, power = .9); "
        "q <- dp_plan(30000, 3, effect = .05, power = .9); r <- dp_plan(500, 4, 2, effect = .1); "
        "s <- dp_plan(5000, 4, 2); show(c(p$n, q$eps, r[['power']], s[['effect']]))"
    ),
    **{name: of_selector(name) for name in SELECTIONS},
    "powers": (
        "show(unname(coef(dp_lm(price ~ carat + I(table^2) + poly(depth, 3, raw = TRUE) + table, "
        "diamonds, eps = 3, delta = 1e-6, rng = 7))))"
    ),
    "budgets": "\n".join(map(of_budget, TOTALS)),
    **{name: of_classes(name) for name in MODELS},
}


@pytest.fixture(scope="module")
def printed(shown):
    """Run all of it once in R, and once in R within Python: starting them is what takes the time.

    Return the words that each part printed, in either.
    """
    parts = [f'cat("part {name}\\n")\n{code}' for name, code in PROGRAM.items()]
    code = "\n".join([PRELUDE, R_NUMBERS, *parts])
    environment = {"R_LIBS": str(LIBRARY), "RETICULATE_PYTHON": sys.executable}
    found = (
        shown("Rscript", "-e", f"library(dpreg)\n{code}", **environment),
        shown(sys.executable, "-c", f"import dpreg.r, rpy2.robjects as ro\nro.r({code!r})"),
    )
    return {name: tuple(words_of(name, words) for words in found) for name in PROGRAM}


def words_of(name, words):
    """Return what lies between the heading of a part and the next one."""
    start = next(k for k in range(1, len(words)) if words[k - 1 : k + 1] == ["part", name]) + 1
    rest = words[start:]
    return rest[: rest.index("part")] if "part" in rest else rest


def values(words):
    return np.array([np.nan if word == "NA" else float(word) for word in words])


@pytest.mark.parametrize("case", CASES)
def test_methods(case, printed):
    name, bounded = case
    bounds = BOUNDS if bounded else None
    fit = dpreg.dp_lm(FORMULA, table(), 3.0, 1e-6, method=name, bounds=bounds, rng=12345)
    expected = numbers(fit)
    in_r, embedded = map(values, printed[f"{name},{bounded}"])
    np.testing.assert_array_equal(in_r, embedded)
    assert fit.released
    # Coefficients cross the border to the last bit; what R computes from them rounds its own way.
    coefficients = slice(0, len(fit.params))
    np.testing.assert_array_equal(in_r[coefficients], expected[coefficients])
    # Probabilities below the least normal double are 0 in R.
    np.testing.assert_allclose(in_r, expected, rtol=1e-10, atol=1e-300)


def test_plans(printed):
    plan = dpreg.dp_plan(50_000, 3, 1.0)
    in_r, embedded = printed["plan"]
    assert in_r == embedded
    assert values(in_r).tolist() == [plan.released, plan.width, plan.loss]


def test_plans_of_power(printed):
    in_r, embedded = printed["power"]
    assert in_r == embedded
    expected = [
        dpreg.dp_plan(d=3, eps=1.0, effect=0.05, power=0.9).n,
        dpreg.dp_plan(30_000, 3, effect=0.05, power=0.9).eps,
        dpreg.dp_plan(500, 4, 2.0, effect=0.1).power,
        dpreg.dp_plan(5_000, 4, 2.0).effect,
    ]
    assert values(in_r).tolist() == expected


def test_powers(printed):
    """Only Python's names of them were known: in R a square was a column like others."""
    in_r, embedded = printed["powers"]
    assert in_r == embedded
    fit = dpreg.dp_lm(
        "price ~ carat + I(table ** 2) + poly(depth, 3, raw=True) + table",
        table(),
        3.0,
        1e-6,
        rng=7,
    )
    assert np.isfinite(fit.bse).any()
    np.testing.assert_array_equal(values(in_r), fit.params.where(np.isfinite(fit.bse)).to_numpy())


@pytest.mark.parametrize("name", SELECTIONS)
def test_selectors(name, printed):
    bounds = WIDER_BOUNDS if name == "sis" else None
    found = dpreg.dp_select(WIDER, table(), 2, 1.0, method=name, bounds=bounds, rng=9)
    in_r, embedded = printed[name]
    assert in_r == embedded == list(found.selected)


def test_budgets(printed):
    """Fits of two strata and one of all rows: the same numbers and the same charges."""
    data, expected = table(), []
    for total in TOTALS:
        budget = dpreg.Budget(**total)
        strata = budget.partition("cut", ["Ideal", "Good"])
        for payer in (*strata.values(), budget):
            fit = dpreg.dp_lm(
                "log(price) ~ log(carat)", data, 0.5, 1e-6, method="adassp", budget=payer, rng=1
            )
            expected += fit.params.tolist()
        amounts = ["eps", "delta", "mu", "rho", "failure"]
        expected += budget.to_frame()[amounts].to_numpy().ravel(order="F").tolist()
    in_r, embedded = printed["budgets"]
    assert in_r == embedded
    assert values(in_r).tolist() == expected


@pytest.mark.parametrize("model", MODELS)
def test_models_of_classes(model, printed):
    data = table()
    fit = getattr(dpreg, f"dp_{model}")("cut ~ log(carat) + table", data, 3.0, 1e-6, rng=7)
    new = data.iloc[[0, 1000]]
    expected = [*fit.estimates, *fit.bse, *fit.predict(new).to_numpy().ravel()]
    in_r, _ = printed[model]
    np.testing.assert_allclose(values(in_r), expected, rtol=1e-10)
