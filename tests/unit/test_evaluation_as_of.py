"""Paths as of each step: what was known then, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftglm import DriftRegressor
from driftglm.baselines import RidgeTS
from driftglm.evaluation import as_of_paths
from driftglm.exceptions import DataError


@pytest.fixture
def panel(rng):
    time = np.repeat([2000, 2001, 2002, 2004, 2005], 40)  # nothing in 2003
    X = rng.normal(size=(200, 4))
    y = np.sin(time) * X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=200)
    return X, y, time


@pytest.mark.parametrize("model", [DriftRegressor(prior="exact"), RidgeTS(2.0, 0.9)], ids=repr)
def test_the_last_row_of_a_fit_to_the_rows_up_to_then(panel, model):
    X, y, time = panel
    paths = as_of_paths(model, X, y, time)
    assert paths.timesteps.tolist() == [2000, 2001, 2002, 2003, 2004, 2005]
    for code, year in ((0, 2000), (2, 2002), (4, 2004)):
        known = time <= year
        fitted = type(model)(**model.get_params()).fit(X[known], y[known], time=time[known])
        assert_allclose(paths.as_of[code], fitted.coef_path_[-1])
        assert_allclose(paths.as_of_intercept[code], fitted.intercept_path_[-1])
    assert_allclose(paths.as_of[3], paths.as_of[2])  # nothing was learned in an empty step
    whole = type(model)(**model.get_params()).fit(X, y, time=time)
    assert_allclose(paths.smoothed, whole.coef_path_)
    assert_allclose(paths.smoothed_intercept, whole.intercept_path_)
    assert_allclose(paths.as_of[-1], paths.smoothed[-1])


@pytest.mark.parametrize("warm_start", [True, False])
@pytest.mark.parametrize("prior", ["learned", "exact"])
def test_the_future_moves_the_smoothed_path_only(panel, prior, warm_start):
    X, y, time = panel
    model = DriftRegressor(prior=prior)
    before = as_of_paths(model, X, y, time, first=2, warm_start=warm_start)
    y2 = np.where(time > 2002, -5 * y, y)
    after = as_of_paths(model, X, y2, time, first=2, warm_start=warm_start)
    assert np.isnan(before.as_of[0]).all()
    assert (before.as_of[1:4] == after.as_of[1:4]).all()
    assert (before.as_of[4] != after.as_of[4]).any()
    assert (before.smoothed[2] != after.smoothed[2]).any()


def test_a_warm_start_ends_close_to_a_cold_one(panel):
    X, y, time = panel
    warm, cold = (
        as_of_paths(DriftRegressor(), X, y, time, first=2, warm_start=warm)
        for warm in (True, False)
    )
    assert_allclose(warm.as_of[1], cold.as_of[1])  # both begin with the same fit
    assert np.nanmax(np.abs(warm.as_of - cold.as_of)) < 0.1


def test_as_a_frame(panel):
    X, y, time = panel
    frame = pd.DataFrame(X, columns=list("abcd"))
    table = as_of_paths(RidgeTS(2.0, 0.9), frame, y, time).to_frame()
    assert table.columns.tolist() == ["step", "feature", "as_of", "smoothed"]
    assert len(table) == 6 * 4
    assert table["feature"].tolist()[:5] == ["a", "b", "c", "d", "a"]
    assert table["step"].tolist()[3:5] == [2000, 2001]


def test_pipelines_are_refused(panel):
    with pytest.raises(DataError, match="transform X first"):
        as_of_paths(make_pipeline(StandardScaler(), DriftRegressor()), *panel)
