"""Degenerate cases that other libraries solve: ridge logistic, multinomial and Poisson fits."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor
from driftglm.families import SoftmaxClass
from driftglm.priors import Fixed

STRENGTH = 3.0
TIGHT = {"tol": 1e-6, "max_iter": 20_000}


def rows(rng, n=240, p=5, n_classes=2):
    X = rng.normal(size=(n, p)) * np.array([1.0, 3.0, 0.2, 1.0, 1.0])[:p] + 0.3
    X[:, 4] = X[:, 4] > 0.5
    eta = X @ rng.normal(size=(p, n_classes)) + np.arange(n_classes)
    p_class = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > p_class.cumsum(axis=1)).sum(axis=1)
    counts = rng.poisson(np.exp(0.3 * eta[:, 0].clip(-4, 4)))
    return X, y, counts.astype(float)


def ridge(strength=STRENGTH, rho=0.0):
    """A stationary chain whose precision of a single step is the strength."""
    return Fixed(scale=1.0 / strength, autocorrelation=rho, boundary="stationary")


def logistic(X, y, strength=STRENGTH, weights=None, *, intercept=True):
    model = LogisticRegression(
        C=1.0 / strength, fit_intercept=intercept, tol=1e-12, max_iter=100_000, solver="lbfgs"
    )
    return model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_one_step_is_scikit_learns_logistic_regression(make, intercept, solver, rng):
    X, y, _ = rows(rng)
    weights = rng.uniform(0.5, 2, y.size)
    model = DriftClassifier(prior=ridge(), fit_intercept=intercept, solver=solver, **TIGHT)
    model.fit(make(X), y, sample_weight=weights)
    peer = logistic(X, y, weights=weights, intercept=intercept)
    assert model.converged_
    assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-7)
    assert_allclose(model.intercept_, peer.intercept_, rtol=1e-6, atol=1e-6)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    assert (model.predict(X) == peer.predict(X)).all()
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("intercept", [True, False])
def test_one_step_is_scikit_learns_poisson_regression(intercept, solver, rng):
    X, _, y = rows(rng)
    weights = rng.uniform(0.5, 2, y.size)
    model = DriftPoissonRegressor(prior=ridge(), fit_intercept=intercept, solver=solver, **TIGHT)
    model.fit(X, y, sample_weight=weights)
    peer = PoissonRegressor(
        alpha=STRENGTH / weights.sum(), fit_intercept=intercept, tol=1e-12, max_iter=100_000,
        solver="newton-cholesky",
    ).fit(X, y, sample_weight=weights)  # fmt: skip
    assert model.converged_
    assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-7)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    assert_allclose(model.predict(X), peer.predict(X), rtol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
def test_one_step_is_scikit_learns_multinomial_regression(intercept, rng):
    X, y, _ = rows(rng, n_classes=4)
    weights = rng.uniform(0.5, 2, y.size)
    model = DriftClassifier(prior=ridge(), fit_intercept=intercept, **TIGHT)
    model.fit(X, y, sample_weight=weights)
    peer = logistic(X, y, weights=weights, intercept=intercept)
    assert model.converged_
    assert_allclose(model.coef_, peer.coef_, rtol=1e-5, atol=1e-6)
    # A constant added to every class changes nothing.
    for mine, other in ((model.intercept_, peer.intercept_),):
        assert_allclose(mine - mine.mean(), other - other.mean(), atol=2e-6)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)


def test_without_autocorrelation_steps_are_fitted_apart(rng):
    X, y, counts = rows(rng)
    X_three, y_three, _ = rows(rng, n_classes=3)
    time = np.repeat([3, 4, 6], 80)
    settings = {"prior": ridge(), "fit_intercept": False, **TIGHT}
    binary = DriftClassifier(**settings).fit(X, y, time=time)
    count = DriftPoissonRegressor(**settings).fit(X, counts, time=time)
    several = DriftClassifier(**settings).fit(X_three, y_three, time=time)
    assert binary.coef_path_.shape == (4, 5)
    assert several.coef_path_.shape == (4, 3, 5)
    for t, step in ((0, 3), (1, 4), (3, 6)):
        own = time == step
        one = logistic(X[own], y[own], intercept=False)
        assert_allclose(binary.coef_path_[t], one.coef_[0], rtol=1e-5, atol=1e-6)
        one = logistic(X_three[own], y_three[own], intercept=False)
        assert_allclose(several.coef_path_[t], one.coef_, rtol=1e-5, atol=1e-5)
        peer = PoissonRegressor(
            alpha=STRENGTH / own.sum(), fit_intercept=False, tol=1e-12, max_iter=100_000,
            solver="newton-cholesky",
        ).fit(X[own], counts[own])  # fmt: skip
        assert_allclose(count.coef_path_[t], peer.coef_, rtol=1e-5, atol=1e-6)


def test_two_classes_of_a_softmax_are_a_logistic_regression_of_twice_the_scale(rng, monkeypatch):
    monkeypatch.setattr(SoftmaxClass, "two_classes", None)  # which are fitted as two otherwise
    X, y, _ = rows(rng)
    time = np.repeat([0, 1, 2], 80)
    settings = {"fit_intercept": False, **TIGHT}
    softmax = DriftGLM(family="multinomial", prior=ridge(2 * STRENGTH, 0.7), **settings)
    softmax.fit(X, y, time=time)
    binary = DriftClassifier(prior=ridge(STRENGTH, 0.7), **settings).fit(X, y, time=time)
    difference = softmax.coef_path_[:, 1] - softmax.coef_path_[:, 0]
    assert_allclose(difference, binary.coef_path_, rtol=1e-5, atol=1e-6)
    assert_allclose(softmax.coef_path_.sum(axis=1), 0, atol=1e-6)


@pytest.mark.parametrize("prior", ["fixed", "exact"])
def test_counts_with_exposure_are_rates_with_weights(prior, rng):
    X, _, _ = rows(rng)
    time = np.repeat([0, 1, 2], 80)
    exposure = rng.uniform(0.2, 5, 240)
    y = rng.poisson(exposure * np.exp(0.5 * X[:, 0])).astype(float)
    settings = {"prior": prior, "tol": 1e-8, "max_iter": 20_000}
    counts = DriftPoissonRegressor(**settings).fit(X, y, time=time, exposure=exposure)
    rates = DriftPoissonRegressor(**settings).fit(
        X, y / exposure, time=time, sample_weight=exposure
    )
    assert_allclose(counts.coef_path_, rates.coef_path_, rtol=1e-4, atol=1e-5)
    assert_allclose(counts.intercept_path_, rates.intercept_path_, rtol=1e-4, atol=1e-5)
    assert_allclose(
        counts.predict(X, time=time, exposure=exposure),
        exposure * rates.predict(X, time=time),
        rtol=1e-4,
    )


def test_both_solvers_climb_to_the_same_point_over_time(rng):
    """The intercept's dynamics change between rounds; without them there is one maximum."""
    X, y, counts = rows(rng)
    X_three, y_three, _ = rows(rng, n_classes=3)
    time = np.repeat([0, 1, 2], 80)
    prior = ridge(STRENGTH, 0.8)
    for estimator, design, target in (
        (DriftClassifier, X, y),
        (DriftPoissonRegressor, X, counts),
        (DriftClassifier, X_three, y_three),
    ):
        block, lbfgs = (
            estimator(prior=prior, fit_intercept=False, solver=solver, **TIGHT).fit(
                design, target, time=time
            )
            for solver in ("auto", "lbfgs")
        )
        assert_allclose(block.coef_path_, lbfgs.coef_path_, rtol=1e-5, atol=1e-6)
        assert_allclose(block.objective_history_[-1], lbfgs.objective_history_[-1], rtol=1e-9)
