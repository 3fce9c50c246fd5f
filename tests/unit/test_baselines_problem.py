"""One penalised fit as arrays, against plain algebra."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm.baselines.family_loss import FamilyLoss
from driftglm.baselines.problem import Problem, Solution


def problem(rng, family, *, sparse=False, intercept=True):
    X = rng.normal(size=(20, 3)) + 1.0
    y = rng.poisson(2.0, 20).astype(float)
    free = np.column_stack([np.ones(20), rng.normal(size=20)])
    arrays = sp.csr_array(X) if sparse else X, free, y, rng.uniform(0.5, 2, 20), rng.normal(size=20)
    return X, Problem(*arrays, FamilyLoss.named(family), intercept)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_the_gradient_is_that_of_the_total_loss(rng, family):
    _, found = problem(rng, family)
    at = Solution(0.1 * rng.normal(size=3), 0.1 * rng.normal(size=2))
    slopes = []
    for j in range(3):
        ends = [Solution(at.beta + s * 1e-6 * np.eye(3)[j], at.gamma) for s in (1, -1)]
        up, down = (found.total_loss(found.eta(end)) for end in ends)
        slopes.append((up - down) / 2e-6)
    assert_allclose(found.gradient(at), slopes, rtol=1e-5)


def test_a_start_has_an_intercept_only_if_there_is_one(rng):
    _, found = problem(rng, "poisson")
    start = found.start()
    assert not start.beta.any()
    rate = found.weights @ np.exp(found.eta(start))
    assert_allclose(rate, found.weights @ found.y, rtol=0.05)
    assert not problem(rng, "poisson", intercept=False)[1].start().gamma.any()


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_measured_from_their_mean_if_there_is_an_intercept(rng, sparse):
    X, found = problem(rng, "gaussian", sparse=sparse)
    mean = np.average(X, axis=0, weights=found.weights)
    assert_allclose(found.row_length(), (found.weights @ (X - mean) ** 2).sum() / 20)
    X, found = problem(rng, "gaussian", sparse=sparse, intercept=False)
    assert_allclose(found.row_length(), (found.weights @ X**2).sum() / 20)
