"""A step part of the way, in curvature h and linear term b of the likelihood.

A Gaussian posterior is its prior times exp(b x - h x^2 / 2). Where a full step would lower the
objective, the step goes a part d of the way from the old h and b to the new ones,

    h <- h_old + d (h - h_old),    b <- b_old + d (b - b_old),

which is a direction in which the objective rises. What was not updated before has no old h and b,
only a point m where it is; more curvature about that point keeps it close:

    h <- h + e,    b <- b + e m,    e = (1 / d - 1) h.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray

Before = tuple[FloatArray, FloatArray, FloatArray]
"""Old h and b (zeros: none yet), and the point."""


@kernel
def damp_inplace(h: FloatArray, b: FloatArray, before: Before, unit: float, damping: float) -> None:
    """Shorten a step of a path, every array (T,); the point is given in units of 1 / `unit`."""
    old_h, old_b, point = before
    fresh = not old_h.any()
    for t in range(h.shape[0]):
        if fresh:
            more = (1.0 / damping - 1.0) * h[t]
            h[t] += more
            b[t] += more * point[t] * unit
        else:
            h[t] = old_h[t] + damping * (h[t] - old_h[t])
            b[t] = old_b[t] + damping * (b[t] - old_b[t])


def damped(
    h: FloatArray, b: FloatArray, before: Before, damping: float
) -> tuple[FloatArray, FloatArray]:
    """The same where h is a matrix: coefficients that are not updated one by one."""
    old_h, old_b, point = before
    if old_h.any():
        return old_h + damping * (h - old_h), old_b + damping * (b - old_b)
    more = (1.0 / damping - 1.0) * h
    return h + more, b + np.einsum("rq,q->r", more, point)
