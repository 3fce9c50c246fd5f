"""Which client a fit works through, and what is said when there is none or it is lost."""

import asyncio
import os
import subprocess
import sys
import time

import psutil
import pytest

from driftglm.distributed.client import (
    Tasks,
    active_client,
    check_n_workers,
    client_for,
    engine_errors,
    find_client,
)
from driftglm.exceptions import DataError, EngineError

distributed = pytest.importorskip("distributed")


def workers_of_this_process():
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if "spawn_main" in " ".join(child.cmdline())
    ]


def test_local_fits_and_comparisons_never_import_dask():
    code = """
import sys
import numpy as np
from driftglm import DriftTextModel
from driftglm.baselines import RidgeAll
from driftglm.evaluation import RollingOrigin, compare
rng = np.random.default_rng(0)
x, y, time = rng.normal(size=(30, 2)), rng.normal(size=30), np.repeat([1, 2, 3], 10)
DriftTextModel(max_iter=20).fit(rng.poisson(5.0, size=(30, 4)), x, time=time)
compare({"ridge": RidgeAll(strength=1.0)}, x, y, time, RollingOrigin(n_test=1))
assert not {"dask", "distributed"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)  # noqa: S603


def test_without_a_client_the_error_names_both_ways_out():
    assert active_client() is None
    with pytest.raises(EngineError, match=r"distributed\.Client.*n_workers="), client_for():
        pass
    with pytest.raises(EngineError, match="client=None"):
        find_client("active")


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True])
def test_a_wrong_number_of_workers_is_refused(wrong):
    with pytest.raises(DataError, match="1 or more"):
        check_n_workers(wrong)


def test_missing_dask_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r'pip install "driftglm\[distributed\]"'), client_for(1):
        pass


def test_what_is_no_client_is_refused():
    with pytest.raises(DataError, match=r"client='tcp://.*distributed\.Client"):
        find_client("tcp://127.0.0.1:8786")


def test_an_asynchronous_client_is_refused():
    async def ask():
        async with (
            distributed.LocalCluster(
                n_workers=0, processes=False, dashboard_address=":0", asynchronous=True
            ) as cluster,
            distributed.Client(cluster, asynchronous=True) as client,
        ):
            find_client(client)

    with pytest.raises(EngineError, match="asynchronous=False"):
        asyncio.run(ask())


def test_a_local_cluster_has_so_many_processes_and_leaves_none():
    before = len(workers_of_this_process())
    with client_for(2) as client:
        pids = set(client.run(os.getpid).values())
        assert len(pids) == 2
        assert os.getpid() not in pids
    assert active_client() is None
    assert len(workers_of_this_process()) == before
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_the_active_client_goes_first_and_stays_open(client):
    with client_for(2) as found:
        assert found is client
    assert find_client("active") is client
    assert client.submit(max, 1, 2).result(timeout=30) == 2


def test_closing_tasks_frees_the_workers(client):
    tasks = Tasks(client)
    shared = [tasks.share([k]) for k in range(3)]
    assert tasks.gather(shared) == [[0], [1], [2]]
    tasks.close()
    for _ in range(100):
        if not client.run_on_scheduler(_ours):
            return
        time.sleep(0.05)
    raise AssertionError("tasks are still there")


def _ours(dask_scheduler=None):
    return [key for key in dask_scheduler.tasks if str(key).startswith("driftglm")]


def test_a_lost_scheduler_becomes_one_sentence(client):
    sentence = r"^the Dask scheduler was lost; do this\.$"
    with pytest.raises(EngineError, match=sentence), engine_errors(client, "do this"):
        raise distributed.CancelledError("gone")
    lost = distributed.client.FutureCancelledError("x", "scheduler-connection-lost")
    with pytest.raises(EngineError, match=sentence), engine_errors(client, "do this"):
        raise lost
    lost.reason = "lost dependencies"
    with pytest.raises(EngineError, match="given as Futures"), engine_errors(client, "do this"):
        raise lost


def test_an_error_of_a_task_passes_unchanged(client):
    def broken():
        raise DataError("column 3 is constant")

    with pytest.raises(DataError, match="column 3"), engine_errors(client):
        client.submit(broken).result(timeout=30)
