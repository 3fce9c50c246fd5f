"""The dual of ridge over time against the normal equations of all paths."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm.baselines.columns import SplitColumns
from driftglm.baselines.gaussian_chain import (
    GaussianChain,
    InterceptDynamics,
    centred_products,
    chain_covariance,
)
from driftglm.baselines.rows import Rows


def test_the_dynamics_of_intercepts_are_their_moments():
    walk = np.cumsum(np.ones(50))[:, None]
    dynamics = InterceptDynamics.of_paths(np.hstack([walk, np.zeros((50, 1))]))
    assert dynamics.variance[1] == 0
    assert dynamics.correlation[1] == 0
    assert_allclose(dynamics.variance[0], np.var(walk))
    assert 0.9 < dynamics.correlation[0] <= 0.95


def test_the_covariance_of_a_path_is_the_inverse_of_its_penalty():
    rho = 0.6
    beside = -rho / (1 + rho**2)
    penalty = 5.0 * (np.eye(3) + beside * (np.eye(3, k=1) + np.eye(3, k=-1)))
    assert_allclose(chain_covariance(5.0, rho, 3) @ penalty, np.eye(3), atol=1e-12)


def test_centred_products_of_dense_and_sparse_rows(rng):
    X, other, mean = rng.normal(size=(6, 4)), rng.normal(size=(5, 4)), rng.normal(size=4)
    expected = (X - mean) @ (other - mean).T
    for kind in (np.asarray, sp.csr_array):
        assert_allclose(centred_products(kind(X), kind(other), mean), expected, atol=1e-12)


def test_the_predictor_continues_the_last_step_of_the_paths(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    codes = np.repeat(np.arange(4), 10)
    rows = Rows(X, y, np.ones(40), np.zeros(40), codes)
    always_in = np.array([False, True, False])
    dynamics = InterceptDynamics(np.array([0.5, 0.1]), np.array([0.8, 0.2]))
    chain = GaussianChain(SplitColumns.of(X, always_in, intercept=True), rows, dynamics, 1.5)
    params = {"strength": 2.0, "autocorrelation": 0.7}
    coef, intercept = chain.paths(params, 4)
    new = rng.normal(size=(5, 3))
    eta = chain.predictor(SplitColumns.of(new, always_in, intercept=True))(params)
    assert_allclose(eta, new @ coef[-1] + intercept[-1], rtol=1e-10)
