"""the shared directions: directions of all columns together, and what an intercept is seen as."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.design import ColumnDesign, RowSample
from driftglm.design.directions import _orthonormal
from driftglm.design.scores import row_variances, weighted_gram
from driftglm.fitting import posteriors
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


def test_sums_over_rows_are_those_of_numpy(rng):
    z, w, cov = rng.normal(size=(50, 4)), rng.uniform(size=50), np.cov(rng.normal(size=(4, 9)))
    assert_allclose(weighted_gram(z, w), z.T @ (w[:, None] * z), atol=1e-12)
    assert_allclose(row_variances(z, cov), np.diag(z @ cov @ z.T), atol=1e-12)


def test_the_posterior_is_that_of_ridge_at_the_variance_of_highest_evidence(rng):
    """Against the marginal component of y with a dense covariance matrix."""
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
    spread = np.trace(found.covariance) + found.mean @ found.mean
    assert_allclose(found.divergence, 0.5 * (spread / found.variance - 3 + ratio), atol=1e-10)


def test_shared_directions_that_says_nothing_is_off():
    found = posterior(np.eye(3), np.array([0.1, 0.0, -0.1]))
    assert found.variance == 0.0
    assert not found.mean.any()
    assert found.divergence == 0.0


@pytest.mark.parametrize("sparse", [False, True])
def test_directions_are_the_singular_vectors_of_the_centred_columns(rng, sparse):
    X, _, _, codes = panel(rng)
    X = X * (rng.uniform(size=X.shape) < 0.5) * np.linspace(1, 3, 120) + codes[:, None] * 0.3
    unit = X.std(axis=0)
    center = np.array([X[codes == t].mean(axis=0) for t in range(N_STEPS)])
    scaled = (X - center[codes]) / unit
    given = csr_array(X) if sparse else X
    found, again = (
        RowSample(given, codes, np.ones(300), threads=threads).orthonormal(center.T, unit, 3)
        for threads in (1, 3)
    )
    assert_array_equal(again, found)
    exact = np.linalg.svd(scaled, full_matrices=False)[2][:3]
    assert_allclose(found.T @ found, np.eye(3), atol=1e-10)
    # The same plane: every principal angle is close to zero.
    assert np.linalg.svd(exact @ found)[1].min() > 0.99
    design, order = ColumnDesign.from_matrix(X, codes, N_STEPS)
    centered = design.centered(np.ones(300), np.ones(N_STEPS))
    expected = ((X - center[codes]) @ (found / unit[:, None]))[order]
    assert_allclose(centered.project(found / unit[:, None]), expected, atol=1e-9)


def test_signal_spread_over_all_columns_is_found_and_predicted(rng):
    X, eta, y, time = panel(rng)
    model = DriftRegressor().fit(X[:250], y[:250], time=time[:250])
    sparse = DriftRegressor(prior=Learned(n_directions=0)).fit(X[:250], y[:250], time=time[:250])
    errors = [np.mean((eta[250:] - each.predict(X[250:])) ** 2) for each in (model, sparse)]
    assert errors[0] < 0.7 * errors[1]
    assert model.objective_history_[-1] > sparse.objective_history_[-1] + 5
    assert_allclose(model.predict(X[250:]), X[250:] @ model.coef_ + model.intercept_, atol=1e-10)


def test_intervals_know_that_the_shared_directions_is_shared(rng):
    """The variance of a row by hand: own parts one by one, the shared part with its covariance."""
    X, _, y, time = panel(rng)
    model = DriftRegressor().fit(X, y, time=time)
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


def test_few_columns_have_no_background(rng):
    X, _, y, time = panel(rng, n_features=9)
    assert DriftRegressor().fit(X, y, time=time)._fits[0].shared.root.shape[1] == 0
    with pytest.raises(ValueError, match="n_directions=-1"):
        Learned(n_directions=-1)


# ------------------------------------------------------------------------- views of the intercepts


def persistent(rng, *, free):
    """A column whose mean wanders from step to step; y follows it, or has an intercept of its own."""
    time = np.repeat(np.arange(14), 40)
    wander = np.cumsum(rng.normal(size=14)) * 0.7
    X = wander[time, None] * np.array([1.0, 0.9, 0.8]) + rng.normal(size=(560, 3)) * 0.4
    intercept = 3.0 * rng.normal(size=14) if free else np.zeros(14)
    y = intercept[time] + X @ np.array([0.5, 0.3, 0.1]) + 0.5 * rng.normal(size=560)
    return X, y, time


def test_what_columns_explain_from_step_to_step_is_not_taken_for_a_intercept():
    errors, views = [], []
    for seed in range(6):
        X, y, time = persistent(np.random.default_rng(seed), free=False)
        model = DriftRegressor().fit(X[time < 13], y[time < 13], time=time[time < 13])
        errors.append(np.mean((y - model.predict(X))[time == 13] ** 2))
        views.append(model._view)
    assert np.mean(errors) < 0.30, "noise alone is 0.25"
    assert views.count("residual") >= 4


def test_intercepts_that_move_by_themselves_are_seen_as_such():
    views = []
    for seed in range(4):
        X, y, time = persistent(np.random.default_rng(seed), free=True)
        views.append(DriftRegressor().fit(X, y, time=time)._view)
    assert views.count("per-step") >= 3


def test_an_update_keeps_the_view():
    X, y, time = persistent(np.random.default_rng(0), free=False)
    first, later = time < 12, time >= 12
    model = DriftRegressor(keep_data=True).fit(X[first], y[first], time=time[first])
    view = model._view
    model.update(X[later], y[later], time=time[later])
    assert model._view == view


@pytest.mark.parametrize("seed", [0, 1])
def test_counts_whose_intercepts_were_constant_first_are_not_stuck_there(seed):
    """Freeing intercepts changes their prior, and the fall must not be held against the next step."""
    rng = np.random.default_rng(seed)
    time = np.arange(300) * N_STEPS // 300
    factors = rng.normal(size=(300, 4)) + 1.5 * rng.normal(size=(N_STEPS, 4))[time]
    X = factors @ rng.normal(size=(4, 120)) + rng.normal(size=(300, 120))
    eta = factors @ rng.normal(size=4) * 0.5
    y = rng.poisson(3.0 * np.exp(np.clip(eta, -4, 4)))
    model = DriftPoissonRegressor().fit(X, y, time=time)
    assert model._view == "residual"
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


@pytest.mark.parametrize("n_features", [30, 90])
@pytest.mark.parametrize("sparse", [False, True])
def test_exact_directions_of_weighted_rows_on_either_side(rng, n_features, sparse):
    """Against the singular vectors, with more and with fewer columns than rows."""
    X = rng.normal(size=(60, n_features)) * (rng.uniform(size=(60, n_features)) < 0.5)
    codes, weights = np.repeat([0, 1], 30), rng.uniform(0.5, 2.0, size=60)
    center, unit = rng.normal(size=(n_features, 2)), rng.uniform(0.5, 2.0, size=n_features)
    scaled = np.sqrt(weights)[:, None] * (X - center.T[codes]) / unit
    given = csr_array(X) if sparse else X
    found = RowSample(given, codes, weights).orthonormal(center, unit, 4)
    exact = np.linalg.svd(scaled, full_matrices=False)[2][:4]
    assert_allclose(found @ found.T, exact.T @ exact, atol=1e-10)


def test_large_designs_are_iterated_to_nearly_the_same_directions(rng, monkeypatch):
    X, _, _, codes = panel(rng)
    sample, measured = RowSample(X, codes, np.ones(300)), (np.zeros((120, N_STEPS)), np.ones(120))
    exact = sample.orthonormal(*measured, 4)
    monkeypatch.setattr("driftglm.design.directions.MOST_PRODUCTS", 0)
    assert np.linalg.svd(exact.T @ sample.orthonormal(*measured, 4))[1].min() > 0.99


def test_directions_that_do_not_exist_are_not_invented(rng):
    X = np.outer(rng.normal(size=50), np.ones(40))
    for matrix, count in ((X, 1), (0 * X, 0)):
        sample = RowSample(matrix, np.zeros(50, int), np.ones(50))
        assert sample.orthonormal(np.zeros((40, 1)), np.ones(40), 4).shape == (40, count)


def test_what_a_row_is_expected_to_be_is_what_the_bound_was_computed_with(rng, monkeypatch):
    """eta, its variance and the value of the bound, from the fitted coefficients alone."""
    X, eta, _, time = panel(rng)
    exposure = rng.uniform(0.5, 5.0, size=300)
    y = rng.poisson(exposure * np.exp(np.clip(eta, -3, 3)))
    model = DriftPoissonRegressor(always_in=[0], static=[1, 2])
    ends = []
    report = posteriors._outcome
    monkeypatch.setattr(posteriors, "_outcome", lambda *end: ends.append(end) or report(*end))
    model.fit(X, y, time=time, exposure=exposure)
    ((attempt, result),) = ends
    state = result.states[0]
    assert state.shared.variance > 0
    mean, variance = model._eta_moments(X, time, exposure)
    assert_allclose(state.eta, mean, atol=1e-10)
    assert_allclose(state.eta_variance, variance, atol=1e-10)
    state.log_likelihood = None
    assert_allclose(attempt.bounds[0].value(state), model.objective_history_[-1], rtol=1e-12)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e7, 1e12, np.inf])
def test_columns_are_made_orthonormal_however_dependent_they_are(condition, rng):
    columns = rng.normal(size=(200, 6))
    columns[:, 3] = columns[:, 0] + columns[:, 3] / condition
    found = _orthonormal(columns)
    assert_allclose(found.T @ found, np.eye(6), atol=1e-12)
    # What they span is in what was found.
    rest = columns - found @ (found.T @ columns)
    assert_allclose(rest, 0.0, atol=1e-12)
