"""Ridge over time minimises what it says, by its dual form and as a drift model."""

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import Ridge

from driftglm import DriftRegressor
from driftglm.baselines import RidgeTS
from driftglm.baselines.strength import fixed_scale
from driftglm.exceptions import DataWarning
from driftglm.families import family_named
from driftglm.priors import Fixed


def some_rows(rng, family, n_rows=120, n_steps=4):
    X = rng.normal(size=(n_rows, 5))
    eta = 0.4 + X @ np.array([1.0, -0.7, 0.5, 0.0, 0.1])
    draw = {
        "gaussian": lambda: eta + rng.normal(size=n_rows),
        "binomial": lambda: (rng.random(n_rows) < 1 / (1 + np.exp(-eta))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(0.5 * eta)).astype(float),
    }
    y = draw[family]()
    return X, y, 2000 + np.arange(n_rows) * n_steps // n_rows, rng.uniform(0.5, 2.0, size=n_rows)


def test_strength_in_the_terms_of_the_fixed_prior(rng):
    """Without correlation, ridge over time is a ridge of its own in every step."""
    X, y, time, _ = some_rows(rng, "gaussian")
    prior = Fixed(scale=fixed_scale(5.0, 0.7), autocorrelation=0.0)
    chain = DriftRegressor(prior=prior, noise=0.7, fit_intercept=False, tol=1e-10)
    chain.fit(X, y, time=time)
    same = {"fit_intercept": False, "tol": 1e-10, "standardize": False}
    ours = RidgeTS(strength=5.0, autocorrelation=0.0, **same)
    ours.fit(X, y, time=time)
    for step, year in enumerate(np.unique(time)):
        rows = time == year
        alone = Ridge(alpha=5.0, fit_intercept=False).fit(X[rows], y[rows]).coef_
        assert_allclose(chain.coef_path_[step], alone, atol=1e-6)
        assert_allclose(ours.coef_path_[step], alone, atol=1e-6)


