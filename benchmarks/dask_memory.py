"""Peak memory of every process of a fit to data that workers cannot hold.

    python benchmarks/dask_memory.py [--megabytes 1200] [--features 800]

The data set is four times what one worker may hold: its memory limit, less what Python and its
libraries take. Scheduler and client are processes of their own. Figures are resident sizes above
those of the idle processes, sampled ten times a second. Fails unless every process stays below half
the data set and the client below a tenth.
"""

import argparse
import os
import subprocess
import sys
import threading
import time as clock
import warnings
from contextlib import contextmanager

import psutil
from dask_scale import world

from distributed import Client, LocalCluster
from driftglm import DriftRegressor

LIBRARIES = 350 * 2**20
"""What a worker takes that has imported all it needs."""


class Watch(threading.Thread):
    """Samples the memory of some processes."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.processes = {pid: psutil.Process(pid) for pid in pids}
        self.idle = {pid: p.memory_info().rss for pid, p in self.processes.items()}
        self.peak, self.ended = dict(self.idle), threading.Event()

    def run(self):
        """Until the end."""
        while not self.ended.wait(0.1):
            for pid, process in list(self.processes.items()):
                try:
                    size = process.memory_info().rss
                except psutil.NoSuchProcess:
                    del self.processes[pid]
                    continue
                self.peak[pid] = max(self.peak[pid], size)

    def above_idle(self):
        """Peak minus idle, by process."""
        return {pid: self.peak[pid] - self.idle[pid] for pid in self.peak}


def serve(n_workers, memory_limit):
    """A scheduler and its workers, until standard input ends."""
    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=memory_limit,
        dashboard_address=":0",
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


@contextmanager
def cluster_elsewhere(n_workers, memory_limit):
    """The same in another process; its process id and address."""
    command = [sys.executable, __file__, "--serve", str(n_workers), str(memory_limit)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:  # noqa: S603 (this file)
        yield process.pid, process.stdout.readline().strip()
        process.stdin.close()


def main():
    """Print one line a process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1200)
    parser.add_argument("--features", type=int, default=800)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--serve", type=int, nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(*asked.serve)
        return
    warnings.simplefilter("ignore")
    size = asked.megabytes * 2**20
    n_rows, n_parts = size // (8 * asked.features), 80
    with (
        cluster_elsewhere(asked.workers, size // 4 + LIBRARIES) as (scheduler, address),
        Client(address) as client,
    ):
        small = world(800, asked.features, 4)
        warm = DriftRegressor(max_iter=2, extrapolate="forecast")
        warm.fit(small[0], small[1], time=small[2])  # libraries, kernels
        X, y, time = world(n_rows, asked.features, n_parts)
        clock.sleep(2.0)
        pids = list(client.run(os.getpid).values())
        own = psutil.Process().pid
        watch = Watch([own, scheduler, *pids])
        watch.start()
        began = clock.perf_counter()
        DriftRegressor(max_iter=6, extrapolate="forecast").fit(X, y, time=time)
        seconds = clock.perf_counter() - began
        watch.ended.set()
        watch.join()
    print(f"{seconds:.0f} s, data {size / 2**20:.0f} MiB\n\n| process | MiB above idle | share |")
    print("|---|---|---|")
    for pid, more in watch.above_idle().items():
        name = {own: "client", scheduler: "scheduler"}.get(pid, f"worker {pid}")
        print(f"| {name} | {more / 2**20:.0f} | {more / size:.3f} |")
    above = watch.above_idle()
    if len(watch.processes) < len(above) or max(above.values()) > size / 2:
        sys.exit("a process needed more than half the data set, or died")
    if above[own] > size / 10:
        sys.exit("the client needed more than a tenth of the data set")


if __name__ == "__main__":
    main()
