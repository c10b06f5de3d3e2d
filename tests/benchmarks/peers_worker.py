"""Run diffprivlib in its own environment: ``python peers_worker.py TASK.json``, JSON to stdout.

Called by `bench_peers.py`.  Exceptions and warnings of a fit are results like any other.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter

import numpy as np
import pandas as pd
from diffprivlib.models import LinearRegression


def r_squared(y, predicted):
    return 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def fit(train, test, columns, eps, seed, bounds):
    """Return R2, or None, and what was raised or warned."""
    given = {}
    if bounds is not None:
        low, high = np.array(bounds).T
        given = {"bounds_X": (low[:-1], high[:-1]), "bounds_y": (low[-1], high[-1])}
    said = Counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = LinearRegression(epsilon=eps, random_state=seed, **given)
            model.fit(train[columns].to_numpy(float), train["target"].to_numpy(float))
            found = r_squared(
                test["target"].to_numpy(), model.predict(test[columns].to_numpy(float))
            )
        except Exception as error:
            said[f"{type(error).__name__}: {error}"[:100]] += 1
            found = None
    said.update({w.category.__name__ for w in caught})
    return found, said


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        task = json.load(file)
    data = pd.read_parquet(task["path"])
    columns = [c for c in data.columns if c != "target"]
    given = {"diffprivlib": task["bounds"], "diffprivlib, no bounds": None}
    results = []
    for seed in range(task["splits"]):
        order = np.random.default_rng(seed).permutation(len(data))
        cut = len(data) // 10
        test, train = data.iloc[order[:cut]], data.iloc[order[cut:]]
        for eps in task["eps"]:
            for label, bounds in given.items():
                found, said = fit(train, test, columns, eps, seed, bounds)
                results.append(
                    {"method": label, "eps": eps, "seed": seed, "r2": found, "said": dict(said)}
                )
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
