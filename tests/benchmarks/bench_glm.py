"""Held-out log-loss and AUC of logistic regression: `dp_glm`, and what needs bounds.

Run as ``python tests/benchmarks/bench_glm.py --data FOLDER [--repeats 5] [--out FILE]``; the folder
has ``adult.parquet`` and ``acs_employment.parquet``, columns of codes from 0, ``target`` and
``split``.  The codes are declared as levels, which is the bound of all others too: a row of m
indicators and a constant has norm sqrt(m + 1) at most.  Settings of the others are those of
least log-loss in the rows held out, in their favour.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
from held_out import auc, log_loss
from measure import Sheet, arguments, write_table
from peers import diffprivlib, environment
from scipy import special

import dpreg
from dpreg import reference

DELTA = 1e-5
EPS = (0.1, 0.3, 1.0, 3.0)
SETS = ("adult", "acs_employment")
RIDGES = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # of rows of norm 1; diffprivlib's C is 1 / ridge
OURS, GAUSSIAN, LAPLACE = "dp_glm, no bounds", "objective perturbation, (eps, delta)", "diffprivlib"
METHODS = (OURS, GAUSSIAN, LAPLACE)
NOTES = f"""
- {OURS}: levels declared, `inference=False`.
- {GAUSSIAN}: Kifer, Smith and Thakurta (2012), `dpreg.reference.objective_perturbation`.
- {LAPLACE}: `LogisticRegression` of 0.6.6, objective perturbation of Chaudhuri, Monteleoni and
  Sarwate (2011), delta = 0. Rows have norm 1 and hold the constant; `fit_intercept=False,
  data_norm=1`: its best form, and the only one whose guarantee holds (vignettes/errors_found.py,
  curvature of the logistic loss).
- As it comes (C = 1, `data_norm` the norm of rows of indicators): {{default}} on {SETS[0]} at
  eps = 1. Its noise has a norm of about 2 d data_norm / eps, and C = 1 lets coefficients of rare
  levels follow it, whatever the number of rows.
"""


def exact(X, y, ridge=1e-3):
    """Logistic regression by Newton's method."""
    theta = np.zeros(X.shape[1])
    for _ in range(40):
        mean = special.expit(X @ theta)
        curvature = (X * (mean * (1 - mean))[:, None]).T @ X + ridge * np.eye(len(theta))
        theta = theta + np.linalg.solve(curvature, X.T @ (y - mean) - ridge * theta)
    return theta


class Task:
    """One data set: a frame with levels for us, indicators of norm 1 for the others."""

    def __init__(self, name, frame):
        self.name = name
        columns = [c for c in frame if c not in ("target", "split")]
        frame = frame.rename(columns={c: c.replace("-", "_") for c in columns})
        self.levels = {c: list(range(int(frame[c].max()) + 1))
                       for c in (c.replace("-", "_") for c in columns)}  # fmt: skip
        self.formula = "target ~ " + " + ".join(self.levels)
        there = (frame.split == "train").to_numpy()
        self.train, self.test = frame[there], frame[~there]
        indicators = [(frame[c] == v).to_numpy(float)
                      for c, values in self.levels.items() for v in values[1:]]  # fmt: skip
        self.norm = math.sqrt(1 + len(self.levels))
        X = np.column_stack([np.ones(len(frame)), *indicators]) / self.norm
        self.X, self.X_new = X[there], X[~there]
        self.y, self.y_new = (t.target.to_numpy(float) for t in (self.train, self.test))

    def scores(self, eta):
        return log_loss(self.y_new, eta), auc(self.y_new, eta)

    def ours(self, eps, seed):
        fit = dpreg.dp_glm(self.formula, self.train, eps, DELTA, levels=self.levels,
                           inference=False, rng=seed)  # fmt: skip
        return self.scores(fit.predict(self.test, which="linear").to_numpy())

    def gaussian(self, eps, ridge, seed):
        fit = reference.objective_perturbation(
            self.X, self.y, eps, DELTA, x_bound=1.0, loss="logistic", ridge=ridge, rng=seed
        )
        return self.scores(self.X_new @ fit.params)

    def laplace(self, python, repeats):
        """Return scores by eps, ridge and seed."""
        ridges = RIDGES[1:]
        fits = [{"epsilon": eps, "C": 1 / ridge, "data_norm": 1.0, "fit_intercept": False,
                 "max_iter": 1000, "random_state": seed}
                for eps in EPS for ridge in ridges for seed in range(repeats)]  # fmt: skip
        found, _ = diffprivlib(python, "LogisticRegression", self.X, self.y, fits)
        scores = [self.scores(self.X_new @ row[1:]) for row in found]
        return np.reshape(scores, (len(EPS), len(ridges), repeats, 2))

    def default(self, python, repeats):
        fits = [{"epsilon": 1.0, "data_norm": self.norm, "random_state": s} for s in range(repeats)]
        X = self.X[:, 1:] * self.norm
        found, _ = diffprivlib(python, "LogisticRegression", X, self.y, fits)
        return np.array(
            [self.scores(row[0] + self.X_new[:, 1:] * self.norm @ row[1:]) for row in found]
        )


