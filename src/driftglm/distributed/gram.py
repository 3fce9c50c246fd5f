"""X'WX of a block of columns, step by step, and how it travels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from driftglm._jit import kernel
from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.design.base import RowArray
from driftglm.distributed.indicators import common_counts, only_ones
from driftglm.distributed.storage import with_own_values

DENSE = 0.1
"""Columns with more entries than this share of their rows are multiplied as dense ones."""
N_AT_ONCE = 2**20
"""Entries of a dense block at once."""
INDEX = 4
"""Bytes of an index beside those of a number."""


class Packed(NamedTuple):
    """Lower triangles (n_steps, m (m + 1) / 2) of symmetric matrices, zeros left out if many.

    `positions` is where the numbers belong; None: everywhere. Numbers are counts where all entries
    are ones.
    """

    numbers: np.ndarray
    positions: np.ndarray | None
    n_steps: int

    def triangles(self, m: int) -> FloatArray:
        """(n_steps, m (m + 1) / 2)."""
        size, out = m * (m + 1) // 2, self.numbers
        if self.positions is not None:
            out = np.zeros(self.n_steps * size, dtype=self.numbers.dtype)
            out[self.positions] = self.numbers
        return out.reshape(self.n_steps, size)


def block_gram(part: ColumnDesign, curvature: FloatArray | None) -> Packed:
    """Sums of curvature * x_i x_j of a block's columns, x not centred."""
    n_steps = part.n_timesteps
    counted = curvature is None and only_ones(part)
    flat = (common_counts(part) if counted else _triangles(part, curvature)).ravel()
    positions, each = np.flatnonzero(flat), flat.itemsize
    if flat.size < np.iinfo(np.uint32).max and positions.size * (each + INDEX) < flat.nbytes:
        return Packed(flat[positions], positions.astype(np.uint32), n_steps)
    return Packed(flat, None, n_steps)


def _triangles(part: ColumnDesign, curvature: FloatArray | None) -> FloatArray:
    lower, part = np.tril_indices(part.n_features), with_own_values(part)
    out = np.empty((part.n_timesteps, lower[0].size))
    with one_thread():  # the same digits on any number of threads
        for t, triangle in enumerate(out):
            triangle[:] = _of_step(part, curvature, t)[lower]
    return out


def _of_step(part: ColumnDesign, curvature: FloatArray | None, t: int) -> FloatArray:
    first, last = int(part.step_offsets[t]), int(part.step_offsets[t + 1])
    m = part.n_features
    begins, ends = part.segments[:, t].copy(), part.segments[:, t + 1].copy()
    counts = ends - begins
    if counts.sum() > DENSE * m * (last - first):
        return _dense(part, (begins, ends), (first, last), curvature)
    pointers = np.concatenate([[0], np.cumsum(counts)])
    chosen = np.arange(pointers[-1]) + np.repeat(begins - pointers[:-1], counts)
    values, rows = part.values[chosen], part.rows[chosen] - first
    scaled = values if curvature is None else values * curvature[first:last][rows]
    shape = last - first, m
    X, weighed = (sp.csc_array((each, rows, pointers), shape=shape) for each in (values, scaled))
    return np.asarray((X.T @ weighed).toarray())


def _dense(
    part: ColumnDesign,
    segments: tuple[IntArray, IntArray],
    step: tuple[int, int],
    curvature: FloatArray | None,
) -> FloatArray:
    """In slices of rows, so that a dense copy of the block is never there at once."""
    m = part.n_features
    out = np.zeros((m, m))
    height = max(1, N_AT_ONCE // m)
    for first in range(*step, height):
        last = min(first + height, step[1])
        block = np.zeros((last - first, m))
        _fill_inplace(part.values, part.rows, segments, first, block)
        scaled = block if curvature is None else block * curvature[first:last, None]
        out += block.T @ scaled
    return out


@kernel
def _fill_inplace(
    values: FloatArray,
    rows: RowArray,
    segments: tuple[IntArray, IntArray],
    first: int,
    block: FloatArray,
) -> None:
    """Put rows first, first + 1, ... into `block`; segments begin after them thereafter."""
    position, ends = segments
    for i in range(block.shape[1]):
        k = position[i]
        while k < ends[i] and rows[k] < first + block.shape[0]:
            block[rows[k] - first, i] = values[k]
            k += 1
        position[i] = k
