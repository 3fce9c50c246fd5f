"""Real worker processes for the tests of this folder, and no process left behind."""

import os
import signal
import time

import pytest

N_WORKERS = 2


@pytest.fixture(scope="module")
def client():
    """Two worker processes of one thread each; a dead one is replaced."""
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask.array")
    with (
        distributed.LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def kill_worker(client):
    """Kill one of the workers as the system would, and return once its process is gone."""
    client.wait_for_workers(N_WORKERS, timeout=60)

    def kill(number=0):
        pids = client.run(os.getpid)
        pid = pids[sorted(pids)[number % len(pids)]]
        os.kill(pid, signal.SIGKILL)
        for _ in range(500):
            if not _runs(pid):
                return
            time.sleep(0.01)
        raise AssertionError(f"process {pid} survived")

    return kill


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
