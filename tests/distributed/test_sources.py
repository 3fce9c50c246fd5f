"""What may be given for X, and the parts it is cut into."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from driftglm.distributed.shards import Shards
from driftglm.distributed.sources import blocks_of, folder_of, is_remote, to_vector
from driftglm.exceptions import DataError

da = pytest.importorskip("dask.array")

TWO_WORKERS = SimpleNamespace(scheduler_info=lambda **_: {"workers": {"one": 0, "two": 0}})


def test_an_array_is_nothing_for_workers_unless_asked():
    X = np.ones((5, 2))
    assert not is_remote(X)
    assert not is_remote(sp.csr_matrix(X))
    assert not is_remote(X.tolist())


def test_dask_and_folders_are_for_workers(tmp_path):
    chunked = da.from_array(np.ones((5, 2)), chunks=(3, 2))
    for far in (chunked, [chunked], (chunked, chunked), tmp_path, str(tmp_path)):
        assert is_remote(far)
    assert folder_of(str(tmp_path)) == folder_of(Shards(tmp_path)) == Shards(tmp_path)
    assert folder_of(chunked) is None


@pytest.mark.parametrize("kind", [np.asarray, sp.csc_matrix])
def test_an_array_is_cut_into_two_parts_for_every_worker(kind):
    X = np.arange(20.0).reshape(10, 2)
    blocks = blocks_of(kind(X), TWO_WORKERS)
    assert len(blocks.parts) == 4
    assert (blocks.n_rows, blocks.n_columns) == (10, 2)
    assert_array_equal(blocks.bounds, [0, 2, 5, 7, 10])
    dense = [part.toarray() if sp.issparse(part) else part for part in blocks.parts]
    assert_array_equal(np.concatenate(dense), X)
    with pytest.raises(DataError, match="X has 1 dimension"):
        blocks_of(np.ones(5), TWO_WORKERS)


def test_chunks_of_rows_are_parts_and_columns_are_not_cut():
    blocks = blocks_of(da.from_array(np.ones((10, 4)), chunks=(6, 2)), TWO_WORKERS)
    assert_array_equal(blocks.sizes, [6, 4])
    assert blocks.parts[0].compute().shape == (6, 4)
    with pytest.raises(DataError, match=r"X has 1 dimension\(s\)"):
        blocks_of(da.from_array(np.ones(5)), TWO_WORKERS)


def test_vectors_of_dask_are_brought_here():
    v = np.arange(4.0)
    assert to_vector(v) is v
    assert_array_equal(to_vector(da.from_array(v, chunks=2)), v)
    assert_array_equal(to_vector([da.from_array(v), da.from_array(v)]), [*v, *v])
