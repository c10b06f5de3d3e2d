"""Tools that others could use instead, each with its bounds and settings.

diffprivlib 0.6.6 imports with scikit-learn 1.5 only and so gets an environment of its own.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from dpreg import reference

HERE = Path(__file__).parent
REQUIREMENTS = ("scikit-learn==1.5.2", "diffprivlib==0.6.6")
OPENDP = "opendp, one column"
BROKEN = ("diffprivlib", OPENDP)
ABOUT = """
- AdaSSP: Wang (2018), its three releases composed by Gaussian differential privacy, which takes
  less noise than the thirds of eps and delta that are printed.
- no ridge: the same without the ridge that makes it adaptive, which is what dp-statsmodels
  releases. That package is on GitHub only and was not run.
- hessian mixing: Lev et al. (2026), arXiv 2601.07545, three rounds, as its authors run it;
  written anew as `dpreg.reference.iterative_hessian_mixing`, as no registry has it.
- objective: Kifer, Smith and Thakurta (2012), what DPpack does for linear regression; written
  anew as `dpreg.reference.objective_perturbation`. DPpack itself is on CRAN only, which was not
  in reach. Neighbours differ in the values of a row.
- These four get columns over their bounds, from -1 to 1, and a constant. Rows are clipped at 1, 1/2
  or 1/4 of the norm that this allows: the best for each data set and eps by the rows held out, in
  their favour.
- diffprivlib 0.6.6, delta = 0. † Its guarantee does not hold: the sensitivity of a sum of squares
  is taken as 0 for a column from 0 up, (d + 2) / (d + 1) of eps is spent, and without an
  intercept nothing is clipped (vignettes/errors_found.py).
- OpenDP 0.16 has Theil-Sen regression for one regressor: that which knowledge of the subject
  suggests; `auto` with that column alone stands beside it. Delta = 0. † One row more changes two
  pairs when their number is odd (vignettes/errors_found.py, opendp issue 2950).
- BinAgg (AISTATS 2026) bins the space of the regressors; for its intervals see
  [its design](binagg.md). No registry has it.
""".strip().splitlines()


def environment(folder):
    """Return the interpreter of an environment with diffprivlib, making it if need be."""
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        (folder / "ready").touch()
    return python


def diffprivlib(python, model, X, y, fits):
    """Fit a model with the settings of each of `fits`.

    Returns intercept and slopes of each, NaN where it failed, and what it raised or warned of.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "task.json").write_text(json.dumps({"model": model, "fits": fits}))
        np.savez(folder / "rows.npz", X=X, y=y)
        subprocess.run([python, HERE / "peers_worker.py", folder], check=True, capture_output=True)
        said = json.loads((folder / "said.json").read_text())
        return np.load(folder / "coefficients.npy"), said


class Bounded:
    """Methods that take bounds of columns and response, shape (d + 1, 2), the response last."""

    def __init__(self, X, y, bounds):
        self.X, self.y = X, y
        low, high = bounds.T
        self.middle, self.half = (low + high) / 2, (high - low) / 2
        self.rows, self.response = self._rows(X), (y - self.middle[-1]) / self.half[-1]

    def _rows(self, X):
        scaled = (X - self.middle[:-1]) / self.half[:-1]
        return np.column_stack([np.ones(len(X)), np.clip(scaled, -1, 1)])

    @staticmethod
    def settings():
        return [(method, share) for method in BOUNDED for share in (1.0, 0.5, 0.25)]

    def fit(self, method, share, eps, delta, seed):
        """Return a function of new rows; `share` is of the largest norm that a row can have."""
        x_bound = share * math.sqrt(self.rows.shape[1])
        found = BOUNDED[method](
            self.rows, self.response, eps, delta, x_bound=x_bound, y_bound=1.0, rng=seed
        )
        return lambda X: self.middle[-1] + self.half[-1] * self._rows(X) @ found.params


def adassp(*args, **bounds):
    return reference.boosted_adassp(*args, rounds=1, **bounds)


def no_ridge(rows, *args, **bounds):
    """The ridge is 0 where the logarithm in it is."""
    return reference.boosted_adassp(rows, *args, rounds=1, failure=2 * rows.shape[1] ** 2, **bounds)


BOUNDED = {
    "AdaSSP": adassp,
    "no ridge": no_ridge,
    "hessian mixing": reference.iterative_hessian_mixing,
    "objective": reference.objective_perturbation,
}


def opendp_fit(train, test, column, bounds, eps):
    """Fit OpenDP's regression on one column; its noise is asked for by scale: 2 / eps."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    x_bounds, y_bounds = (tuple(map(float, b)) for b in bounds)
    model = dp.sklearn.linear_model.LinearRegression(
        dp.max_divergence(), x_bounds=[x_bounds], y_bounds=y_bounds, scale=2 / eps
    )
    claimed = model.measurement.map(1)
    assert claimed <= eps * (1 + 1e-9), claimed
    fit = model.fit(train[[column]].to_numpy(float), train["target"].to_numpy(float))
    return fit.predict(test[[column]].to_numpy(float))
