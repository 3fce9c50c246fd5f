"""Ridge over time (the Fixed prior) against dense algebra, scikit-learn and a Kalman smoother.

With scale and autocorrelation given, a Gaussian fit is one linear system. Everything here has a
second source: numpy on the full (p T x p T) matrix, scikit-learn where the chain falls apart into
ridge regressions, and statsmodels' smoother, where the same chain is a state-space model.
"""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

from driftglm import DriftRegressor
from driftglm.design import ColumnDesign
from driftglm.families import Gaussian
from driftglm.objective import Intercepts, Noise, Objective
from driftglm.priors import Fixed
from driftglm.solvers import BlockSolver, LBFGSSolver

BOUNDARIES = pytest.mark.parametrize("boundary", ["pinned", "stationary"])
NOISE = 0.3
TIGHT = {"tol": 1e-11, "max_iter": 100_000, "noise": NOISE}


def panel(rng, n_features, n_timesteps, rows_per_step=8):
    """Correlated columns, a drifting truth, steps in no order."""
    codes = rng.permutation(np.repeat(np.arange(n_timesteps), rows_per_step))
    X = rng.normal(size=(codes.size, n_features)) + 0.5 * rng.normal(size=(codes.size, 1))
    truth = rng.normal(size=(n_timesteps, n_features)).cumsum(axis=0)
    y = (X * truth[codes]).sum(axis=1) + np.sqrt(NOISE) * rng.normal(size=codes.size)
    return X, y, codes


def chain_precision(prior, n_timesteps):
    """The prior's precision, written down from its definition."""
    rho, steps = prior.autocorrelation, np.arange(n_timesteps)
    if prior.boundary == "stationary":
        return np.linalg.inv(prior.scale * rho ** np.abs(steps[:, None] - steps))
    alpha = -rho / (1 + rho**2)
    return (
        np.eye(n_timesteps) + alpha * (np.eye(n_timesteps, k=1) + np.eye(n_timesteps, k=-1))
    ) / (prior.scale)


def time_expanded(X, codes, n_timesteps):
    """One column per feature and step, feature by feature."""
    out = np.zeros((X.shape[0], X.shape[1], n_timesteps))
    out[np.arange(X.shape[0]), :, codes] = X
    return out.reshape(X.shape[0], -1)


def dense_mode(X, y, codes, prior, n_timesteps, weights=None):
    """(T, p) from the normal equations of the whole path."""
    weights = np.ones(y.size) if weights is None else weights
    wide = time_expanded(X, codes, n_timesteps)
    precision = np.kron(np.eye(X.shape[1]), chain_precision(prior, n_timesteps))
    system = (wide.T * weights) @ wide / NOISE + precision
    return np.linalg.solve(system, wide.T @ (weights * y) / NOISE).reshape(X.shape[1], -1).T


@BOUNDARIES
@pytest.mark.parametrize(("n_features", "n_timesteps"), [(1, 1), (1, 7), (3, 2), (3, 6), (12, 5)])
@pytest.mark.parametrize(("scale", "rho"), [(1.0, 0.9), (0.05, 0.5), (4.0, 0.99)])
def test_path_solves_the_dense_normal_equations(n_features, n_timesteps, scale, rho, boundary, rng):
    X, y, codes = panel(rng, n_features, n_timesteps)
    prior = Fixed(scale=scale, autocorrelation=rho, boundary=boundary)
    model = DriftRegressor(prior=prior, fit_intercept=False, **TIGHT).fit(X, y, time=codes)
    expected = dense_mode(X, y, codes, prior, n_timesteps)
    assert_allclose(model.coef_path_, expected, rtol=1e-8, atol=1e-8)


@BOUNDARIES
def test_weights_and_empty_steps_enter_the_normal_equations(boundary, rng):
    X, y, codes = panel(rng, 3, 7)
    keep = ~np.isin(codes, [2, 5])
    X, y, codes = X[keep], y[keep], codes[keep]
    weights = rng.uniform(0.2, 3.0, size=y.size)
    prior = Fixed(autocorrelation=0.8, boundary=boundary)
    model = DriftRegressor(prior=prior, fit_intercept=False, **TIGHT)
    model.fit(X, y, time=codes, sample_weight=weights)
    expected = dense_mode(X, y, codes, prior, 7, weights)
    assert_allclose(model.coef_path_, expected, rtol=1e-8, atol=1e-8)


