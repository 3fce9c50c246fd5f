"""What a strength means, and which ones are tried."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge

from driftglm.baselines import (
    LassoAll,
    LassoOne,
    RidgeAll,
    RidgeOne,
)
from driftglm.baselines.strength import sklearn_penalty
from driftglm.exceptions import DataWarning

POOLED = [RidgeOne, RidgeAll, LassoOne, LassoAll]
FAMILIES = ["gaussian", "binomial", "poisson"]


def test_strength_in_the_terms_of_scikit_learn(baseline_rows, rng):
    for family, maker, peer in [
        ("gaussian", RidgeAll, Ridge),
        ("gaussian", LassoAll, Lasso),
        ("binomial", RidgeAll, LogisticRegression),
        ("poisson", RidgeAll, PoissonRegressor),
    ]:
        X, y, _, weights = baseline_rows(rng, family)
        ours = maker(strength=5.0, family=family, tol=1e-9, standardize=False)
        ours.fit(X, y, sample_weight=weights)
        penalty = sklearn_penalty(peer.__name__, 5.0, weights.sum())
        theirs = peer(**penalty, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=weights)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("maker", POOLED)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_strength_chosen_is_the_best_on_the_last_step(baseline_rows, rng, maker, family):
    X, y, time, _ = baseline_rows(rng, family, n_rows=200)
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


def test_too_narrow_a_grid_is_reported(baseline_rows, rng, monkeypatch):
    X, y, time, _ = baseline_rows(rng, "gaussian")
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
