"""Intervals of coefficients and predictions with the learned prior."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import norm

from driftglm import DriftRegressor
from driftglm.exceptions import DataError
from driftglm.simulate import simulate_panel

N_STEPS = 8


# ------------------------------------------------------------------------------------- intervals


def test_intervals_have_the_promised_shapes(fitted, rows):
    assert fitted.coef_interval().shape == (2, N_STEPS, 6)
    assert fitted.predict_interval(rows.X).shape == (rows.y.size, 2)
    assert fitted.predict_interval(rows.X[:3], time=[2000, 2007, 2030]).shape == (3, 2)


def test_intervals_are_nested_in_their_level(fitted, rows):
    levels = (0.2, 0.5, 0.9, 0.99)
    for inner, outer in itertools.pairwise(levels):
        small, large = fitted.coef_interval(inner), fitted.coef_interval(outer)
        assert (large[0] <= small[0]).all()
        assert (large[1] >= small[1]).all()
        small = fitted.predict_interval(rows.X, level=inner)
        large = fitted.predict_interval(rows.X, level=outer)
        assert (large[:, 0] < small[:, 0]).all()
        assert (large[:, 1] > small[:, 1]).all()


@pytest.mark.parametrize("step", [0, 4, N_STEPS - 1, N_STEPS + 2])
def test_a_prediction_interval_adds_up_coefficients_level_and_noise(step, rows):
    fitted = DriftRegressor(noise="constant", extrapolate="forecast").fit(
        rows.X, rows.y, time=rows.time
    )
    X, time = rows.X[:20] * 3, np.full(20, 2000 + step)
    interval = fitted.predict_interval(X, time=time, level=0.9)
    assert_allclose(interval.mean(axis=1), fitted.predict(X, time=time), rtol=1e-9, atol=1e-12)
    at = fitted._fits[0].at(step)
    centered = X - at.center
    variance = centered**2 @ at.coef_variance + at.intercept_variance + fitted.noise_variance_
    # Coefficients are judged jointly: their errors go together.
    variance += ((centered @ at.joint) ** 2).sum(axis=1)
    assert_allclose(np.ptp(interval, axis=1), 2 * norm.ppf(0.95) * np.sqrt(variance), rtol=1e-9)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 1.5, 90, np.nan])
def test_a_level_that_is_no_probability_is_refused(level, fitted, rows):
    with pytest.raises(DataError, match="level="):
        fitted.coef_interval(level)
    with pytest.raises(DataError, match="level="):
        fitted.predict_interval(rows.X, level=level)


def test_sparse_rows_have_the_same_intervals(fitted, rows):
    expected = fitted.predict_interval(rows.X)
    assert_allclose(fitted.predict_interval(sp.csr_array(rows.X)), expected, rtol=1e-9)


def test_intervals_of_a_mode_do_not_exist(rows):
    model = DriftRegressor(prior="exact").fit(rows.X, rows.y, time=rows.time)
    with pytest.raises(DataError, match="no intervals"):
        model.predict_interval(rows.X)
    with pytest.raises(AttributeError, match="no standard deviations"):
        model.coef_interval()


def test_intervals_cover_what_they_should():
    """Pooled over 20 panels drawn from the model; a 90 % interval, standard error about 1 %."""
    coef, intercept, new = [], [], []
    for seed in range(20):
        data = simulate_panel(
            n_timesteps=6, rows_per_step=100, n_features=12, n_active=4, random_state=seed
        )
        model = DriftRegressor().fit(data.X, data.y, time=data.time)
        lower, upper = model.coef_interval(0.9)
        active = data.coef_path.any(axis=0)
        truth = data.coef_path[:-1, active]
        coef.append((lower[:, active] <= truth) & (truth <= upper[:, active]))
        lower, upper = model.predict_interval(data.X_next).T
        new.append((lower <= data.y_next) & (data.y_next <= upper))
        fit = model._fits[0]
        truth = data.intercept_path[:-1] + (data.coef_path[:-1] * fit.columns.center).sum(axis=1)
        error = fit.intercepts.mean[0] + fit.columns.target_center - truth
        intercept.append(np.abs(error) <= norm.ppf(0.95) * np.sqrt(fit.intercepts.variance[0]))
    assert 0.80 <= np.mean(coef) <= 0.95
    assert 0.82 <= np.mean(intercept) <= 0.96
    assert 0.85 <= np.mean(new) <= 0.95
