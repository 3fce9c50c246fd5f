"""The directions in which the rows of a design vary most."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr, svd

from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray

MOST_ROWS = 2000
"""Rows the directions are found from, evenly spaced; any few directions would do, so that a sample
finds them well enough."""
N_ROUNDS, N_MORE = 2, 8
"""Rounds of subspace iteration, and how many more directions are carried along than are wanted."""


def leading_directions(
    X: Any, codes: IntArray, center: FloatArray, unit: FloatArray, count: int
) -> FloatArray:
    """(n_features, count) orthonormal directions of (x - center) / unit, by subspace iteration.

    `X` is dense or CSR, `codes` the step of every row, `center` (n_features, T). X is never
    centred, nor made dense.
    """
    order = np.argsort(codes, kind="stable")
    chosen = order[np.unique(np.linspace(0, order.size - 1, MOST_ROWS).astype(np.int64))]
    part, steps = X[chosen], codes[chosen]
    shift = np.ascontiguousarray(center.T)

    def forward(coefs: FloatArray) -> FloatArray:
        scaled = coefs / unit[:, None]
        return np.asarray(part @ scaled - (shift @ scaled)[steps])

    def back(scores: FloatArray) -> FloatArray:
        sums = np.zeros((shift.shape[0], scores.shape[1]))
        np.add.at(sums, steps, scores)
        return np.asarray((part.T @ scores - shift.T @ sums) / unit[:, None])

    def orthonormal(columns: FloatArray) -> FloatArray:
        return np.asarray(qr(columns, mode="economic")[0], dtype=np.float64)

    width = min(count + N_MORE, chosen.size, unit.size)
    with one_thread():  # the same digits on any number of threads
        start = np.random.default_rng(0).normal(size=(chosen.size, width))
        Q = orthonormal(back(start))
        for _ in range(N_ROUNDS):
            Q = orthonormal(back(forward(Q)))
        turn = svd(forward(Q), full_matrices=False)[2]
        return np.ascontiguousarray((Q @ turn.T)[:, :count])
