"""What columns lose of their information where rows share unknown effects."""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import Cells, Entries, Pair


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
    values, numbers, segments = entries
    cell, group, first_cells, table, group_variance = cells
    own_variance, own_loss, rest, information = table[0], table[1], table[2], table[3]
    by_step, about_constant = out
    ones, n_steps = values.shape[0] == 0, segments.shape[1] - 1
    sums, inner = np.zeros(group.shape[0]), np.zeros(group_variance.shape[0])
    for i in features:
        for k in range(segments[i, 0], segments[i, n_steps]):
            n = np.uint32(numbers[k])
            sums[np.uint32(cell[n])] += weights[n] if ones else weights[n] * values[k]
        total = 0.0
        for t in range(n_steps):
            own = loss = 0.0
            for c in range(first_cells[t], first_cells[t + 1]):
                a = sums[c] - center[i, t] * information[c]
                sums[c] = 0.0
                own += own_variance[c] * a * a
                loss += own_loss[c] * a * a
                inner[np.uint32(group[c])] += rest[c] * a
            by_step[i, t] = loss
            total += own
        for g in range(inner.shape[0]):
            total += group_variance[g] * inner[g] * inner[g]
            inner[g] = 0.0
        about_constant[i] = total
