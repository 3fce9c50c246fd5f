"""Penalised least squares meets its own optimality conditions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm.baselines.family_loss import FamilyLoss
from driftglm.baselines.gram import row_products, scaled_rows
from driftglm.baselines.irls import solve_path
from driftglm.baselines.lasso_quadratic import LassoQuadratic
from driftglm.baselines.problem import Problem
from driftglm.baselines.quadratic import Quadratic, RidgeQuadratic


def problem(rng, shape, kind=np.asarray):
    X = rng.normal(size=shape) * (rng.random(shape) < 0.6)
    free = np.column_stack([np.ones(shape[0]), rng.normal(size=shape[0])])
    y, weights = rng.normal(size=shape[0]), rng.uniform(0.5, 2.0, size=shape[0])
    loss = FamilyLoss.named("gaussian")
    return Problem(kind(X), free, y, weights, np.zeros(shape[0]), loss, intercept=True)


@pytest.mark.parametrize("shape", [(40, 6), (20, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("many", [False, True])
def test_a_ridge_has_no_gradient_at_its_minimum(rng, shape, kind, many):
    given = problem(rng, shape, kind)
    strengths = np.array([5.0, 0.7]) if many else np.array([0.7])
    *_, found = solve_path(given, RidgeQuadratic, strengths, 1e-9, 1)
    assert_allclose(given.gradient(found) + 0.7 * found.beta, 0.0, atol=1e-9)
    assert_allclose((given.weights * (given.y - given.eta(found))) @ given.free, 0.0, atol=1e-9)


def test_a_lasso_has_a_gradient_of_the_strength_where_it_is_not_zero(rng):
    given = problem(rng, (40, 6))
    (found,) = solve_path(given, LassoQuadratic, np.array([3.0]), 1e-12, 1)
    gradient, used = given.gradient(found), found.beta != 0
    assert used.any()
    assert not used.all()
    assert_allclose(gradient[used], -3.0 * np.sign(found.beta[used]), atol=1e-5)
    assert (np.abs(gradient[~used]) < 3.0).all()


def test_without_a_penalised_column_only_the_free_ones_are_fitted(rng):
    given = problem(rng, (40, 6))
    (found,) = solve_path(given, Quadratic, np.ones(1), 1e-9, 1)
    assert not found.beta.any()
    root = np.sqrt(given.weights)
    expected = np.linalg.lstsq(given.free * root[:, None], given.y * root, rcond=None)[0]
    assert_allclose(found.gamma, expected)


@pytest.mark.parametrize("density", [0.01, 0.5])
def test_products_and_scales_of_rows_are_the_same_dense_and_sparse(rng, density):
    X = rng.normal(size=(12, 1500)) * (rng.random((12, 1500)) < density)
    assert_allclose(row_products(sp.csr_array(X)), X @ X.T, atol=1e-10)
    scale = rng.uniform(size=12)
    assert_allclose(scaled_rows(sp.csr_array(X), scale).toarray(), scaled_rows(X, scale))
