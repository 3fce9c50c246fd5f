"""Dense and sparse matrices give the same numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from driftglm.data.matrices import dense, divided, refuse_broken, squares
from driftglm.exceptions import DataError

X = np.array([[1.0, 0.0, -3.0], [0.5, 2.0, 0.0]])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_entries_are_squared_and_columns_divided(kind):
    assert_array_equal(dense(squares(kind(X))), X * X)
    assert_array_equal(dense(divided(kind(X), np.array([2.0, 4.0, 0.5]))), X / [2.0, 4.0, 0.5])
    assert isinstance(dense(kind(X)), np.ndarray)


def test_what_is_sparse_stays_sparse():
    assert sp.issparse(squares(sp.csr_array(X)))
    assert divided(sp.csr_array(X), np.ones(3)).format == "csr"


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("index", [77, -1])
def test_a_sparse_matrix_with_an_index_beyond_its_shape_is_refused(kind, index):
    """Kernels would read, and write, memory of others."""
    broken = sp.csr_array(X).asformat(kind)
    refuse_broken(broken, "X")
    (broken.coords[1] if kind == "coo" else broken.indices)[0] = index
    with pytest.raises(DataError, match="X is a sparse matrix that contradicts itself"):
        refuse_broken(broken, "X")


def test_row_ends_that_run_backwards_are_refused():
    broken = sp.csr_array(X)
    broken.indptr[1] = 9
    with pytest.raises(DataError, match="contradicts itself"):
        refuse_broken(broken, "X")
