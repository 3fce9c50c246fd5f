"""Real worker processes for the tests of this folder, and no process left behind."""

import multiprocessing
import os
import signal
import time
from contextlib import contextmanager

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_start():
    """Workers begin as copies of a process that has imported what they need: there are many here.

    Those of test_shards.py begin by themselves, as users' do.
    """
    distributed = pytest.importorskip("distributed")
    import dask

    if "forkserver" not in multiprocessing.get_all_start_methods():
        yield
        return
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        context = distributed.utils.get_mp_context()
        context.set_forkserver_preload(["distributed", "pandas", "driftglm.distributed.worker"])
        yield


@contextmanager
def workers(count):
    """A client of so many worker processes of one thread each."""
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask.array")
    with (
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    """Two worker processes."""
    with workers(2) as client:
        yield client


@pytest.fixture
def doomed():
    """Three workers for one test: when two of them have died one is left, whatever Dask does."""
    with workers(3) as client:
        yield client


@pytest.fixture
def only_one():
    """A single worker for one test."""
    with workers(1) as client:
        yield client


@pytest.fixture
def kill_worker(doomed):
    """Kill one of three workers as the system would, and return once its process is gone."""
    pids = sorted(doomed.run(os.getpid).values())
    return lambda number=0: kill(pids[number])


@pytest.fixture
def replace_worker(only_one):
    """Kill the only worker as the system would, and start another one."""
    (pid,) = only_one.run(os.getpid).values()

    def act():
        kill(pid)
        only_one.cluster.scale(2)

    return act


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    for _ in range(500):
        if not _runs(pid):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} survived")


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
