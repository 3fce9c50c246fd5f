"""One Krylov space solves the systems of all strengths."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm.baselines.gram import column_products
from driftglm.baselines.krylov import ShiftedSystems
from driftglm.baselines.lasso_kernel import descend_inplace, duality_gap, sweep_along_inplace


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
def test_solutions_are_those_of_the_dense_systems(rng, shape):
    X = rng.normal(size=shape)
    matrix, right = X.T @ X, X.T @ rng.normal(size=shape[0])
    systems = ShiftedSystems(lambda v: matrix @ v, right)
    sizes = []
    for strength in (1e4, 10.0, 0.1, 1e-4):
        found = systems.solve(strength, 1e-10, 200)
        exact = np.linalg.solve(matrix + strength * np.eye(shape[1]), right)
        assert_allclose(found, exact, rtol=1e-6, atol=1e-8)
        sizes.append(len(systems.diagonal))
    assert sizes == sorted(sizes)
    assert ShiftedSystems(lambda v: matrix @ v, right).solve(1e-4, 1e-12, 4) is None
    assert not ShiftedSystems(lambda v: v, np.zeros(3)).solve(1.0, 1e-6, 5).any()


def test_descent_never_raises_the_objective_and_the_gap_bounds_it(rng):
    X, y = rng.normal(size=(40, 8)), rng.normal(size=40)
    products, right, energy, strength = X.T @ X, X.T @ y, float(y @ y), 3.0

    def objective(beta):
        return 0.5 * np.sum((y - X @ beta) ** 2) + strength * np.abs(beta).sum()

    beta, slope, values = np.zeros(8), right.copy(), [0.5 * energy]
    gaps = [duality_gap(beta, slope, right, energy, strength)]
    for _ in range(60):
        descend_inplace(products, beta, slope, right, (energy, strength, 0.0, 1))
        assert_allclose(slope, X.T @ (y - X @ beta), atol=1e-9)
        values.append(objective(beta))
        gaps.append(duality_gap(beta, slope, right, energy, strength))
    assert (np.diff(values) <= 1e-12).all()
    assert (np.asarray(values) - values[-1] <= np.asarray(gaps) + 1e-9).all()
    assert gaps[-1] < 1e-9


@pytest.mark.parametrize("density", [0.05, 0.6])
def test_products_of_columns_dense_and_sparse(rng, density):
    import scipy.sparse as sp

    X = rng.normal(size=(50, 12)) * (rng.random((50, 12)) < density)
    assert_allclose(column_products(sp.csr_array(X)), X.T @ X, atol=1e-12)
    assert_allclose(column_products(X), X.T @ X, atol=1e-12)


def test_moves_along_sparse_columns_never_raise_the_objective(rng):
    dense = rng.normal(size=(60, 25)) * (rng.random((60, 25)) < 0.3)
    basis = np.linalg.qr(np.column_stack([np.ones(60), rng.normal(size=60)]))[0]
    y, X = rng.normal(size=60) + dense[:, 3], sp.csc_array(dense)
    columns = X.indptr.astype(np.int64), X.indices.view("u4"), X.data
    net = np.ascontiguousarray(dense.T @ basis)
    curvature = (dense**2).sum(axis=0) - (net**2).sum(axis=1)
    beta, residual = np.zeros(25), y.copy()
    state, some = (beta, residual, basis.T @ residual), np.arange(25)

    def objective():
        left = y - dense @ beta
        left -= basis @ (basis.T @ left)
        return 0.5 * left @ left + 2.0 * np.abs(beta).sum()

    values = [objective()]
    for k in range(12):
        sweep_along_inplace(columns, net, curvature, some, state, 2.0, k % 3 > 0)
        values.append(objective())
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] < values[0] - 1.0
    assert_allclose(residual, y - dense @ beta, atol=1e-12)
    assert_allclose(state[2], basis.T @ residual, atol=1e-12)
