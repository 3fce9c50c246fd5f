"""Fits with seasons: bounds that rise, seasons told from drift, what they say of later steps."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.fitting.fits import PosteriorFit
from driftglm.fitting.posteriors import infer_posterior
from driftglm.fitting.reading import Given, read_vectors
from driftglm.fitting.rows import rows_in_memory
from driftglm.fitting.seasons import Seasons
from driftglm.fitting.solver_runs import Runs

MODELS = {
    "gaussian": DriftRegressor(),
    "student": DriftRegressor(errors="student"),
    "binomial": DriftClassifier(),
    "multinomial": DriftClassifier(),
    "poisson": DriftPoissonRegressor(),
    "negative-binomial": DriftGLM(family="negative-binomial"),
    "gamma": DriftGLM(family="gamma"),
}


def world(seed, n_steps=24, n_rows=15, cycle=4, n_features=4):
    """Rows whose first column has a season, the second a season and a drift, the third a drift."""
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(n_steps), n_rows)
    X = rng.normal(size=(time.size, n_features))
    phase = np.arange(n_steps) % cycle
    season, drift = np.zeros((2, n_steps, n_features))
    season[:, :2] = rng.normal(size=(cycle, 2))[phase]
    drift[:, 1:3] = 0.15 * rng.normal(size=(n_steps, 2)).cumsum(axis=0)
    level = rng.normal(size=cycle)[phase]
    eta = (X * (season + drift)[time]).sum(axis=1) + level[time]
    return X, eta, time, season, level


def outcome_of(family, eta, rng):
    if family in {"gaussian", "student"}:
        return eta + 0.5 * rng.normal(size=eta.size)
    if family == "binomial":
        return (eta + rng.logistic(size=eta.size) > 0).astype(int)
    if family == "multinomial":
        return np.digitize(eta + rng.logistic(size=eta.size), [-0.7, 0.7])
    mean = np.exp(np.clip(0.5 * eta, -3, 3))
    return rng.gamma(2.0, mean / 2.0) if family == "gamma" else rng.poisson(mean).astype(float)


def fit_with_seasons(model, X, y, time, cycle, weights=None):
    """The seasonal fit alone."""
    plan = model._plan()
    vectors = read_vectors(plan.reading, Given(y, time, weights), len(y))
    rows = rows_in_memory(X, vectors, plan.reading, None)
    runs = Runs(dataclasses.replace(plan.settings, max_iter=60))
    return infer_posterior(rows, plan.settings.prior, runs, None, cycle=cycle)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    family=st.sampled_from(sorted(MODELS)),
    cycle=st.sampled_from([2, 4, 7]),
    empty=st.booleans(),
    weighted=st.booleans(),
)
def test_the_bound_never_falls(seed, family, cycle, empty, weighted):
    X, eta, time, *_ = world(seed, n_steps=15, n_rows=10, n_features=3, cycle=cycle)
    rng = np.random.default_rng(seed)
    y = outcome_of(family, eta, rng)
    keep = ~np.isin(time, [3, 4]) if empty else np.ones(time.size, dtype=bool)
    weights = rng.uniform(0.3, 3.0, time.size)[keep] if weighted else None
    model = DriftGLM(family=family) if family not in {"student", "binomial"} else MODELS[family]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history = fit_with_seasons(model, X[keep], y[keep], time[keep], cycle, weights).history
    assert history.size > 1
    falls = np.diff(history) / np.abs(history).max()
    assert falls.min() >= -1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_seasons_are_told_from_drift(seed):
    X, eta, time, season, level = world(seed, n_steps=40, n_rows=30)
    rng = np.random.default_rng(seed)
    y = eta + 0.5 * rng.normal(size=eta.size)
    outcome = fit_with_seasons(DriftRegressor(), X, y, time, 4)
    found = Seasons.of(outcome.forecasters[0].fits[0])
    assert (found.probability[:2] > 0.99).all()
    assert (found.probability[2:] < 0.1).all()
    assert found.intercept_probability > 0.99
    # A constant may be part of either; the season is known up to one.
    for i in range(2):
        apart = found.mean[:, i] - season[:, i]
        assert np.std(apart) < 0.2 * np.std(season[:, i])
    assert np.std(found.intercept - level) < 0.3 * np.std(level)
    assert_allclose(found.mean[:, 2:], 0.0, atol=0.05)


def test_without_a_season_none_is_found():
    X, eta, time, season, level = world(3, n_steps=40, n_rows=30)
    y = eta - (X * season[time]).sum(axis=1) - level[time]
    y += 0.5 * np.random.default_rng(3).normal(size=y.size)
    outcome = fit_with_seasons(DriftRegressor(), X, y, time, 4)
    found = Seasons.of(outcome.forecasters[0].fits[0])
    assert found.probability.max() < 0.1
    assert found.intercept_probability < 0.5


def test_forecasts_go_round_the_cycle():
    """One step ahead is the phase of a cycle ago, and more than a cycle ahead it comes again."""
    X, eta, time, season, level = world(5, n_steps=41, n_rows=30)
    fit = fit_with_seasons(DriftRegressor(), X, eta, time, 4).forecasters[0].fits[0]
    assert isinstance(fit, PosteriorFit)
    for n_ahead in (1, 2, 3, 4, 5, 9):
        step, phase = fit.ahead(n_ahead), (41 + n_ahead - 1) % 4
        assert_allclose(step.coef[0], season[phase, 0], atol=0.1)
    near, far = fit.ahead(1), fit.ahead(9)
    assert_allclose(near.coef[0], far.coef[0], atol=0.05)
    assert far.coef_variance[1] > near.coef_variance[1]  # the drift beside the season goes on
    found = Seasons.of(fit, n_more=9)
    assert found.mean.shape == (50, 4)
    assert_array_equal(found.mean[:41], Seasons.of(fit).mean)
    assert_allclose(found.intercept[41:45], found.intercept[45:49], atol=0.05)
    assert_allclose(np.std(found.intercept[:40] - level[:40]), 0.0, atol=0.2)


def test_columns_are_centred_where_their_phase_was_last():
    """Their means follow the cycle: a step after the last is not that of the last step."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(24), 40)
    X = rng.normal(size=(time.size, 2)) + 5.0 * np.eye(4)[time % 4][:, :1]
    y = X[:, 0] + 3.0 * rng.normal(size=24)[time] + rng.normal(size=time.size)
    fit = fit_with_seasons(DriftRegressor(), X, y, time, 4).forecasters[0].fits[0]
    for n_ahead in range(1, 10):
        expected = fit.columns.center[20 + (n_ahead - 1) % 4]
        assert_array_equal(fit.ahead(n_ahead).center, expected)
