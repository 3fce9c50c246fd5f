"""Quantiles of normal mixtures with a point at zero, against scipy and what must hold of any."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import norm

from driftglm.fitting.quantiles import mixture_quantile

LEVELS = (0.001, 0.05, 0.3, 0.5, 0.9, 0.95, 0.999)


def mixtures(rng, count, point):
    """Weights, means and deviations; the first part of half of them is zero for certain."""
    for n in range(count):
        size = 1 + n % 9
        weights = rng.dirichlet(np.full(size, 0.4))
        means = rng.normal(size=size) * (0.1, 1.0, 20.0)[n % 3]
        deviations = rng.gamma(1.0, size=size) * (1e-3, 1.0)[n % 2] + 1e-6
        if point and size > 1:
            means[0] = deviations[0] = 0.0
        yield weights, means, deviations


@pytest.mark.parametrize("level", LEVELS)
def test_without_a_point_it_is_the_root_of_the_distribution_function(level, rng):
    for weights, means, deviations in mixtures(rng, 60, point=False):

        def above(x, parts=(weights, means, deviations)):
            return parts[0] @ norm.cdf(x, parts[1], parts[2]) - level

        reach = 40 * deviations.max()
        expected = brentq(above, means.min() - reach, means.max() + reach, xtol=1e-13, rtol=1e-13)
        # The distribution function is what counts: between modes it is flat.
        found = mixture_quantile(weights, means, deviations, level)
        assert_allclose(above(found), 0.0, atol=1e-7)
        width = np.ptp(np.concatenate([means - 9 * deviations, means + 9 * deviations]))
        density = weights @ norm.pdf(expected, means, deviations)
        if density * width > 1e-3:
            assert_allclose(found, expected, atol=1e-7 * width)


@pytest.mark.parametrize("level", LEVELS)
def test_a_quantile_is_the_least_number_that_has_the_level_below_it(level, rng):
    for weights, means, deviations in mixtures(rng, 60, point=True):
        found = mixture_quantile(weights, means, deviations, level)
        some, step = deviations > 0, 1e-6 * (abs(found) + 1e-3)
        spread = np.where(some, deviations, 1.0)

        def reached(x, parts=(weights, means, spread, some)):
            shares, mid, scale, normal = parts
            return shares @ np.where(normal, norm.cdf((x - mid) / scale), x >= 0)

        assert reached(found - step) <= level + 1e-7
        assert reached(found + step) >= level - 1e-7


def test_where_zero_has_all_of_a_level_it_is_exactly_zero():
    parts = np.array([0.9, 0.1]), np.array([0.0, 5.0]), np.array([0.0, 0.1])
    assert mixture_quantile(*parts, 0.05) == 0.0
    assert mixture_quantile(*parts, 0.85) == 0.0
    assert_allclose(mixture_quantile(*parts, 0.95), 5.0, atol=1e-8)
    nothing = np.array([1.0]), np.zeros(1), np.zeros(1)
    assert mixture_quantile(*nothing, 0.95) == 0.0


def test_turned_round_it_has_the_quantiles_of_the_other_side(rng):
    for weights, means, deviations in mixtures(rng, 30, point=True):
        low = mixture_quantile(weights, means, deviations, 0.05)
        high = mixture_quantile(weights, -means, deviations, 0.95)
        assert_allclose(low, -high, atol=1e-7 * (1.0 + abs(low)))
