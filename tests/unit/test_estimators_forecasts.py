"""Forecasts of steps after the last with the learned prior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftRegressor
from driftglm.priors import Learned

N_STEPS = 8


# ------------------------------------------------------------------------------------- forecasts


def kernel_matrix(static, dynamic, rho, n):
    steps = np.arange(n)
    chain = dynamic * rho ** np.abs(steps[:, None] - steps) if dynamic > 0 else np.zeros((n, n))
    return static + chain


def dense_forecast(fit, i, n_steps):
    """Mean and variance of path i after the last step: its posterior, extended by empty steps."""
    h = np.concatenate([fit.h[i], np.zeros(n_steps)])
    b = np.concatenate([fit.b[i], np.zeros(n_steps)])
    components, mean, square = fit.components, 0.0, 0.0
    for k in range(components.count):
        K = kernel_matrix(components.static[k], components.dynamic[k], components.rho[k], h.size)  # noqa: N806
        V = np.linalg.solve(np.eye(h.size) + K * h, K)  # noqa: N806
        m = V @ b
        mean += fit.phi[i, k] * m[-1]
        square += fit.phi[i, k] * (V[-1, -1] + m[-1] ** 2)
    return mean / fit.unit[i], (square - mean**2) / fit.unit[i] ** 2


@pytest.mark.parametrize("n_steps", [1, 2, 7])
def test_forecasts_are_the_posterior_extended_by_empty_steps(n_steps, fitted):
    fit = fitted._fits[0]
    ahead = fit.ahead(n_steps)
    for i in range(6):
        mean, variance = dense_forecast(fit, i, n_steps)
        assert_allclose(ahead.coef[i], mean, rtol=1e-8, atol=1e-12)
        assert_allclose(ahead.total_variance[i], variance, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("prior", [Learned(), Learned(shares=(0.5, 1.0), correlations=(0.7,))])
def test_forecasting_is_fitting_with_empty_steps_at_the_end(prior, rows):
    n_more = 4
    later = 2000 + N_STEPS + np.arange(n_more)
    X = np.vstack([rows.X, np.ones((n_more, 6))])
    weights = np.concatenate([np.ones(rows.y.size), np.zeros(n_more)])
    short = DriftRegressor(prior=prior, always_in=[2]).fit(rows.X, rows.y, time=rows.time)
    long = DriftRegressor(prior=prior, always_in=[2]).fit(
        X,
        np.concatenate([rows.y, np.zeros(n_more)]),
        time=np.concatenate([rows.time, later]),
        sample_weight=weights,
    )
    assert long.coef_path_.shape[0] == N_STEPS + n_more
    # Steps without rows change nothing but rounding in the fit itself.
    assert_array_equal(long._fits[0].components.dynamic, short._fits[0].components.dynamic)
    assert_allclose(long.coef_path_[:N_STEPS], short.coef_path_, rtol=1e-8, atol=1e-8)
    for n in range(1, n_more + 1):
        ahead = short._fits[0].ahead(n)
        assert_allclose(ahead.coef, long.coef_path_[N_STEPS - 1 + n], rtol=1e-6, atol=1e-7)
        std = long.coef_std_path_[N_STEPS - 1 + n]
        assert_allclose(np.sqrt(ahead.total_variance), std, rtol=1e-5, atol=1e-6)
        # The intercept's forecast starts from the end of the fit, its path from its last
        # update; and it weighs the intercept at one fixed point, not at the centers of the steps.
        own = short._fits[0].intercepts.averaged_ahead(n, None)
        assert_allclose(own[0], long._fits[0].intercepts.mean[:, N_STEPS - 1 + n], rtol=1e-4)
        assert_allclose(own[1], long._fits[0].intercepts.variance[:, N_STEPS - 1 + n], rtol=1e-3)


def test_forecasts_shrink_to_the_static_part_and_grow_uncertain(fitted):
    horizons = [1, 2, 3, 5, 10, 30]
    fit = fitted._fits[0]
    limit = fit.ahead(2000)
    steps = [fit.at(N_STEPS - 1), *(fit.ahead(n) for n in horizons)]
    drifting = [2, 3]
    away = np.abs([step.coef[drifting] - limit.coef[drifting] for step in steps])
    assert (np.diff(away, axis=0) <= 1e-12).all()
    assert (away[-1] < 0.2 * away[0]).all()
    variances = np.array([step.total_variance for step in steps])
    assert (np.diff(variances, axis=0) >= -1e-12).all()
    assert (variances[-1, drifting] > 10 * variances[0, drifting]).all()
    assert (np.diff([step.intercept_variance for step in steps]) >= -1e-12).all()
    # The path around zero loses everything, the one around 1 keeps part of its static share.
    assert abs(limit.coef[3]) < 0.1
    assert limit.coef[2] > 0.3
    # A constant path may drift slowly, with little probability.
    assert_allclose(limit.coef[1], fitted.coef_path_[-1, 1], rtol=5e-3)


def test_predict_uses_the_step_of_every_row(fitted, rows):
    for label, step in [(2000, 0), (2007, 7), (2008, 8), (2011, 11)]:
        at = fitted._fits[0].at(step)
        expected = rows.X @ at.coef + at.intercept
        time = np.full(rows.y.size, label)
        assert_allclose(fitted.predict(rows.X, time=time), expected, rtol=1e-10)


def test_predict_without_time_is_the_next_step(fitted, rows):
    ahead = fitted._fits[0].ahead(1)
    assert_array_equal(fitted.coef_, ahead.coef)
    assert fitted.intercept_ == ahead.intercept
    next_step = np.full(rows.y.size, 2000 + N_STEPS)
    assert_allclose(fitted.predict(rows.X), fitted.predict(rows.X, time=next_step), rtol=1e-12)


def test_holding_keeps_the_last_step_for_ever(rows, fitted):
    held = DriftRegressor(extrapolate="hold").fit(rows.X, rows.y, time=rows.time)
    assert held.extrapolate_ == "hold"
    assert_array_equal(held.coef_path_, fitted.coef_path_)
    assert_array_equal(held.coef_, held.coef_path_[-1])
    assert_allclose(held.intercept_, held.intercept_path_[-1], rtol=1e-12)
    far = held.predict(rows.X, time=np.full(rows.y.size, 2050))
    assert_allclose(held.predict(rows.X), far, rtol=1e-12)
    assert np.abs(held.coef_ - fitted.coef_).max() > 0.01
    forecast = np.ptp(fitted.predict_interval(rows.X), axis=1)
    # The step to come is no more certain for being predicted with the last one's coefficients.
    assert (np.ptp(held.predict_interval(rows.X), axis=1) >= forecast - 1e-12).all()
