"""A sparse matrix grown row by row."""

import numpy as np
from numpy.testing import assert_array_equal

from driftglm.text.rows import SparseRows


def test_rows_hold_counts_or_ones():
    counted, marked = SparseRows(keep_counts=True), SparseRows(keep_counts=False)
    for columns, counts in (([0, 2], [3, 1]), ([], []), ([1], [2])):
        counted.append(columns, counts)
        marked.append(columns, ())
    expected = np.array([[3, 0, 1], [0, 0, 0], [0, 2, 0]])
    assert_array_equal(counted.matrix(3, np.float64).toarray(), expected)
    assert_array_equal(marked.matrix(3, np.float32).toarray(), expected > 0)
