"""Families against mpmath, quadrature and finite differences, at ordinary and extreme eta."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import norm, poisson

from driftglm.exceptions import DataError
from driftglm.families import Binomial, Gaussian, Poisson, SoftmaxClass
from driftglm.families.multinomial import softmax_draws

CERTAIN = np.zeros(1)
FAMILIES = {
    "gaussian": (Gaussian(), np.array([-3.0, 0.0, 0.4, 7.0])),
    "expected binomial": (Binomial(bound=False), np.array([0.0, 1.0, 0.3, 1.0])),
    "binomial": (Binomial(), np.array([0.0, 1.0, 0.3, 1.0])),
    "poisson": (Poisson(), np.array([0.0, 1.0, 7.0, 250.0])),
    "dispersed": (Poisson(dispersed=True), np.array([0.0, 1.0, 7.0, 250.0])),
    "softmax": (SoftmaxClass(n_classes=3), np.array([0.0, 1.0, 1.0, 0.0])),
}
EVERY = pytest.mark.parametrize("name", FAMILIES)
ETAS = [-30.0, -5.0, -0.7, -1e-7, 0.0, 1e-5, 0.3, 2.0, 6.0]


def value(family, y, mean, variance, noise=1.0):
    """F of a single row."""
    row = [np.array([number]) for number in (y, mean, variance)]
    return family.log_likelihood(*row, np.ones(1), np.atleast_1d(noise))


@EVERY
@pytest.mark.parametrize("variance", [0.0, 1e-6, 0.019, 0.5, 9.0])
@pytest.mark.parametrize("eta", ETAS)
def test_score_is_the_derivative_with_respect_to_the_mean(name, eta, variance):
    family, targets = FAMILIES[name]
    for y in targets:
        step = 1e-5 * max(1.0, abs(eta))
        slope = (
            value(family, y, eta + step, variance) - value(family, y, eta - step, variance)
        ) / (2 * step)
        found = family.score(np.array([y]), np.array([eta]), np.array([variance]), np.ones(1))
        assert_allclose(found[0], slope, rtol=1e-5, atol=2e-5 * (1 + abs(value(family, y, eta, 0))))


@EVERY
@pytest.mark.parametrize("variance", [0.003, 0.0199, 0.1, 2.0, 9.0])
@pytest.mark.parametrize("eta", ETAS)
def test_curvature_is_minus_twice_the_derivative_with_respect_to_the_variance(name, eta, variance):
    family, targets = FAMILIES[name]
    for y in targets:
        step = 1e-4 * variance
        slope = (
            value(family, y, eta, variance + step) - value(family, y, eta, variance - step)
        ) / (2 * step)
        found = family.curvature(np.array([y]), np.array([eta]), np.array([variance]), np.ones(1))
        assert_allclose(found[0], -2 * slope, rtol=1e-5, atol=1e-8 * (1 + abs(y)))


@pytest.mark.parametrize("bounded", [True, False])
def test_binomial_is_exact_to_the_last_digit_at_extreme_eta(bounded):
    family, mp.mp.dps = Binomial(bound=bounded), 800
    for eta in (-745.0, -40.0, -1.0, 0.0, 1e-9, 20.0, 300.0, 800.0):
        for y in (0.0, 1.0):
            p = 1 / (1 + mp.e ** (-mp.mpf(eta)))
            exact = mp.log(p) if y else mp.log(1 - p) if eta < 50 else -mp.mpf(eta)
            assert_allclose(value(family, y, eta, 0.0), float(exact), rtol=1e-14, atol=1e-300)
            score = family.score(np.array([y]), np.array([eta]), CERTAIN, np.ones(1))[0]
            exact = y - p if y == 0 or eta < 0 else 1 / (1 + mp.e ** mp.mpf(eta))
            assert_allclose(score, float(exact), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("eta", [-4.0, -0.2, 0.0, 1.5, 6.0])
@pytest.mark.parametrize("variance", [0.01, 1.0, 25.0])
def test_the_polya_gamma_bound_lies_below_the_expectation(eta, variance):
    grid = np.linspace(-12, 12, 20001)
    weight = norm.pdf(grid) * (grid[1] - grid[0])
    at = eta + np.sqrt(variance) * grid
    for y in (0.0, 1.0):
        exact = float(weight @ (y * at - np.logaddexp(0, at)))
        bound = value(Binomial(), y, eta, variance)
        assert bound <= exact + 1e-9
        assert bound > exact - 0.25 * variance  # and not far below
        assert_allclose(value(Binomial(bound=False), y, eta, variance), exact, rtol=3e-2)
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


@pytest.mark.parametrize("family", [Gaussian(), Binomial()])
def test_a_bounded_familys_model_never_exceeds_it(family, rng):
    for _ in range(300):
        y = float(rng.integers(2))
        mean, variance = rng.normal(0, 5), rng.exponential(3)
        new_mean, new_variance = rng.normal(0, 5), rng.exponential(3)
        row = np.array([y]), np.array([mean]), np.array([variance]), np.ones(1)
        score, curvature = family.score(*row)[0], family.curvature(*row)[0]
        d, v = new_mean - mean, new_variance - variance
        model = value(family, y, mean, variance) + score * d - 0.5 * curvature * (d * d + v)
        assert value(family, y, new_mean, new_variance) >= model - 1e-9


@pytest.mark.parametrize("eta", [-3.0, 0.0, 2.5])
def test_poisson_is_the_distribution_of_counts(eta):
    for y in (0.0, 3.0, 40.0):
        expected = poisson.logpmf(y, np.exp(eta))
        assert_allclose(value(Poisson(), y, eta, 0.0), expected, rtol=1e-12)
        assert_allclose(value(Poisson(dispersed=True), y, eta, 0.0, 1.0), expected, rtol=1e-12)


def test_dispersion_scales_the_deviance_and_its_best_value_is_the_mean_deviance(rng):
    family, y = Poisson(dispersed=True), rng.poisson(20.0, 50).astype(float)
    eta, ones = np.full(50, 3.1), np.ones(50)
    best = family.expected_deviance(y, eta, CERTAIN, ones).sum() / 50
    noises = (np.full(1, best * f) for f in (0.9, 1.0, 1.1))
    at = [family.log_likelihood(y, eta, CERTAIN, ones, noise) for noise in noises]
    assert at[1] > max(at[0], at[2])
    deviance = 2 * (poisson.logpmf(y, np.maximum(y, 1e-300)) - poisson.logpmf(y, np.exp(3.1))).sum()
    assert_allclose(best, deviance / 50, rtol=1e-9)


@EVERY
def test_weights_count_rows(name, rng):
    family, targets = FAMILIES[name]
    y, mean = rng.choice(targets, 6), rng.normal(size=6)
    variance, weights = rng.exponential(size=6), np.array([1.0, 2, 3, 1, 1, 2])
    twice = [np.repeat(part, weights.astype(int)) for part in (y, mean, variance)]
    ones = np.ones(int(weights.sum()))
    noise = np.full(1, 1.3)
    once = family.log_likelihood(y, mean, variance, weights, noise)
    assert_allclose(once, family.log_likelihood(*twice, ones, noise), rtol=1e-12)
    once = family.expected_deviance(y, mean, variance, weights).sum()
    assert_allclose(once, family.expected_deviance(*twice, ones).sum(), rtol=1e-12)
    flat = np.zeros(6)
    for function in ("center", "reference", "effective_rows"):
        once = getattr(family, function)(y, weights, flat)
        assert_allclose(once, getattr(family, function)(twice[0], ones, 0 * ones), rtol=1e-12)


@EVERY
def test_the_center_is_where_the_score_of_a_constant_vanishes(name):
    """Up to the half row that keeps it finite."""
    family, targets = FAMILIES[name]
    y = np.repeat(targets, 500)
    center = family.center(y, np.ones(y.size), np.zeros(y.size))
    score = family.score(y, np.full(y.size, center), CERTAIN, np.ones(y.size)).sum()
    assert abs(score) <= 1.0


@pytest.mark.parametrize(("family", "y"), [(Binomial(), 1.0), (Binomial(), 0.0), (Poisson(), 0.0)])
def test_a_target_of_one_value_has_a_finite_center(family, y):
    center = family.center(np.full(9, y), np.ones(9), np.zeros(9))
    assert np.isfinite(center)
    assert np.isfinite(family.reference(np.full(9, y), np.ones(9), np.zeros(9)))


def test_means_integrate_the_uncertainty_out(rng):
    draws = 0.4 + np.sqrt(1.7) * rng.normal(size=400_000)
    at = np.array([0.4]), np.array([1.7])
    assert_allclose(Binomial().mean(*at)[0], expit(draws).mean(), atol=2e-3)
    assert_allclose(Poisson().mean(*at)[0], np.exp(0.4 + 0.85), rtol=1e-12)
    assert_allclose(Gaussian().mean(*at)[0], 0.4)


def test_softmax_draws_are_probabilities_of_shifted_logits(rng):
    mean, variance = rng.normal(size=(5, 3)), rng.exponential(size=(5, 3))
    draws = rng.normal(size=(4, 3))
    found = softmax_draws(mean, variance, draws)
    eta = mean[2] + np.sqrt(variance[2]) * draws[1]
    assert_allclose(found[1, 2], np.exp(eta) / np.exp(eta).sum(), rtol=1e-12)
    assert_allclose(found.sum(axis=2), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("family", "bad", "message"),
    [
        (Binomial(), 1.5, "between 0 and 1"),
        (Binomial(), np.nan, "between 0 and 1"),
        (Poisson(), -1.0, "-1.0 at row 1"),
        (Poisson(), np.inf, "counts"),
        (Poisson(), 1e20, "counts"),
    ],
)
def test_impossible_targets_are_refused_by_row(family, bad, message):
    with pytest.raises(DataError, match=message):
        family.check_target(np.array([0.0, bad]))