def best(scores):
    """Return the scores, shape (repeats, 2), of the setting of least median log-loss."""
    return scores[np.argmin(np.median(scores[:, :, 0], axis=1))]


def cell(scores):
    """Show medians of log-loss and AUC, with the range of log-loss."""
    losses, areas = scores.T
    text = f"{np.median(losses):.3f} / {np.median(areas):.3f}"
    return text if len(losses) == 1 else f"{text} ({losses.min():.3f} to {losses.max():.3f})"


def measured(task, python, repeats):
    """Yield eps, method and scores, shape (repeats, 2)."""
    laplace = task.laplace(python, repeats)
    for eps, theirs in zip(EPS, laplace, strict=True):
        seeds = range(repeats)
        yield eps, OURS, np.array([task.ours(eps, s) for s in seeds])
        tried = np.array([[task.gaussian(eps, ridge, s) for s in seeds] for ridge in RIDGES])
        yield eps, GAUSSIAN, best(tried)
        yield eps, LAPLACE, best(theirs)


def main():
    given = arguments(__doc__, data="", repeats=5, environment="build/peers", out="")
    repeats = 1 if given.quick else given.repeats
    python, sheet, rows, default = environment(Path(given.environment)), Sheet(), [], None
    for name in SETS:
        task = Task(name, pd.read_parquet(Path(given.data) / f"{name}.parquet"))
        without = np.array(task.scores(task.X_new @ exact(task.X, task.y)))
        sheet.add(f"glm {name} exact", without[0], f"{name}, exact fit, log-loss")
        sheet.add(f"glm {name} exact AUC", without[1], f"{name}, exact fit, AUC")
        cells = {}
        for eps, method, scores in measured(task, python, repeats):
            key, text = f"glm {name} {eps:g} {method}", f"{name}, eps = {eps:g}, {method}"
            kept = method == OURS
            sheet.add(key, scores[:, 0], f"{text}, log-loss", better="less" if kept else None)
            sheet.add(f"{key} AUC", scores[:, 1], f"{text}, AUC", better="more" if kept else None)
            cells.setdefault(eps, []).append(cell(scores))
        label = f"{name} ({len(task.y):,}, {task.X.shape[1]})"
        rows += [(label, f"{eps:g}", cell(without[None]), *row)
                 for eps, row in cells.items()]  # fmt: skip
        if default is None:
            default = cell(task.default(python, repeats))
    title = f"Logistic regression: held-out log-loss / AUC, delta = {DELTA:g}"
    about = (f"Medians of {repeats} runs, in brackets the range of log-loss. Made by "
             "`tests/benchmarks/bench_glm.py`, which says what each gets.")  # fmt: skip
    about += "\n" + NOTES.format(default=default).rstrip()
    write_table(title, about, ("data (n, columns)", "eps", "exact", *METHODS), rows, given.out)
    sheet.write(given.json)


if __name__ == "__main__":
    main()
