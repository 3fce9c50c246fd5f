"""Fits on Dask workers: seconds by number of workers, and bytes that move.

    python benchmarks/dask_scale.py [--rows 200000] [--features 200] [--workers 1 2]

Each fit has its own local cluster. Bytes are those of the arrays in all questions and answers.
"""

import argparse
import time as clock
import warnings

import dask.array as da
import numpy as np

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


def main():
    """Print one line a number of workers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--passes", type=int, default=10)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    traffic = []
    close = engine.Engine.close

    def closed(self):
        traffic.append(self.traffic)
        close(self)

    engine.Engine.close = closed
    print("| workers | seconds | rounds | MB to workers | MB to client |\n|---|---|---|---|---|")
    for n_workers in asked.workers:
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            X, y, time = world(asked.rows, asked.features, asked.parts)
            small = slice(0, 4 * (asked.rows // asked.parts))
            DriftRegressor(max_iter=2).fit(X[small], y[small], time=time[small])  # to warm up
            began = clock.perf_counter()
            DriftRegressor(max_iter=asked.passes).fit(X, y, time=time)
            seconds = clock.perf_counter() - began
        moved = traffic[-1]
        print(
            f"| {n_workers} | {seconds:.1f} | {moved.rounds} | {moved.sent / 1e6:.1f} "
            f"| {moved.received / 1e6:.1f} |"
        )


if __name__ == "__main__":
    main()
