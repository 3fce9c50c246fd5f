"""Families against mpmath, quadrature and finite differences, at ordinary and extreme eta."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.exceptions import DataError
from driftglm.families import (
    Binomial,
    Gamma,
    Gaussian,
    NegativeBinomial,
    Poisson,
    SoftmaxClass,
)

CERTAIN = np.zeros(1)
FAMILIES = {
    "gaussian": (Gaussian(), np.array([-3.0, 0.0, 0.4, 7.0])),
    "expected binomial": (Binomial(bound=False), np.array([0.0, 1.0, 0.3, 1.0])),
    "binomial": (Binomial(), np.array([0.0, 1.0, 0.3, 1.0])),
    "poisson": (Poisson(), np.array([0.0, 1.0, 7.0, 250.0])),
    "dispersed": (Poisson(dispersed=True), np.array([0.0, 1.0, 7.0, 250.0])),
    "nearly poisson": (NegativeBinomial(alpha=1e-3), np.array([0.0, 1.0, 7.0, 250.0])),
    "negative-binomial": (NegativeBinomial(alpha=2.0), np.array([0.0, 1.0, 7.0, 250.0])),
    "gamma": (Gamma(dispersion=0.3), np.array([0.5, 1.0, 7.0, 250.0])),
    "softmax": (SoftmaxClass(n_classes=3), np.array([0.0, 1.0, 1.0, 0.0])),
}
EVERY = pytest.mark.parametrize("name", FAMILIES)
ETAS = [-30.0, -5.0, -0.7, -1e-7, 0.0, 1e-5, 0.3, 2.0, 6.0]


@EVERY
@pytest.mark.parametrize("variance", [0.0, 1e-6, 0.019, 0.5, 9.0])
@pytest.mark.parametrize("eta", ETAS)
def test_score_is_the_derivative_with_respect_to_the_mean(row_value, name, eta, variance):
    family, targets = FAMILIES[name]
    for y in targets:
        step = 1e-5 * max(1.0, abs(eta))
        slope = (
            row_value(family, y, eta + step, variance) - row_value(family, y, eta - step, variance)
        ) / (2 * step)
        found = family.score(np.array([y]), np.array([eta]), np.array([variance]), np.ones(1))
        assert_allclose(
            found[0], slope, rtol=1e-5, atol=2e-5 * (1 + abs(row_value(family, y, eta, 0)))
        )


@EVERY
@pytest.mark.parametrize("variance", [0.003, 0.0199, 0.1, 2.0, 9.0])
@pytest.mark.parametrize("eta", ETAS)
def test_curvature_is_minus_twice_the_derivative_with_respect_to_the_variance(
    row_value, name, eta, variance
):
    family, targets = FAMILIES[name]
    for y in targets:
        step = 1e-4 * variance
        slope = (
            row_value(family, y, eta, variance + step) - row_value(family, y, eta, variance - step)
        ) / (2 * step)
        found = family.curvature(np.array([y]), np.array([eta]), np.array([variance]), np.ones(1))
        assert_allclose(found[0], -2 * slope, rtol=1e-5, atol=1e-8 * (1 + abs(y)))


@pytest.mark.parametrize("family", [Gaussian(), Binomial()])
def test_a_bounded_familys_model_never_exceeds_it(row_value, family, rng):
    for _ in range(300):
        y = float(rng.integers(2))
        mean, variance = rng.normal(0, 5), rng.exponential(3)
        new_mean, new_variance = rng.normal(0, 5), rng.exponential(3)
        row = np.array([y]), np.array([mean]), np.array([variance]), np.ones(1)
        score, curvature = family.score(*row)[0], family.curvature(*row)[0]
        d, v = new_mean - mean, new_variance - variance
        model = row_value(family, y, mean, variance) + score * d - 0.5 * curvature * (d * d + v)
        assert row_value(family, y, new_mean, new_variance) >= model - 1e-9


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
