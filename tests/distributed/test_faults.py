"""Workers and schedulers that die in the middle of a fit, and fits that go on from a file."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time as clock
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError, EngineError
from driftglm.fitting import checkpoint
from driftglm.solvers.block import _Pass
from driftglm.solvers.cavi import _Climb

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
import dask  # noqa: E402

from driftglm.distributed.engine import Engine  # noqa: E402

CLUSTER = """
import distributed, sys
if __name__ == "__main__":
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    )
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def rows(counts=False):
    rng = np.random.default_rng(1)
    time = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 12)) + 1.0
    eta = (time - 1) * X[:, 0] + X[:, 1]
    y = rng.poisson(np.exp(0.3 * eta)) if counts else eta + 0.3 * rng.normal(size=150)
    return X, y, time


def fit(model, X, y, time, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that were not enough
        return model.fit(X, y, time=time, **more)


@pytest.fixture
def at(monkeypatch):
    """Do something before some of the questions a fit asks its workers; returns what is asked."""
    ask, asked = Engine.ask, []

    def plan(events):
        def hooked(self, *args, **kwargs):
            asked.append(1)
            if len(asked) in events:
                events[len(asked)]()
            return ask(self, *args, **kwargs)

        monkeypatch.setattr(Engine, "ask", hooked)
        return asked

    return plan


@pytest.mark.parametrize("counts", [False, True])
def test_a_fit_survives_the_death_of_two_workers(kill_worker, at, counts):
    X, y, time = rows(counts)
    model = DriftPoissonRegressor if counts else DriftRegressor
    near = fit(model(max_iter=7, tol=1e-10), X, y, time)
    asked = at({8: lambda: kill_worker(0), 16: lambda: kill_worker(1)})
    far = fit(model(max_iter=7, tol=1e-10), da.from_array(X, chunks=(30, -1)), y, time)
    assert len(asked) > 16
    assert_allclose(far.coef_path_, near.coef_path_, rtol=0, atol=1e-8)
    assert_allclose(far.objective_history_, near.objective_history_, rtol=1e-8)


def read_slowly(rows, flag):
    """The first reading does not end by itself."""
    if not flag.exists():
        flag.touch()
        clock.sleep(60.0)
    return rows


def test_the_only_worker_may_die_while_it_reads(tmp_path, replace_worker):
    X, y, time = rows()
    near = fit(DriftRegressor(extrapolate="forecast", max_iter=3), X, y, time)
    flag = tmp_path / "reading"
    parts = [dask.delayed(read_slowly)(X[:90], flag), dask.delayed(X[90:])]

    def kill():
        while not flag.exists():
            clock.sleep(0.01)
        replace_worker()

    threading.Thread(target=kill, daemon=True).start()
    sizes = (90, 12), (60, 12)
    blocks = [da.from_delayed(p, s, float) for p, s in zip(parts, sizes, strict=True)]
    far = fit(DriftRegressor(extrapolate="forecast", max_iter=3), da.concatenate(blocks), y, time)
    assert_allclose(far.coef_path_, near.coef_path_, rtol=0, atol=1e-8)


def test_lost_futures_are_not_called_a_lost_scheduler(doomed, kill_worker, at):
    X, y, time = rows()
    parts = doomed.scatter([X[:50], X[50:100], X[100:]])
    at({6: lambda: kill_worker(0), 8: lambda: kill_worker(1)})
    with pytest.raises(EngineError, match=r"^data given as Futures were lost with their worker"):
        fit(DriftRegressor(extrapolate="forecast", max_iter=20, tol=1e-10), parts, y, time)


@contextlib.contextmanager
def other_cluster():
    """A scheduler and its worker in a process of their own."""
    process = subprocess.Popen(  # noqa: S603 (our own script)
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_a_lost_scheduler_is_one_sentence_and_the_fit_goes_on(tmp_path, monkeypatch, at):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y, time = rows()
    file = tmp_path / "fit.checkpoint"
    given = {"max_iter": 30, "tol": 1e-10, "extrapolate": "forecast"}
    whole = fit(DriftRegressor(**given), X, y, time)
    with (
        other_cluster() as (process, address),
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        distributed.Client(address, timeout=30),
    ):
        blocks = da.from_array(X, chunks=(60, -1))
        at({30: lambda: os.killpg(process.pid, signal.SIGKILL)})
        with pytest.raises(EngineError, match=r"scheduler was lost; fit again with checkpoint="):
            fit(
                DriftRegressor(**given),
                blocks,
                y,
                time,
                checkpoint=file,
            )
    assert file.exists()
    again = fit(DriftRegressor(**given), X, y, time, checkpoint=file)
    assert_allclose(again.coef_path_, whole.coef_path_, rtol=0, atol=1e-8)
    assert again.n_iter_ == whole.n_iter_
    assert not file.exists()


class Stop(Exception):  # noqa: N818
    """In place of a power cut."""


@pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])
@pytest.mark.parametrize("maker", [DriftRegressor, DriftPoissonRegressor, DriftClassifier])
def test_a_fit_that_goes_on_ends_where_it_would_have_ended(tmp_path, monkeypatch, maker, prior):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y, time = rows(counts=True)
    y = np.minimum(y, 2) if maker is DriftClassifier else y
    given = {"prior": prior, "max_iter": 25, "tol": 1e-8}
    whole = fit(maker(**given), X, y, time)
    file = tmp_path / "fit.checkpoint"
    owner, name = (_Climb, "_update_all") if prior == "learned" else (_Pass, "ascend")
    for stop in (4, 9):
        _stop_at(monkeypatch, owner, name, stop)
        with contextlib.suppress(Stop):
            fit(maker(**given), X, y, time, checkpoint=file)
        monkeypatch.undo()
        monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    again = fit(maker(**given), X, y, time, checkpoint=file)
    assert_array_equal(again.coef_path_, whole.coef_path_)
    assert_array_equal(again.objective_history_, whole.objective_history_)
    assert again.stop_reason_ == whole.stop_reason_
    assert not file.exists()