def smoothed_by_statsmodels(X, y, codes, prior, n_timesteps):
    """E[beta_t | all y] of the state-space model of a path: AR(1), observed through x."""
    n_features, rho = X.shape[1], prior.autocorrelation
    rows = [np.flatnonzero(codes == t) for t in range(n_timesteps)]
    n_most = max(len(members) for members in rows)
    endog = np.full((n_timesteps, n_most), np.nan)  # statsmodels skips missing observations
    design = np.zeros((n_most, n_features, n_timesteps))
    for t, members in enumerate(rows):
        endog[t, : len(members)] = y[members]
        design[: len(members), :, t] = X[members]
    smoother = KalmanSmoother(k_endog=n_most, k_states=n_features)
    smoother.bind(endog)
    smoother["design"] = design
    smoother["obs_cov"] = NOISE * np.eye(n_most)
    smoother["transition"] = rho * np.eye(n_features)
    smoother["selection"] = np.eye(n_features)
    smoother["state_cov"] = prior.scale * (1 - rho**2) * np.eye(n_features)
    smoother.initialize_known(np.zeros(n_features), prior.scale * np.eye(n_features))
    return smoother.smooth().smoothed_state.T


@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize(("scale", "rho"), [(1.0, 0.9), (0.3, 0.5), (2.0, 0.98)])
def test_stationary_path_is_statsmodels_kalman_smoother(n_features, scale, rho, rng):
    X, y, codes = panel(rng, n_features, 10, rows_per_step=4)
    prior = Fixed(scale=scale, autocorrelation=rho, boundary="stationary")
    model = DriftRegressor(prior=prior, fit_intercept=False, **TIGHT).fit(X, y, time=codes)
    expected = smoothed_by_statsmodels(X, y, codes, prior, 10)
    assert_allclose(model.coef_path_, expected, rtol=1e-6, atol=1e-6)


def test_kalman_smoother_agrees_across_empty_and_unequal_steps(rng):
    X, y, codes = panel(rng, 3, 8, rows_per_step=5)
    keep = ~np.isin(codes, [3, 4]) & (rng.random(codes.size) < 0.7) | (codes == 7)
    X, y, codes = X[keep], y[keep], codes[keep]
    prior = Fixed(autocorrelation=0.85, boundary="stationary")
    model = DriftRegressor(prior=prior, fit_intercept=False, **TIGHT).fit(X, y, time=codes)
    expected = smoothed_by_statsmodels(X, y, codes, prior, 8)
    assert_allclose(model.coef_path_, expected, rtol=1e-6, atol=1e-6)


@BOUNDARIES
def test_without_autocorrelation_every_step_is_scikit_learns_ridge(boundary, rng):
    X, y, codes = panel(rng, 4, 5)
    prior = Fixed(scale=0.4, autocorrelation=0.0, boundary=boundary)
    model = DriftRegressor(prior=prior, fit_intercept=False, **TIGHT).fit(X, y, time=codes)
    for t in range(5):
        ridge = Ridge(alpha=NOISE / 0.4, fit_intercept=False).fit(X[codes == t], y[codes == t])
        assert_allclose(model.coef_path_[t], ridge.coef_, rtol=1e-8, atol=1e-9)


@BOUNDARIES
@pytest.mark.parametrize("time", [None, "one label"])
def test_one_step_is_scikit_learns_ridge(time, boundary, rng):
    X, y, _ = panel(rng, 4, 3)
    labels = None if time is None else np.full(y.size, 1999)
    # At T = 1 there is nothing to correlate: rho must not matter.
    prior = Fixed(scale=0.7, autocorrelation=0.9, boundary=boundary)
    model = DriftRegressor(prior=prior, fit_intercept=False, **TIGHT).fit(X, y, time=labels)
    ridge = Ridge(alpha=NOISE / 0.7, fit_intercept=False).fit(X, y)
    assert_allclose(model.coef_path_, ridge.coef_[None], rtol=1e-8, atol=1e-9)
    assert_allclose(model.predict(X), ridge.predict(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 50.0, -1e4])
