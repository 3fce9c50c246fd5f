"""Rows of a sparse matrix, collected one at a time in buffers that grow in place."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix


class SparseRows:
    """A CSR matrix in the making.

    Blocks stacked at the end would need the matrix twice; of these buffers numpy takes over the
    memory, so that the peak is the matrix itself.

    Parameters
    ----------
    keep_counts
        Whether values are the counts given; else they are all 1 and are not stored on the way.
    """

    def __init__(self, *, keep_counts: bool) -> None:
        self._keep_counts = keep_counts
        self._columns = array("i")
        self._counts = array("i")
        self._ends = array("q", [0])

    def append(self, columns: Sequence[int], counts: Sequence[int]) -> None:
        """Add a row: its columns, ascending, and the count in each (none if all are 1)."""
        self._columns.extend(columns)
        self._counts.extend(counts)
        self._ends.append(len(self._columns))

    def matrix(self, n_columns: int, dtype: DTypeLike) -> csr_matrix:
        """All rows so far; nothing may be appended afterwards."""
        columns = np.frombuffer(self._columns, dtype=np.int32)
        ends = np.frombuffer(self._ends, dtype=np.int64)
        if ends[-1] <= np.iinfo(np.int32).max:
            ends = ends.astype(np.int32)  # index arrays of two widths would both be widened
        if self._keep_counts:
            values = np.frombuffer(self._counts, dtype=np.int32).astype(dtype)
        else:
            values = np.ones(columns.size, dtype=dtype)
        result = csr_matrix((values, columns, ends), shape=(ends.size - 1, n_columns))
        result.has_sorted_indices = True
        return result
