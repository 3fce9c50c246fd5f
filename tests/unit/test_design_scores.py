"""Sums over rows along directions, against numpy."""

import numpy as np
from numpy.testing import assert_allclose

from driftglm.design import ArrayScores
from driftglm.design.scores import row_variances, weighted_gram


def test_scores_are_products_with_the_rows(rng):
    z, w, cov = rng.normal(size=(7, 2)), rng.uniform(size=7), np.array([[2.0, 0.3], [0.3, 1.0]])
    scores = ArrayScores(z, np.array([0, 3, 3, 7]))
    assert scores.count == 2
    assert_allclose(scores.dot(w), z.T @ w)
    assert_allclose(scores.times(cov[0]), z @ cov[0])
    assert_allclose(scores.variances(cov), np.diag(z @ cov @ z.T))
    grams = scores.step_grams(w)
    assert not grams[1].any()
    assert_allclose(grams.sum(axis=0), scores.gram(w))


def test_sums_over_rows_are_those_of_numpy(rng):
    z, w, cov = rng.normal(size=(50, 4)), rng.uniform(size=50), np.cov(rng.normal(size=(4, 9)))
    assert_allclose(weighted_gram(z, w), z.T @ (w[:, None] * z), atol=1e-12)
    assert_allclose(row_variances(z, cov), np.diag(z @ cov @ z.T), atol=1e-12)
