"""What a worker knows of a change, and what it does to the entries of its columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.design import ColumnDesign
from driftglm.distributed import storage
from driftglm.distributed.messages import Change
from driftglm.distributed.sources import shape_of
from driftglm.distributed.worker import Partition

CODES = np.repeat([0, 1], 5)


def matrix():
    X = np.random.default_rng(0).normal(size=(10, 3))
    X[:, 1] = 0.0
    X[:, 2] = 7.0
    return X


@pytest.fixture(params=["memory", "files"])
def partition(request, tmp_path):
    design, _ = ColumnDesign.from_matrix(matrix(), CODES, 2)
    here = request.param == "memory"
    columns = storage.MemoryColumns(design) if here else storage.FileColumns(design, tmp_path / "p")
    return Partition(columns, design.step_offsets, 1)


def test_ranges_are_infinite_where_a_column_has_no_entries(partition):
    X = matrix()
    low, high = partition.ranges()
    assert_array_equal(low, [X[:, 0].min(), np.inf, 7.0])
    assert_array_equal(high, [X[:, 0].max(), -np.inf, 7.0])


def test_a_shift_is_taken_off_once_and_constant_columns_become_zero(partition):
    shift = np.array([0.5, 0.0, 7.0])
    X = matrix()
    largest = [np.abs(X[:, 0] - 0.5).max(), 0.0, 0.0]
    assert_allclose(partition.residual(shift), largest, atol=1e-12)
    for _ in range(2):
        partition.take_off(shift, np.array([2]))
        low, high = partition.ranges()
        assert_allclose(low, [X[:, 0].min() - 0.5, np.inf, 0.0])
        assert_allclose(high, [X[:, 0].max() - 0.5, -np.inf, 0.0])


def test_moments_are_those_of_the_centred_columns(partition):
    beta, variance = np.array([[1.0, 2.0]]), np.array([[0.1, 0.3]])
    center = np.array([[0.5, -0.5]])
    found = partition.moments(Change(np.array([0]), beta, (variance, center)))
    x = matrix()[:, 0] - center[0][CODES]
    assert_allclose(found, [x * beta[0][CODES], x**2 * variance[0][CODES]])


def test_a_change_is_cut_to_the_features_and_steps_that_matter():
    beta, variance = np.zeros((3, 2)), np.zeros((3, 2))
    beta[0], variance[2] = 1.0, 2.0
    change = Change(np.array([4, 5, 6]), beta, (variance, np.ones((3, 2))))
    assert_array_equal(change.used().features, [4, 6])
    assert_array_equal(Change(change.features, beta).used().features, [4])
    cut = change.used().at(np.array([1]))
    assert [part.shape for part in (cut.beta, *cut.more)] == [(2, 1)] * 3
    assert change.same(Change(change.features, beta, (variance, np.zeros((3, 2)))))
    assert not change.same(Change(change.features, beta + 1.0, change.more))


def test_a_vector_has_no_columns():
    assert shape_of([[1, 2], [3, 4], [5, 6]]) == (3, 2)
    assert shape_of(np.ones(4)) == (4, -1)
