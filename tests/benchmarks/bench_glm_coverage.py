"""Do intervals of `dp_glm` hold?  The truth of simulated models, counts and 0/1 outcomes.

Run as ``python tests/benchmarks/bench_glm_coverage.py [--coverage 30] [--family probit] [--rows
1000000] [--quick] [--json FILE] [--out FILE]``, `coverage` runs of each cell.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import statsmodels.api
import statsmodels.formula.api as smf
from measure import Sheet, arguments, markdown, write_table
from scipy import optimize, special

import dpreg

DELTA = 1e-5


def design(kind, n, d, rng):
    """Rows of a kind of design, and their public levels."""
    if kind == "normal":
        root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(range(d), range(d)))).T
        return rng.standard_normal((n, d)) @ root * np.linspace(1, 3, d) + 1
    if kind == "skewed":
        return np.exp(0.8 * rng.standard_normal((n, d)))
    return (rng.random((n, d)) < np.linspace(0.05, 0.5, d)).astype(float)


ESTIMATED = "negativebinomial, alpha estimated"
# Of responses, by family, and the standard deviation of linear predictors.
MEANS = {
    "binomial": (special.expit, 1.2),
    "probit": (special.ndtr, 0.8),
    "cloglog": (lambda eta: -np.expm1(-np.exp(eta)), 0.8),
    "poisson": (np.exp, 0.5),
    "gamma": (np.exp, 0.5),
    "negativebinomial": (np.exp, 0.5),
    ESTIMATED: (np.exp, 0.5),
}
# Shape of gamma responses, and dispersion of counts; both have standard deviations about the mean.
SHAPE, ALPHA = 1.5, 0.8


def drawn(family, means, rng):
    """Responses with these means."""
    if family == "poisson":
        return rng.poisson(means)
    if family == "gamma":
        return rng.gamma(SHAPE, means / SHAPE)
    if family in ("negativebinomial", ESTIMATED):
        return rng.poisson(rng.gamma(1 / ALPHA, ALPHA * means))
    return rng.random(len(means)) < means


def asked(family):
    """Return the arguments of `dp_glm`."""
    if family == ESTIMATED:
        return {"family": dpreg.NegativeBinomial()}
    if family in ("probit", "cloglog"):
        return {"link": family}
    return {"family": dpreg.NegativeBinomial(ALPHA) if family == "negativebinomial" else family}


def coverage(sheet, family, kind, n, d, share, eps, runs):
    """Count intervals that hold the truth; `share` is the mean response."""
    rng = np.random.default_rng(d)
    X = design(kind, 100_000, d, rng)
    slopes = rng.standard_normal(d) * (np.arange(d) % 2 == 0)
    mean, spread = MEANS[family]
    slopes *= spread / np.sqrt(np.var(X @ slopes))
    start = optimize.brentq(lambda a: mean(a + X @ slopes).mean() - share, -40, 40)
    truth, names = np.append(start, slopes), [f"x{j}" for j in range(d)]
    bounds = dict.fromkeys(names, (0.0, 1.0)) if kind == "dummies" else None
    method = dpreg.BoostedAdaSSP()
    held, blank, width = 0, 0, []
    for seed in range(runs):
        X = design(kind, n, d, rng)
        means = mean(start + X @ slopes)
        y = drawn(family, means, rng)
        table = pd.DataFrame(X, columns=names).assign(y=y.astype(float))
        formula = "y ~ " + " + ".join(names)
        fit = dpreg.dp_glm(formula, table, eps, DELTA, **asked(family), method=method,
                           bounds=bounds, rng=seed)  # fmt: skip
        error = fit.bse.to_numpy() if fit.released else np.full(d + 1, np.nan)
        blank += int(np.isnan(error).sum())
        if fit.released:
            held += int((np.abs(fit.estimates - truth) <= 1.96 * error).sum())
            width += list(error / fit.sampling)
    total = runs * (d + 1)
    label = f"{family} {kind} n={n} d={d} mean={share:g} eps={eps:g}"
    covered, wide = held / max(total - blank, 1), np.nanmedian(width) if width else np.nan
    note = f"[blank {blank / total:.0%}, width over that without noise {wide:.2f}]"
    sheet.add(f"glm coverage {label}", covered, f"coverage, {label}", note)
    return [family, kind, f"{n:,}", d, f"{share:g}", f"{covered:.3f}", f"{blank / total:.2f}",
            f"{wide:.2f}", runs]  # fmt: skip


def real_tables():
    """Families, formulas for both packages, and rows: doctor visits, prices of diamonds."""
    visits = statsmodels.datasets.randhie.load_pandas().data.astype(float)
    diamonds = dpreg.load_diamonds()
    terms = " + ".join(visits.columns.drop("mdvis"))
    of_stones = ("price ~ carat + depth", "price ~ {log}(carat) + C(cut) + depth")
    counts = statsmodels.api.families.NegativeBinomial(alpha=1.3)
    gamma = statsmodels.api.families.Gamma(statsmodels.api.families.links.Log())
    return [
        ("randhie", dpreg.NegativeBinomial(1.3), counts, f"mdvis ~ {terms}", visits),
        *(("diamonds", "gamma", gamma, formula, diamonds) for formula in of_stones),
    ]


def held_out(name, family, theirs, formula, table, seeds=5):
    """Fit four fifths; compare with maximum likelihood, and by the deviance of the others."""
    exact, ours, constant, held, width = [], [], [], [], []
    plain = formula.format(log="np.log")
    whole = smf.glm(plain, table, family=theirs).fit()
    response = formula.split(" ~ ")[0]
    for seed in range(seeds):
        chosen = np.random.default_rng(seed).random(len(table)) < 0.8
        train, test = table[chosen].reset_index(drop=True), table[~chosen]
        y = test[response].to_numpy(dtype=float)
        likely = smf.glm(plain, train, family=theirs).fit()
        fit = dpreg.dp_glm(formula.format(log="log").replace("C(cut)", "cut"), train, 1.0, 1e-6,
                           family=family, rng=seed)  # fmt: skip
        exact.append(theirs.deviance(y, likely.predict(test)) / len(y))
        ours.append(theirs.deviance(y, np.asarray(fit.predict(test))) / len(y))
        constant.append(theirs.deviance(y, np.full(len(y), train[response].mean())) / len(y))
        away = np.abs(fit.params - whole.params.rename(same_name)[fit.params.index])
        held += list((away <= 1.96 * fit.bse)[fit.bse.notna()])
        width.append((fit.bse / likely.bse.rename(same_name)).median())
    columns = "all nine columns" if name == "randhie" else formula.format(log="log").split(" ~ ")[1]
    shown = [f"{np.mean(values):.3f}" for values in (constant, exact, ours)]
    return [name, columns, f"{len(train):,}", f"{np.mean(held):.2f}", f"{np.median(width):.2f}",
            *shown]  # fmt: skip


def same_name(name):
    """Return what dpreg calls a coefficient of statsmodels."""
    return name.replace("C(cut)", "cut").replace("np.log", "log")


def main():
    given = arguments(__doc__, coverage=30, family="", rows=0, out="")
    sheet, lines, runs = Sheet(), [], max(2, given.coverage)
    sizes = ((10_000, 2), (10_000, 20), (100_000, 20))[: 2 if given.quick else 3]
    if given.rows:
        sizes = ((given.rows, 2), (given.rows, 20))
    for family in [given.family] if given.family else MEANS:
        for n, d in sizes:
            for share in (2.0,) if MEANS[family][0] is np.exp else (0.5, 0.05):
                for kind in ("normal", "skewed", "dummies"):
                    few = runs if n < 100_000 else max(2, runs // 4)
                    lines.append(coverage(sheet, family, kind, n, d, share, 1.0, few))
    about = (
        f"eps = 1, delta = {DELTA:g}; d + 1 coefficients; the last column has the number of runs. "
        "Gamma responses have shape 1.5, counts alpha .8. Blank: coefficients without an interval. "
        "Width: the median standard error relative to that without noise, as reported by the "
        "fit. Made by `tests/benchmarks/bench_glm_coverage.py`. Coverage is lowest for a rare "
        "outcome of a probit. With two dummies and a mean of .5 many slopes are blank: 5% of the "
        "rows have the first dummy, and nearly all of these the outcome, so it is nearly "
        "separated."
    )
    real = [held_out(*table) for table in ([] if given.quick or given.family else real_tables())]
    if real:
        about += "\n\n" + markdown(
            ("data", "columns", "rows", "held", "width", "constant", "exact", "`dp_glm`"), real, 2
        )
        about += (
            "\n\nReal data, five fits of four fifths of the rows, eps = 1, delta = 1e-6: share "
            "of intervals that contain the maximum likelihood coefficient of all rows, width "
            "of intervals relative to maximum likelihood, and mean deviance of the other rows, "
            "also for a constant and for maximum likelihood. The first has a negative binomial "
            "family with alpha 1.3, the others are gamma. Below are the simulated models."
        )
    header = ("family", "design", "n", "d", "mean", "covered", "blank", "width", "runs")
    write_table("`dp_glm`: share of 95% intervals that hold the truth of a simulated model", about,
                header, lines, given.out, words=2)  # fmt: skip
    sheet.write(given.json)


if __name__ == "__main__":
    main()
