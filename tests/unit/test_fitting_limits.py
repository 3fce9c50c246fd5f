"""Intervals of coefficients: quantiles of the mixture that a path is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from driftglm import DriftPoissonRegressor, DriftRegressor
from driftglm.simulate import simulate_panel

N_STEPS, N_FEATURES = 8, 8


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    time = np.repeat(np.arange(N_STEPS), 30)
    X = rng.normal(size=(time.size, N_FEATURES))
    # Of effects of every size, so that some may well be zero.
    beta = np.array([1.0, 0.3, 0.18, 0.15, 0.12, 0.1, 0.05, 0.0])
    return X, X @ beta + rng.normal(size=time.size), time


@pytest.fixture(scope="module")
def fitted(rows):
    X, y, time = rows
    return DriftRegressor(extrapolate="forecast").fit(X, y, time=time)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_interval_of_a_coefficient_is_that_of_its_contrast(level, fitted):
    """Contrasts find quantiles of the same mixtures by another way."""
    doubtful = (fitted.inclusion_probability_ > 0.1) & (fitted.inclusion_probability_ < 0.9)
    assert doubtful.sum() >= 2
    lower, upper = fitted.coef_interval(level)
    for i in range(N_FEATURES):
        for step in (0, N_STEPS - 1):
            found = fitted.contrast({(i, step): 1.0}, level=level)
            ends = min(found.lower, found.estimate), max(found.upper, found.estimate)
            # Components less likely than 1e-7 are left out of intervals.
            assert_allclose([lower[step, i], upper[step, i]], ends, atol=1e-5)


def test_the_mean_is_in_its_interval_and_so_is_zero_where_it_is_likely(fitted):
    lower, upper = fitted.coef_interval(0.9)
    assert (lower <= fitted.coef_path_).all()
    assert (upper >= fitted.coef_path_).all()
    unlikely = fitted.inclusion_probability_ < 0.5
    assert unlikely.any()
    assert (lower <= 0)[:, unlikely].all()
    assert (upper >= 0)[:, unlikely].all()


def test_a_path_that_is_next_to_surely_zero_has_an_interval_of_zero_and_its_mean(rng):
    time = np.repeat(np.arange(4), 300)
    X = rng.normal(size=(time.size, 30))
    y = 2 * X[:, 0] + rng.normal(size=time.size)
    model = DriftRegressor(extrapolate="forecast").fit(X, y, time=time)
    lower, upper = model.coef_interval(0.9)
    out, mean = model.inclusion_probability_ < 0.05, model.coef_path_
    assert out.sum() >= 20
    assert_allclose(lower[:, out], np.minimum(mean, 0)[:, out])
    assert_allclose(upper[:, out], np.maximum(mean, 0)[:, out])


def test_shared_directions_are_in_the_interval(rng):
    X = rng.normal(size=(400, 120)) + rng.normal(size=(400, 1))
    y = X @ rng.normal(0.05, 0.02, size=120) + 0.5 * rng.normal(size=400)
    time = np.repeat(np.arange(4), 100)
    model = DriftRegressor(extrapolate="forecast").fit(X, y, time=time)
    shared = model._fits[0].shared
    assert (shared.variance > 0).all()
    out = model.inclusion_probability_ < 0.01
    lower, upper = model.coef_interval(0.9)
    reach = norm.ppf(0.95) * np.sqrt(shared.variance)
    assert_allclose((upper - lower)[0, out], 2 * reach[out], rtol=0.02)


def test_a_column_in_another_unit_has_the_interval_in_that_unit(rows):
    X, y, time = rows
    scale = np.array([1e-3, 1.0, 10.0, 1.0, 1e3, 1.0, 1.0, 1.0])
    one = DriftRegressor(extrapolate="forecast").fit(X, y, time=time).coef_interval()
    other = DriftRegressor(extrapolate="forecast").fit(X / scale, y, time=time).coef_interval()
    assert_allclose(other, one * scale, rtol=1e-5, atol=1e-9)


def test_always_in_features_and_counts_have_intervals():
    panel = simulate_panel(n_features=4, n_active=2, n_timesteps=6, family="poisson")
    model = DriftPoissonRegressor(extrapolate="forecast", always_in=[0])
    model.fit(panel.X, panel.y, time=panel.time)
    lower, upper = model.coef_interval(0.9)
    reach = norm.ppf(0.95) * model.coef_std_path_[:, 0]
    assert_allclose(upper[:, 0] - lower[:, 0], 2 * reach, rtol=1e-9)
    assert (lower <= upper).all()
