"""The softmax of several classes."""

import numpy as np
from numpy.testing import assert_allclose

from driftglm.families.multinomial import softmax_draws


def test_softmax_draws_are_probabilities_of_shifted_logits(rng):
    mean, variance = rng.normal(size=(5, 3)), rng.exponential(size=(5, 3))
    draws = rng.normal(size=(4, 3))
    found = softmax_draws(mean, variance, draws)
    eta = mean[2] + np.sqrt(variance[2]) * draws[1]
    assert_allclose(found[1, 2], np.exp(eta) / np.exp(eta).sum(), rtol=1e-12)
    assert_allclose(found.sum(axis=2), 1.0, rtol=1e-12)
