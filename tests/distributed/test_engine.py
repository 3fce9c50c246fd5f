"""The engine with workers played by this process: what is lost, what is in files, what moves."""

import contextlib
import threading
import time as clock
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.distributed import design as far_design
from driftglm.distributed import engine as engine_module
from driftglm.distributed import storage, worker
from driftglm.distributed.engine import Engine
from driftglm.distributed.shards import Shards
from driftglm.distributed.wire import NO_ANSWER
from driftglm.exceptions import DataError
from driftglm.fitting import worker_rows
from driftglm.tables.shards import write_shards

pytest.importorskip("dask")


class Done:
    """A future whose result is there."""

    def __init__(self, value):
        self.value = value


class HereClient:
    """Does at once what it is asked for, as one of two workers."""

    status, dashboard_link = "running", None
    repeats = None

    def __init__(self):
        self.past = []

    def submit(self, function, *args, **_):
        """With `repeats`, a random generator: do some earlier tasks again, before and after."""
        self._repeat()
        done = Done(function(*args))
        self.past.append((function, args))
        self._repeat()
        return done

    def _repeat(self):
        if self.repeats is not None and self.past:
            for k in self.repeats.integers(0, len(self.past), 2):
                function, args = self.past[k]
                function(*args)

    def compute(self, block, **_):
        return block.compute()

    def scheduler_info(self, **_):
        return {"workers": {"one": 0, "two": 0}}

    def run(self, function, *args, **_):
        function(*args)
        self._repeat()


class HereEngine(Engine):
    """An engine that has nobody to wait for, and may lose what it has."""

    lose: dict
    asked: int = 0
    last = None
    _wire = SimpleNamespace(ask=lambda _, jobs, *__: dict.fromkeys(jobs, NO_ANSWER))

    def _finished(self, plans):
        return [submit(home).value for home, submit in plans]

    def ask(self, *args, **kwargs):
        type(self).asked += 1
        type(self).last = self
        for number in self.lose.get(self.asked, ()):
            worker._STORES[self.fit_id].partitions.pop(number, None)
        return super().ask(*args, **kwargs)


@pytest.fixture
def here(monkeypatch, tmp_path):
    """Fits on "workers" in this process; what is returned says when to lose which partitions."""
    where = SimpleNamespace(
        address="here", local_directory=tmp_path, memory_manager=SimpleNamespace(memory_limit=None)
    )
    monkeypatch.setattr(worker, "_worker", lambda: where)
    monkeypatch.setattr(worker, "_STORES", {})
    monkeypatch.setattr(worker_rows, "client_for", lambda _: contextlib.nullcontext(HereClient()))
    monkeypatch.setattr(worker_rows, "Engine", HereEngine)
    HereEngine.lose, HereEngine.asked = {}, 0
    yield where
    assert not worker._STORES
    assert not list(tmp_path.glob("driftglm-*"))


def rows(counts=False, n_features=24, n_rows=200):
    rng = np.random.default_rng(2)
    time = np.sort(rng.integers(0, 4, n_rows))
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.5)
    X[:, 3:6] += 2.0
    eta = (time - 1.5) * 0.6 * X[:, 0] + X[:, 1] + X[:, 10:].sum(axis=1) * 0.1
    y = rng.poisson(np.exp(0.3 * eta)) if counts else eta + 0.3 * rng.normal(size=n_rows)
    return X, y, time


