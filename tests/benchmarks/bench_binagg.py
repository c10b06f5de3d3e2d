"""Intervals on the design by which BinAgg was published, beside its published figures.

Run as ``python tests/benchmarks/bench_binagg.py [--runs 1000] [--jobs 2] [--out FILE]``.  Lin,
Slavkovic and Bhoomireddy (2026), AISTATS: three regressors uniform on (0, 10), no intercept,
coefficients 1.5, -2 and .5, sigma 1, 2,000 rows.  It is given the true bounds; `dp_lm` gets none
and fits an intercept too.  Its mu-GDP is turned into the eps that mu gives at delta = 1e-5.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
from measure import Sheet, arguments, write_table

import dpreg
from dpreg.privacy.gdp import gdp_epsilon

DELTA, N, TRUTH = 1e-5, 2_000, np.array([1.5, -2.0, 0.5])
PUBLISHED = {0.5: (0.917, 0.518), 1: (0.931, 0.291), 2: (0.934, 0.181), 5: (0.918, 0.103)}


def slopes(eps, seed):
    """Return the intervals of the slopes, shape (3, 2), and those of least squares."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, (N, 3))
    y = x @ TRUTH + rng.standard_normal(N)
    data = pd.DataFrame(x, columns=list("abc")).assign(y=y)
    fit = dpreg.dp_lm("y ~ a + b + c", data, eps, DELTA, rng=seed)
    Z = np.column_stack([np.ones(N), x])
    inverse = np.linalg.inv(Z.T @ Z)
    residual = y - Z @ (inverse @ (Z.T @ y))
    error = np.sqrt(np.diag(inverse)[1:] * (residual @ residual) / (N - 4))
    found = fit.conf_int().to_numpy()[1:] if fit.released else np.full((3, 2), np.nan)
    return found, 2 * 1.96 * error


def main():
    given = arguments(__doc__, runs=1000, jobs=2, out="")
    runs = given.runs // 10 if given.quick else given.runs
    sheet, rows = Sheet(), []
    with ProcessPoolExecutor(given.jobs) as pool:
        for mu, (covered, width) in PUBLISHED.items():
            eps = gdp_epsilon(mu, DELTA)
            found, exact = zip(*pool.map(partial(slopes, eps), range(runs)), strict=True)
            low, high = np.moveaxis(found, -1, 0)
            blank = np.isnan(low)
            hits = ((low <= TRUTH) & (high >= TRUTH))[~blank]
            ours, error = hits.mean(), np.sqrt(hits.mean() * (1 - hits.mean()) / hits.size)
            wide = float(np.median((high - low)[~blank]))
            text = f"BinAgg's design, mu = {mu:g}"
            sheet.add(f"binagg_coverage_{mu:g}", ours, f"{text}: coverage of slopes")
            sheet.add(f"binagg_width_{mu:g}", wide / width, f"{text}: width over the published",
                      better="less")  # fmt: skip
            rows.append((f"{mu:g}", f"{eps:.3g}", f"{covered:.3f}", f"{ours:.3f} ± {2 * error:.3f}",
                         f"{blank.mean():.3f}", width, f"{wide:.3f}",
                         f"{np.mean(exact):.3f}"))  # fmt: skip
    about = (
        f"{runs} runs of three slopes, ± twice the Monte Carlo error of coverage; widths are "
        "medians. Made by `tests/benchmarks/bench_binagg.py`, which says what the design is. "
        "BinAgg's figures are the published ones: it is in no package registry and was not run."
    )
    header = ("mu", "eps", "BinAgg: covered", "dp_lm: covered", "dp_lm: blank", "BinAgg: width",
              "dp_lm: width", "least squares: width")  # fmt: skip
    title = f"Intervals on BinAgg's design: bounds given to it, none to dp_lm, delta = {DELTA:g}"
    write_table(title, about, header, rows, given.out)
    sheet.write(given.json)


if __name__ == "__main__":
    main()
