"""Fit models of diffprivlib in its own environment: ``python peers_worker.py FOLDER``.

`peers.diffprivlib` calls it.  The folder has ``task.json``, with the name of the model and
settings of each fit, and ``rows.npz``.  Coefficients go to ``coefficients.npy``, NaN where a fit
raised an exception, and what each raised or warned of to ``said.json``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from diffprivlib import models


def fit(model, rows, settings):
    """Return the intercept and slopes, and what was raised or warned."""
    coefficients, said = np.full(rows["X"].shape[1] + 1, np.nan), Counter()
    given = {k: tuple(map(np.asarray, v)) if k.startswith("bounds") else v
             for k, v in settings.items()}  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = getattr(models, model)(**given).fit(rows["X"], rows["y"])
            coefficients[0], coefficients[1:] = np.ravel(fitted.intercept_)[0], fitted.coef_
        except Exception as error:
            said[f"{type(error).__name__}: {error}"[:100]] += 1
    said.update({w.category.__name__ for w in caught})
    return coefficients, said


def main():
    folder = Path(sys.argv[1])
    task, rows = json.loads((folder / "task.json").read_text()), dict(np.load(folder / "rows.npz"))
    found = [fit(task["model"], rows, settings) for settings in task["fits"]]
    np.save(folder / "coefficients.npy", [coefficients for coefficients, _ in found])
    (folder / "said.json").write_text(json.dumps([said for _, said in found]))


if __name__ == "__main__":
    main()
