"""A sparse matrix times a few columns, against numpy."""

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from driftglm.design.products import times


@pytest.mark.parametrize("threads", [1, 3])
def test_sparse_and_dense_products_agree_on_any_number_of_threads(rng, threads):
    X = rng.normal(size=(37, 11)) * (rng.random((37, 11)) < 0.4)
    columns = rng.normal(size=(11, 3))
    found = times(csr_array(X), columns, threads)
    assert_allclose(found, X @ columns, atol=1e-12)
    assert_array_equal(found, times(csr_array(X), columns, 1))
    assert_array_equal(times(X, columns, threads), X @ columns)
