"""Columns in files are those in memory."""

import numpy as np
from numpy.testing import assert_array_equal

from driftglm.design import ColumnDesign
from driftglm.distributed import storage


def test_columns_of_a_file_are_those_of_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "N_AT_ONCE", 20)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 24)) * (rng.random((50, 24)) < 0.5)
    design, _ = ColumnDesign.from_matrix(X, np.sort(rng.integers(0, 4, 50)), 4)
    near, far = storage.MemoryColumns(design), storage.FileColumns(design, tmp_path / "part")
    assert_array_equal(np.concatenate(list(far.pieces())), np.arange(24))
    score = np.random.default_rng(0).normal(size=50)
    for some in (np.array([5, 6, 7, 2]), np.array([23]), np.empty(0, dtype=np.int64)):
        assert_array_equal(far.take(some).gradient(score), near.take(some).gradient(score))
    taken = far.take(np.array([3, 8]))
    far.replace(np.array([3, 8]), 2.0 * taken.values)
    assert_array_equal(
        far.take(np.array([8])).gradient(score), 2 * near.take(np.array([8])).gradient(score)
    )
    far.drop()
    assert not (tmp_path / "part").exists()
