"""A sparse matrix times a few columns, in several threads."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from driftglm._jit import kernel
from driftglm._threads import parallel_for, ranges
from driftglm._typing import FloatArray
from driftglm.design.layout import Csr

PARTS = 4
"""Parts of the rows: some have more entries than others."""


def times(X: FloatArray | csr_array, columns: FloatArray, threads: int) -> FloatArray:
    """X @ columns; X is dense or CSR. Every row is summed by itself, whoever does it."""
    if isinstance(X, np.ndarray):
        return np.asarray(X @ columns)
    out = np.zeros((X.shape[0], columns.shape[1]))
    columns = np.ascontiguousarray(columns)
    csr, parts = (X.indptr, X.indices, X.data), ranges(X.shape[0], PARTS * threads)
    parallel_for(lambda a, b: _times_inplace(csr, a, b, columns, out), parts, threads)
    return out


@kernel
def _times_inplace(csr: Csr, start: int, stop: int, columns: FloatArray, out: FloatArray) -> None:
    first, positions, values = csr
    n_columns = columns.shape[1]
    for n in range(start, stop):
        row, last = out[n], first[n + 1]
        even = last - (last - first[n]) % 4
        for k in range(first[n], even, 4):  # four entries for every look at the row
            one, two = columns[np.uint32(positions[k])], columns[np.uint32(positions[k + 1])]
            three, four = columns[np.uint32(positions[k + 2])], columns[np.uint32(positions[k + 3])]
            a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
            for r in range(n_columns):
                row[r] += (a * one[r] + b * two[r]) + (c * three[r] + d * four[r])
        for k in range(even, last):
            one, a = columns[np.uint32(positions[k])], values[k]
            for r in range(n_columns):
                row[r] += a * one[r]
