"""Paths drawn together against the dense normal posterior."""

import numpy as np
from numpy.testing import assert_allclose

from driftglm.priors.mixture import chain_transitions
from driftglm.solvers.gibbs_joint import PathLaws, step_grams

T, N = 4, 40_000
STATIC, DYNAMIC, RHO = np.array([np.inf, 0.5, 0.0]), (0.7, 0.0, 0.4), (0.9, 0.0, 0.5)


def laws():
    carry, shock = np.zeros((2, T, 3))
    for j in (0, 2):
        carry[:, j], shock[:, j] = chain_transitions(DYNAMIC[j], RHO[j], T, "stationary")
    return PathLaws(STATIC, carry, shock)


def dense(gram, linear):
    """Mean and covariance of all paths, one after the other; flat is a variance of 1e7."""
    prior, curvature, b = np.zeros((3 * T, 3 * T)), np.zeros((3 * T, 3 * T)), np.zeros(3 * T)
    steps = np.arange(T)
    for j in range(3):
        at = slice(j * T, (j + 1) * T)
        prior[at, at] = min(STATIC[j], 1e7) + DYNAMIC[j] * RHO[j] ** np.abs(steps[:, None] - steps)
        b[at] = linear[:, j]
        for k in range(3):
            curvature[at, k * T : (k + 1) * T] = np.diag(gram[:, j, k])
    covariance = prior @ np.linalg.inv(np.eye(3 * T) + curvature @ prior)
    return covariance @ b, covariance


def test_draws_have_mean_and_covariance_of_the_dense_posterior():
    rng = np.random.default_rng(0)
    columns, offsets = rng.normal(size=(3, 24)), np.arange(0, 25, 6)
    gram, linear = step_grams(columns, np.ones(24), 2 * rng.normal(size=24), offsets)
    mean, covariance = dense(gram, linear)
    draws = np.array([laws().draw((gram, linear), rng)[0].ravel() for _ in range(N)])
    assert (np.abs(draws.mean(axis=0) - mean) < 4.5 * np.sqrt(np.diag(covariance) / N)).all()
    assert_allclose(np.cov(draws.T), covariance, atol=6 * covariance.max() / np.sqrt(N))


def test_sums_by_step_are_those_of_the_rows():
    rng = np.random.default_rng(1)
    columns, score, curvature = rng.normal(size=(2, 9)), rng.normal(size=9), rng.random(9)
    gram, linear = step_grams(columns, curvature, score, np.array([0, 4, 4, 9]))
    assert_allclose(gram[2], (columns[:, 4:] * curvature[4:]) @ columns[:, 4:].T)
    assert_allclose(linear[0], columns[:, :4] @ score[:4])
    assert not gram[1].any()
