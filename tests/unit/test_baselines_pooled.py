"""One set of coefficients for all rows: it minimises what it says, on the steps it says."""

from functools import partial

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

from driftglm.baselines import (
    LassoAll,
    LassoOne,
    RidgeAll,
    RidgeOne,
    quadratic,
)

POOLED = [RidgeOne, RidgeAll, LassoOne, LassoAll]
FAMILIES = ["gaussian", "binomial", "poisson"]


def minimise(loss_of, kind, rows, strength, free=(), offset=0.0, intercept=True):
    """The stated objective by a general optimiser; |b| = u + v with u, v >= 0 makes it smooth."""
    X, y, weights = rows
    n_features = X.shape[1]
    penalised = ~np.isin(np.arange(n_features), list(free))

    def objective(theta):
        beta = theta[:n_features] - theta[n_features : 2 * n_features]
        eta = offset + X @ beta + (theta[-1] if intercept else 0.0)
        loss = loss_of(y, eta, weights)
        if kind == "lasso":
            halves = theta[: 2 * n_features].reshape(2, n_features)
            return loss + strength * halves[:, penalised].sum()
        return loss + 0.5 * strength * beta[penalised] @ beta[penalised]

    bounds = [(0, None)] * (2 * n_features) if kind == "lasso" else [(None, None)] * n_features
    bounds += [] if kind == "lasso" else [(0, 0)] * n_features
    if kind == "lasso":
        # An unpenalised coefficient needs no split: one half may have any sign.
        for i in free:
            bounds[i], bounds[n_features + i] = (None, None), (0, 0)
    best = scipy.optimize.minimize(
        objective,
        np.full(2 * n_features + 1, 0.01),
        bounds=[*bounds, (None, None)],
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 1_000_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    beta = best.x[:n_features] - best.x[n_features : 2 * n_features]
    return beta, best.x[-1], best.fun


@pytest.mark.parametrize("free", [(), (1,), (0, 3)], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("maker", "kind"), [(RidgeAll, "ridge"), (LassoAll, "lasso")])
def test_coefficients_minimise_the_stated_objective(
    baseline_loss, baseline_rows, rng, maker, kind, family, free
):
    X, y, time, weights = baseline_rows(rng, family)
    exposure = rng.uniform(0.5, 2.0, y.size) if family == "poisson" else None
    always = {"always_in": list(free) or None, "standardize": False}
    model = maker(strength=6.0, family=family, tol=1e-9, **always)
    model.fit(X, y, time=time, sample_weight=weights, exposure=exposure)
    offset = 0.0 if exposure is None else np.log(exposure)
    beta, intercept, _ = minimise(
        partial(baseline_loss, family), kind, (X, y, weights), 6.0, free, offset
    )
    # The optimiser differentiates numerically and is good to about 1e-5.
    assert_allclose(model.coef_.ravel(), beta, atol=2e-5)
    assert_allclose(np.ravel(model.intercept_)[0], intercept, atol=2e-5)
    assert model.converged_


@pytest.mark.parametrize("kind", ["ridge", "lasso"])
@pytest.mark.parametrize("family", FAMILIES)
def test_without_an_intercept_too(baseline_loss, baseline_rows, rng, kind, family):
    X, y, _, weights = baseline_rows(rng, family)
    maker = RidgeAll if kind == "ridge" else LassoAll
    model = maker(strength=3.0, family=family, fit_intercept=False, tol=1e-9, standardize=False)
    model.fit(X, y, sample_weight=weights)
    beta, _, _ = minimise(
        partial(baseline_loss, family), kind, (X, y, weights), 3.0, intercept=False
    )
    assert_allclose(model.coef_.ravel(), beta, atol=2e-5)
    assert np.ravel(model.intercept_)[0] == 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("maker", POOLED)
@pytest.mark.parametrize("always_in", [None, [2]], ids=["penalised", "always-in"])
def test_sparse_and_dense_agree(baseline_rows, rng, maker, family, always_in):
    X, y, time, weights = baseline_rows(rng, family)
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    fits = [
        maker(strength=2.0, family=family, always_in=always_in, standardize=True, tol=1e-9)
        .fit(matrix, y, time=time, sample_weight=weights)
        .coef_
        for matrix in (X, sp.csr_array(X), sp.csc_matrix(X))
    ]
    assert_allclose(fits[1], fits[0], rtol=1e-5, atol=1e-7)
    assert_allclose(fits[2], fits[0], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["ridge", "lasso"])
def test_the_routes_for_large_problems_reach_the_same_minimum(
    baseline_rows, rng, kind, monkeypatch
):
    X, y, _, weights = baseline_rows(rng, "gaussian", n_rows=60)
    X = sp.csr_array(np.hstack([X, 0.5 * X[:, :1] + rng.normal(size=(60, 30))]))
    maker = RidgeAll if kind == "ridge" else LassoAll
    model = maker(strength=4.0, always_in=[0], tol=1e-10)
    direct = clone(model).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(quadratic, "DIRECT", 3)
    monkeypatch.setattr(quadratic, "SMALL", 3)
    large = clone(model).fit(X, y, sample_weight=weights)
    assert_allclose(large.coef_, direct.coef_, atol=1e-5)
    assert_allclose(large.intercept_, direct.intercept_, atol=1e-5)


@pytest.mark.parametrize("maker", [RidgeOne, LassoOne])
def test_one_uses_the_last_step_with_rows_only(baseline_rows, rng, maker):
    X, y, time, _ = baseline_rows(rng, "gaussian")
    model = maker(strength=2.0).fit(X, y, time=time)
    last = time == time.max()
    alone = maker(strength=2.0).fit(X[last], y[last])
    assert_allclose(model.coef_, alone.coef_, rtol=1e-10)
    weights = np.where(last, 0.0, 1.0)  # the last step that counts is the one before
    before = maker(strength=2.0).fit(X, y, time=time, sample_weight=weights)
    rows = time == time.max() - 1
    assert_allclose(before.coef_, maker(strength=2.0).fit(X[rows], y[rows]).coef_, rtol=1e-10)


@pytest.mark.parametrize("maker", [RidgeAll, LassoAll])
def test_window_counts_steps_of_the_axis(baseline_rows, rng, maker):
    X, y, time, _ = baseline_rows(rng, "gaussian")
    time = np.where(time == 2002, 2005, time)  # steps 2000, 2001, 2003, 2005
    for window, first in ((1, 2005), (2, 2004), (3, 2003), (4, 2002), (5, 2001), (9, 1997)):
        recent = time >= first
        windowed = maker(strength=2.0, window=window).fit(X, y, time=time)
        alone = maker(strength=2.0).fit(X[recent], y[recent])
        assert_allclose(windowed.coef_, alone.coef_, rtol=1e-9)


def test_standardize_reports_in_the_units_of_x(baseline_rows, rng):
    X, y, time, _ = baseline_rows(rng, "gaussian")
    scaled = X * np.array([1.0, 100.0, 0.01, 1.0, 1.0])
    for maker in POOLED:
        one = maker(strength=2.0, standardize=True).fit(X, y, time=time)
        two = maker(strength=2.0, standardize=True).fit(scaled, y, time=time)
        assert_allclose(two.predict(scaled), one.predict(X), rtol=1e-6)
        assert_allclose(two.coef_[1], one.coef_[1] / 100, rtol=1e-5, atol=1e-9)
