"""Fits on Dask workers: seconds by number of workers, and bytes that move.

    python benchmarks/dask_scale.py [--rows 200000] [--features 200] [--workers 1 2] [--paper]

Every number of workers has its own local cluster. Bytes are those of the arrays in all questions
and answers. Seconds of the clock are the best of --repeats fits, then those of the processors of
that fit, in this process and on the workers.
--paper: words at the paper's scale (10,000 columns, 30 million entries), partitions in files,
and a fit in this process beside those on workers.
"""

import argparse
import tempfile
import time as clock
import warnings
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from worlds import paper_scale

from distributed import Client, LocalCluster
from driftglm import DriftRegressor
from driftglm.distributed import engine


def block(rows, n_features, seed):
    """Rows of one partition."""
    return np.random.default_rng(seed).normal(size=(rows, n_features))


def world(n_rows, n_features, n_parts):
    """A dask array made on the workers, and the y of two drifting features."""
    size = n_rows // n_parts
    seeds = np.arange(n_parts)
    X = da.concatenate(
        [
            da.from_delayed(
                da.core.delayed(block)(size, n_features, int(seed)), (size, n_features), float
            )
            for seed in seeds
        ]
    )
    time = np.sort(np.arange(size * n_parts) % 8)
    columns = [block(size, n_features, int(seed))[:, :2] for seed in seeds]
    first, second = np.concatenate(columns).T
    noise = np.random.default_rng(99).normal(size=time.size)
    return X, (time - 3.5) * 0.2 * first + second + noise, time


def paper(folder, n_parts):
    """The same at the paper's scale: partitions are files."""
    (X, y, time), _ = paper_scale()
    ends = np.linspace(0, X.shape[0], n_parts + 1).astype(int)
    parts = []
    for k in range(n_parts):
        sp.save_npz(folder / f"{k}.npz", X[ends[k] : ends[k + 1]].tocsr(), compressed=False)
        parts.append(dask.delayed(sp.load_npz)(folder / f"{k}.npz"))
    return X, (parts, y, time)


def timed(repeats, act, workers=None):
    """Seconds of the best of several runs, and those of the processors: here, on the workers."""

    def spent():
        return clock.process_time(), sum(workers().values()) if workers else 0.0

    runs = []
    for _ in range(repeats):
        before, began = spent(), clock.perf_counter()
        act()
        seconds = clock.perf_counter() - began
        runs.append((seconds, *(b - a for a, b in zip(before, spent(), strict=True))))
    return min(runs)


def row(name, times, moved=None):
    """One line of the table."""
    ends = "| | |"
    if moved is not None:
        ends = f"{moved.rounds} | {moved.sent / 1e6:.1f} | {moved.received / 1e6:.1f} |"
    print(f"| {name} | {' | '.join(f'{each:.2f}' for each in times)} | {ends}", flush=True)


def main():
    """Print one line a number of workers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--paper", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    traffic = []
    close = engine.Engine.close

    def closed(self):
        traffic.append(self.traffic)
        close(self)

    engine.Engine.close = closed
    scratch = tempfile.TemporaryDirectory()
    model = DriftRegressor(max_iter=1000 if asked.paper else asked.passes, extrapolate="forecast")
    print("| workers | seconds | client | workers | rounds | MB to workers | MB to client |")
    print("|---|---|---|---|---|---|---|")
    if asked.paper:
        here, data = paper(Path(scratch.name), asked.parts)
        row("none", timed(asked.repeats, lambda: model.fit(here, data[1], time=data[2])))
        del here
    else:
        data = world(asked.rows, asked.features, asked.parts)
    X, y, time = data
    for n_workers in asked.workers:
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            small = world(800, 40, 4)
            warm = DriftRegressor(max_iter=2, extrapolate="forecast")
            warm.fit(small[0], small[1], time=small[2])
            times = timed(
                asked.repeats,
                lambda: model.fit(X, y, time=time),
                lambda client=client: client.run(clock.process_time),
            )
        row(n_workers, times, traffic[-1])


if __name__ == "__main__":
    main()
