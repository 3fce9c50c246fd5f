"""The negative binomial family: its limits, forecasts and messages."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import nbinom, norm

from driftglm import DriftGLM, DriftPoissonRegressor
from driftglm.exceptions import DataError
from driftglm.families import NegativeBinomial, Poisson
from driftglm.simulate import simulate_panel


def test_without_dispersion_it_is_poisson(rng):
    y, eta = rng.poisson(4.0, 60).astype(float), rng.normal(1.0, 1.0, 60)
    rows = y, eta, rng.uniform(0.0, 0.5, 60), np.ones(60)
    nearly, exact = NegativeBinomial(alpha=1e-6), Poisson()
    for function in ("score", "curvature"):
        found, expected = (getattr(family, function)(*rows) for family in (nearly, exact))
        assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    found, expected = (family.log_likelihood(*rows, np.ones(1)) for family in (nearly, exact))
    assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("variance", [0.01, 0.3, 1.5])
@pytest.mark.parametrize("alpha", [0.01, 0.5, 4.0])
def test_the_expectation_is_that_of_an_integral(alpha, variance):
    for y in (0.0, 3.0, 60.0):

        def inside(eta, y=y):
            density = norm.pdf(eta, 1.2, np.sqrt(variance))
            return density * nbinom.logpmf(y, 1 / alpha, 1 / (1 + alpha * np.exp(eta)))

        reach = 10 * np.sqrt(variance)
        expected = quad(inside, 1.2 - reach, 1.2 + reach, epsabs=1e-12)[0]
        row = np.array([y]), np.array([1.2]), np.array([variance]), np.ones(1)
        found = NegativeBinomial(alpha=alpha).log_likelihood(*row, np.ones(1))
        assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("variance", [0.0, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("family", [Poisson(), NegativeBinomial(alpha=0.3)])
def test_forecasts_beat_those_of_the_same_moments(family, variance, rng):
    """Where the rate is certain both are right; the more uncertain it is the more they differ."""
    mean, alpha = 2.0, getattr(family, "alpha", 0.0)
    eta = mean + np.sqrt(variance) * rng.normal(size=40_000)
    scatter = rng.gamma(1 / alpha, alpha, eta.size) if alpha else 1.0
    y = rng.poisson(np.exp(eta) * scatter).astype(float)
    every = np.ones(y.size)
    forecast = family.predictive(mean * every, variance * every, every)
    raw = np.exp(mean + variance / 2)
    spread = np.exp(variance) * (1 + alpha) - 1
    peer = type(forecast)(raw * every, np.maximum(1.0 + raw * spread, 1.0) * every)
    for score in ("log_prob", "crps"):
        sign = -1 if score == "log_prob" else 1
        ours, theirs = (sign * getattr(each, score)(y).mean() for each in (forecast, peer))
        assert ours <= theirs + 0.002 * abs(theirs)
    assert abs(forecast.cdf(0.0 * every)[0] - (y == 0).mean()) < 0.06
    assert_allclose(forecast.take(np.arange(1)).quantile(0.5)[0], np.median(y), rtol=0.7)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, 1.5], r"1.5 at row 1; counts are whole.*'poisson'.*'gamma'"),
        ([0.0, -1.0], r"-1.0 at row 1.*'gaussian'"),
        (["a", "b"], "labels are for family='binomial'"),
    ],
)
def test_wrong_targets_are_told_which_family_fits(y, message):
    with pytest.raises(DataError, match=message):
        DriftGLM(family="negative-binomial").fit(np.arange(2.0)[:, None], y)


def test_counts_of_a_negative_binomial_are_forecast_better_by_it():
    panel = simulate_panel(
        family="negative-binomial", n_features=4, n_active=3, intercept=2.0, noise_variance=0.8
    )
    rows = panel.X, panel.y
    model = DriftGLM(family="negative-binomial").fit(*rows, time=panel.time)
    assert_allclose(model.noise_, 0.8, rtol=0.15)
    poisson = DriftPoissonRegressor().fit(*rows, time=panel.time)
    # Within steps: where the intercept of one step to come lies would be a single draw.
    assert model.log_score(*rows, panel.time) > poisson.log_score(*rows, panel.time) + 0.1
