"""Probabilities and means of several paths, against dense Gaussian algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.priors.mixture import Components
from driftglm.solvers.path_means import (
    average_paths_inplace,
    linears_for_inplace,
    weigh_paths_inplace,
)

N_STEPS = 4
STATIC, DYNAMIC, RHO = (np.array(v) for v in ([0.0, 0.5, 0.2], [0.0, 0.0, 0.6], [0.0, 0.0, 0.7]))
COMPONENTS = Components(STATIC, DYNAMIC, RHO, "stationary", N_STEPS)


@pytest.fixture
def known(rng):
    """Curvatures and linear terms of two paths; of one step of the second nothing is known."""
    h = rng.uniform(0.5, 3.0, (2, N_STEPS))
    h[1, 2] = 0.0
    return h, np.where(h > 0, 2.0 * rng.normal(size=h.shape), 0.0)


def dense(h, b, k):
    """Log evidence, mean and variance of a path of one component."""
    lags = np.abs(np.subtract.outer(np.arange(N_STEPS), np.arange(N_STEPS)))
    prior = STATIC[k] + DYNAMIC[k] * RHO[k] ** lags
    both = np.eye(N_STEPS) + prior @ np.diag(h)
    covariance = np.linalg.solve(both, prior)
    mean = covariance @ b
    return 0.5 * (b @ mean - np.linalg.slogdet(both)[1]), mean, np.diag(covariance)


def test_probabilities_are_those_of_the_evidences_and_given_ones_stay(known):
    h, b = known
    log_pi = np.log([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    phi, evidence = np.full((2, 3), 1 / 3), np.empty((2, 3))
    given = np.array([False, True])
    weigh_paths_inplace(known, (COMPONENTS.tables(), log_pi), given, phi, evidence)
    log = log_pi[0] + [dense(h[0], b[0], k)[0] for k in range(3)]
    assert_allclose(phi[0], np.exp(log) / np.exp(log).sum(), rtol=1e-10)
    assert_allclose(phi[1], 1 / 3)


def test_moments_are_those_of_the_mixture(known):
    phi = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    out = np.empty((2, 2, N_STEPS))
    average_paths_inplace(known, COMPONENTS.tables(), phi, out)
    for i, (h, b) in enumerate(zip(*known, strict=True)):
        _, means, variances = zip(*(dense(h, b, k) for k in range(3)), strict=True)
        mean = phi[i] @ np.array(means)
        square = phi[i] @ (np.array(variances) + np.array(means) ** 2)
        assert_allclose(out[i, 0], mean, rtol=1e-10, atol=1e-12)
        assert_allclose(out[i, 1], square - mean**2, rtol=1e-9)


def test_linear_terms_give_the_means_they_are_found_from(known):
    h, b = known
    phi = np.array([[0.2, 0.0, 0.8], [0.5, 0.5, 0.0]])  # the second does not move
    out, again = np.empty((2, 2, N_STEPS)), np.empty((2, 2, N_STEPS))
    tables, found = COMPONENTS.tables(), np.empty_like(b)
    average_paths_inplace(known, tables, phi, out)
    linears_for_inplace(h, np.ascontiguousarray(out[:, 0]), tables, phi, found)
    average_paths_inplace((h, found), tables, phi, again)
    assert_allclose(again[:, 0], out[:, 0], rtol=1e-6, atol=1e-9)
    assert found[1, 2] == 0.0
