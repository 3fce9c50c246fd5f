"""Products with some columns and back: X'W times what a change of paths does to eta.

Stored by column, every step of every column is a segment of a few entries, and setting out on one
costs more than its entries do. Stored by row, one go over the rows is enough for both products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import Design, Entries, Pair


class SomeColumns(Protocol):
    """Some columns of a design."""

    def curved_inplace(
        self, change: FloatArray, eta: FloatArray, curvature: FloatArray
    ) -> FloatArray:
        """(n_features, n_timesteps) sums of x * curvature * change of eta.

        That change is `eta` and what a change of paths adds; curvature times it is left in `eta`.
        """


@dataclass(frozen=True)
class RowsOfColumns:
    """`SomeColumns` stored by row.

    Parameters
    ----------
    entries
        Values (none where all are one), columns and ends of the rows.
    step_offsets
        As those of a design.
    center
        (n_timesteps, n_features)
    """

    entries: Entries
    step_offsets: IntArray
    center: FloatArray

    def curved_inplace(
        self, change: FloatArray, eta: FloatArray, curvature: FloatArray
    ) -> FloatArray:
        """One go over the rows."""
        paths = np.ascontiguousarray(change.T)
        out, rows = np.empty_like(paths), (eta, curvature)
        curve_inplace(self.entries, self.step_offsets, self.center, paths, rows, out)
        return np.ascontiguousarray(out.T)


@dataclass(frozen=True)
class ColumnsElsewhere:
    """`SomeColumns` of a design whose entries are not at hand: asked for there and back."""

    design: Design
    features: IntArray

    def curved_inplace(
        self, change: FloatArray, eta: FloatArray, curvature: FloatArray
    ) -> FloatArray:
        """One product after the other."""
        design = self.design
        paths = np.zeros((design.n_features, design.n_timesteps))
        paths[self.features] = change
        eta += design.eta(paths)
        eta *= curvature
        return design.gradient(eta)[self.features]


@kernel
def by_row(entries: Entries, n_rows: int) -> Entries:
    """Values, columns and (n_rows + 1,) places of the entries of every row."""
    values, rows, segments = entries
    n_features, ones = segments.shape[0], values.shape[0] == 0
    ends = np.zeros(n_rows + 1, np.int64)
    for i in range(n_features):
        for k in range(segments[i, 0], segments[i, -1]):
            ends[rows[k] + 1] += 1
    for n in range(n_rows):
        ends[n + 1] += ends[n]
    place, columns = ends[:-1].copy(), np.empty(ends[n_rows], np.int32)
    numbers = np.empty(0 if ones else ends[n_rows], values.dtype)
    for i in range(n_features):
        for k in range(segments[i, 0], segments[i, -1]):
            at = place[rows[k]]
            columns[at] = i
            if not ones:
                numbers[at] = values[k]
            place[rows[k]] = at + 1
    return numbers, columns, ends


@kernel
def curve_inplace(
    entries: Entries,
    steps: IntArray,
    center: FloatArray,
    change: FloatArray,
    rows: Pair,
    out: FloatArray,
) -> None:
    """What eta changes by with paths, and what that takes of their gradients, in one go over rows.

    `entries` are those of every row, `center`, `change` and `out` (T, n_features). `rows` are what
    else changes in eta, in whose place curvature times the whole change is left, and the curvature.
    """
    values, columns, ends = entries
    eta, curvature = rows
    ones = values.shape[0] == 0
    for t in range(change.shape[0]):
        path, back = change[t], out[t]
        back[:] = 0.0
        taken = total = 0.0
        for i in range(path.shape[0]):
            taken += center[t, i] * path[i]
        for n in range(steps[t], steps[t + 1]):
            first, last = ends[n], ends[n + 1]
            moved = eta[n] - taken
            for k in range(first, last):
                moved += path[np.uint32(columns[k])] * (1.0 if ones else values[k])
            moved *= curvature[n]
            eta[n] = moved
            total += moved
            for k in range(first, last):
                back[np.uint32(columns[k])] += moved * (1.0 if ones else values[k])
        for i in range(path.shape[0]):
            back[i] -= center[t, i] * total