def _stop_at(monkeypatch, owner, name, count):
    method, calls = getattr(owner, name), []

    def stopped(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == count:
            raise Stop
        return method(self, *args, **kwargs)

    monkeypatch.setattr(owner, name, stopped)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y, time = rows()
    file = tmp_path / "fit.checkpoint"
    _stop_at(monkeypatch, _Climb, "_update_all", 3)
    with pytest.raises(Stop):
        fit(DriftRegressor(extrapolate="forecast"), X, y, time, checkpoint=file)
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"another fit: it says 'tol=0.0001', this fit has 'tol="):
        fit(DriftRegressor(extrapolate="forecast", tol=1e-3), X, y, time, checkpoint=file)
    with pytest.raises(DataError, match="other data"):
        fit(DriftRegressor(extrapolate="forecast"), X + 1.0, y, time, checkpoint=file)
    assert file.exists()


def test_a_checkpoint_of_sorted_rows_is_not_for_rows_on_workers(tmp_path, monkeypatch):
    """Its numbers of single rows would be those of others there."""
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y, time = rows()
    file = tmp_path / "fit.checkpoint"
    _stop_at(monkeypatch, _Climb, "_update_all", 3)
    with pytest.raises(Stop):
        fit(DriftRegressor(extrapolate="forecast"), X, y, time, checkpoint=file)
    monkeypatch.undo()
    with other_cluster() as (_, address), distributed.Client(address, timeout=30):
        blocks = da.from_array(X, chunks=(60, -1))
        with pytest.raises(DataError, match="sorted them; rows on workers are not"):
            fit(DriftRegressor(extrapolate="forecast"), blocks, y, time, checkpoint=file)
    assert file.exists()


def test_no_other_file_is_taken_for_a_checkpoint(tmp_path):
    X, y, time = rows()
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(DataError, match="cannot be read"):
        fit(DriftRegressor(extrapolate="forecast"), X, y, time, checkpoint=file)
    model = fit(DriftRegressor(extrapolate="forecast"), X, y, time)
    model.save(tmp_path / "model")
    with pytest.raises(DataError, match="no checkpoint and is left alone"):
        fit(DriftRegressor(extrapolate="forecast"), X, y, time, checkpoint=tmp_path / "model")
    assert file.read_text() == "mine"
    with pytest.raises(DataError, match="folder that is not there"):
        fit(
            DriftRegressor(extrapolate="forecast"),
            X,
            y,
            time,
            checkpoint=tmp_path / "none" / "file",
        )


def test_a_fit_on_workers_without_memory_says_so(monkeypatch):
    """Dask pauses a worker that holds too much, and tasks would wait for it for ever."""
    monkeypatch.setattr("driftglm.distributed.engine.STUCK", 3.0)
    X, y, time = rows()
    pause = {"distributed.worker.memory.pause": 0.001}
    with (
        dask.config.set(pause),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="4 GiB", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        began = clock.monotonic()
        with pytest.raises(EngineError, match="memory limit is 4096 MiB"):
            fit(DriftRegressor(), da.from_array(X, chunks=(50, 12)), y, time)
        assert clock.monotonic() - began < 30.0
