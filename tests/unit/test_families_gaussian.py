"""The Gaussian family against scipy's normal distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from driftglm.exceptions import DataError
from driftglm.families import Gaussian


def test_the_mean_is_that_of_an_uncertain_eta():
    assert_allclose(Gaussian().mean(np.array([0.4]), np.array([1.7]))[0], 0.4)


def test_a_certain_eta_has_the_likelihood_of_a_normal_and_uncertainty_costs(rng):
    y, mean = rng.normal(size=5), rng.normal(size=5)
    given = np.ones(5), np.array([0.3])
    exact = norm.logpdf(y, mean, np.sqrt(0.3)).sum()
    assert_allclose(Gaussian().log_likelihood(y, mean, np.zeros(1), *given), exact)
    uncertain = Gaussian().log_likelihood(y, mean, np.full(5, 0.2), *given)
    assert_allclose(uncertain, exact - 5 * 0.2 / (2 * 0.3))


def test_an_interval_adds_the_noise_to_the_uncertainty():
    forecast = Gaussian().predictive(np.array([2.0]), np.array([0.5]), np.array([1.5]))
    assert_allclose(forecast.interval(0.8)[0], norm.interval(0.8, 2.0, np.sqrt(2.0)))


def test_a_constant_y_has_a_positive_reference_and_infinity_is_refused():
    assert Gaussian().reference(np.full(3, 7.0), np.ones(3), np.full(3, 7.0)) > 0
    with pytest.raises(DataError, match="y is inf at row 1"):
        Gaussian().check_target(np.array([0.0, np.inf]))