def test_the_intercept_of_one_step_is_not_penalised(offset, rng):
    X, y, _ = panel(rng, 4, 3)
    X, y = X + 1.5, y + offset
    prior = Fixed(scale=0.2, autocorrelation=0.9)
    model = DriftRegressor(prior=prior, **TIGHT).fit(X, y)
    ridge = Ridge(alpha=NOISE / 0.2, fit_intercept=True, tol=1e-12).fit(X, y)
    assert_allclose(model.coef_, ridge.coef_, rtol=1e-7, atol=1e-8)
    assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-8, atol=1e-8)


def objective_with_intercept(X, y, codes, prior, n_timesteps):
    design, order = ColumnDesign.from_matrix(X, codes, n_timesteps)
    return Objective(
        design=design,
        family=Gaussian(),
        prior=prior,
        intercepts=Intercepts(np.ones((1, y.size)), np.array([False]), np.array([y.var()])),
        noise=Noise(given=NOISE, reference=float(y.var())),
        y=y[order],
        weights=np.ones(y.size),
        offset=np.zeros(y.size),
        reference=float(y.var()),
        effective_rows=float(y.size),
        static=np.zeros(X.shape[1], bool),
    )


def dense_mode_with_intercept(X, y, codes, prior, dynamics, n_timesteps):
    """Paths (p, T) and intercept (T,) at once; the intercept's flat part is given a flat prior."""
    variance, rho = dynamics
    steps = np.arange(n_timesteps)
    inverse = np.linalg.inv(variance * rho ** np.abs(steps[:, None] - steps))
    ones = inverse.sum(axis=1)
    intercept_precision = inverse - np.outer(ones, ones) / ones.sum()
    wide = time_expanded(np.column_stack([X, np.ones(y.size)]), codes, n_timesteps)
    system = wide.T @ wide / NOISE
    size = X.shape[1] * n_timesteps
    system[:size, :size] += np.kron(np.eye(X.shape[1]), chain_precision(prior, n_timesteps))
    system[size:, size:] += intercept_precision
    paths = np.linalg.solve(system, wide.T @ y / NOISE).reshape(-1, n_timesteps)
    return paths[:-1], paths[-1]


@pytest.mark.parametrize("empty", [(), (2, 3)])
def test_intercept_and_paths_solve_the_joint_dense_system(empty, rng):
    X, y, codes = panel(rng, 3, 7)
    y = y + 5.0 + np.sin(codes)
    keep = ~np.isin(codes, empty)
    X, y, codes = X[keep], y[keep], codes[keep]
    prior = Fixed(scale=0.5, autocorrelation=0.8, boundary="stationary")
    objective = objective_with_intercept(X, y, codes, prior, 7)
    result = BlockSolver().solve(objective, objective.start(), max_iter=50_000, tol=1e-11)
    dynamics = result.state.intercept_dynamics[0]
    assert dynamics[0] > 0, "the intercept must drift here, or the test says little"
    paths, intercept = dense_mode_with_intercept(X, y, codes, prior, dynamics, 7)
    assert_allclose(result.state.beta, paths, rtol=1e-6, atol=1e-7)
    assert_allclose(result.state.intercept_mean[0], intercept, rtol=1e-6, atol=1e-7)


@BOUNDARIES
@pytest.mark.parametrize("intercept", [False, True])
def test_both_solvers_find_the_one_maximum(boundary, intercept, rng):
    X, y, codes = panel(rng, 5, 6)
    prior = Fixed(scale=0.5, autocorrelation=0.8, boundary=boundary)
    objective = objective_with_intercept(X, y, codes, prior, 6)
    if not intercept:
        none = Intercepts(np.empty((0, y.size)), np.empty(0, bool), np.empty(0))
        objective = dataclasses.replace(objective, intercepts=none)
    block = BlockSolver().solve(objective, objective.start(), max_iter=50_000, tol=1e-10)
    lbfgs = LBFGSSolver().solve(objective, objective.start(), max_iter=50_000, tol=1e-9)
    assert_allclose(lbfgs.history[-1], block.history[-1], rtol=1e-10)
    # With an intercept the two may settle its dynamics on different points of a flat likelihood.
    assert_allclose(lbfgs.state.beta, block.state.beta, rtol=1e-6, atol=1e-6)
