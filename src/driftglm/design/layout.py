"""From rows to columns: storing X by column, once, before a fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftglm._jit import kernel
from driftglm._threads import parallel_for, ranges
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import Entries

N_COLUMNS = 512
"""Columns that are filled at once."""


@kernel
def _place(counts: IntArray) -> IntArray:
    """Segment ends, from entry counts (n_timesteps, n_features)."""
    n_steps, n_features = counts.shape
    segments = np.empty((n_features, n_steps + 1), dtype=np.int64)
    total = 0
    for i in range(n_features):
        for t in range(n_steps):
            segments[i, t] = total
            total += counts[t, i]
        segments[i, n_steps] = total
    return segments


def only_ones(values: FloatArray, threads: int = 1) -> bool:
    """Every value is one or zero."""
    found: list[bool] = []
    parts = ranges(values.size, threads)
    parallel_for(lambda a, b: found.append(_only_ones(values[a:b])), parts, threads)
    return all(found)


@kernel
def _only_ones(values: FloatArray) -> bool:
    for x in values:  # noqa: SIM110 (a generator would not compile)
        if x not in (0.0, 1.0):
            return False
    return True


Csr = tuple[NDArray[np.integer], NDArray[np.integer], FloatArray]
"""indptr, indices (sorted within rows) and data."""
Layout = tuple[IntArray, IntArray]
"""order of the rows, and step_offsets."""


def columns_of_csr(csr: Csr, n_features: int, layout: Layout, ones: bool, threads: int) -> Entries:
    """values, rows and segments. Every thread has other steps."""
    n_steps = layout[1].size - 1
    counts = np.zeros((n_steps, n_features), dtype=np.int64)
    parts = ranges(n_steps, n_steps)  # steps differ in size: whoever is free takes the next
    parallel_for(lambda a, b: _count_inplace(csr, layout, a, b, counts), parts, threads)
    segments = _place(counts)
    n_entries = int(counts.sum())
    values = np.empty(0 if ones else n_entries, dtype=csr[2].dtype)
    entries = values, np.empty(n_entries, dtype=np.int32), segments
    parallel_for(lambda a, b: _fill_inplace(csr, layout, a, b, entries), parts, threads)
    return entries


@kernel
def _count_inplace(csr: Csr, layout: Layout, start: int, stop: int, counts: IntArray) -> None:
    """Count the entries of every feature at some steps."""
    indptr, indices, data = csr
    order, step_offsets = layout
    for t in range(start, stop):
        for n in range(step_offsets[t], step_offsets[t + 1]):
            for k in range(indptr[order[n]], indptr[order[n] + 1]):
                counts[t, indices[k]] += data[k] != 0.0


@kernel
def _fill_inplace(csr: Csr, layout: Layout, start: int, stop: int, entries: Entries) -> None:
    """Put the entries of some steps in their places.

    A range of columns at a time: writing to thousands of places in turn would miss the cache, and
    the table of pages, at every entry.
    """
    indptr, indices, data = csr
    order, step_offsets = layout
    values, rows, segments = entries
    n_features, ones = segments.shape[0], values.shape[0] == 0
    position = segments[:, start].copy()
    first, end = step_offsets[start], step_offsets[stop]
    reached = np.empty(end - first, dtype=np.int64)
    for n in range(first, end):
        reached[n - first] = indptr[order[n]]
    for last in range(N_COLUMNS, n_features + N_COLUMNS, N_COLUMNS):
        for n in range(first, end):
            k, finish = reached[n - first], indptr[order[n] + 1]
            while k < finish and indices[k] < last:
                if data[k] != 0.0:
                    i = np.uint32(indices[k])  # a place that may be negative takes longer
                    at = position[i]
                    if not ones:
                        values[np.uint64(at)] = data[k]
                    rows[np.uint64(at)] = n
                    position[i] = at + 1
                k += 1
            reached[n - first] = k


@kernel
def columns_of_dense(X: FloatArray, order: IntArray, step_offsets: IntArray, ones: bool) -> Entries:
    """The same of a dense matrix."""
    n_steps = step_offsets.shape[0] - 1
    n_features = X.shape[1]
    counts = np.zeros((n_steps, n_features), dtype=np.int64)
    for t in range(n_steps):
        for n in range(step_offsets[t], step_offsets[t + 1]):
            for i in range(n_features):
                counts[t, i] += X[order[n], i] != 0.0
    segments = _place(counts)
    n_entries = counts.sum()
    values = np.empty(0 if ones else n_entries, dtype=X.dtype)
    rows = np.empty(n_entries, dtype=np.int32)
    position = segments[:, 0].copy()
    for n in range(order.shape[0]):
        for i in range(n_features):
            x = X[order[n], i]
            if x != 0.0:
                if not ones:
                    values[position[i]] = x
                rows[position[i]] = n
                position[i] += 1
    return values, rows, segments
