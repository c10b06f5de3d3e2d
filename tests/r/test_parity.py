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


@pytest.fixture(scope="session")
def in_r(shown):
    """Run R with the R package."""
    environment = {"R_LIBS": str(LIBRARY), "RETICULATE_PYTHON": sys.executable}
    return lambda code: shown("Rscript", "-e", f"library(dpreg)\n{PRELUDE}\n{code}", **environment)


@pytest.fixture(scope="session")
def in_embedded_r(shown):
    """Run the same in R within a Python process of its own."""
    return lambda code: shown(
        sys.executable, "-c", f"import dpreg.r, rpy2.robjects as ro\nro.r({PRELUDE + code!r})"
    )


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


@pytest.fixture(scope="module")
def fits(in_r, in_embedded_r):
    """All methods at once: starting R is what takes the time."""
    calls = []
    for name, bounded in CASES:
        bounds = f", bounds = {R_BOUNDS}" if bounded else ""
        asked = f'eps = 3, delta = 1e-6, method = "{name}", rng = 12345{bounds}'
        calls.append(f"""cat("{name},{bounded}\\n")
show(numbers(dp_lm({FORMULA}, diamonds, {asked})))""")
    code = R_NUMBERS + "\n".join(calls)
    return {"r": split(in_r(code)), "embedded": split(in_embedded_r(code))}


def split(words):
    found, cases = {}, {f"{name},{bounded}": (name, bounded) for name, bounded in CASES}
    for word in words:
        if word in cases:
            found[cases[word]] = current = []
        else:
            current.append(np.nan if word == "NA" else float(word))
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("case", CASES)
def test_methods(case, fits):
    name, bounded = case
    bounds = BOUNDS if bounded else None
    fit = dpreg.dp_lm(FORMULA, table(), 3.0, 1e-6, method=name, bounds=bounds, rng=12345)
    expected = numbers(fit)
    np.testing.assert_array_equal(fits["r"][case], fits["embedded"][case])
    assert fit.released
    # Coefficients cross the border to the last bit; what R computes from them rounds its own way.
    coefficients = slice(0, len(fit.params))
    np.testing.assert_array_equal(fits["r"][case][coefficients], expected[coefficients])
    # Probabilities below the least normal double are 0 in R.
    np.testing.assert_allclose(fits["r"][case], expected, rtol=1e-10, atol=1e-300)


def test_plans(in_r, in_embedded_r):
    plan = dpreg.dp_plan(50_000, 3, 1.0)
    code = "plan <- dp_plan(50000, 3, 1); show(c(plan$released, plan$width, plan$loss))"
    assert in_r(code) == in_embedded_r(code)
    assert [float(word) for word in in_r(code)] == [plan.released, plan.width, plan.loss]


def test_plans_of_power(in_r, in_embedded_r):
    code = (
        "p <- dp_plan(d = 3, eps = 1, effect = .05, power = .9); "
        "q <- dp_plan(30000, 3, effect = .05, power = .9); r <- dp_plan(500, 4, 2, effect = .1); "
        "s <- dp_plan(5000, 4, 2); show(c(p$n, q$eps, r[['power']], s[['effect']]))"
    )
    assert in_r(code) == in_embedded_r(code)
    expected = [
        dpreg.dp_plan(d=3, eps=1.0, effect=0.05, power=0.9).n,
        dpreg.dp_plan(30_000, 3, effect=0.05, power=0.9).eps,
        dpreg.dp_plan(500, 4, 2.0, effect=0.1).power,
        dpreg.dp_plan(5_000, 4, 2.0).effect,
    ]
    assert [float(word) for word in in_r(code)] == expected


@pytest.mark.parametrize("name", SELECTIONS)
def test_selectors(name, in_r, in_embedded_r):
    formula, bounds, r = "log(price) ~ log(carat) + depth + table + x", None, ""
    if name == "sis":
        bounds = {**BOUNDS, "table": (40, 80), "x": (0, 12)}
        r = f", bounds = c({R_BOUNDS}, list(table = c(40, 80), x = c(0, 12)))"
    found = dpreg.dp_select(formula, table(), 2, 1.0, method=name, bounds=bounds, rng=9)
    asked = f'k = 2, eps = 1, method = "{name}", rng = 9{r}'
    code = f"cat(dp_select({formula}, diamonds, {asked})$selected)"
    assert in_r(code) == in_embedded_r(code) == list(found.selected)


TOTALS = [
    {"eps": 2.0}, {"eps": 2.0, "accounting": "gdp"}, {"eps": 2.0, "accounting": "zcdp"},
    {"mu": 0.7}, {"rho": 0.2},
]  # fmt: skip


def test_budgets(in_r, in_embedded_r):
    """Fits of two strata and one of all rows: the same numbers and the same charges."""
    data, formula = table(), "log(price) ~ log(carat)"
    expected, code = [], []
    for total in TOTALS:
        budget = dpreg.Budget(**total)
        strata = budget.partition("cut", ["Ideal", "Good"])
        for payer in (*strata.values(), budget):
            fit = dpreg.dp_lm(formula, data, 0.5, 1e-6, method="adassp", budget=payer, rng=1)
            expected += fit.params.tolist()
        amounts = ["eps", "delta", "mu", "rho", "failure"]
        expected += budget.to_frame()[amounts].to_numpy().ravel(order="F").tolist()
        asked = ", ".join(f"{k} = {v!r}".replace("'", '"') for k, v in total.items())
        code.append(f"""
        budget <- dp_budget({asked})
        strata <- dp_partition(budget, "cut", c("Ideal", "Good"))
        for (payer in list(strata$Ideal, strata$Good, budget))
          show(coef(dp_lm({formula}, diamonds, eps = 0.5, delta = 1e-6, method = "adassp",
                          budget = payer, rng = 1)))
        show(unlist(as.data.frame(budget)[c("eps", "delta", "mu", "rho", "failure")]))
        """)
    words = in_r("\n".join(code))
    assert words == in_embedded_r("\n".join(code))
    assert [float(word) for word in words] == expected


@pytest.mark.parametrize("model", ["ordinal", "multinomial"])
def test_models_of_classes(model, in_r):
    data = table()
    fit = getattr(dpreg, f"dp_{model}")("cut ~ log(carat) + table", data, 3.0, 1e-6, rng=7)
    new = data.iloc[[0, 1000]]
    expected = [*fit.estimates, *fit.bse, *fit.predict(new).to_numpy().ravel()]
    found = in_r(f"""
fit <- dp_{model}(cut ~ log(carat) + table, diamonds, eps = 3, delta = 1e-6, rng = 7)
chances <- predict(fit, diamonds[c(1, 1001), ], "probs")
show(unname(c(fit$estimates, sqrt(diag(vcov(fit))), t(chances))))
""")
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-10)
