# %% [markdown]
# # Do the intervals cover?
#
# 95% intervals should contain the true coefficient in 93% to 97% of data sets, also with
# heteroscedastic or heavy-tailed errors and without bounds. This page checks it by simulation, and
# compares with least squares without privacy and with Wald intervals from public bounds that are
# exact, 3 times or 10 times too wide. In [real tables](real_populations.py) no model is true: look
# there first.
#
# `python vignettes/coverage.py` runs a few cells with eight runs each, in half a minute, which is
# too few to judge an interval. `--grid` runs all cells up to 100,000 rows, `--full` those of
# 1,000,000 too; `--minutes` divides a time among the cells, `--jobs` is the number of parallel
# cells, `--out` writes the table, `--json` its numbers. The stored table is
# tests/benchmarks/coverage.md.

# %%
from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

import numpy as np

import dpreg
from dpreg.privacy.gdp import gdp_mu

EPS, DELTA, Z95 = 1.0, 1e-6, 1.959964
PRIVATE = ("boosted_adassp", "adassp", "tukey")
TOO_WIDE = (1, 3, 10)
BOUNDED = tuple(f"{kind} x{c}" for kind in ("bounded adassp", "plain") for c in TOO_WIDE)
METHODS = ("least squares", *PRIVATE, *BOUNDED)
# Every fourth of the first runs includes the bounded methods, whose width matters, not coverage.
# After these, every fourth run has all private methods, and the others the one that "auto" chooses.
EVERY, BOUNDED_UNTIL = 4, 100
LARGE = 100_000  # rows from which that begins after 8 runs

# %% [markdown]
# ## The data
#
# d regressors of mean 0 and variance 1, slopes alternating between 1 and -1 over sqrt(d), intercept
# 1, errors of mean 0 and variance 1. A t variable with 3 degrees of freedom has no third moment;
# least squares is still unbiased, with nearly valid sandwich standard errors.

# %%
DESIGNS = ("gaussian", "correlated", "heteroskedastic", "t(3) errors", "heavy-tailed x")


def draw(design, n, d, rng):
    """Return X, y and the true coefficients, the intercept first."""
    X, error = rng.standard_normal((n, d)), rng.standard_normal(n)
    if design == "correlated":  # 0.7 between any two
        X = np.sqrt(0.3) * X + np.sqrt(0.7) * rng.standard_normal((n, 1))
    elif design == "heteroskedastic":
        error *= np.sqrt((1 + 3 * X[:, 0] ** 2) / 4)
    elif design == "t(3) errors":
        error = rng.standard_t(3, n) / np.sqrt(3)
    elif design == "heavy-tailed x":
        X = rng.standard_t(3, (n, d)) / np.sqrt(3)
    truth = np.concatenate([[1.0], (-1.0) ** np.arange(d) / np.sqrt(d)])
    return X, truth[0] + X @ truth[1:] + error, truth


# %% [markdown]
# ## The intervals
#
# - Least squares with sandwich (HC0) standard errors: **not private**, the reference for the width.
# - The three methods of dpreg, without bounds.
# - `"adassp"` with `bounds=`: exact bounds are the largest absolute values, which are not known for
#   private data. Within them dpreg still estimates the scale of each column.
# - "plain": the textbook method, which does not estimate scales. Columns are divided by their
#   bounds, all second moments are released with Gaussian noise at the same (eps, delta), the normal
#   equations are solved, and standard errors are by the delta method. No interval if the noisy
#   matrix is not clearly invertible.


# %%
def least_squares(X, y):
    A = np.column_stack([np.ones(len(X)), X])
    inverse = np.linalg.inv(A.T @ A)
    beta = inverse @ (A.T @ y)
    scores = A * (y - A @ beta)[:, None]
    return beta, Z95 * np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))