def fit(model, X, y, time, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that were not enough
        return model.fit(X, y, time=time, **more)


MAKERS = pytest.mark.parametrize("maker", [DriftRegressor, DriftPoissonRegressor])


@MAKERS
@pytest.mark.parametrize("prior", ["learned", "exact"])
def test_files_instead_of_memory_give_the_same_fit(here, monkeypatch, maker, prior):
    X, y, time = rows(counts=maker is DriftPoissonRegressor)
    given = {"max_iter": 12, "prior": prior, "init": "zero"}
    near = fit(maker(**given), X, y, time)
    monkeypatch.setattr(storage, "N_AT_ONCE", 300)
    monkeypatch.setattr(far_design, "MOST_FIXED", 7)
    monkeypatch.setattr(far_design, "MOST_MOVING", 5)
    here.memory_manager.memory_limit = 1
    far = fit(maker(**given), sp.csr_matrix(X), y, time, n_workers=2)
    assert_allclose(far.coef_path_, near.coef_path_, rtol=0, atol=1e-10)
    assert_allclose(far.objective_history_, near.objective_history_, rtol=1e-8)


@MAKERS
@pytest.mark.usefixtures("here")
def test_what_is_lost_at_any_moment_is_told_again(monkeypatch, maker):
    monkeypatch.setattr(far_design, "MOST_FIXED", 7)
    monkeypatch.setattr(far_design, "MOST_MOVING", 5)
    X, y, time = rows(counts=maker is DriftPoissonRegressor)
    whole = fit(maker(max_iter=6), X, y, time, n_workers=2)
    n_asked, HereEngine.asked = HereEngine.asked, 0
    HereEngine.lose = {k: {k % 4, (k // 3) % 4} for k in range(1, n_asked + 1)}
    broken = fit(maker(max_iter=6), X, y, time, n_workers=2)
    # Partitions are added up in their order, whoever has them: no digit differs.
    assert_array_equal(broken.coef_path_, whole.coef_path_)
    assert_array_equal(broken.objective_history_, whole.objective_history_)


@MAKERS
@pytest.mark.usefixtures("here")
def test_tasks_that_are_done_again_too_late_change_nothing(monkeypatch, maker):
    """As Dask does with finished tasks whose results died with a worker."""
    monkeypatch.setattr(far_design, "MOST_FIXED", 7)
    monkeypatch.setattr(far_design, "MOST_MOVING", 5)
    X, y, time = rows(counts=maker is DriftPoissonRegressor)
    whole = fit(maker(max_iter=4), X, y, time, n_workers=2)
    n_asked, HereEngine.asked = HereEngine.asked, 0
    HereEngine.lose = {k: {k % 4} for k in range(1, n_asked + 1, 3)}
    monkeypatch.setattr(HereClient, "repeats", np.random.default_rng(0))
    late = fit(maker(max_iter=4), X, y, time, n_workers=2)
    assert_array_equal(late.coef_path_, whole.coef_path_)
    assert_array_equal(late.objective_history_, whole.objective_history_)


@pytest.mark.usefixtures("here")
def test_several_classes():
    X, y, time = rows(counts=True, n_features=9)
    y = np.minimum(y, 2)
    near = fit(DriftClassifier(extrapolate="forecast", max_iter=6), X, y, time)
    far = fit(DriftClassifier(extrapolate="forecast", max_iter=6), X, y, time, n_workers=2)
    assert_allclose(far.coef_path_, near.coef_path_, rtol=0, atol=1e-8)


@pytest.mark.usefixtures("here")
def test_bytes_of_a_pass_are_those_of_the_formula(monkeypatch):
    """docs/distributed.md, section "What moves", a pass of a Gaussian fit over all features."""
    monkeypatch.setattr(far_design, "MOST_FIXED", 8)
    X, y, time = rows(n_rows=600)
    passes = []
    updates = far_design.WorkerDesign.update_blocks

    def counted(self, order, *args, **kwargs):
        traffic = self.engine.traffic
        before = traffic.sent, traffic.received
        yield from updates(self, order, *args, **kwargs)
        if order.size == X.shape[1]:
            passes.append((traffic.sent - before[0], traffic.received - before[1]))

    monkeypatch.setattr(far_design.WorkerDesign, "update_blocks", counted)
    fit(DriftRegressor(extrapolate="forecast", max_iter=12), X, y, time, n_workers=2)
    engine = HereEngine.last
    n, p, m, parts = 600, X.shape[1], 8, engine.count
    steps = sum(seen.size for seen in engine.seen)
    sent = 8 * n + 8 * p * parts + 8 * p * (parts + steps)
    first, later = 4 * p * (m + 1) * steps, 8 * p * steps + 8 * n
    assert_allclose(passes[0], [sent, first + later + 8 * p * steps], rtol=0.2)
    assert passes[1][1] == later  # Gram matrices were kept
    assert passes[1][0] <= 1.2 * sent


@pytest.mark.usefixtures("here")
def test_a_folder_of_shards_is_fitted_part_by_part(tmp_path):
    X, y, time = rows(n_features=4)
    table = np.column_stack([y, time, X])
    head = "y,year,a,b,c,d"
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header=head, comments="", fmt="%.17g")
    write_shards(tmp_path / "rows.csv", tmp_path / "shards", rows=60, time="year")
    near = fit(DriftRegressor(extrapolate="forecast"), X, y, time)
    far = fit(DriftRegressor(extrapolate="forecast"), tmp_path / "shards", "y", None)
    assert_allclose(far.coef_path_, near.coef_path_, atol=1e-8)
    some = Shards(tmp_path / "shards", columns=("a", "b"))
    assert fit(DriftRegressor(extrapolate="forecast"), some, "y", "year").coef_path_.shape == (4, 2)
    with pytest.raises(DataError, match="y='z' is no column of the shards"):
        fit(DriftRegressor(extrapolate="forecast"), tmp_path / "shards", "z", None)
    with pytest.raises(DataError, match="holds no shards"):
        fit(DriftRegressor(extrapolate="forecast"), tmp_path, "y", None)


def test_a_folder_that_is_not_there_is_named_before_a_cluster_is_asked_for():
    with pytest.raises(DataError, match="the folder 'no-such-folder' has no"):
        DriftRegressor(extrapolate="forecast").fit("no-such-folder", "y")


def test_a_worker_that_does_not_answer_does_not_hold_up_the_end_of_a_fit(monkeypatch):
    pytest.importorskip("distributed")
    stopped, told = threading.Event(), []

    def run(function, *args, **_):
        told.append((function, *args))
        stopped.wait(60.0)

    monkeypatch.setattr(engine_module, "FAREWELL", 1.0)
    client = SimpleNamespace(status="running", run=run)
    closing = Engine(client, [], [], [], [])
    began = clock.perf_counter()
    closing.close()
    assert clock.perf_counter() - began < 10.0
    assert told == [(worker.forget, closing.fit_id)]
    stopped.set()