def test_ridge_over_time_minimises_the_stated_objective(rng):
    X, y, time, weights = some_rows(rng, "gaussian")
    strength, rho = 5.0, 0.8
    model = RidgeTS(strength, rho, fit_intercept=False, tol=1e-10, standardize=False)
    model.fit(X, y, time=time, sample_weight=weights)
    n_steps, n_features = model.coef_path_.shape
    A = np.eye(n_steps) - rho / (1 + rho**2) * (np.eye(n_steps, k=1) + np.eye(n_steps, k=-1))
    expanded = np.zeros((y.size, n_steps, n_features))
    expanded[np.arange(y.size), time - 2000] = X
    expanded = expanded.reshape(y.size, -1)
    normal = expanded.T @ (weights[:, None] * expanded) + strength * np.kron(A, np.eye(n_features))
    expected = np.linalg.solve(normal, expanded.T @ (weights * y))
    assert_allclose(model.coef_path_.ravel(), expected, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_dual_of_ridge_over_time_is_the_drift_model(rng, monkeypatch, sparse, standardize):
    """Where no intercept drifts both forms must agree to the digit."""
    X, y, time, weights = some_rows(rng, "gaussian")
    time = np.where(time == 2001, 2000, time)  # nothing in 2001
    X = sp.csr_array(X) if sparse else X
    model = RidgeTS(5.0, 0.8, fit_intercept=False, tol=1e-10, standardize=standardize)
    dual = clone(model).fit(X, y, time=time, sample_weight=weights)
    monkeypatch.setattr("driftglm.baselines.ridge_ts.DIRECT", 0)
    drift = clone(model).fit(X, y, time=time, sample_weight=weights)
    assert drift.n_iter_ > 1 == dual.n_iter_
    assert_allclose(dual.coef_path_, drift.coef_path_, atol=1e-6)


def test_the_dual_is_close_to_the_drift_model_with_intercepts(rng, monkeypatch):
    X, y, time, _ = some_rows(rng, "gaussian", n_rows=400, n_steps=8)
    X[:, 2] += 10.0  # far from the origin, so that intercept and slope are told apart
    y = y + np.sin(time) + 0.3 * np.cos(time) * X[:, 2]
    model = RidgeTS(5.0, 0.9, always_in=[2])
    dual = clone(model).fit(X, y, time=time)
    monkeypatch.setattr("driftglm.baselines.ridge_ts.DIRECT", 0)
    drift = clone(model).fit(X, y, time=time)
    # Only the distribution of the intercepts' deviations is not quite the same.
    assert_allclose(dual.coef_path_, drift.coef_path_, atol=0.1)
    difference = dual.predict(X, time=time) - drift.predict(X, time=time)
    assert np.sqrt(np.mean(difference**2)) < 0.1


def test_ridge_over_time_tunes_what_it_fits(rng):
    X, y, time, weights = some_rows(rng, "gaussian")
    new = rng.normal(size=(9, X.shape[1]))
    model = RidgeTS(5.0, 0.8, always_in=[1], standardize=True)
    ((pair,),) = (list(c) for c in model.tuning_chains(X, y, new, time=time, sample_weight=weights))
    fitted = clone(model).fit(X, y, time=time, sample_weight=weights)
    assert_allclose(pair[1], fitted.predict(new), rtol=1e-8)


def test_ridge_over_time_tunes_both_parameters(rng):
    time = np.repeat(np.arange(8), 60)
    X = rng.normal(size=(480, 10))
    y = np.sum(X[:, :3] * np.sin(time[:, None] / 2 + np.arange(3)), axis=1)
    y = y + 0.3 * rng.normal(size=480)
    model = RidgeTS().fit(X, y, time=time)
    assert model.strength_ > 0
    assert 0 < model.autocorrelation_ < 1
    half = RidgeTS(autocorrelation=0.5).fit(X, y, time=time)
    assert half.autocorrelation_ == 0.5
    assert_allclose(model.predict(X[:3], time=[9, 9, 8]), model.predict(X[:3]))
    path = np.sum(X[:3] * model.coef_path_[4], axis=1) + model.intercept_path_[4]
    assert_allclose(model.predict(X[:3], time=[4, 4, 4]), path)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_ridge_over_time_of_other_families(rng, family):
    X, y, time, weights = some_rows(rng, family, n_rows=200)
    strength, rho = 2.0, 0.8
    exposure = rng.uniform(0.5, 2.0, y.size) if family == "poisson" else None
    model = RidgeTS(strength, rho, family=family, fit_intercept=False, tol=1e-8, standardize=False)
    model.fit(X, y, time=time, sample_weight=weights, exposure=exposure)
    A = np.eye(4) - rho / (1 + rho**2) * (np.eye(4, k=1) + np.eye(4, k=-1))
    offset = 0.0 if exposure is None else np.log(exposure)

    def objective(theta):
        paths = theta.reshape(4, 5)
        eta = offset + np.einsum("ni,ni->n", X, paths[time - 2000])
        chain = np.einsum("si,st,ti->", paths, A, paths)
        return weights @ family_named(family).loss(y, eta) + 0.5 * strength * chain

    best = scipy.optimize.minimize(
        objective, np.zeros(20), method="BFGS", options={"gtol": 1e-5, "maxiter": 2000}
    )
    assert_allclose(model.coef_path_.ravel(), best.x, atol=1e-4)
    if family == "binomial":
        assert model.predict_proba(X).shape == (200, 2)
        assert set(model.predict(X)) <= {0.0, 1.0}
    else:
        doubled = model.predict(X, exposure=np.full(200, 2.0))
        assert_allclose(doubled, 2 * model.predict(X))


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_ridge_over_time_of_other_families_tunes_itself(rng, family):
    X, y, time, _ = some_rows(rng, family, n_rows=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = RidgeTS(family=family).fit(X, y, time=time)
    assert model.strength_ > 0
    assert 0 < model.autocorrelation_ < 1
    assert model.score(X, y, time=time) > 0