def private(X, y, method, rng, bounds=None):
    """Return estimates and half widths; None where the method declined."""
    names = [f"x{j}" for j in range(X.shape[1])]
    data = {**{name: X[:, j] for j, name in enumerate(names)}, "y": y}
    seed = int(rng.integers(2**62))
    formula = f"y ~ {' + '.join(names)}"
    fit = dpreg.dp_lm(formula, data, EPS, DELTA, method=method, bounds=bounds, rng=seed)
    if not fit.released:
        return None
    table = fit.tidy()
    return table["coef"].to_numpy(), ((table["upper"] - table["lower"]) / 2).to_numpy()


def bounded(X, y, limits, rng):
    pairs = {
        **{f"x{j}": (-a, a) for j, a in enumerate(limits[:-1])},
        "y": (-limits[-1], limits[-1]),
    }
    return private(X, y, "adassp", rng, pairs)


def plain(X, y, limits, rng):
    rows = np.column_stack([np.ones(len(X)), X / limits[:-1], y / limits[-1]])
    size = rows.shape[1]
    deviation = size / gdp_mu(EPS, DELTA)  # a row adds a matrix of norm at most `size`
    noise = rng.normal(0, deviation / np.sqrt(2), (size, size))
    moments = rows.T @ rows + np.triu(noise, 1) + np.triu(noise, 1).T
    moments += np.diag(np.sqrt(2) * np.diag(noise))
    gram, cross = moments[:-1, :-1], moments[:-1, -1]
    if np.linalg.eigvalsh(gram)[0] < 2 * deviation * np.sqrt(size):
        return None
    inverse = np.linalg.inv(gram)
    theta = inverse @ cross
    variance = max(moments[-1, -1] - theta @ cross, 0.0) / gram[0, 0]
    noise = deviation**2 / 2 * ((1 + theta @ theta) * np.eye(len(theta)) + np.outer(theta, theta))
    error = np.sqrt(np.diag(variance * inverse + inverse @ noise @ inverse))
    unit = limits[-1] / np.concatenate([[1.0], limits[:-1]])
    return theta * unit, Z95 * error * unit


# %% [markdown]
# ## One cell
#
# A run counts the coefficients with an interval, those covered, and the width relative to least
# squares. The Monte Carlo error of a coverage is computed between runs, as intervals of one run are
# dependent, and is at least that of independent intervals.


# %%
def run(design, n, d, rng, methods, *, with_bounds):
    """Return, for each method, whether each coefficient is covered (NaN: none) and widths."""
    X, y, truth = draw(design, n, d, rng)
    reference = least_squares(X, y)
    found = {"least squares": reference}
    found |= {method: private(X, y, method, rng) for method in methods}
    limits = np.append(np.abs(X).max(axis=0), np.abs(y).max())
    for c in TOO_WIDE if with_bounds else ():
        found[f"bounded adassp x{c}"] = bounded(X, y, c * limits, rng)
        found[f"plain x{c}"] = plain(X, y, c * limits, rng)
    nothing = np.full(d + 1, np.nan)
    result = {}
    for method, (estimate, half) in ((m, f or (nothing, nothing)) for m, f in found.items()):
        hit = np.where(np.isnan(half), np.nan, np.abs(estimate - truth) <= half)
        result[method] = np.stack([hit, half / reference[1]])
    return result


def cell(design, n, d, runs, deadline):
    rng = np.random.default_rng([20260101, DESIGNS.index(design), n, d])
    done = {method: [] for method in METHODS}
    for number in range(runs):
        if number >= 2 * EVERY and time.time() > deadline:
            break
        with_bounds = number % EVERY == 0 and number < BOUNDED_UNTIL
        every_method = number % EVERY == 0 or number < (BOUNDED_UNTIL if n < LARGE else 2 * EVERY)
        methods = PRIVATE if every_method else PRIVATE[:1]
        found = run(design, n, d, rng, methods, with_bounds=with_bounds)
        for method, values in found.items():
            done[method].append(values)
    return {method: np.array(values) for method, values in done.items()}


