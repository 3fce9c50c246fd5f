"""What columns lose of their information where rows share unknown effects."""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import Cells, Entries, Pair, RowArray

FEW = 5
"""A column has few entries where cells are more than so many times as many."""
LARGEST = 8
"""Tables of groups by steps have at most so many numbers for every cell."""

Offsets = tuple[FloatArray, FloatArray, FloatArray]
"""What a column that is one everywhere loses: (2, T) by step, of the cells' own effects and in all;
(n_groups, T) variance of a group's effect times what its cells know; (T, T) of groups."""


@kernel
def lost_information_inplace(
    entries: Entries,
    center: FloatArray,
    weights: FloatArray,
    cells: Cells,
    features: IntArray,
    out: Pair,
) -> None:
    """What some features lose, by step and about a constant; columns are centred untouched."""
    segments = entries[2]
    n_steps, n_cells, n_groups = segments.shape[1] - 1, cells[1].shape[0], cells[4].shape[0]
    scratch = np.zeros(n_cells), np.zeros(n_groups), np.empty(n_cells, dtype=np.int32)
    small = n_steps * max(n_steps, n_groups) < LARGEST * n_cells
    offsets = _offsets(cells, n_steps if small else 0)
    for i in features:
        if small and FEW * (segments[i, n_steps] - segments[i, 0]) < n_cells:
            _lost_by_few(i, entries, center[i], weights, cells, offsets, scratch, out)
        else:
            _lost_by_many(i, entries, center[i], weights, cells, scratch, out)


@kernel
def _lost_by_many(
    i: int,
    entries: Entries,
    center: FloatArray,
    weights: FloatArray,
    cells: Cells,
    scratch: tuple[FloatArray, FloatArray, RowArray],
    out: Pair,
) -> None:
    """A feature with entries in many cells.

    Cells of a step follow each other, and are of different groups: sums over the cells of a step
    need no look-up, and sums over those of a group do not wait for each other.
    """
    values, numbers, segments = entries
    cell, group, first_cells, table, group_variance = cells
    own_variance, own_loss, rest, information = table[0], table[1], table[2], table[3]
    sums, inner, _ = scratch
    ones, n_steps = values.shape[0] == 0, segments.shape[1] - 1
    for k in range(segments[i, 0], segments[i, n_steps]):
        n = np.uint32(numbers[k])
        sums[np.uint32(cell[n])] += weights[n] if ones else weights[n] * values[k]
    total = 0.0
    for t in range(n_steps):
        own = loss = 0.0
        for c in range(first_cells[t], first_cells[t + 1]):
            a = sums[c] - center[t] * information[c]
            sums[c] = 0.0
            own += own_variance[c] * a * a
            loss += own_loss[c] * a * a
            inner[np.uint32(group[c])] += rest[c] * a
        out[0][i, t] = loss
        total += own
    for g in range(inner.shape[0]):
        total += group_variance[g] * inner[g] * inner[g]
        inner[g] = 0.0
    out[1][i] = total


@kernel
def _offsets(cells: Cells, n_steps: int) -> Offsets:
    """See `Offsets`; empty for no steps."""
    _, group, first_cells, table, group_variance = cells
    alone, known = np.zeros((2, n_steps)), np.zeros((group_variance.shape[0], n_steps))
    together = np.zeros((n_steps, n_steps))
    for t in range(n_steps):
        for c in range(first_cells[t], first_cells[t + 1]):
            information = table[3, c]
            alone[0, t] += table[0, c] * information * information
            alone[1, t] += table[1, c] * information * information
            known[group[c], t] = table[2, c] * information
    for g in range(known.shape[0]):
        for t in range(n_steps):
            if known[g, t] != 0.0:
                for s in range(n_steps):
                    together[t, s] += group_variance[g] * known[g, t] * known[g, s]
        known[g] *= group_variance[g]
    return alone, known, together


@kernel
def _lost_by_few(
    i: int,
    entries: Entries,
    center: FloatArray,
    weights: FloatArray,
    cells: Cells,
    offsets: Offsets,
    scratch: tuple[FloatArray, FloatArray, RowArray],
    out: Pair,
) -> None:
    """A feature with entries in few cells: no others are looked at, centring is accounted for.

    A cell met again has a sum of zero by then, and adds nothing; nor does a group. Whether one is
    met for the first time is so irregular that asking would cost more than going on.
    """
    values, numbers, segments = entries
    cell, group, _, table, group_variance = cells
    own_variance, own_loss, rest, information = table[0], table[1], table[2], table[3]
    sums, inner, met = scratch
    alone, known, together = offsets
    ones, n_steps, n_met, total = values.shape[0] == 0, segments.shape[1] - 1, 0, 0.0
    for t in range(n_steps):
        for k in range(segments[i, t], segments[i, t + 1]):
            n = np.uint32(numbers[k])
            sums[np.uint32(cell[n])] += weights[n] if ones else weights[n] * values[k]
        own = loss = 0.0
        shift = 2.0 * center[t]
        for k in range(segments[i, t], segments[i, t + 1]):
            c = np.uint32(cell[np.uint32(numbers[k])])
            a = sums[c]
            sums[c] = 0.0
            square = a * (a - shift * information[c])
            own += own_variance[c] * square
            loss += own_loss[c] * square
            g = np.uint32(group[c])
            met[n_met] = g
            n_met += inner[g] == 0.0
            inner[g] += rest[c] * a
        out[0][i, t] = max(loss + center[t] * center[t] * alone[1, t], 0.0)
        total += own + center[t] * center[t] * alone[0, t]
    for j in range(n_met):
        g = np.uint32(met[j])
        along = 0.0
        for t in range(n_steps):
            along += known[g, t] * center[t]
        total += inner[g] * (group_variance[g] * inner[g] - 2.0 * along)
        inner[g] = 0.0
    for t in range(n_steps):
        for s in range(n_steps):
            total += center[t] * together[t, s] * center[s]
    out[1][i] = max(total, 0.0)
