"""Counts: their likelihood, dispersed or not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import poisson

from driftglm.families import Poisson

CERTAIN = np.zeros(1)


@pytest.mark.parametrize("eta", [-3.0, 0.0, 2.5])
def test_poisson_is_the_distribution_of_counts(row_value, eta):
    for y in (0.0, 3.0, 40.0):
        expected = poisson.logpmf(y, np.exp(eta))
        assert_allclose(row_value(Poisson(), y, eta, 0.0), expected, rtol=1e-12)
        assert_allclose(row_value(Poisson(dispersed=True), y, eta, 0.0, 1.0), expected, rtol=1e-12)


def test_dispersion_scales_the_deviance_and_its_best_value_is_the_mean_deviance(rng):
    family, y = Poisson(dispersed=True), rng.poisson(20.0, 50).astype(float)
    eta, ones = np.full(50, 3.1), np.ones(50)
    best = family.expected_deviance(y, eta, CERTAIN, ones).sum() / 50
    noises = (np.full(1, best * f) for f in (0.9, 1.0, 1.1))
    at = [family.log_likelihood(y, eta, CERTAIN, ones, noise) for noise in noises]
    assert at[1] > max(at[0], at[2])
    deviance = 2 * (poisson.logpmf(y, np.maximum(y, 1e-300)) - poisson.logpmf(y, np.exp(3.1))).sum()
    assert_allclose(best, deviance / 50, rtol=1e-9)


def test_the_mean_integrates_the_uncertainty_out():
    found = Poisson().mean(np.array([0.4]), np.array([0.1]))
    assert_allclose(found[0], np.exp(0.4 + 0.05), rtol=3e-3)
    # Of a wide posterior not the far tail, whose mean says nothing of what will be counted.
    wide = Poisson().mean(np.array([0.4]), np.array([20.0]))
    assert np.exp(0.4) < wide[0] < np.exp(0.4 + 5.0)
    law = Poisson().predictive(np.array([0.4]), np.array([20.0]), np.ones(1))
    assert_allclose(wide, law.mean, rtol=1e-12)
