"""The figure of paper.md: `python vignettes/paper/figures.py`.

Both panels are of public data and public simulations.  The fit has no seed: its numbers differ each
time within their standard errors.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dpreg
from dpreg.faces.cli.demo import FORMULA, least_squares
from dpreg.faces.plots import plot_beside
from dpreg.faces.plots.axes import ACCENT, SAMPLING

ROWS = np.geomspace(2e3, 1e6, 25).astype(int)
COLUMNS = ((5, SAMPLING, "-"), (20, ACCENT, "--"))


def main() -> None:
    diamonds = dpreg.load_diamonds()
    fit = dpreg.dp_lm(FORMULA, diamonds, eps=1.0, delta=1e-6)
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    both = {"least squares": least_squares(diamonds), "private, eps = 1": fit}
    plot_beside(both, left, terms=fit.names[1:])
    left.set_xlabel("change of log(price), with 95% interval")
    for columns, color, line in COLUMNS:
        plans = [dpreg.dp_plan(int(n), columns, 1.0, 1e-6) for n in ROWS]
        right.plot(ROWS, [plan.width for plan in plans], line, color=color, label=f"{columns}")
    right.set(xscale="log", yscale="log", xlabel="rows", ylabel="width / width of least squares")
    ticks = [1, 1.5, 2, 3, 5, 10]
    right.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.legend(title="regressors, eps = 1", frameon=False)
    right.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("figure.png"), dpi=150)


if __name__ == "__main__":
    main()
