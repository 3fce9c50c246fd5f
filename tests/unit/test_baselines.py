"""The baselines minimise what they say they minimise, choose well and behave as estimators."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from driftglm.baselines import (
    LassoAll,
    LassoOne,
    RidgeAll,
    RidgeOne,
    RidgeTS,
    quadratic,
)
from driftglm.baselines.strength import sklearn_penalty
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning

POOLED = [RidgeOne, RidgeAll, LassoOne, LassoAll]
EVERY = [*POOLED, RidgeTS]
FAMILIES = ["gaussian", "binomial", "poisson"]


def make_rows(rng, family, n_rows=120, n_features=5, n_steps=4):
    X = rng.normal(size=(n_rows, n_features))
    time = 2000 + np.arange(n_rows) * n_steps // n_rows
    eta = 0.4 + X @ np.array([1.0, -0.7, 0.5, 0.0, 0.1])[:n_features]
    if family == "gaussian":
        y = eta + rng.normal(size=n_rows)
    elif family == "binomial":
        y = (rng.random(n_rows) < 1 / (1 + np.exp(-eta))).astype(float)
    else:
        y = rng.poisson(np.exp(0.5 * eta)).astype(float)
    return X, y, time, rng.uniform(0.5, 2.0, size=n_rows)


def loss_sum(family, y, eta, weights):
    if family == "gaussian":
        return 0.5 * weights @ (y - eta) ** 2
    if family == "binomial":
        return weights @ (np.log1p(np.exp(-np.abs(eta))) + np.maximum(eta, 0) - y * eta)
    return weights @ (np.exp(eta) - y * eta)


def minimise(kind, family, rows, strength, free=(), offset=0.0, intercept=True):
    """The stated objective by a general optimiser; |b| = u + v with u, v >= 0 makes it smooth."""
    X, y, weights = rows
    n_features = X.shape[1]
    penalised = ~np.isin(np.arange(n_features), list(free))

    def objective(theta):
        beta = theta[:n_features] - theta[n_features : 2 * n_features]
        eta = offset + X @ beta + (theta[-1] if intercept else 0.0)
        loss = loss_sum(family, y, eta, weights)
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
def test_coefficients_minimise_the_stated_objective(rng, maker, kind, family, free):
    X, y, time, weights = make_rows(rng, family)
    exposure = rng.uniform(0.5, 2.0, y.size) if family == "poisson" else None
    model = maker(strength=6.0, family=family, always_in=list(free) or None, tol=1e-9)
    model.fit(X, y, time=time, sample_weight=weights, exposure=exposure)
    offset = 0.0 if exposure is None else np.log(exposure)
    beta, intercept, _ = minimise(kind, family, (X, y, weights), 6.0, free, offset)
    # The optimiser differentiates numerically and is good to about 1e-5.
    assert_allclose(model.coef_.ravel(), beta, atol=2e-5)
    assert_allclose(np.ravel(model.intercept_)[0], intercept, atol=2e-5)
    assert model.converged_


@pytest.mark.parametrize("kind", ["ridge", "lasso"])
@pytest.mark.parametrize("family", FAMILIES)
def test_without_an_intercept_too(rng, kind, family):
    X, y, _, weights = make_rows(rng, family)
    maker = RidgeAll if kind == "ridge" else LassoAll
    model = maker(strength=3.0, family=family, fit_intercept=False, tol=1e-9)
    model.fit(X, y, sample_weight=weights)
    beta, _, _ = minimise(kind, family, (X, y, weights), 3.0, intercept=False)
    assert_allclose(model.coef_.ravel(), beta, atol=2e-5)
    assert np.ravel(model.intercept_)[0] == 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("maker", POOLED)
@pytest.mark.parametrize("always_in", [None, [2]], ids=["penalised", "always-in"])
def test_sparse_and_dense_agree(rng, maker, family, always_in):
    X, y, time, weights = make_rows(rng, family)
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
def test_the_routes_for_large_problems_reach_the_same_minimum(rng, kind, monkeypatch):
    X, y, _, weights = make_rows(rng, "gaussian", n_rows=60)
    X = sp.csr_array(np.hstack([X, 0.5 * X[:, :1] + rng.normal(size=(60, 30))]))
    maker = RidgeAll if kind == "ridge" else LassoAll
    model = maker(strength=4.0, always_in=[0], tol=1e-10)
    direct = clone(model).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(quadratic, "DIRECT", 3)
    monkeypatch.setattr(quadratic, "DENSE_LIMIT", 3)
    large = clone(model).fit(X, y, sample_weight=weights)
    assert_allclose(large.coef_, direct.coef_, atol=1e-5)
    assert_allclose(large.intercept_, direct.intercept_, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("always_in", [None, [2]], ids=["penalised", "always-in"])
@pytest.mark.parametrize("strength", [0.5, 6.0, 1e4])
def test_a_lasso_along_some_columns_is_the_lasso_along_all(
    rng, family, sparse, always_in, strength, monkeypatch
):
    X, y, _, weights = make_rows(rng, family, n_rows=80)
    X = np.hstack([X, X + 0.3 * rng.normal(size=X.shape), rng.normal(size=(80, 60))])
    X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0)) if sparse else X
    model = LassoAll(strength=strength, family=family, always_in=always_in, tol=1e-10)
    along_all = clone(model).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(quadratic, "MANY_COLUMNS", 1)
    along_some = clone(model).fit(X, y, sample_weight=weights)
    assert_allclose(along_some.coef_, along_all.coef_, atol=1e-5)
    assert_allclose(along_some.intercept_, along_all.intercept_, atol=1e-5)
    assert along_some.converged_


@pytest.mark.parametrize("n_features", [5, 200], ids=["tall", "wide"])
def test_one_factorisation_serves_every_strength(rng, n_features):
    X = rng.normal(size=(80, n_features))
    y = X[:, 0] + rng.normal(size=80)
    new = rng.normal(size=(7, n_features))
    (chain,) = RidgeAll(always_in=[1]).tuning_chains(X, y, new)
    for params, prediction in list(chain)[::9]:
        alone = RidgeAll(**params, always_in=[1]).fit(X, y)
        assert_allclose(prediction, alone.predict(new), rtol=1e-6, atol=1e-8)


def test_strength_in_the_terms_of_scikit_learn(rng):
    for family, maker, peer in [
        ("gaussian", RidgeAll, Ridge),
        ("gaussian", LassoAll, Lasso),
        ("binomial", RidgeAll, LogisticRegression),
        ("poisson", RidgeAll, PoissonRegressor),
    ]:
        X, y, _, weights = make_rows(rng, family)
        ours = maker(strength=5.0, family=family, tol=1e-9).fit(X, y, sample_weight=weights)
        penalty = sklearn_penalty(peer.__name__, 5.0, weights.sum())
        theirs = peer(**penalty, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=weights)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("maker", [RidgeOne, LassoOne])
def test_one_uses_the_last_step_with_rows_only(rng, maker):
    X, y, time, _ = make_rows(rng, "gaussian")
    model = maker(strength=2.0).fit(X, y, time=time)
    last = time == time.max()
    alone = maker(strength=2.0).fit(X[last], y[last])
    assert_allclose(model.coef_, alone.coef_, rtol=1e-10)
    weights = np.where(last, 0.0, 1.0)  # the last step that counts is the one before
    before = maker(strength=2.0).fit(X, y, time=time, sample_weight=weights)
    rows = time == time.max() - 1
    assert_allclose(before.coef_, maker(strength=2.0).fit(X[rows], y[rows]).coef_, rtol=1e-10)


@pytest.mark.parametrize("maker", [RidgeAll, LassoAll])
def test_window_counts_steps_of_the_axis(rng, maker):
    X, y, time, _ = make_rows(rng, "gaussian")
    time = np.where(time == 2002, 2005, time)  # steps 2000, 2001, 2003, 2005
    for window, first in ((1, 2005), (2, 2004), (3, 2003), (4, 2002), (5, 2001), (9, 1997)):
        recent = time >= first
        windowed = maker(strength=2.0, window=window).fit(X, y, time=time)
        alone = maker(strength=2.0).fit(X[recent], y[recent])
        assert_allclose(windowed.coef_, alone.coef_, rtol=1e-9)


@pytest.mark.parametrize("maker", POOLED)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_strength_chosen_is_the_best_on_the_last_step(rng, maker, family):
    X, y, time, _ = make_rows(rng, family, n_rows=200)
    model = maker(family=family)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(X, y, time=time)
    past, last = time < 2003, time == 2003

    def error(strength):
        fitted = maker(strength=strength, family=family).fit(X[past], y[past], time=time[past])
        mean = fitted.predict_proba(X[last])[:, 1] if family == "binomial" else None
        mean = fitted.predict(X[last]) if mean is None else mean
        if family == "binomial":
            return -np.mean(np.log(np.where(y[last] == 1, mean, 1 - mean)))
        if family == "poisson":
            return 2 * np.mean(mean - y[last] * np.log(mean))
        return np.mean((mean - y[last]) ** 2)

    chosen = error(model.strength_)
    rivals = [error(model.strength_ * factor) for factor in (1e-3, 0.1, 0.3, 3.0, 10.0, 1e3)]
    # The grid is not infinitely fine: a rival between two of its points may be a little better.
    assert chosen <= min(rivals) + 2e-3 * abs(chosen)
    again = maker(strength=model.strength_, family=family).fit(X, y, time=time)
    assert_allclose(model.coef_, again.coef_, rtol=1e-12)


def test_too_narrow_a_grid_is_reported(rng, monkeypatch):
    X, y, time, _ = make_rows(rng, "gaussian")
    y = X @ np.ones(5) + 1e-3 * y
    monkeypatch.setattr("driftglm.baselines.strength.RIDGE_GRID", np.array([1e3, 1e2, 10.0]))
    with pytest.warns(DataWarning, match="an end of its default grid"):
        RidgeAll().fit(X, y, time=time)


def test_default_grids_are_wide_enough(rng):
    """No choice at an end, for data from nearly all signal to nearly all noise (or it warns)."""
    for noise in (0.03, 1.0, 30.0):
        X = rng.normal(size=(300, 40))
        y = X[:, :4] @ np.ones(4) + noise * rng.normal(size=300)
        time = np.arange(300) // 100
        for maker in POOLED:
            maker().fit(X, y, time=time)


def test_standardize_reports_in_the_units_of_x(rng):
    X, y, time, _ = make_rows(rng, "gaussian")
    scaled = X * np.array([1.0, 100.0, 0.01, 1.0, 1.0])
    for maker in POOLED:
        one = maker(strength=2.0, standardize=True).fit(X, y, time=time)
        two = maker(strength=2.0, standardize=True).fit(scaled, y, time=time)
        assert_allclose(two.predict(scaled), one.predict(X), rtol=1e-6)
        assert_allclose(two.coef_[1], one.coef_[1] / 100, rtol=1e-5, atol=1e-9)


def test_names_masks_and_positions_of_always_in(rng):
    X, y, _, _ = make_rows(rng, "gaussian")
    frame = pd.DataFrame(X, columns=list("abcde"))
    mask = np.array([False, True, False, False, False])
    fits = [
        LassoAll(strength=9.0, always_in=chosen).fit(frame, y).coef_
        for chosen in ("b", ["b"], 1, [1], mask)
    ]
    for coef in fits[1:]:
        assert_allclose(coef, fits[0])
    assert fits[0][1] != 0
    strong = LassoAll(strength=1e6, always_in="b").fit(frame, y)
    assert_allclose(np.delete(strong.coef_, 1), 0.0)
    slope = np.polyfit(X[:, 1], y, 1)
    assert_allclose([strong.coef_[1], strong.intercept_], slope, rtol=1e-7)


def test_classes_of_any_kind(rng):
    X, y, _, _ = make_rows(rng, "binomial")
    labels = np.where(y == 1, "yes", "no")
    model = LassoAll(strength=1.0, family="binomial").fit(X, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.coef_.shape == (1, 5)
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1.0)
    assert (model.predict(X) == model.classes_[probability.argmax(axis=1)]).all()
    assert is_classifier(model)
    assert is_regressor(LassoAll())
    assert 0.6 < model.score(X, labels) <= 1


def test_exposure_scales_the_counts(rng):
    X, y, _, _ = make_rows(rng, "poisson")
    model = RidgeAll(strength=1.0, family="poisson").fit(X, y, exposure=np.full(y.size, 4.0))
    plain = RidgeAll(strength=1.0, family="poisson").fit(X, y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert_allclose(model.intercept_, plain.intercept_ - np.log(4.0), atol=1e-6)
    assert_allclose(model.predict(X, exposure=np.full(y.size, 4.0)), plain.predict(X), rtol=1e-5)
    assert plain.score(X, y) > 0


@pytest.mark.parametrize("kind", ["ridge", "lasso"])
def test_no_step_raises_the_objective(kind):
    """One enormous count: the first plain IRLS step overshoots by a factor of exp(30)."""
    X = np.vstack([np.zeros((30, 1)), np.ones((1, 1))])
    y = np.concatenate([np.ones(30), [1e6]])
    values = []
    for n_steps in range(1, 30):
        maker = RidgeAll if kind == "ridge" else LassoAll
        model = maker(strength=0.01, family="poisson", max_iter=n_steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        beta = float(model.coef_[0])
        penalty = 0.005 * beta**2 if kind == "ridge" else 0.01 * abs(beta)
        eta = X[:, 0] * beta + model.intercept_
        values.append(loss_sum("poisson", y, eta, np.ones(31)) + penalty)
    start = loss_sum("poisson", y, np.full(31, np.log(y.mean())), np.ones(31))
    # The lasso comes through stronger penalties, and ends each within its tolerance.
    assert values[0] < start
    assert (np.diff(values) < 1e-9 * abs(start)).all()
    assert_allclose(model.predict(X[-1:]), 1e6, rtol=1e-3)


@pytest.mark.parametrize(
    ("maker", "settings", "message"),
    [
        (LassoAll, {"always_in": [9]}, "positions run from 0 to 4"),
        (RidgeAll, {"strength": -1.0}, "strength"),
        (RidgeTS, {"autocorrelation": 1.0}, "autocorrelation"),
        (LassoAll, {"window": 0}, "window"),
    ],
)
def test_wrong_settings_are_refused(rng, maker, settings, message):
    X, y, time, _ = make_rows(rng, "gaussian")
    with pytest.raises(ValueError, match=message):
        maker(**settings).fit(X, y, time=time)


def test_wrong_data_are_refused(rng):
    X, y, time, _ = make_rows(rng, "gaussian")
    with pytest.raises(DataError, match="exposure was given with family='gaussian'"):
        LassoAll(1.0).fit(X, y, time=time, exposure=np.ones(y.size))
    with pytest.raises(DataError, match=r"exposure is 0\.0 at row 3"):
        LassoAll(1.0, family="poisson").fit(
            X, np.abs(y), exposure=np.where(np.arange(y.size) == 3, 0.0, 1.0)
        )
    with pytest.raises(DataError, match=r"family=.poisson.: y is .* counts must lie between"):
        LassoAll(1.0, family="poisson").fit(X, y)
    with pytest.raises(DataError, match="3 classes"):
        LassoAll(1.0, family="binomial").fit(X, np.arange(y.size) % 3)
    with pytest.raises(DataError, match="every sample weight is zero"):
        LassoAll(1.0).fit(X, y, sample_weight=np.zeros(y.size))
    model = LassoAll(1.0).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "decision_function")


def test_stopping_early_is_reported(rng):
    X, y, _, _ = make_rows(rng, "poisson")
    with pytest.warns(ConvergenceWarning, match="LassoAll stopped before"):
        LassoAll(1.0, family="poisson", max_iter=1).fit(X, 100 * y)


@pytest.mark.parametrize("maker", EVERY)
def test_a_clone_has_the_same_parameters_and_fit(rng, maker):
    X, y, time, _ = make_rows(rng, "gaussian")
    model = maker(strength=2.0, always_in=[1], standardize=True)
    if maker is RidgeTS:
        model.set_params(autocorrelation=0.7)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    first, second = (m.fit(X, y, time=time).predict(X) for m in (model, copy))
    assert (first == second).all()


def test_grid_search_over_strengths(rng):
    X, y, _, _ = make_rows(rng, "gaussian")
    search = GridSearchCV(LassoAll(), {"strength": [1.0, 10.0, 1e6]}, cv=3).fit(X, y)
    assert search.best_params_["strength"] < 1e6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        LassoAll(),
        RidgeOne(1.0),
        LassoAll(1.0, family="binomial"),
        RidgeAll(1.0, family="poisson"),
        RidgeTS(1.0, 0.9),
    ],
    ids=repr,
)
def test_scikit_learn_finds_no_fault(model):
    # Without a step to hold out, rows are held out by position: repeated rows move others.
    moved = "check_sample_weight_equivalence_on_{}_data"
    expected = {moved.format(kind): "rows move" for kind in ("dense", "sparse")}
    tuned = model.strength is None
    check_estimator(model, on_skip=None, expected_failed_checks=expected if tuned else {})


def test_without_a_step_to_hold_out_every_fifth_row_is(rng):
    X, y, _, _ = make_rows(rng, "gaussian")
    held = np.arange(y.size) % 5 == 4
    time = held.astype(int)
    one = LassoAll().fit(X, y)
    two = LassoAll().fit(X, y, time=time)
    assert one.strength_ == two.strength_
