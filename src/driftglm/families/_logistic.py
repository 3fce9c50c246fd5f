"""E[log p(y | eta)] of a logistic likelihood, eta normal, and its derivatives, row by row.

Shared by the families whose log-likelihood is that of a (weighted) share in some logit.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from driftglm._elementary import exp_inplace, log_inplace
from driftglm._jit import kernel
from driftglm._typing import FloatArray

NARROW = 0.02
"""Up to this variance three terms of a Taylor series do better than 4e-10, and ten times faster."""
AT_ONCE = 128
"""Rows done together."""
Nodes = tuple[FloatArray, FloatArray]


def _nodes(n_nodes: int) -> Nodes:
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weights / weights.sum()


FIT_NODES, FIT_WEIGHTS = _nodes(10)
NODES, NODE_WEIGHTS = _nodes(32)


def expected_share(eta: FloatArray, variance: FloatArray) -> FloatArray:
    """E[p]."""
    if not variance.any():
        return np.asarray(expit(eta))
    deviation = np.sqrt(variance)
    parts = zip(NODES, NODE_WEIGHTS, strict=True)
    return np.asarray(sum(weight * expit(eta + node * deviation) for node, weight in parts))


def expected_information(eta: FloatArray, variance: FloatArray) -> FloatArray:
    """E[p (1 - p)]."""
    deviation = np.sqrt(variance)
    ends = (
        (weight, eta + node * deviation) for node, weight in zip(NODES, NODE_WEIGHTS, strict=True)
    )
    return np.asarray(sum(weight * expit(end) * expit(-end) for weight, end in ends))


@kernel
def _narrow_inplace(part: FloatArray, tail: FloatArray, log: FloatArray, out: FloatArray) -> None:
    """E[log p], its derivative in the mean and -2 times that in the variance, by Taylor series.

    `part` (3, n) is y, mean and variance of some rows, `tail` exp(-|mean|), `log` that of 1 + tail.

    With u = p (1 - p) and s = 1 - 2 p the derivatives of -log(1 + exp(eta)) are -p, -u, -u s,
    -u (1 - 6 u), -u s (1 - 12 u), -u (1 - 30 u + 120 u^2), -u s (1 - 60 u + 360 u^2).
    """
    for j in range(part.shape[1]):
        y, mean, v = part[0, j], part[1, j], part[2, j]
        small = tail[j] / (1.0 + tail[j])
        u, s = small / (1.0 + tail[j]), (1.0 - tail[j]) / (1.0 + tail[j])
        wrong = (1.0 - y if mean > 0.0 else y) * abs(mean)
        slope = y - 1.0 + small if mean > 0.0 else y - small
        s = -s if mean > 0.0 else s
        fourth, sixth = 1.0 - 6.0 * u, 1.0 - 30.0 * u + 120.0 * u * u
        seventh = 1.0 - 60.0 * u + 360.0 * u * u
        out[0, j] = -wrong - log[j] - u * v * (0.5 + v * (fourth / 8.0 + v * sixth / 48.0))
        out[1, j] = slope - u * s * v * (0.5 + v * ((1.0 - 12.0 * u) / 8.0 + v * seventh / 48.0))
        out[2, j] = u * (1.0 + v * (0.5 * fourth + v * sixth / 8.0))


@kernel
def _wide_inplace(
    part: FloatArray, nodes: Nodes, tail: FloatArray, log: FloatArray, out: FloatArray
) -> None:
    """The same by quadrature: E[y - p] and E[p x] / deviation are the sum's own derivatives.

    `tail` and `log` have the rows of every node one after the other.
    """
    count = part.shape[1]
    out[:, :count] = 0.0
    for k in range(nodes[0].shape[0]):
        node, weight = nodes[0][k], nodes[1][k]
        for j in range(count):
            y, eta = part[0, j], part[1, j] + node * part[2, j]
            t = tail[k * count + j]
            small = t / (1.0 + t)
            up = eta > 0.0
            out[0, j] -= weight * ((1.0 - y if up else y) * abs(eta) + log[k * count + j])
            out[1, j] += weight * (y - 1.0 + small if up else y - small)
            out[2, j] += weight * node * (1.0 - small if up else small)
    for j in range(count):
        out[2, j] = max(out[2, j] / part[2, j], 0.0)


@kernel
def _tails_inplace(
    part: FloatArray, nodes: FloatArray, work: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """exp(-|eta|) at every node of some rows, and the logarithm of 1 plus that."""
    count = part.shape[1]
    size = nodes.shape[0] * count
    tail, log, scratch = work[0, :size], work[1, :size], work[2, :size]
    for k in range(nodes.shape[0]):
        for j in range(count):
            tail[k * count + j] = -abs(part[1, j] + nodes[k] * part[2, j])
    exp_inplace(tail, scratch)
    for k in range(size):
        log[k] = 1.0 + tail[k]
    log_inplace(log, scratch)
    for k in range(size):
        whole = 1.0 + tail[k]  # what the sum has lost of a small part
        log[k] += (tail[k] - (whole - 1.0)) / whole
    return tail, log


@kernel
def expect_logistic(
    y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray, quadrature: Nodes
) -> tuple[float, FloatArray, FloatArray]:
    """Sum of E[log p], and its derivatives row by row.

    Rows are taken in parts, all narrow or all wide, so that several are done at a time.
    """
    n_rows = y.shape[0]
    score, curvature, values = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    chosen, part, out = (
        np.empty((2, AT_ONCE), np.int64),
        np.empty((2, 3, AT_ONCE)),
        np.empty((3, AT_ONCE)),
    )
    counts, work = np.zeros(2, np.int64), np.empty((3, AT_ONCE * quadrature[0].shape[0]))
    certain = np.zeros(1)
    for n in range(n_rows + 2):
        kind = n - n_rows
        if n < n_rows:
            v = variance[n % variance.shape[0]]
            kind = 0 if v < NARROW else 1
            j = counts[kind]
            chosen[kind, j], part[kind, 0, j], part[kind, 1, j] = n, y[n], mean[n]
            part[kind, 2, j] = v if kind == 0 else np.sqrt(v)
            counts[kind] += 1
            if counts[kind] < AT_ONCE:
                continue
        count = counts[kind]
        rows = np.ascontiguousarray(part[kind, :, :count])
        if kind == 0:
            tail, log = _tails_inplace(rows, certain, work)
            _narrow_inplace(rows, tail, log, out)
        else:
            tail, log = _tails_inplace(rows, quadrature[0], work)
            _wide_inplace(rows, quadrature, tail, log, out)
        for j in range(count):
            row = chosen[kind, j]
            values[row] = weights[row] * out[0, j]
            score[row], curvature[row] = weights[row] * out[1, j], weights[row] * out[2, j]
        counts[kind] = 0
    total = 0.0
    for n in range(n_rows):
        total += values[n]
    return total, score, curvature
