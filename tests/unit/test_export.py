"""`to_xarray`: every number under its own labels."""

import warnings

import numpy as np
import pandas as pd
import pytest

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor

MONTHS = pd.period_range("2001-11", periods=4, freq="M")
TIME = MONTHS[np.repeat(np.arange(4), 15)]
NAMES = ["a", "b_$", "c"]
X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=NAMES)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_a_regression_has_time_and_feature():
    y = X["a"] + 0.1 * X["c"]
    model = DriftRegressor(max_iter=5).fit(X, y, time=TIME)
    found = model.to_xarray()
    assert dict(found.sizes) == {"time": 4, "feature": 3}
    assert found["coef"].sel(feature="b_$", time="2001-12-01").item() == model.coef_path_[1, 1]
    np.testing.assert_array_equal(found["coef_std"], model.coef_std_path_)
    np.testing.assert_array_equal(found["intercept"], model.intercept_path_)
    np.testing.assert_array_equal(found["coef_next"], model.coef_)
    assert found["intercept_next"].item() == model.intercept_
    assert found["autocorrelation"].dims == found["inclusion_probability"].dims == ("feature",)
    assert found.attrs == {"model": "DriftRegressor", "prior": "learned"}
    found["coef"][:] = 0.0  # a copy: the model is not touched
    assert model.coef_path_.any()


def test_a_mode_has_no_deviations_and_one_step_is_enough():
    model = DriftPoissonRegressor(prior="fixed").fit(X.to_numpy(), np.arange(60) % 5)
    found = model.to_xarray()
    assert "coef_std" not in found
    assert list(found["feature"].values) == ["x0", "x1", "x2"]
    assert found.sizes["time"] == 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_a_dimension_if_there_are_several(n_classes):
    y = np.array(["low", "mid", "top"])[np.arange(60) % n_classes]
    model = DriftClassifier(max_iter=3).fit(X, y, time=TIME)
    found = model.to_xarray()
    if n_classes == 2:
        assert found["coef"].dims == ("time", "feature")
        assert found["coef_next"].shape == (3,)
    else:
        assert found["coef"].dims == ("time", "class", "feature")
        np.testing.assert_array_equal(found["coef"].sel({"class": "mid"}), model.coef_path_[:, 1])
        assert found["intercept_next"].dims == ("class",)


def test_ordered_categories_become_texts():
    time = pd.Categorical(np.repeat(["old", "new"], 30), ["old", "new", "later"], ordered=True)
    found = DriftRegressor(max_iter=3).fit(X, X["a"], time=time).to_xarray()
    assert list(found["time"].values) == ["old", "new"]
