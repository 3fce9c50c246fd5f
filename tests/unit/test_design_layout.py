"""From rows to columns: dense and sparse matrices end in the same arrays."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from driftglm.design.layout import columns_of_csr, columns_of_dense, only_ones


@pytest.mark.parametrize("n_features", [3, 700])
def test_dense_and_sparse_rows_become_the_same_columns(rng, n_features):
    """700 columns are more than are filled at once."""
    X = rng.integers(0, 3, size=(20, n_features)).astype(float)
    order, step_offsets = rng.permutation(20), np.array([0, 8, 8, 20])
    sparse = csr_array(X)
    csr = sparse.indptr, sparse.indices, sparse.data
    found = columns_of_csr(csr, n_features, (order, step_offsets), False, 2)
    for one, other in zip(found, columns_of_dense(X, order, step_offsets, False), strict=True):
        assert_array_equal(one, other)
    values, rows, segments = found
    first, last = segments[1, 2], segments[1, 3]
    column = X[order, 1]
    assert_array_equal(rows[first:last], 8 + np.flatnonzero(column[8:]))
    assert_array_equal(values[first:last], column[rows[first:last]])


def test_only_ones_and_zeros_count_as_ones():
    assert only_ones(np.array([0.0, 1.0, 1.0]), threads=2)
    assert not only_ones(np.array([0.0, 1.0, 0.5]), threads=2)
