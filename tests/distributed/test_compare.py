"""Comparisons on worker processes: the same figures, the same cache, whatever dies."""

import os
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll, WithNormalErrors
from driftglm.distributed.client import Tasks
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import DataError, EngineError
from driftglm.simulate import simulate_panel

distributed = pytest.importorskip("distributed")

PANEL = simulate_panel(n_features=8, rows_per_step=25, n_timesteps=6, random_state=0)
MODELS = {"ridge": Ridge(), "lasso": LassoAll()}
GRIDS = {"ridge": {"alpha": [0.1, 10.0]}}


def compared(models=None, **options):
    models = MODELS if models is None else models
    grids = GRIDS if models is MODELS else None
    splits = RollingOrigin(n_test=2)
    rows = (PANEL.X, PANEL.y, PANEL.time)
    return compare(models, *rows, splits, grids=grids, verbose=False, **options)


def assert_same(found, expected):
    assert found.predictions.equals(expected.predictions)
    assert found.params == expected.params
    assert found.table() == expected.table()


def fits_sent(monkeypatch):
    """The tasks sent to workers from now on, apart from the data."""
    sent = []
    submit = Tasks.submit

    def counted(self, function, *args, **where):
        sent.append(function.__name__)
        return submit(self, function, *args, **where)

    monkeypatch.setattr(Tasks, "submit", counted)
    return lambda: sent.count("piece_of")


def test_on_workers_the_figures_are_those_of_one_process(client):
    expected = compared(n_jobs=1)
    assert_same(compared(client=client), expected)
    assert_same(compared(client="active"), expected)


def test_distributions_are_scored_on_workers(client):
    models = {
        "drift": DriftRegressor(extrapolate="forecast", max_iter=5),
        "normal": WithNormalErrors(LassoAll()),
    }
    expected = compared(models, metric="crps", n_jobs=1)
    found = compared(models, metric="crps", client=client)
    assert_same(found, expected)
    assert found.calibration().equals(expected.calibration())


def test_a_comparison_goes_on_from_its_cache_wherever_it_was_begun(client, monkeypatch, tmp_path):
    expected = compared(n_jobs=1)
    fits = fits_sent(monkeypatch)
    assert_same(compared(client=client, cache_dir=tmp_path), expected)
    # Two candidates and a chain on the dev step, then two models on two steps.
    assert fits() == 3 + 4
    files = sorted(tmp_path.iterdir())
    assert len(files) == fits()
    assert_same(compared(client=client, cache_dir=tmp_path), expected)
    assert fits() == 7
    files[2].unlink()
    assert_same(compared(client=client, cache_dir=tmp_path), expected)
    assert fits() == 8
    assert_same(compared(n_jobs=1, cache_dir=tmp_path), expected)
    assert sorted(tmp_path.iterdir()) == files


def test_an_error_of_a_fit_is_the_one_it_would_be_here(client):
    class Fails(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            raise DataError(f"no luck with {len(X)} rows and {len(y)} targets")

        def predict(self, X):
            return np.zeros(len(X))

    # Both steps fail; on workers either may be the first to say so.
    for how, rows in (({"client": client}, "(100|125)"), ({"n_jobs": 1}, "100")):
        with pytest.raises(DataError, match=f"no luck with {rows} rows and {rows} targets"):
            compared({"fails": Fails()}, **how)
    assert client.submit(max, 1, 2).result(timeout=30) == 2


def test_a_fit_whose_worker_is_killed_is_done_again(client, tmp_path):
    flag = str(tmp_path / "killed")

    class KillsOnce(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            if not Path(flag).exists():
                Path(flag).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            self.mean_ = float(np.mean(y)) if len(X) else 0.0
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    models = {"ridge": Ridge(), "mean": KillsOnce()}
    found = compared(models, client=client)
    assert Path(flag).exists()
    expected = compared(models, n_jobs=1)
    assert_same(found, expected)


def test_warnings_of_workers_are_kept_with_the_figures(client):
    class Warns(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            warnings.warn(f"{X.shape} and {y.shape}: singular", UserWarning, stacklevel=1)
            return self

        def predict(self, X):
            return np.zeros(len(X))

    here, there = (compared({"w": Warns()}, **how) for how in ({"n_jobs": 1}, {"client": client}))
    assert there.warnings == here.warnings
    assert "singular" in there.warnings["w"][0]


@pytest.mark.usefixtures("client")
def test_joblibs_own_backend_gives_the_same():
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_backend("dask"):
        found = compared()
    assert_array_equal(found.predictions["loss"], compared(n_jobs=1).predictions["loss"])


def test_a_client_that_cannot_be_had_is_an_error():
    with pytest.raises(DataError, match="'active' or None"):
        compared(client="127.0.0.1:8786")
    if distributed.client._get_global_client() is None:
        with pytest.raises(EngineError, match="client=None"):
            compared(client="active")
