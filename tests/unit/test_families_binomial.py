"""The binomial family against mpmath, quadrature and its own bound, at ordinary and extreme eta."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import norm

from driftglm.families import Binomial

CERTAIN = np.zeros(1)


@pytest.mark.parametrize("bounded", [True, False])
def test_binomial_is_exact_to_the_last_digit_at_extreme_eta(row_value, bounded):
    family, mp.mp.dps = Binomial(bound=bounded), 800
    for eta in (-745.0, -40.0, -1.0, 0.0, 1e-9, 20.0, 300.0, 800.0):
        for y in (0.0, 1.0):
            p = 1 / (1 + mp.e ** (-mp.mpf(eta)))
            exact = mp.log(p) if y else mp.log(1 - p) if eta < 50 else -mp.mpf(eta)
            assert_allclose(row_value(family, y, eta, 0.0), float(exact), rtol=1e-14, atol=1e-300)
            score = family.score(np.array([y]), np.array([eta]), CERTAIN, np.ones(1))[0]
            exact = y - p if y == 0 or eta < 0 else 1 / (1 + mp.e ** mp.mpf(eta))
            assert_allclose(score, float(exact), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("eta", [-4.0, -0.2, 0.0, 1.5, 6.0])
@pytest.mark.parametrize("variance", [0.01, 1.0, 25.0])
def test_the_polya_gamma_bound_lies_below_the_expectation(row_value, eta, variance):
    grid = np.linspace(-12, 12, 20001)
    weight = norm.pdf(grid) * (grid[1] - grid[0])
    at = eta + np.sqrt(variance) * grid
    for y in (0.0, 1.0):
        exact = float(weight @ (y * at - np.logaddexp(0, at)))
        bound = row_value(Binomial(), y, eta, variance)
        assert bound <= exact + 1e-9
        assert bound > exact - 0.25 * variance  # and not far below
        assert_allclose(row_value(Binomial(bound=False), y, eta, variance), exact, rtol=3e-2)
    row = np.ones(1), np.array([eta]), np.array([variance]), np.ones(1)
    slope = weight @ (expit(at) * expit(-at))
    found = Binomial(bound=False).curvature(*row)[0]
    assert_allclose(found, slope, rtol=0.3 if variance > 9 else 1e-3)
    assert slope <= Binomial().curvature(*row)[0] + 1e-12
    assert_allclose(Binomial(bound=False).score(*row)[0], weight @ expit(-at), rtol=0.1)


def test_series_and_quadrature_meet_where_one_takes_over_from_the_other(rng):
    family, eta = Binomial(bound=False), rng.normal(0, 3, 2000)
    y, ones = rng.integers(0, 2, 2000).astype(float), np.ones(2000)
    below, above = (
        family.evaluate(y, eta, np.full(2000, v), ones, 1.0) for v in (0.02 - 1e-12, 0.02)
    )
    assert_allclose(below[0], above[0], rtol=1e-9)
    assert_allclose(below[1], above[1], atol=1e-8)
    assert_allclose(below[2], above[2], atol=1e-6)


def test_the_mean_integrates_the_uncertainty_out(rng):
    draws = 0.4 + np.sqrt(1.7) * rng.normal(size=400_000)
    found = Binomial().mean(np.array([0.4]), np.array([1.7]))
    assert_allclose(found[0], expit(draws).mean(), atol=2e-3)
