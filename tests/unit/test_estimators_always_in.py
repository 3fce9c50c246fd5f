"""Features that are constant, or always in."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftRegressor
from driftglm.exceptions import DataError
from driftglm.priors import Learned

# --------------------------------------------------------------------------- static and always in


def test_static_features_do_not_move_and_are_certain_of_it(rows):
    model = DriftRegressor(static=[3, 1]).fit(rows.X, rows.y, time=rows.time)
    assert_allclose(np.ptp(model.coef_path_[:, [1, 3]], axis=0), 0.0, atol=1e-12)
    assert_allclose(np.ptp(model.coef_std_path_[:, [1, 3]], axis=0), 0.0, atol=1e-12)
    assert_allclose(model.coef_path_[0, 1], 1.0, atol=0.2)
    assert_allclose(model.autocorrelation_[1], 1.0, rtol=1e-14)
    ahead = model._fits[0].ahead(5)
    assert_allclose(ahead.coef[[1, 3]], model.coef_path_[-1, [1, 3]], rtol=1e-9, atol=1e-12)
    assert np.ptp(model.coef_path_[:, 2]) > 0.5


def test_static_features_may_all_be_so(rows):
    model = DriftRegressor(static=np.ones(6, bool)).fit(rows.X, rows.y, time=rows.time)
    assert_allclose(np.ptp(model.coef_path_, axis=0), 0.0, atol=1e-12)


def test_a_static_feature_that_truly_drifts_leaves_finite_numbers():
    """Its drifting components, which it may not have, fit better by more than exp can hold."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(6), 50)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * np.linspace(-5, 5, 6)[time] + 0.01 * rng.normal(size=300)
    model = DriftRegressor(static=[0], noise=1e-4).fit(X, y, time=time)
    assert np.isfinite(model.objective_history_).all()
    assert np.isfinite(model.coef_path_).all()


def test_static_features_need_a_constant_component_in_the_prior(rows):
    model = DriftRegressor(static=[0], prior=Learned(shares=(0.0, 0.5)))
    with pytest.raises(DataError, match="constant over time"):
        model.fit(rows.X, rows.y, time=rows.time)


def test_always_in_is_in_even_if_it_is_noise_and_is_not_shrunk(rows):
    """With an intercept and one always-in column nothing else: close to least squares by step."""
    model = DriftRegressor(always_in=[0]).fit(rows.X, rows.y, time=rows.time)
    assert model.inclusion_probability_[0] == 1.0
    free = DriftRegressor(always_in=[2]).fit(rows.X[:, [0, 1, 2]], rows.y, time=rows.time)
    assert free.inclusion_probability_[2] == 1.0
    assert_allclose(free.coef_path_[:, 2], rows.paths[:, 2], atol=0.5)


def test_always_in_may_be_static_too(rows):
    model = DriftRegressor(always_in=[3], static=[3]).fit(rows.X, rows.y, time=rows.time)
    assert model.inclusion_probability_[3] == 1.0
    assert model.autocorrelation_[3] == 1.0
    assert_allclose(np.ptp(model.coef_path_[:, 3]), 0.0, atol=1e-12)
    assert model.summary().set_index("feature")["kind"]["x3"] == "static"


def test_always_in_may_be_everything(rows):
    model = DriftRegressor(always_in=np.ones(6, bool)).fit(rows.X, rows.y, time=rows.time)
    assert_array_equal(model.inclusion_probability_, 1.0)
    assert_allclose(model.coef_path_, rows.paths, atol=0.25)
    assert model.summary().shape == (6, 15)
    assert np.isfinite(model.predict_interval(rows.X)).all()


def test_an_always_in_column_keeps_its_place_and_its_unit(rows):
    model = DriftRegressor(always_in=[3]).fit(rows.X, rows.y, time=rows.time)
    other = DriftRegressor(always_in=[3]).fit(
        rows.X * [1, 1, 1, 1e3, 1, 1] + [0, 0, 0, 50.0, 0, 0], rows.y, time=rows.time
    )
    unit = np.array([1, 1, 1, 1e3, 1, 1])
    assert_allclose(other.coef_path_ * unit, model.coef_path_, rtol=1e-5, atol=1e-6)
    assert_allclose(other.coef_std_path_ * unit, model.coef_std_path_, rtol=1e-5, atol=1e-7)
