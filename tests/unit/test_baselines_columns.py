"""Columns are scaled and split alike whether they are dense or sparse."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.baselines import RidgeAll
from driftglm.baselines.columns import SplitColumns, column_scale, divided, to_dense


def test_standardize_leaves_binary_columns_alone(rng):
    X = (rng.random((90, 4)) < 0.2).astype(float)
    y = X[:, 0] + rng.normal(size=90)
    for matrix in (X, sp.csr_array(X)):
        plain = RidgeAll(strength=2.0).fit(matrix, y).coef_
        assert_allclose(RidgeAll(strength=2.0, standardize=True).fit(matrix, y).coef_, plain)


def test_the_scale_of_a_column_is_its_weighted_deviation(rng):
    X = np.column_stack([rng.normal(size=30) * 4, np.full(30, 2.5), rng.random(30) < 0.3])
    weights = rng.uniform(0.5, 2.0, size=30)
    mean = np.average(X[:, 0], weights=weights)
    deviation = np.sqrt(np.average((X[:, 0] - mean) ** 2, weights=weights))
    for matrix in (X, sp.csr_array(X)):
        scale = column_scale(matrix, weights)
        assert_allclose(scale, [deviation, 1.0, 1.0])
        assert_allclose(to_dense(divided(matrix, scale)), X / scale)


def test_coefficients_of_split_columns_are_joined_in_their_order():
    always_in = np.array([False, True, False, True])
    for intercept in (True, False):
        split = SplitColumns.of(np.arange(8.0).reshape(2, 4), always_in, intercept=intercept)
        assert_array_equal(split.X, [[0.0, 2.0], [4.0, 6.0]])
        free = np.array([9.0, 1.0, 3.0])[int(not intercept) :]
        assert split.free.shape == (2, free.size)
        assert_array_equal(split.joined(np.array([0.0, 2.0]), free), [0.0, 1.0, 2.0, 3.0])
