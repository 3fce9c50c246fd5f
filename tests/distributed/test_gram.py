"""X'WX of a block of columns, and the form in which it travels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.design import ColumnDesign
from driftglm.distributed.gram import Packed, block_gram
from driftglm.distributed.indicators import only_ones
from driftglm.distributed.pass_kernels import centered_gram


def full_gram(triangles, m):
    """Nothing taken off the columns."""
    nothing = np.zeros((m, len(triangles)))
    return centered_gram(triangles * 1.0, nothing, nothing, np.zeros(len(triangles)))


def test_gram_matrices_of_centred_columns():
    rng = np.random.default_rng(3)
    X, codes, w = rng.normal(size=(50, 4)) + 2.0, np.repeat([0, 1], 25), rng.random(50)
    design, _ = ColumnDesign.from_matrix(X, codes, 2)
    center, total = rng.normal(size=(4, 2)), np.bincount(codes, w)
    triangles = block_gram(design, w).triangles(4)
    found = centered_gram(triangles, center, design.sums(w), total)
    for t in range(2):
        part, weights = X[codes == t] - center[:, t], w[codes == t]
        assert_allclose(found[:, t], part.T @ (weights[:, None] * part), atol=1e-12)


@pytest.mark.parametrize("density", [0.03, 0.6])
@pytest.mark.parametrize("weighted", [False, True])
def test_gram_matrices_of_a_block(density, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 11)) * (rng.random((90, 11)) < density)
    codes = np.sort(rng.integers(0, 3, 90))
    w = rng.random(90) if weighted else None
    design, order = ColumnDesign.from_matrix(X, codes, 3)
    found = full_gram(block_gram(design, None if w is None else w[order]).triangles(11), 11)
    for t in range(3):
        part = X[codes == t]
        scaled = part if w is None else part * w[codes == t, None]
        assert_allclose(found[:, t], part.T @ scaled, atol=1e-12)


@pytest.mark.parametrize("density", [0.002, 0.1, 0.9])
def test_columns_of_ones_are_counted_in_bits(density):
    """Steps of more and of fewer rows than bits in a word, columns rare and common, and empty."""
    rng = np.random.default_rng(1)
    X = (rng.random((1500, 9)) < density * rng.random(9)) * 1.0
    codes = np.repeat([0, 1, 3], [70, 1400, 30])
    design, _ = ColumnDesign.from_matrix(X, codes, 4)
    assert only_ones(design)
    packed = block_gram(design, None)
    assert packed.numbers.dtype == np.uint16
    found = full_gram(packed.triangles(9), 9)
    for t in range(4):
        assert_array_equal(found[:, t], X[codes == t].T @ X[codes == t])


def test_columns_with_another_value_are_not_counted():
    X = np.ones((4, 2))
    X[3, 1] = 2.0
    design, _ = ColumnDesign.from_matrix(X, np.zeros(4, dtype=np.int64), 1)
    assert not only_ones(design)
    found = full_gram(block_gram(design, None).triangles(2), 2)
    assert_array_equal(found[:, 0], X.T @ X)


def test_triangles_with_many_zeros_travel_without_them():
    whole = Packed(np.array([1.0, 0.0, 2.0]), None, 1)
    few = Packed(np.array([1.0, 2.0]), np.array([0, 2], dtype=np.uint32), 1)
    for packed in (whole, few):
        found = full_gram(packed.triangles(2), 2)
        assert_array_equal(found[:, 0], [[1.0, 0.0], [0.0, 2.0]])


def test_a_partition_without_rows_has_no_triangles():
    design, _ = ColumnDesign.from_matrix(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), 0)
    assert block_gram(design, None).triangles(3).shape == (0, 6)
