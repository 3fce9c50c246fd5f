"""Questions that go straight to workers, and those that are left to tasks."""

import os
import signal
import time as clock
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from driftglm import DriftRegressor
from driftglm.distributed.engine import Engine
from driftglm.distributed.wire import NO_ANSWER, Letter, Wire, listen

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")


def doubled(fit_id, jobs):
    if isinstance(jobs[0], str):
        clock.sleep(3.0)
    return [fit_id, *(2 * job for job in jobs)]


def start(dask_worker=None):
    listen(dask_worker, doubled)


def address_of(client):
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


@pytest.fixture
def listening(client):
    client.run(start)
    yield client
    client.run(stop)


def stop(dask_worker=None):
    dask_worker.handlers.pop("driftglm_serve")


def rows():
    rng = np.random.default_rng(4)
    time = np.repeat(np.arange(4), 40)
    X = rng.normal(size=(160, 6))
    return X, (time - 1.5) * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=160), time


def fit(X, y, time):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that were not enough
        model = DriftRegressor(extrapolate="forecast", max_iter=5)
        return model.fit(da.from_array(X, (30, -1)), y, time=time)


def test_workers_answer_by_themselves(listening):
    one, two = address_of(listening)
    wire, array = Wire(listening), np.arange(3.0)
    found = wire.ask("fit", {one: [1, 2], two: [array]}, list, 1.0)
    assert found[one] == ["fit", 2, 4]
    assert_array_equal(found[two][1], 2.0 * array)
    assert found[two][1].flags.writeable  # kernels are compiled for one kind of array


def test_who_is_not_there_or_has_not_learned_to_listen_gives_no_answer(client):
    one, _ = address_of(client)
    gone = "tcp://127.0.0.1:9"
    found = Wire(client).ask("fit", {one: [1], gone: [1]}, list, 1.0)
    assert found == {one: NO_ANSWER, gone: NO_ANSWER}


def test_nothing_is_awaited_of_a_worker_that_has_left(listening):
    one, two = address_of(listening)
    began = clock.monotonic()
    found = Wire(listening).ask("fit", {one: ["slow"], two: [4]}, lambda: [two], 0.2)
    assert clock.monotonic() - began < 2.5
    assert found == {one: NO_ANSWER, two: ["fit", 8]}


def test_an_array_that_several_parts_share_travels_once():
    import pickle

    array = np.arange(1000.0)
    assert len(pickle.dumps(Letter([array, (array,)]))) < 2 * array.nbytes


@pytest.mark.usefixtures("client")
def test_a_fit_is_the_same_by_tasks(monkeypatch):
    """Where workers cannot be reached from the client's process."""
    X, y, time = rows()
    direct, tasks = fit(X, y, time), []
    finished = Engine._finished

    def counted(self, submissions):
        tasks.append(len(submissions))
        return finished(self, submissions)

    monkeypatch.setattr(Engine, "_finished", counted)
    assert fit(X, y, time).n_iter_ == direct.n_iter_
    n_loads = len(tasks)
    monkeypatch.setattr(Wire, "ask", lambda _, __, jobs, *___: dict.fromkeys(jobs, NO_ANSWER))
    by_tasks = fit(X, y, time)
    assert len(tasks) > 2 * n_loads + 10
    assert_array_equal(by_tasks.coef_path_, direct.coef_path_)


def test_a_worker_that_is_stopped_does_not_hold_up_the_end_of_a_fit(doomed):
    X, y, time = rows()
    engines, opened = [], Engine.open
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "open", lambda self, w: engines.append(self) or opened(self, w))
        close, stopped = Engine.close, []

        def closing(self):
            pid = doomed.run(os.getpid, workers=[address_of(doomed)[0]]).popitem()[1]
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
            began = clock.monotonic()
            close(self)
            engines.append(clock.monotonic() - began)

        patch.setattr(Engine, "close", closing)
        try:
            assert fit(X, y, time).coef_path_.any()
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
    assert engines[-1] < 8.0


def test_workers_in_the_same_process_answer_too():
    with (
        distributed.LocalCluster(
            n_workers=2, processes=False, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(start)
        one, two = address_of(client)
        answers = Wire(client).ask("a", {one: [1.5], two: [2, 3]}, lambda: {one, two}, 1.0)
        assert answers == {one: ["a", 3.0], two: ["a", 4, 6]}


def test_all_workers_of_one_process_listen_from_the_first_fit_on(monkeypatch):
    X, y, time = rows()
    answers = []
    ask = Wire.ask

    def noted(self, *args):
        found = ask(self, *args)
        answers.extend(found.values())
        return found

    monkeypatch.setattr(Wire, "ask", noted)
    with (
        distributed.LocalCluster(
            n_workers=2, processes=False, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        fit(X, y, time)
    assert len(answers) > 2
    assert not any(each is NO_ANSWER for each in answers)
