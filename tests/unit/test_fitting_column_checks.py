"""What is asked of the columns before a fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from driftglm.fitting.column_checks import column_ranges


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ranges_of_sparse_columns_count_their_zeros(dtype):
    X = np.array(
        [[1.0, -2.0, 3.0, 0.0, 5.0], [2.0, 0.0, 3.0, 0.0, -5.0], [1.5, 0.0, 3.0, 0.0, 0.0]]
    )
    low, high = column_ranges(sp.csr_array(X.astype(dtype)))
    assert_array_equal(low, X.min(axis=0))
    assert_array_equal(high, X.max(axis=0))


def test_ranges_take_entries_given_twice_together():
    twice = sp.csr_array((np.array([2.0, 2.0, 3.0]), np.array([0, 0, 0]), np.array([0, 2, 3])))
    low, high = column_ranges(twice)
    assert (low[0], high[0]) == (3.0, 4.0)
    assert twice.nnz == 3  # the user's matrix is left alone


def test_an_empty_column_is_zero():
    low, high = column_ranges(sp.csr_array((3, 2)))
    assert_array_equal(low, np.zeros(2))
    assert_array_equal(high, np.zeros(2))
