"""Residuals of the training rows: what the other rows say about each, by other means."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.fitting.residuals import MOST_OWN, quantile_residuals, without_own
from driftglm.predictive import Bernoulli, Categorical, Gamma, Normal, Poisson
from driftglm.simulate import simulate_panel

NOISE = 0.3


def ridge_posterior(X, y, prior=2.0):
    """Mean and covariance of the coefficients of a Bayesian regression with known noise."""
    covariance = np.linalg.inv(X.T @ X / NOISE + np.eye(X.shape[1]) / prior)
    return covariance @ X.T @ y / NOISE, covariance


@pytest.fixture(scope="module")
def dense():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 4))
    return X, X @ [1.0, -1.0, 0.5, 0.0] + np.sqrt(NOISE) * rng.normal(size=25)


def test_a_row_taken_out_is_a_refit_without_it(dense):
    X, y = dense
    mean, covariance = ridge_posterior(X, y)
    eta, variance = X @ mean, np.einsum("ni,ij,nj->n", X, covariance, X)
    found = without_own(eta, variance, (y - eta) / NOISE, np.full(25, 1 / NOISE))
    for n in range(25):
        others = np.arange(25) != n
        alone, spread = ridge_posterior(X[others], y[others])
        assert_allclose(found[0][n], X[n] @ alone, rtol=1e-10)
        assert_allclose(found[1][n], X[n] @ spread @ X[n], rtol=1e-10)
    # The residual that follows is the studentised one.
    residual = quantile_residuals(Normal(found[0], np.sqrt(found[1] + NOISE)), y)
    assert_allclose(residual, (y - eta) / np.sqrt(NOISE * (1 - variance / NOISE)), rtol=1e-10)


def test_a_fit_by_least_squares_leaves_studentised_residuals():
    rng = np.random.default_rng(1)
    column = np.repeat([-1.0, 1.0], 10)  # orthogonal to the intercept: the posterior is exact
    y = 3.0 + 2.0 * column + rng.normal(size=20)
    shuffled = rng.permutation(20)
    model = DriftRegressor(always_in=[0], static=[0], noise=NOISE)
    model.fit(column[shuffled, None], y[shuffled])
    X = np.column_stack([np.ones(20), column])[shuffled]
    expected = np.empty(20)
    for n in range(20):
        others = np.arange(20) != n
        coef = np.linalg.lstsq(X[others], y[shuffled][others], rcond=None)[0]
        spread = X[n] @ np.linalg.inv(X[others].T @ X[others]) @ X[n]
        expected[n] = (y[shuffled][n] - X[n] @ coef) / np.sqrt(NOISE * (1 + spread))
    assert_allclose(model.residuals_, expected, atol=1e-5)


def test_a_row_that_is_nearly_all_there_is_keeps_a_finite_residual():
    one = np.ones(1)
    mean, variance = without_own(one, one, 0.5 * one, 2.0 * one)
    assert_allclose(variance, 1 / (1 - MOST_OWN))
    assert_allclose(mean, 1 - 0.5 / (1 - MOST_OWN))


def test_residuals_are_normal_quantiles_of_what_a_forecast_gives():
    y = np.array([0.3, 2.0, 11.0])
    expected = stats.norm.ppf(stats.gamma.cdf(y, 2.0, scale=1.5))
    assert_allclose(quantile_residuals(Gamma(np.full(3, 3.0), np.full(3, 2.0)), y), expected)
    # Normal ones are exact however far off y is; others end at eight.
    assert quantile_residuals(Normal([0.0], [2.0]), np.array([200.0])) == 100.0
    assert 7.9 < quantile_residuals(Gamma([3.0], [2.0]), np.array([1e6]))[0] < 8


def test_counts_lie_inside_their_own_probability_and_fractions_have_none():
    y = np.array([0.0, 3.0, 7.0, 2.5])
    found = quantile_residuals(Poisson(np.full(4, 3.0)), y)
    low, high = (stats.norm.ppf(stats.poisson.cdf(y[:3] - shift, 3.0)) for shift in (1, 0))
    assert ((low < found[:3]) & (found[:3] < high)).all()
    assert np.isnan(found[3])


@pytest.mark.parametrize("classes", [2, 3])
def test_residuals_of_classes_are_standard_normal_if_probabilities_are_right(classes):
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(classes), 4000)
    y = (p.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1).astype(float)
    forecast = Bernoulli(p[:, 1]) if classes == 2 else Categorical(p)
    assert stats.kstest(quantile_residuals(forecast, y), "norm").pvalue > 0.01
    wrong = Bernoulli(p[::-1, 1]) if classes == 2 else Categorical(p[::-1])
    assert stats.kstest(quantile_residuals(wrong, y), "norm").pvalue < 0.05


# ------------------------------------------------------------------------- of whole fits


@pytest.fixture(scope="module")
def panel():
    drawn = simulate_panel(n_features=4, n_active=2, n_timesteps=6, rows_per_step=40)
    order = np.random.default_rng(3).permutation(drawn.y.size)
    return drawn.X[order] + 2.0, drawn.y[order] + 50.0, drawn.time[order]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_are_in_the_users_order_and_without_those_of_weight_zero(kind, panel):
    X, y, time = panel
    weights = np.where(np.arange(y.size) % 7 == 0, 0.0, 1.0)
    model = DriftRegressor(noise="constant").fit(kind(X), y, time=time, sample_weight=weights)
    used = weights > 0
    low, high = model.predict_interval(kind(X[used]), time=time[used]).T
    variance = ((high - low) / 2 / stats.norm.ppf(0.95)) ** 2 - model.noise_
    off = y[used] - model.predict(kind(X[used]), time=time[used])
    # Residuals take errors of coefficients for independent, intervals know how they go together.
    assert_allclose(model.residuals_, off / np.sqrt(model.noise_ - variance), atol=1e-2)
    assert_array_equal(model._checks.codes, time[used])
    assert_array_equal(model._checks.minimum, X[used].min(axis=0))
    assert_array_equal(model._checks.maximum, X[used].max(axis=0))
    assert_allclose(model._checks.information, 1 / model.noise_)


def test_a_mode_has_residuals_too(panel):
    X, y, time = panel
    model = DriftRegressor(prior="fixed", fit_intercept=False).fit(X, y, time=time)
    off = y - model.predict(X, time=time)
    assert_allclose(model.residuals_, off / np.sqrt(model.noise_), rtol=1e-5)


@pytest.mark.parametrize("prior", ["learned", "variational"])
@pytest.mark.parametrize("kind", [DriftRegressor, DriftPoissonRegressor])
def test_deviances_are_those_of_the_score(kind, prior, panel):
    X, y, time = panel
    counts = np.rint(4 * np.exp(y - 50.0))
    model = kind(prior=prior).fit(X, counts, time=time)
    checks = model._checks
    explained = 1 - checks.deviance.sum() / checks.null_deviance.sum()
    assert explained > 0.1
    assert_allclose(explained, model.score(X, counts, time=time), rtol=1e-8)
    last = model.score(X[time == 5], counts[time == 5], time=time[time == 5])
    # The mean of one step alone explains more of it than that of all.
    assert last <= 1 - checks.deviance[5] / checks.null_deviance[5] + 1e-12


@pytest.mark.parametrize("prior", ["learned", "exact"])
@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial", "multinomial"])
def test_a_right_model_leaves_standard_normal_residuals(family, prior):
    drawn = simulate_panel(
        n_features=4,
        n_active=2,
        n_timesteps=5,
        rows_per_step=150,
        family="gaussian" if family == "multinomial" else family,
    )
    y = drawn.y
    if family == "multinomial":
        noise = np.random.default_rng(4).logistic(size=y.size)
        y = np.digitize(2 * drawn.mean + noise, [1.0, 3.0])
    model = DriftGLM(family=family, prior=prior).fit(drawn.X, y, time=drawn.time)
    assert stats.kstest(model.residuals_, "norm").pvalue > 1e-3
    assert model.residuals_.std() == pytest.approx(1.0, abs=0.08)


def test_leaving_rows_out_matters_where_features_are_many():
    """Without it residuals of a fit with as many columns as rows would be far too small."""
    drawn = simulate_panel(n_features=150, n_active=60, n_timesteps=2, rows_per_step=100)
    model = DriftRegressor().fit(drawn.X, drawn.y, time=drawn.time)
    off = drawn.y - model.predict(drawn.X, time=drawn.time)
    assert (off / np.sqrt(model.noise_)).std() < 0.95 * model.residuals_.std()


def test_a_classifier_that_sees_labels_counts_its_classes(panel):
    X, y, time = panel
    labels = np.where(y > np.median(y), "up", "down")
    model = DriftClassifier().fit(X, labels, time=time)
    # The upper class has the upper residuals, row by row.
    assert model.residuals_[labels == "up"].min() > model.residuals_[labels == "down"].min()
    assert model.residuals_[labels == "up"].mean() > 0.5 > model.residuals_[labels == "down"].mean()