def coverage(hits):
    """Return coverage and its Monte Carlo error; `hits` has one row a run, NaN for no interval."""
    given = ~np.isnan(hits)
    total = given.sum()
    if total == 0:
        return np.nan, np.nan
    share = np.nansum(hits) / total
    part = np.where(given, hits - share, 0).sum(axis=1)
    smoothed = (np.nansum(hits) + 2) / (total + 4)
    return share, max(np.sqrt((part**2).sum()) / total, np.sqrt(smoothed * (1 - smoothed) / total))


# %% [markdown]
# ## The tables


# %%
def draw_cells(cells, names):
    """Draw coverage against width, one dot a cell: what is to be had, and at what price."""
    from matplotlib import pyplot as plt

    ax = plt.subplots(figsize=(7, 4), layout="constrained")[1]
    ax.axhspan(93, 97, color="0.92", zorder=0)
    for name, color in zip(names, ("black", "#0072B2", "#E69F00", "#009E73"), strict=True):
        found = [cell[name] for cell in cells.values() if not np.isnan(cell[name][:, 0, 1:]).all()]
        share, error = 100 * np.array([coverage(values[:, 0, 1:]) for values in found]).T
        width = [np.nanmedian(values[:, 1, 1:]) for values in found]
        ax.errorbar(
            width, share, error, fmt="o", color=color, markersize=4, elinewidth=0.8, label=name
        )
    ax.set(
        xscale="log", xlabel="width of intervals / least squares", ylabel="coverage of slopes, %"
    )
    ax.set_ylim(0, 102)
    limits = ax.get_xlim()
    ax.set_xticks([1, 1.5, 2, 3, 5, 10], ["1", "1.5", "2", "3", "5", "10"])
    ax.set_xlim(limits)
    ax.minorticks_off()
    ax.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    ax.spines[["top", "right"]].set_visible(False)


def coverage_text(values):
    hits = values[:, 0, 1:]
    share, error = coverage(hits)
    if np.isnan(share):
        return "none"
    missing = np.isnan(hits).mean()
    clear = share + 2 * error < 0.93 or share - 2 * error > 0.97
    outside = "**" if clear else ""
    note = f" ({100 * missing:.0f}% none)" if missing else ""
    return f"{outside}{100 * share:.1f}{outside} ± {100 * error:.1f}{note}"


def width_text(values):
    widths = values[:, 1, 1:]
    return "none" if np.isnan(widths).all() else f"{np.nanmedian(widths):.2f}"


def table(cells, methods, text):
    lines = [
        f"| design | n | d | runs | {' | '.join(methods)} |",
        "|---|" + "--:|" * (3 + len(methods)),
    ]
    for (design, n, d), found in cells.items():
        values = " | ".join(text(found[method]) for method in methods)
        lines.append(f"| {design} | {n:,} | {d} | {len(found[PRIVATE[0]])} | {values} |")
    return "\n".join(lines)


def verdict(cells, method):
    """Say in how many cells coverage is outside 93-97%, and where that is no accident."""
    shares = {key: coverage(found[method][:, 0, 1:]) for key, found in cells.items()}
    shares = {key: v for key, v in shares.items() if not np.isnan(v[0])}
    outside = {k: (s, e) for k, (s, e) in shares.items() if not 0.93 <= s <= 0.97}
    clear = {k: s for k, (s, e) in outside.items() if s + 2 * e < 0.93 or s - 2 * e > 0.97}
    where = "; ".join(f"{k[0]} n={k[1]:,} d={k[2]}: {100 * s:.1f}" for k, s in clear.items())
    hits = [coverage(found[method][:, 0, :1]) for found in cells.values()]
    intercepts = np.array([share for share, _ in hits if not np.isnan(share)])
    slopes = np.concatenate([found[method][:, 0, 1:].ravel() for found in cells.values()])
    return (f"- {method}: {len(shares)} of {len(cells)} cells have intervals; {len(outside)} of "
            f"them outside 93-97, of which {len(clear)} by more than twice the Monte Carlo error"
            f"{': ' + where if where else ''}. Intercepts: mean {100 * intercepts.mean():.1f} over "
            f"cells, {100 * intercepts.min():.1f} to {100 * intercepts.max():.1f}. Of all "
            f"{slopes.size:,} slopes {np.isfinite(slopes).sum():,} have an interval, and "
            f"{np.nansum(slopes):,.0f} of these cover.")  # fmt: skip


