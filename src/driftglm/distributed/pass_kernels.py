"""The inner loops of a pass where rows are on workers: some columns of many, and pairs of them."""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import Entries
from driftglm.design.column_kernels import add_segment, dot_segment


@kernel
def gradient_inplace(
    entries: Entries, features: IntArray, score: FloatArray, out: FloatArray
) -> None:
    """Sum of x * score of some features, step by step."""
    values, rows, segments = entries
    for k in range(features.shape[0]):
        i = features[k]
        for t in range(out.shape[1]):
            out[k, t] = dot_segment(values, rows, segments[i, t], segments[i, t + 1], score)


@kernel
def move_inplace(
    entries: Entries, features: IntArray, beta: FloatArray, curvature: FloatArray, score: FloatArray
) -> None:
    """Take what some paths have moved out of the score; no curvature: it is one throughout."""
    values, rows, segments = entries
    for k in range(features.shape[0]):
        i = features[k]
        for t in range(beta.shape[1]):
            delta, first, last = beta[k, t], segments[i, t], segments[i, t + 1]
            if delta == 0.0:
                continue
            if curvature.shape[0] == 0:
                add_segment(values, rows, first, last, -delta, score)
                continue
            for n in range(first, last):
                x = 1.0 if values.shape[0] == 0 else values[n]
                score[rows[n]] -= curvature[rows[n]] * x * delta


@kernel
def centered_gram(
    lower: FloatArray, center: FloatArray, sums: FloatArray, total: FloatArray
) -> FloatArray:
    """(m, T, m) of the centred columns: G - c_i s_j - s_i c_j + c_i c_j S.

    `lower` (T, m (m + 1) / 2) are the lower triangles of G.
    """
    m, n_steps = center.shape
    out = np.empty((m, n_steps, m))
    for t in range(n_steps):
        place = 0
        for i in range(m):
            c, s = center[i, t], sums[i, t]
            for j in range(i + 1):
                taken = c * sums[j, t] + s * center[j, t] - c * center[j, t] * total[t]
                out[i, t, j] = out[j, t, i] = lower[t, place] - taken
                place += 1
    return out
