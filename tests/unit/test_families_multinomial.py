"""The softmax of several classes."""

import numpy as np
from numpy.testing import assert_allclose

from driftglm.families import SoftmaxClass
from driftglm.families.multinomial import softmax_draws


def test_softmax_draws_are_probabilities_of_shifted_logits(rng):
    mean, variance = rng.normal(size=(5, 3)), rng.exponential(size=(5, 3))
    draws = rng.normal(size=(4, 3))
    found = softmax_draws(mean, variance, draws)
    eta = mean[2] + np.sqrt(variance[2]) * draws[1]
    assert_allclose(found[1, 2], np.exp(eta) / np.exp(eta).sum(), rtol=1e-12)
    assert_allclose(found.sum(axis=2), 1.0, rtol=1e-12)


def test_a_tilt_of_the_probability_has_the_information_of_a_class():
    """At a = M = p the curvature is p (1 - p); without a tilt it is p."""
    p, row = 0.3, (np.zeros(1), np.log([0.3]), np.zeros(1), np.ones(1))
    family = SoftmaxClass(n_classes=3)
    assert_allclose(family.curvature(*row), p)
    assert_allclose(family.tilted(np.array([p])).curvature(*row), p * (1 - p))


def test_every_class_has_a_response_and_the_loss_is_that_of_the_softmax():
    y, eta = np.array([2.0, 0.0]), np.array([[0.1, -1.0, 0.7], [0.3, 0.2, -0.4]])
    family = SoftmaxClass().for_classes(3)
    assert_allclose(family.responses(y), [[0, 1], [0, 0], [1, 0]])
    p = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    assert_allclose(family.loss(y, eta), -np.log([p[0, 2], p[1, 0]]))
