"""Fits on Dask workers: seconds by number of workers, and bytes that move.

    python benchmarks/dask_scale.py [--rows 200000] [--features 200] [--workers 1 2] [--paper]

Each fit has its own local cluster. Bytes are those of the arrays in all questions and answers.
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
    began = clock.perf_counter()
    DriftRegressor(extrapolate="forecast").fit(X, y, time=time)
    print(f"\nIn this process: {clock.perf_counter() - began:.1f} s\n")
    return parts, y, time


def main():
    """Print one line a number of workers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--passes", type=int, default=10)
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
    most = 1000 if asked.paper else asked.passes
    data = (
        paper(Path(scratch.name), asked.parts)
        if asked.paper
        else world(asked.rows, asked.features, asked.parts)
    )
    print("| workers | seconds | rounds | MB to workers | MB to client |\n|---|---|---|---|---|")
    for n_workers in asked.workers:
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            small = world(800, 40, 4)
            DriftRegressor(max_iter=2).fit(small[0], small[1], time=small[2])  # to warm up
            X, y, time = data
            began = clock.perf_counter()
            DriftRegressor(max_iter=most).fit(X, y, time=time)
            seconds = clock.perf_counter() - began
        moved = traffic[-1]
        print(
            f"| {n_workers} | {seconds:.1f} | {moved.rounds} | {moved.sent / 1e6:.1f} "
            f"| {moved.received / 1e6:.1f} |"
        )


if __name__ == "__main__":
    main()
