"""What columns lose of their information where rows share unknown effects."""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import CellTables, Entries


@kernel
def lost_information_inplace(
    entries: Entries,
    center: FloatArray,
    rows: tuple[IntArray, IntArray, FloatArray],
    tables: CellTables,
    features: IntArray,
    out: tuple[FloatArray, FloatArray],
) -> None:
    """What some features lose, by step and about a constant, whose columns are centred without being touched.

    With A_c the sum of weights * x over a cell, x not centred, and m_t the center, the cell's sum
    is A_c - m_t W_c; squares of it are taken apart, so that only cells with entries are visited.
    """
    values, numbers, segments = entries
    cell, first_cells, weights = rows
    cells, group_variance, steps, pairs, codes = tables
    by_step, about_constant = out
    n_steps = segments.shape[1] - 1
    ones = values.shape[0] == 0
    sums, touched = np.zeros(cells.shape[1]), np.empty(cells.shape[1], dtype=np.int64)
    group = np.empty(cells.shape[1], dtype=np.int64)
    for g in range(group_variance.shape[0]):
        for c in range(first_cells[g], first_cells[g + 1]):
            group[c] = g
    seen = np.zeros(group_variance.shape[0], dtype=np.bool_)
    for i in features:
        n_touched = 0
        for k in range(segments[i, 0], segments[i, n_steps]):
            n = numbers[k]
            c = cell[n]
            if sums[c] == 0.0:
                touched[n_touched] = c
                n_touched += 1
            sums[c] += weights[n] if ones else weights[n] * values[k]
            if sums[c] == 0.0:  # an exact zero would be listed twice
                sums[c] = 1e-300
        own = 0.0
        for t in range(n_steps):
            m = center[i, t]
            by_step[i, t] = m * m * steps[1, t]
            own += m * m * steps[0, t]
        outer = 0.0
        for t in range(n_steps):
            for s in range(n_steps):
                outer += center[i, t] * center[i, s] * pairs[t, s]
        for j in range(n_touched):
            c = touched[j]
            t = codes[c]
            left = sums[c] * (sums[c] - 2.0 * center[i, t] * cells[3, c])
            by_step[i, t] += cells[1, c] * left
            own += cells[0, c] * left
            g = group[c]
            if seen[g]:
                continue
            seen[g] = True
            inner = moved = 0.0
            for other in range(first_cells[g], first_cells[g + 1]):
                inner += cells[2, other] * sums[other]
                moved += cells[2, other] * cells[3, other] * center[i, codes[other]]
            outer += group_variance[g] * inner * (inner - 2.0 * moved)
        about_constant[i] = own + outer
        for j in range(n_touched):
            sums[touched[j]] = 0.0
            seen[group[touched[j]]] = False
