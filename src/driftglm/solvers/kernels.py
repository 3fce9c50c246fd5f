"""The inner loops of solvers: flat arrays and scalars only.

`sweep_inplace` and `search_inplace` are those of the block solver. `solvers/cavi.py` reads
gradients and updates the score with the same functions, `solvers/text_mode_kernel.py` solves for
paths with them. Features are updated in a given order. An update needs, per step, the gradient
g_t = sum x * score and the curvature h_t = sum x^2 * curvature; the mode of a path then solves a
tridiagonal system, and the score is kept in step with it. One update costs O(entries + T), also
when columns are centred: what centring adds to eta is one number per step, stored by itself.

Gradients are read from one set of columns and changes written through another. They are the same
where the rows are at hand; where they are not, see `UpdateBlock`.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray
from driftglm.design.base import Columns, KernelBlock, Pair, RowState
from driftglm.design.column_kernels import add_segment, dot_segment
from driftglm.priors.chain import solve_tridiagonal_inplace

N_SEARCH_STEPS = 50

Paths = tuple[FloatArray, BoolArray, FloatArray]
"""beta, which a kernel changes; which paths are static; and the squared length below which a path
is set to zero."""


@kernel
def gradient_inplace(columns: Columns, i: int, state: RowState, out: FloatArray) -> None:
    """Sum of (x - center) * score of one feature, step by step."""
    values, rows, segments, center, sums = columns
    score, pending, score_sums, curvature_sums = state[0], state[2][0], state[2][1], state[2][2]
    for t in range(out.shape[0]):
        total = dot_segment(values, rows, segments[i, t], segments[i, t + 1], score)
        rest = score_sums[t] - pending[t] * curvature_sums[t]
        out[t] = total - pending[t] * sums[i, t] - center[i, t] * rest


@kernel
def update_score_inplace(columns: Columns, i: int, change: FloatArray, state: RowState) -> None:
    """Take the change of one path out of the score."""
    values, rows, segments, center, sums = columns
    score, curvature, pending, score_sums = state[0], state[1], state[2][0], state[2][1]
    for t in range(change.shape[0]):
        delta = change[t]
        if delta == 0.0:
            continue
        pending[t] -= center[i, t] * delta
        score_sums[t] -= sums[i, t] * delta
        first, last = segments[i, t], segments[i, t + 1]
        if curvature.shape[0] == 0:
            add_segment(values, rows, first, last, -delta, score)
        elif values.shape[0] == 0:
            for k in range(first, last):
                score[rows[k]] -= curvature[rows[k]] * delta
        else:
            for k in range(first, last):
                score[rows[k]] -= curvature[rows[k]] * values[k] * delta


@kernel
def _information_inplace(
    block: KernelBlock, i: int, precision: FloatArray, static: bool, out: FloatArray
) -> int:
    """Gradient and curvature of one path into `out` (2, T); returns the length of the path.

    A static path sees all steps as one: the sums are put at step 0, which stands for all.
    """
    _, columns, rows, squares = block
    g, h = out[0], out[1]
    gradient_inplace(columns[0], i, rows, g)
    for t in range(g.shape[0]):
        g[t] *= precision[t]
        h[t] = precision[t] * squares[i, t]
    if not static:
        return g.shape[0]
    g[0], h[0] = g.sum(), h.sum()
    return 1


@kernel
def _set_path_inplace(
    block: KernelBlock, i: int, new: FloatArray, path: FloatArray, change: FloatArray
) -> None:
    """Give one path its new values (one: at all steps), and keep the score in step."""
    for t in range(path.shape[0]):
        value = new[min(t, new.shape[0] - 1)]
        change[t] = value - path[t]
        path[t] = value
    update_score_inplace(block[1][1], i, change, block[2])


@kernel
def largest_gradient(
    path: FloatArray, g: FloatArray, h: FloatArray, penalty: FloatArray, n: int
) -> float:
    """Largest derivative of the objective along one path, scaled by its conditional deviation."""
    worst = 0.0
    for t in range(n):
        corner = (penalty[2] if t == 0 else 0.0) + (penalty[2] if t == n - 1 else 0.0)
        beside = (path[t - 1] if t > 0 else 0.0) + (path[t + 1] if t < n - 1 else 0.0)
        slope = g[t] - (penalty[0] + corner) * path[t] - penalty[1] * beside
        worst = max(worst, abs(slope) / np.sqrt(h[t] + penalty[0] + corner))
    return worst


@kernel
def solve_inplace(
    h: FloatArray, b: FloatArray, penalty: FloatArray, work: FloatArray, n: int
) -> float:
    """work[0, :n] = (diag(h) + P)^-1 b with P the chain of (omega, omega_alpha, omega_end).

    Returns the squared length of the answer.
    """
    for t in range(n):
        work[0, t] = b[t]
        work[1, t] = h[t] + penalty[0]
        work[2, t] = penalty[1]
    work[1, 0] += penalty[2]
    work[1, n - 1] += penalty[2]
    solve_tridiagonal_inplace(work[1, :n], work[2, :n], work[0, :n])
    size = 0.0
    for t in range(n):
        size += work[0, t] ** 2
    return size


@kernel
def sweep_inplace(
    block: KernelBlock, precision: FloatArray, penalties: FloatArray, paths: Paths, damping: float
) -> float:
    """One pass of majorise-minimise over the paths of a block.

    The block's rows are changed in place. `precision` (T,) is that of every step, `penalties`
    (n_features, 3) the quadratic bound of the prior. A `damping` below 1 takes the curvature for
    larger than it is. Returns the largest scaled gradient met on the way.
    """
    beta, static, zero_below = paths
    n_steps = beta.shape[1]
    information, b, change = np.empty((2, n_steps)), np.empty(n_steps), np.empty(n_steps)
    g, h = information[0], information[1]
    work = np.empty((3, n_steps))
    worst = 0.0
    for i in block[0]:
        n = _information_inplace(block, i, precision, static[i], information)
        worst = max(worst, largest_gradient(beta[i], g, h, penalties[i], n))
        for t in range(n):
            h[t] /= damping
            b[t] = g[t] + h[t] * beta[i, t]
        if solve_inplace(h, b, penalties[i], work, n) < zero_below[i]:
            work[0, :n] = 0.0
        _set_path_inplace(block, i, work[0, :n], beta[i], change)
    return worst


@kernel
def _penalty_inplace(path: FloatArray, nodes: FloatArray, n: int, penalty: FloatArray) -> None:
    """The quadratic bound at a path under a coarse mixture of Q_k^(-T/2)."""
    S = R = 0.0
    for t in range(n):
        S += path[t] ** 2
        if t + 1 < n:
            R += path[t] * path[t + 1]
    E = path[0] ** 2 + path[n - 1] ** 2
    top = -np.inf
    for k in range(nodes.shape[0]):
        Q = nodes[k, 0] * S + nodes[k, 1] * R + nodes[k, 2] * E
        top = max(top, nodes[k, 3] - 0.5 * n * np.log(Q))
    total = 0.0
    penalty[:] = 0.0
    for k in range(nodes.shape[0]):
        Q = nodes[k, 0] * S + nodes[k, 1] * R + nodes[k, 2] * E
        weight = np.exp(nodes[k, 3] - 0.5 * n * np.log(Q) - top)
        total += weight
        penalty[0] += weight * n * nodes[k, 0] / Q
        penalty[1] += weight * n * nodes[k, 1] / (2.0 * Q)
        penalty[2] += weight * n * nodes[k, 2] / Q
    penalty /= total


@kernel
def _conditional_mode_inplace(
    h: FloatArray, b: FloatArray, nodes: FloatArray, zero_below: float, path: FloatArray, n: int
) -> None:
    """The mode of one path given the rest, or zero; `path[:n]` is where to start if not zero.

    A nonzero mode requires b'H^-1 b >= 4 T whatever the rate, so below that the answer is zero.
    """
    fit = size = 0.0
    for t in range(n):
        size += path[t] ** 2
        if h[t] > 0.0:
            fit += b[t] ** 2 / h[t]
    if fit < 4.0 * n:
        path[:n] = 0.0
        return
    if size == 0.0:
        for t in range(n):
            path[t] = b[t] / h[t] if h[t] > 0.0 else 0.0
    penalty, work = np.empty(3), np.empty((3, n))
    for _ in range(N_SEARCH_STEPS):
        _penalty_inplace(path, nodes, n, penalty)
        size, moved = solve_inplace(h, b, penalty, work, n), 0.0
        for t in range(n):
            moved += (work[0, t] - path[t]) ** 2
            path[t] = work[0, t]
        if size < zero_below:
            path[:n] = 0.0
            return
        if moved < 1e-6 * size:
            return


@kernel
def search_inplace(
    block: KernelBlock, precision: FloatArray, nodes: Pair, paths: Paths, damping: float
) -> int:
    """One pass that takes every path, zero or not, to its mode given the others.

    Unlike in `sweep_inplace` a zero path may leave zero, so the floored objective may fall:
    this is for finding a start. `nodes` are the coarse mixtures for paths of full length and
    of length one. Returns how many paths changed between zero and nonzero.
    """
    beta, static, zero_below = paths
    n_steps = beta.shape[1]
    information, b = np.empty((2, n_steps)), np.empty(n_steps)
    path, change = np.empty(n_steps), np.empty(n_steps)
    g, h = information[0], information[1]
    n_switched = 0
    for i in block[0]:
        n = _information_inplace(block, i, precision, static[i], information)
        was_zero = not beta[i].any()
        for t in range(n):
            h[t] /= damping
            path[t] = beta[i, t]
            b[t] = g[t] + h[t] * beta[i, t]
        _conditional_mode_inplace(h, b, nodes[1] if static[i] else nodes[0], zero_below[i], path, n)
        _set_path_inplace(block, i, path[:n], beta[i], change)
        n_switched += was_zero == beta[i].any()
    return n_switched
