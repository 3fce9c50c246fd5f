"""E[log p(y | eta)] of a logistic likelihood, eta normal, and its derivatives, row by row.

Shared by the families whose log-likelihood is that of a (weighted) share in some logit.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from driftglm._jit import kernel
from driftglm._typing import FloatArray

NARROW = 0.02
"""Up to this variance three terms of a Taylor series do better than 4e-10, and ten times faster."""
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
def _expect_narrow(y: float, mean: float, v: float) -> tuple[float, float, float]:
    """E[log p], its derivative in the mean and -2 times that in the variance, by Taylor series.

    With u = p (1 - p) and s = 1 - 2 p the derivatives of -log(1 + exp(eta)) are -p, -u, -u s,
    -u (1 - 6 u), -u s (1 - 12 u), -u (1 - 30 u + 120 u^2), -u s (1 - 60 u + 360 u^2).
    """
    tail = np.exp(-abs(mean))
    small = tail / (1.0 + tail)
    u, s = small / (1.0 + tail), (1.0 - tail) / (1.0 + tail)
    wrong = y * abs(mean)
    slope = y - small
    if mean > 0.0:
        wrong, slope, s = (1.0 - y) * mean, y - 1.0 + small, -s
    fourth, sixth = 1.0 - 6.0 * u, 1.0 - 30.0 * u + 120.0 * u * u
    value = -wrong - np.log1p(tail) - u * v * (0.5 + v * (fourth / 8.0 + v * sixth / 48.0))
    seventh = 1.0 - 60.0 * u + 360.0 * u * u
    slope -= u * s * v * (0.5 + v * ((1.0 - 12.0 * u) / 8.0 + v * seventh / 48.0))
    return value, slope, u * (1.0 + v * (0.5 * fourth + v * sixth / 8.0))


@kernel
def _expect_wide(y: float, mean: float, v: float, quadrature: Nodes) -> tuple[float, float, float]:
    """The same by quadrature: E[y - p] and E[p x] / deviation are the sum's own derivatives."""
    nodes, node_weights = quadrature
    deviation = np.sqrt(v)
    value = slope = bend = 0.0
    for k in range(nodes.shape[0]):
        eta = mean + nodes[k] * deviation
        size = abs(eta)
        tail = np.exp(-size)
        small = tail / (1.0 + tail)
        if eta > 0.0:
            value -= node_weights[k] * (1.0 - y) * size
            slope += node_weights[k] * (y - 1.0 + small)
            bend += node_weights[k] * nodes[k] * (1.0 - small)
        else:
            value -= node_weights[k] * y * size
            slope += node_weights[k] * (y - small)
            bend += node_weights[k] * nodes[k] * small
        value -= node_weights[k] * np.log1p(tail)
    return value, slope, max(bend / deviation, 0.0)


@kernel
def expect_logistic(
    y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray, quadrature: Nodes
) -> tuple[float, FloatArray, FloatArray]:
    """Sum of E[log p], and its derivatives row by row."""
    score, curvature = np.empty(y.shape[0]), np.empty(y.shape[0])
    total = 0.0
    for n in range(y.shape[0]):
        v = variance[n % variance.shape[0]]
        if v < NARROW:
            value, slope, bend = _expect_narrow(y[n], mean[n], v)
        else:
            value, slope, bend = _expect_wide(y[n], mean[n], v, quadrature)
        total += weights[n] * value
        score[n], curvature[n] = weights[n] * slope, weights[n] * bend
    return total, score, curvature