def report(cells):
    names = ("least squares", *PRIVATE)
    return "\n\n".join([
        f"95% intervals of slopes at eps = {EPS:g}, delta = {DELTA:g}. ± is the Monte Carlo error "
        "(one standard deviation); bold: outside 93-97 by more than two of them; none: no interval "
        "was given, because the method declined or the slope is not identified. The bounded "
        f"methods have one in {EVERY} of the first {BOUNDED_UNTIL} runs; adassp and tukey have all "
        f"of those ({2 * EVERY} from {LARGE:,} rows), and one in {EVERY} of the others.",
        "## Coverage, %",
        table(cells, names, coverage_text),
        "\n".join(verdict(cells, method) for method in names),
        "## Median width of intervals over that of least squares",
        table(cells, (*PRIVATE, *BOUNDED), width_text),
        "## Coverage of the intervals with bounds, %",
        table(cells, BOUNDED, coverage_text),
    ])  # fmt: skip


def simulate(rows, dimensions, runs, minutes, jobs):
    """Run the grid, `jobs` cells at a time; each cell has its share of the time that is left."""
    grid = [(design, n, d) for n, d, design in itertools.product(rows, dimensions, DESIGNS)]
    end = time.time() + 60 * minutes
    left = [len(grid) - number for number in range(len(grid))]
    pool = ProcessPoolExecutor(jobs) if jobs > 1 else None
    each = pool.map if pool else map
    cells = dict(each(timed_cell, grid, repeat(runs), left, repeat(end), repeat(jobs)))
    if pool:
        pool.shutdown()
    return cells


def timed_cell(key, runs, left, end, jobs):
    now = time.time()
    return key, cell(*key, runs, now + (end - now) * jobs / left)


def numbers(cells):
    """Return coverage, its error, the share without an interval, and the median width."""
    rows = []
    for (design, n, d), found in cells.items():
        for method, values in found.items():
            hits, widths = values[:, 0, 1:], values[:, 1, 1:]
            share, error = coverage(hits)
            given = np.isfinite(widths)
            rows.append({
                "design": design, "n": n, "d": d, "method": method, "runs": len(values),
                "coverage": share, "error": error, "missing": float(np.isnan(hits).mean()),
                "width": float(np.median(widths[given])) if given.any() else None,
            })  # fmt: skip
    return rows


# %%
def options(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


# In a notebook or a test the arguments are those of another program.
script = __name__ == "__main__" and Path(sys.argv[0]).name == "coverage.py"
chosen = options(sys.argv[1:] if script else [])
large = chosen.grid or chosen.full
cells = simulate(
    (5_000, 20_000, 100_000, 1_000_000)[: 4 if chosen.full else 3] if large else (5_000,),
    (2, 5, 20) if large else (2, 5),
    chosen.runs or (100 if large else 8),
    chosen.minutes,
    chosen.jobs,
)
text = report(cells)
print(text)
draw_cells(cells, ("least squares", *PRIVATE))
if chosen.out is not None:
    command = f"python vignettes/coverage.py {' '.join(sys.argv[1:])}"
    chosen.out.write_text(f"# Coverage and width of intervals\n\nMade by `{command}`.\n\n{text}\n")
if chosen.json is not None:
    chosen.json.write_text(json.dumps(numbers(cells)))
