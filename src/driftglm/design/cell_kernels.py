"""What columns lose of their information where rows share unknown effects.

With a_c the sum of weight * (x - center) over cell c, a column loses a quadratic form of a. A column
with entries in many cells is gone through cell by cell; one with few by its entries: the form is
that of the centers alone, the same for all columns up to T x T numbers, and what entries change.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import Cells, Entries, Pair

SPARSE = 3
"""A column with entries in fewer than one of so many cells is gone through by its entries."""

Whole = tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray]
"""Of all cells: the step of each; where the list of a group's cells begins, and the list; (T,) what
a column of ones loses by the cells' own effects, (T,) in a step, and (T, T) by groups."""
Work = tuple[FloatArray, FloatArray, IntArray, IntArray]
"""(n_cells,) sums, (n_groups,) sums, and (n_cells,) room for lists of cells and of groups."""


@kernel
def lost_information_inplace(
    entries: Entries,
    center: FloatArray,
    weights: FloatArray,
    cells: Cells,
    features: IntArray,
    out: Pair,
) -> None:
    """What some features lose, by step and about a constant; columns are centred untouched.

    Cells of a step follow each other, and are of different groups: sums over the cells of a step
    need no look-up, and sums over those of a group do not wait for each other.
    """
    segments, n_cells, n_groups = entries[2], cells[1].shape[0], cells[4].shape[0]
    lists = np.empty(n_cells, dtype=np.int64), np.empty(n_cells, dtype=np.int64)
    work = np.zeros(n_cells), np.zeros(n_groups), lists[0], lists[1]
    whole = _whole(cells)
    for i in features:
        if SPARSE * (segments[i, -1] - segments[i, 0]) < n_cells:
            _by_entries_inplace(i, entries, center[i], weights, cells, whole, work, out)
        else:
            _by_cells_inplace(i, entries, center[i], weights, cells, work, out)


@kernel
def _whole(cells: Cells) -> Whole:
    """What is asked of all cells, once."""
    _, group, first_cells, table, group_variance = cells
    n_cells, n_groups, n_steps = group.shape[0], group_variance.shape[0], first_cells.shape[0] - 1
    steps = np.empty(n_cells, dtype=np.int64)
    own, loss, by_group = np.zeros(n_steps), np.zeros(n_steps), np.zeros((n_steps, n_steps))
    first = np.zeros(n_groups + 1, dtype=np.int64)
    for t in range(n_steps):
        for c in range(first_cells[t], first_cells[t + 1]):
            steps[c] = t
            own[t] += table[0, c] * table[3, c] ** 2
            loss[t] += table[1, c] * table[3, c] ** 2
            first[group[c] + 1] += 1
    first = np.cumsum(first)
    place, ends = np.empty(n_cells, dtype=np.int64), first[:-1].copy()
    for c in range(n_cells):
        place[ends[group[c]]] = c
        ends[group[c]] += 1
    for g in range(n_groups):
        mine = place[first[g] : first[g + 1]]
        for c in mine:
            reach = group_variance[g] * table[2, c] * table[3, c]
            for d in mine:
                by_group[steps[c], steps[d]] += reach * table[2, d] * table[3, d]
    return steps, first, place, own, loss, by_group


@kernel
def _by_cells_inplace(
    i: int,
    entries: Entries,
    center: FloatArray,
    weights: FloatArray,
    cells: Cells,
    work: Work,
    out: Pair,
) -> None:
    """One feature, cell by cell."""
    values, numbers, segments = entries
    cell, group, first_cells, table, group_variance = cells
    own_variance, own_loss, rest, information = table[0], table[1], table[2], table[3]
    ones, (sums, inner, _, _) = values.shape[0] == 0, work
    for k in range(segments[i, 0], segments[i, -1]):
        n = np.uint32(numbers[k])
        sums[np.uint32(cell[n])] += weights[n] if ones else weights[n] * values[k]
    total = 0.0
    for t in range(center.shape[0]):
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
def _by_entries_inplace(
    i: int,
    entries: Entries,
    center: FloatArray,
    weights: FloatArray,
    cells: Cells,
    whole: Whole,
    work: Work,
    out: Pair,
) -> None:
    """One feature by its entries: (s - c)^2 = c^2 + s (s - 2 c), s being zero in most cells."""
    values, numbers, segments = entries
    cell, group, _, table, group_variance = cells
    steps, first, place, own_whole, loss_whole, by_group = whole
    ones, (sums, inner, some_cells, some_groups) = values.shape[0] == 0, work
    total, n_groups = 0.0, 0
    for t in range(center.shape[0]):
        n_cells = 0
        for k in range(segments[i, t], segments[i, t + 1]):
            n = np.uint32(numbers[k])
            c = np.uint32(cell[n])
            if sums[c] == 0.0:  # twice, if entries cancel: nothing is left to do the second time
                some_cells[n_cells] = c
                n_cells += 1
            sums[c] += weights[n] if ones else weights[n] * values[k]
        loss = center[t] ** 2 * loss_whole[t]
        total += center[t] ** 2 * own_whole[t]
        for j in range(n_cells):
            c = some_cells[j]
            change = sums[c] * (sums[c] - 2.0 * center[t] * table[3, c])
            total += table[0, c] * change
            loss += table[1, c] * change
            g = group[c]
            if inner[g] == 0.0:
                some_groups[n_groups] = g
                n_groups += 1
            inner[g] += table[2, c] * sums[c]
            sums[c] = 0.0
        out[0][i, t] = loss
        for s in range(center.shape[0]):
            total += center[t] * by_group[t, s] * center[s]
    for j in range(n_groups):
        g = some_groups[j]
        along = 0.0
        for c in place[first[g] : first[g + 1]]:
            along += center[steps[c]] * table[2, c] * table[3, c]
        total += group_variance[g] * inner[g] * (inner[g] - 2.0 * along)
        inner[g] = 0.0
    out[1][i] = total
