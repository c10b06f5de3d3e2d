"""A fit on a cluster of real processes, of which three are killed; run by test_engines.py.

There is one more than are killed: whether those are started again is not the matter here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing import forkserver
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import dpreg


def made():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=4000)})
    frame["y"] = frame["x"] + rng.normal(size=4000)
    return frame


def fit(data):
    return dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, rng=1).to_json()


def dies_once(frame, folder):
    """Kill the worker the first time that this partition is computed."""
    mark = Path(folder) / f"{len(frame)}-{frame['x'].iloc[0]}"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return frame


def kill_one(client):
    time.sleep(0.5)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def main(folder):
    # What all workers import is imported once, by the process that they are forked from.
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    multiprocessing.set_forkserver_preload(["distributed", "dask.dataframe", "dpreg.data.engines"])
    forkserver.ensure_running()
    table = made()
    held = dd.from_pandas(table, npartitions=2)
    with (
        LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        failing = held.map_partitions(dies_once, folder, meta=held._meta)
        same = fit(failing) == fit(table) and len(list(Path(folder).iterdir())) == 2
        print("same" if same else "different", flush=True)
        killer = threading.Thread(target=kill_one, args=(client,))
        killer.start()
        print("same" if fit(held) == fit(table) else "different", flush=True)
        killer.join()


if __name__ == "__main__":
    main(sys.argv[1])
