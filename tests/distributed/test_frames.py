"""Frames of Dask keep the names of their columns, and rows of Dask are predicted where they are."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
import dask  # noqa: E402

NAMES = ["age", "wage", "hours"]


def rows():
    rng = np.random.default_rng(8)
    time = np.repeat([2001, 2002, 2003], 50)
    X = rng.normal(size=(150, 3))
    return X, (time - 2002) * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=150), time


def fit(model, X, y, time, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that were not enough
        return model.fit(X, y, time=time, **more)


def frames(X, ends=(0, 40, 90, 150), names=NAMES):
    table = pd.DataFrame(X, columns=names)
    return [dask.delayed(table.iloc[a:b]) for a, b in pairwise(ends)]


@pytest.mark.usefixtures("client")
def test_columns_of_frames_keep_their_names():
    X, y, time = rows()
    given = {"extrapolate": "forecast", "max_iter": 8, "static": ["wage"], "always_in": ["hours"]}
    near = fit(DriftRegressor(**given), pd.DataFrame(X, columns=NAMES), y, time)
    far = fit(DriftRegressor(**given), frames(X), y, time)
    assert_array_equal(far.feature_names_in_, near.feature_names_in_)
    assert_allclose(far.coef_path_, near.coef_path_, rtol=0, atol=1e-8)
    cut = fit(DriftRegressor(**given), pd.DataFrame(X, columns=NAMES), y, time, n_workers=2)
    assert_array_equal(cut.feature_names_in_, NAMES)
    without = fit(DriftRegressor(extrapolate="forecast"), da.from_array(X, (50, 3)), y, time)
    assert not hasattr(without, "feature_names_in_")


@pytest.mark.usefixtures("client")
def test_parts_whose_columns_are_named_otherwise_are_refused():
    X, y, time = rows()
    parts = [*frames(X, (0, 80)), *frames(X, (80, 150), names=["age", "hours", "wage"])]
    with pytest.raises(DataError, match="columns of partition 1 are not named as those"):
        DriftRegressor(extrapolate="forecast").fit(parts, y, time=time)


@pytest.mark.usefixtures("client")
def test_rows_of_dask_are_predicted_as_those_here():
    X, y, time = rows()
    blocks, labels = da.from_array(X, (40, 2)), da.from_array(time, 70)
    model = fit(DriftRegressor(extrapolate="forecast"), X, y, time)
    assert_allclose(model.predict(blocks, time=labels), model.predict(X, time=time), rtol=1e-12)
    assert_allclose(model.predict(blocks), model.predict(X), rtol=1e-12)
    intervals = model.predict_interval(blocks, time=labels)
    assert_allclose(intervals, model.predict_interval(X, time=time), rtol=1e-12)
    assert_allclose(model.score(blocks, y, time=time), model.score(X, y, time=time), rtol=1e-12)
    frame = fit(DriftRegressor(extrapolate="forecast"), pd.DataFrame(X, columns=NAMES), y, time)
    assert_allclose(frame.predict(frames(X)), model.predict(X), rtol=1e-6)


@pytest.mark.parametrize("maker", [DriftClassifier, DriftPoissonRegressor])
def test_other_families_predict_rows_of_dask_and_need_no_client(maker):
    X, y, time = rows()
    y = np.digitize(y, [-0.5, 0.5])
    blocks, model = da.from_array(X, (60, 3)), fit(maker(extrapolate="forecast"), X, y, time)
    assert_allclose(model.predict(blocks, time=time), model.predict(X, time=time), rtol=1e-12)
    if maker is DriftClassifier:
        assert_allclose(model.predict_proba(blocks), model.predict_proba(X), rtol=1e-12)
    else:
        given = {"exposure": np.linspace(1.0, 2.0, 150), "time": time}
        assert_allclose(model.predict(blocks, **given), model.predict(X, **given), rtol=1e-12)


def test_rows_of_dask_may_have_empty_partitions_and_one_exposure_for_all():
    X, y, time = rows()
    model = fit(DriftPoissonRegressor(extrapolate="forecast"), X, np.digitize(y, [0.0]), time)
    parts = [dask.delayed(X[a:b]) for a, b in pairwise((0, 40, 40, 150, 150))]
    given = {"time": time, "exposure": 2.0}
    assert_allclose(model.predict(parts, **given), model.predict(X, **given), rtol=1e-12)
    intervals = model.predict_interval(parts, **given)
    assert_allclose(intervals, model.predict_interval(X, **given), rtol=1e-12)


@pytest.mark.parametrize("change", [-1, 2])
def test_what_goes_with_rows_of_dask_has_one_value_a_row(change):
    X, y, time = rows()
    model = fit(DriftRegressor(extrapolate="forecast"), X, y, time)
    labels = np.resize(time, time.size + change)
    with pytest.raises(DataError, match=f"X has 150 rows, but {labels.size} values"):
        model.predict(da.from_array(X, (40, 3)), time=labels)
