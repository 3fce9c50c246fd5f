"""Intercepts against dense Gaussian algebra."""

import numpy as np
from numpy.testing import assert_allclose

from driftglm.priors import Fixed
from driftglm.solvers.intercepts import forecast_of_dynamics, intercept_information


def test_a_forecast_is_that_of_the_joint_gaussian(rng):
    """A wide constant stands for the flat one; deviations are a stationary AR(1)."""
    h, b, variance, rho, n = rng.uniform(1, 3, 4), rng.normal(size=4), 0.5, 0.7, 2
    steps = np.arange(4 + n)
    prior = 1e8 + variance * rho ** np.abs(steps[:, None] - steps)
    precision = np.diag(np.r_[h, np.zeros(n)])
    covariance = np.linalg.solve(np.eye(6) + prior @ precision, prior)
    mean = covariance @ np.r_[b, np.zeros(n)]
    found = forecast_of_dynamics((variance, rho), h, b, n)
    assert_allclose(found, [mean[-1], covariance[-1, -1]], rtol=1e-5)


def test_information_is_curvature_and_linear_term_of_the_likelihood(mode_problem, off_zero, rng):
    objective = mode_problem(rng, Fixed(), intercepts=2, given=0.5)
    state = off_zero(objective)
    state.intercept_mean[1] = 0.7
    score, curvature = objective.score(state), objective.curvature(state)
    h, b, _ = intercept_information(objective, state, 1, score, curvature)
    column, weights = objective.intercepts.columns[1], objective.weights
    expected = objective.design.by_step(weights * column**2) / 0.5
    assert_allclose(h, expected)
    slope = objective.design.by_step(score * column) / 0.5
    assert_allclose(b - h * 0.7, slope)
