"""Shared directions: what all columns together explain, and how intercepts are treated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.fitting import posteriors
from driftglm.fitting.row_order import in_own_order
from driftglm.priors import Learned
from driftglm.solvers.shared import posterior

N_STEPS = 6


def panel(rng, n_rows=300, n_features=120, rank=4, noise=0.5):
    """Columns that share a few factors, each of which y depends on through all columns."""
    factors = rng.normal(size=(n_rows, rank))
    loads = rng.normal(size=(rank, n_features))
    X = factors @ loads + rng.normal(size=(n_rows, n_features))
    eta = factors @ rng.normal(size=rank) * 0.5
    return X, eta, eta + noise * rng.normal(size=n_rows), np.arange(n_rows) * N_STEPS // n_rows


def test_the_posterior_is_that_of_ridge_at_the_variance_of_highest_evidence(rng):
    """Against the marginal distribution of y with a dense covariance matrix."""
    z, noise = rng.normal(size=(40, 3)), 0.3
    y = z @ np.array([0.4, -0.2, 0.3]) + np.sqrt(noise) * rng.normal(size=40)
    h, b = z.T @ z / noise, z.T @ y / noise
    found = posterior(h, b)

    def evidence(v):
        return multivariate_normal.logpdf(y, np.zeros(40), v * z @ z.T + noise * np.eye(40))

    nearby = [evidence(found.variance * factor) for factor in (0.2, 0.9, 1.1, 5.0)]
    assert evidence(found.variance) > max(nearby)
    assert_allclose(found.covariance, np.linalg.inv(h + np.eye(3) / found.variance), atol=1e-10)
    assert_allclose(found.mean, found.covariance @ b, atol=1e-10)
    prior = found.variance * np.eye(3)
    ratio = np.linalg.slogdet(prior)[1] - np.linalg.slogdet(found.covariance)[1]
    squares = np.trace(found.covariance) + found.mean @ found.mean
    assert_allclose(found.divergence, 0.5 * (squares / found.variance - 3 + ratio), atol=1e-10)


def test_shared_directions_that_say_nothing_are_off():
    found = posterior(np.eye(3), np.array([0.1, 0.0, -0.1]))
    assert found.variance == 0.0
    assert not found.mean.any()
    assert found.divergence == 0.0


def test_signal_of_all_columns_is_found_and_predicted(rng):
    X, eta, y, time = panel(rng)
    model = DriftRegressor().fit(X[:250], y[:250], time=time[:250])
    sparse = DriftRegressor(prior=Learned(n_directions=0)).fit(X[:250], y[:250], time=time[:250])
    errors = [np.mean((eta[250:] - each.predict(X[250:])) ** 2) for each in (model, sparse)]
    assert errors[0] < 0.7 * errors[1]
    assert model.objective_history_[-1] > sparse.objective_history_[-1] + 5
    assert_allclose(model.predict(X[250:]), X[250:] @ model.coef_ + model.intercept_, atol=1e-10)


def test_intervals_know_what_rows_share(rng):
    """The variance of a row by hand: own parts one by one, the shared part with its covariance."""
    X, _, y, time = panel(rng)
    model = DriftRegressor(noise="constant", extrapolate="forecast").fit(X, y, time=time)
    step = model._fits[0].ahead(1)
    assert step.joint.shape[1] > 0
    away = X[:5] - step.center
    total = np.diag(step.coef_variance) + step.joint @ step.joint.T
    variance = np.diag(away @ total @ away.T) + step.intercept_variance + model.noise_variance_
    width = np.diff(model.predict_interval(X[:5]), axis=1).ravel()
    assert_allclose(width, 2 * 1.6448536 * np.sqrt(variance), rtol=1e-6)
    assert_allclose(np.sqrt(step.total_variance), np.sqrt(np.diag(total)))


@pytest.mark.parametrize("make", [DriftRegressor, DriftClassifier, DriftPoissonRegressor])
def test_the_bound_rises_with_shared_directions_in_every_family(make, rng):
    X, eta, y, time = panel(rng, noise=0.3)
    if make is DriftClassifier:
        y = np.digitize(y, [-0.7, 0.7])
    if make is DriftPoissonRegressor:
        y = rng.poisson(np.exp(np.clip(eta, -3, 3)))
    model = make().fit(X, y, time=time)
    assert max(fit.shared.root.shape[1] for fit in model._fits) > 0
    rises = np.diff(model.objective_history_)
    assert rises.min() > -1e-7 * abs(model.objective_history_[-1])


def test_few_columns_have_no_shared_directions(rng):
    X, _, y, time = panel(rng, n_features=9)
    assert DriftRegressor().fit(X, y, time=time)._fits[0].shared.root.shape[1] == 0
    with pytest.raises(ValueError, match="n_directions=-1"):
        Learned(n_directions=-1)


# ------------------------------------------------------------------------- views of the intercepts


def persistent(rng, *, free):
    """A column whose mean wanders from step to step; y follows it, or moves by itself."""
    time = np.repeat(np.arange(14), 40)
    wander = np.cumsum(rng.normal(size=14)) * 0.7
    X = wander[time, None] * np.array([1.0, 0.9, 0.8]) + rng.normal(size=(560, 3)) * 0.4
    intercept = 3.0 * rng.normal(size=14) if free else np.zeros(14)
    y = intercept[time] + X @ np.array([0.5, 0.3, 0.1]) + 0.5 * rng.normal(size=560)
    return X, y, time


def test_what_columns_explain_from_step_to_step_is_not_taken_for_an_intercept():
    errors, views = [], []
    for seed in range(6):
        X, y, time = persistent(np.random.default_rng(seed), free=False)
        model = DriftRegressor().fit(X[time < 13], y[time < 13], time=time[time < 13])
        errors.append(np.mean((y - model.predict(X))[time == 13] ** 2))
        views.append(model._forecasters[0].view)
    assert np.mean(errors) < 0.30, "noise alone is 0.25"
    assert views.count("residual") >= 4


def test_intercepts_that_move_by_themselves_are_seen_as_such():
    views = []
    for seed in range(4):
        X, y, time = persistent(np.random.default_rng(seed), free=True)
        views.append(DriftRegressor().fit(X, y, time=time)._forecasters[0].view)
    assert views.count("per-step") >= 3


def test_an_update_keeps_the_view():
    X, y, time = persistent(np.random.default_rng(0), free=False)
    first, later = time < 12, time >= 12
    model = DriftRegressor(keep_data=True).fit(X[first], y[first], time=time[first])
    view = model._forecasters[0].view
    model.update(X[later], y[later], time=time[later])
    assert model._forecasters[0].view == view


@pytest.mark.parametrize("seed", [0, 1])
def test_counts_whose_intercepts_were_constant_first_are_not_stuck_there(seed):
    """Freeing intercepts changes their prior; the next step must not be judged by that fall."""
    rng = np.random.default_rng(seed)
    time = np.arange(300) * N_STEPS // 300
    factors = rng.normal(size=(300, 4)) + 1.5 * rng.normal(size=(N_STEPS, 4))[time]
    X = factors @ rng.normal(size=(4, 120)) + rng.normal(size=(300, 120))
    eta = factors @ rng.normal(size=4) * 0.5
    y = rng.poisson(3.0 * np.exp(np.clip(eta, -4, 4)))
    model = DriftPoissonRegressor().fit(X, y, time=time)
    assert model._forecasters[0].view == "residual"
    assert model.converged_  # a warning, and thus an error, if not
    assert 0 < model._fits[0].intercepts.dynamics[0, 0] < 1, "the intercept may move"


# ------------------------------------------------- what shared directions must not depend on


def test_neither_the_order_of_rows_nor_repeating_them_matters(rng):
    X, _, y, time = panel(rng, n_features=150, rank=8)
    weights = rng.integers(0, 4, size=300)
    once = DriftRegressor().fit(X, y, time=time, sample_weight=weights.astype(float))
    rows = rng.permutation(np.repeat(np.arange(300), weights))
    repeated = DriftRegressor().fit(X[rows], y[rows], time=time[rows])
    assert once._fits[0].shared.root.shape[1] == 7
    assert_allclose(repeated.objective_history_[-1], once.objective_history_[-1], rtol=1e-8)
    assert_allclose(repeated.coef_, once.coef_, atol=1e-6)


def test_the_units_of_columns_do_not_matter(rng):
    X, _, y, time = panel(rng)
    scale = 10.0 ** rng.uniform(-6, 6, size=120)
    model = DriftRegressor().fit(X, y, time=time)
    scaled = DriftRegressor().fit(X * scale, y, time=time)
    assert_allclose(scaled.coef_ * scale, model.coef_, atol=1e-6)


def test_what_a_row_is_expected_to_be_is_what_the_bound_was_computed_with(rng, monkeypatch):
    """eta, its variance and the value of the bound, from the fitted coefficients alone."""
    X, eta, _, time = panel(rng)
    exposure = rng.uniform(0.5, 5.0, size=300)
    y = rng.poisson(exposure * np.exp(np.clip(eta, -3, 3)))
    model = DriftPoissonRegressor(
        always_in=[0], static=[1, 2], extrapolate="forecast", keep_data=True
    )
    attempts, results = [], []
    finished = posteriors._finished

    def spied(attempt, runs):
        attempts.append(attempt)
        results.append(finished(attempt, runs))
        return results[-1]

    monkeypatch.setattr(posteriors, "_finished", spied)
    model.fit(X, y, time=time, exposure=exposure)
    (attempt,), (result,) = attempts, results
    state = result.states[0]
    assert state.shared.variance > 0
    order = in_own_order(model._rows)[1]  # that of the rows inside
    mean, variance = model._eta_moments(X, time, exposure)
    assert_allclose(state.eta, mean[order], atol=1e-10)
    assert_allclose(state.eta_variance, variance[order], atol=1e-10)
    state.log_likelihood = None
    assert_allclose(attempt.bounds[0].value(state), model.objective_history_[-1], rtol=1e-12)
