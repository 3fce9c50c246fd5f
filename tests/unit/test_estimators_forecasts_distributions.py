"""Distributions of new rows: what `estimators/forecasts.py` makes of a fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import nbinom, norm

import driftglm
from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError
from driftglm.predictive import Bernoulli, Categorical, NegativeBinomial, Normal
from driftglm.simulate import simulate_panel


def panel(family="gaussian", **options):
    sizes = {"n_features": 6, "n_active": 3, "rows_per_step": 60, "n_timesteps": 6}
    return simulate_panel(family=family, random_state=3, **sizes | options)


@pytest.fixture(scope="module")
def numbers():
    data = panel()
    return data, DriftRegressor(noise="constant", extrapolate="forecast").fit(
        data.X, data.y, time=data.time
    )


@pytest.fixture(scope="module")
def counts():
    data = panel("poisson", intercept=0.5)
    return data, DriftPoissonRegressor(extrapolate="forecast").fit(data.X, data.y, time=data.time)


@pytest.fixture(scope="module")
def sides():
    data = panel("binomial")
    labels = np.where(data.y > 0, "yes", "no")
    return data, labels, DriftClassifier().fit(data.X, labels, time=data.time)


def test_a_forecast_of_numbers_is_normal_about_the_prediction(numbers):
    data, model = numbers
    forecast = model.predict_distribution(data.X_next)
    assert isinstance(forecast, Normal)
    assert_allclose(forecast.mean, model.predict(data.X_next), rtol=1e-12)
    reach = norm.ppf(0.95) * forecast.std
    expected = np.column_stack([forecast.mean - reach, forecast.mean + reach])
    assert_allclose(model.predict_interval(data.X_next), expected, rtol=1e-12)
    assert (forecast.variance > model.noise_variance_).all()


def test_every_training_row_is_forecast_with_the_coefficients_of_its_step(numbers):
    data, model = numbers
    forecast = model.predict_distribution(data.X, data.time)
    assert_allclose(forecast.mean, model.predict(data.X, time=data.time), rtol=1e-12)


def test_steps_further_ahead_are_no_more_certain(numbers):
    data, model = numbers
    last = int(np.max(data.time))
    stds = [
        model.predict_distribution(data.X_next, np.full(len(data.X_next), last + n)).std
        for n in (1, 2, 5, 8)
    ]
    assert_allclose(stds[0], model.predict_distribution(data.X_next).std, rtol=1e-12)
    assert (np.diff(stds, axis=0) >= -1e-12).all()


def test_a_forecast_of_counts_has_their_mean_and_more_than_a_poisson_variance(counts):
    data, model = counts
    hours = np.linspace(0.5, 2.0, len(data.X_next))
    forecast = model.predict_distribution(data.X_next, exposure=hours)
    assert isinstance(forecast, NegativeBinomial)
    # A far tail of the rate counts in the one and hardly in the other.
    ratio = forecast.mean / model.predict(data.X_next, exposure=hours)
    assert ((ratio > 0.9) & (ratio <= 1.0)).all()
    assert (forecast.variance > forecast.mean).all()
    interval = model.predict_interval(data.X_next, exposure=hours)
    size, odds = forecast.mean / (forecast.dispersion - 1), 1 / forecast.dispersion
    assert_array_equal(interval[:, 1], nbinom.ppf(0.95, size, odds))


def test_a_forecast_of_two_classes_has_their_probability(sides):
    data, _, model = sides
    forecast = model.predict_distribution(data.X_next)
    assert isinstance(forecast, Bernoulli)
    assert_allclose(forecast.probability, model.predict_proba(data.X_next)[:, 1], rtol=1e-12)
    interval = model.predict_interval(data.X_next)
    assert ((interval[:, 0] < forecast.probability) & (forecast.probability < interval[:, 1])).all()


def test_a_forecast_of_three_classes_has_their_probabilities(rng):
    X, time = rng.normal(size=(180, 3)), np.repeat(np.arange(3), 60)
    y = np.array(["a", "b", "c"])[np.argmax(X + rng.gumbel(size=X.shape), axis=1)]
    model = DriftClassifier().fit(X, y, time=time)
    forecast = model.predict_distribution(X[:9])
    assert isinstance(forecast, Categorical)
    assert_allclose(forecast.probabilities, model.predict_proba(X[:9]), rtol=1e-12)
    by_hand = np.log(forecast.probabilities[np.arange(9), np.searchsorted(model.classes_, y[:9])])
    assert_allclose(model.log_score(X[:9], y[:9]), by_hand.mean(), rtol=1e-12)


def test_the_log_score_is_the_weighted_mean_log_density(numbers, rng):
    data, model = numbers
    forecast = model.predict_distribution(data.X_next)
    densities = norm.logpdf(data.y_next, forecast.loc, forecast.scale)
    weights = rng.uniform(0.1, 2.0, len(densities))
    assert_allclose(model.log_score(data.X_next, data.y_next), densities.mean(), rtol=1e-10)
    weighted = model.log_score(data.X_next, data.y_next, sample_weight=weights)
    assert_allclose(weighted, np.average(densities, weights=weights), rtol=1e-10)


def test_the_log_score_of_labels_is_that_of_their_probabilities(sides):
    data, labels, model = sides
    given = model.predict_proba(data.X, time=data.time)
    chosen = np.where(labels == "yes", given[:, 1], given[:, 0])
    assert_allclose(model.log_score(data.X, labels, data.time), np.log(chosen).mean(), rtol=1e-10)


def test_quantiles_are_those_of_the_forecast(numbers):
    data, model = numbers
    forecast = model.predict_distribution(data.X_next)
    found = model.predict_quantiles(data.X_next, [0.1, 0.5])
    assert_allclose(found[:, 0], norm.ppf(0.1, forecast.loc, forecast.scale), rtol=1e-10)
    assert_allclose(model.predict_quantiles(data.X_next, 0.5), found[:, 1], rtol=1e-12)


def test_draws_have_the_moments_of_the_forecast_and_are_repeatable(numbers):
    data, model = numbers
    rows = data.X_next[:4]
    drawn = model.predict_draws(rows, 20_000, random_state=0)
    forecast = model.predict_distribution(rows)
    assert drawn.shape == (20_000, 4)
    assert_allclose(drawn.mean(axis=0), forecast.mean, atol=5 * forecast.std.max() / 141)
    assert_allclose(drawn.std(axis=0), forecast.std, rtol=0.03)
    assert_array_equal(drawn, model.predict_draws(rows, 20_000, random_state=0))


def test_draws_of_classes_are_labels(sides):
    data, _, model = sides
    drawn = model.predict_draws(data.X_next[:5], 4_000, random_state=1)
    share = model.predict_proba(data.X_next[:5])[:, 1]
    assert_allclose((drawn == "yes").mean(axis=0), share, atol=0.04)


def test_classes_have_no_quantiles(sides):
    data, _, model = sides
    with pytest.raises(DataError, match="classes have no quantiles"):
        model.predict_quantiles(data.X, [0.5])


def test_a_mode_has_no_distribution():
    data = panel()
    model = DriftRegressor(prior="fixed").fit(data.X, data.y, time=data.time)
    with pytest.raises(DataError, match="posterior mode and has no intervals and no distributions"):
        model.predict_distribution(data.X)


def test_an_exposure_is_refused_by_families_that_take_none(numbers):
    data, model = numbers
    with pytest.raises(DataError, match="takes no exposure"):
        model.predict_distribution(data.X, exposure=np.ones(len(data.X)))


@pytest.mark.parametrize("which", ["numbers", "counts"])
def test_a_forecast_comes_back_from_a_file(which, request, tmp_path):
    data, model = request.getfixturevalue(which)
    forecast = model.predict_distribution(data.X_next)
    forecast.save(tmp_path / "forecast.drift")
    again = driftglm.load(tmp_path / "forecast.drift")
    assert type(again) is type(forecast)
    assert_array_equal(again.interval(0.8), forecast.interval(0.8))


def test_a_mixture_of_forecasts_comes_back_from_a_file(numbers, tmp_path):
    data, model = numbers
    one = model.predict_distribution(data.X_next)
    mixed = driftglm.predictive.Mixture((one, Normal(one.loc + 1, 2 * one.scale)), [0.3, 0.7])
    mixed.save(tmp_path / "mixed.drift")
    again = driftglm.load(tmp_path / "mixed.drift")
    assert_array_equal(again.quantile([0.1, 0.9]), mixed.quantile([0.1, 0.9]))
