"""Dask workers killed during a fit: it ends as it would have, or says that it cannot."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings

import numpy as np
from tally import Tally

from driftglm import DriftRegressor
from driftglm.exceptions import DriftError


def attack_workers(n_times: int, seed: int) -> Tally:
    """One worker of two is killed at a random moment of each fit."""
    import dask.array as da

    from distributed import Client, LocalCluster

    tally, rng = Tally("killed workers"), np.random.default_rng(seed)
    X, steps = rng.normal(size=(6000, 60)), np.repeat(np.arange(6), 1000)
    y = X[:, 0] + rng.normal(size=6000)
    wanted = DriftRegressor(extrapolate="forecast").fit(X, y, time=steps).predict(X[:50])
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings, silence_logs=50) as cluster, Client(cluster) as client:
        for k in range(n_times):
            client.wait_for_workers(2, timeout=600)  # a crowded machine takes its time
            killer = threading.Timer(rng.uniform(0.1, 1.5), _kill, [client, int(rng.integers(2))])
            killer.start()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = DriftRegressor(extrapolate="forecast")
                    model.fit(da.from_array(X, chunks=(1000, 60)), y, time=steps)
                gap = np.abs(model.predict(X[:50]) - wanted).max()
                if gap < 1e-6:
                    tally.hold("the same")
                else:
                    tally.fail(f"seed {seed} worker {k}: predictions differ by {gap:.2g}")
            except DriftError:
                tally.hold("said so")
            except Exception as error:  # noqa: BLE001 (what is looked for)
                tally.fail(f"seed {seed} worker {k}: {type(error).__name__}: {error!s:.80}")
            killer.join()
            time.sleep(0.5)
    return tally


def _kill(client, which: int) -> None:
    pids = list(client.run(os.getpid).values())
    os.kill(pids[which % len(pids)], signal.SIGKILL)
