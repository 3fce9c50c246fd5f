"""The update of the shared directions, all at once, with the variance of highest evidence."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from driftglm._threads import one_thread
from driftglm._typing import FloatArray
from driftglm.objective import Problem, SharedState, State
from driftglm.solvers.damping import damped

N_GRID = 61
SMALLEST, LARGEST = 1e-6, 1e6
"""Variances tried, times the largest curvature of a direction."""
N_POLISHED, FAR = 3, 1e-3
"""Newton steps from the maximum that was searched for, and the longest one that can be right."""


def update_shared(
    problem: Problem, state: State, score: FloatArray, curvature: FloatArray, damping: float = 1.0
) -> None:
    """Set posterior and variance of the shared directions given the rest; `score` is kept in step.

    Both at once: for every variance the best posterior is known, and what is left to choose is the
    variance of highest evidence, zero included. `state.eta` is not touched.
    """
    if problem.shared is None:
        return
    z, old = problem.shared.scores, state.shared
    precision = problem.precision(state)
    h = problem.shared_gram(curvature, precision)
    b = z.dot(problem.by_row(precision) * score) + np.einsum("rq,q->r", h, old.mean)
    if damping < 1.0:
        h, b = damped(h, b, (old.h, old.b, old.mean), damping)
    state.shared = posterior(h, b)
    score -= curvature * z.times(state.shared.mean - old.mean)


def posterior(h: FloatArray, b: FloatArray) -> SharedState:
    """The posterior under the prior variance v of highest evidence.

    The evidence is, up to a constant,

        (1/2) sum_r [v a_r^2 / (1 + v d_r) - log(1 + v d_r)],

    with d_r the eigenvalues of h and a_r the coordinates of b along its eigenvectors.
    """
    with one_thread():  # the same digits on any number of threads
        values, vectors = eigh(h)
    d = np.maximum(values, 0.0)
    a = np.einsum("rq,r->q", vectors, b)
    variance = _best_variance(d, a)
    if variance == 0.0:
        return dataclasses.replace(SharedState.off(b.size), h=h, b=b)
    shrunk = variance / (1.0 + variance * d)
    along = shrunk * a
    covariance = np.einsum("rk,k,qk->rq", vectors, shrunk, vectors)
    ratio = (along**2 + shrunk) / variance
    divergence = 0.5 * float(np.sum(ratio - 1.0 + np.log1p(variance * d)))
    mean = np.einsum("rk,k->r", vectors, along)
    return SharedState(mean, covariance, h, b, variance, divergence)


def _best_variance(d: FloatArray, a: FloatArray) -> float:
    """The variance of highest evidence, 0 if none is higher than that without any direction."""

    def loss(log_variance: float | FloatArray) -> Any:
        v = np.exp(log_variance)
        return -0.5 * np.sum(v * a**2 / (1.0 + v * d) - np.log1p(v * d), axis=-1)

    top = float(d.max(initial=0.0))
    if top == 0.0:
        return 0.0
    grid = np.log(np.geomspace(SMALLEST, LARGEST, N_GRID) / top)
    losses = loss(grid[:, None])
    k = int(np.argmin(losses))
    bounds = (grid[max(k - 1, 0)], grid[min(k + 1, N_GRID - 1)])
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    best = _polished(float(found.x if found.fun < losses[k] else grid[k]), d, a)
    return float(np.exp(best)) if loss(best) < 0 else 0.0


def _polished(log_variance: float, d: FloatArray, a: FloatArray) -> float:
    """The same maximum to the last digits, as a root of the evidence's derivative.

    Values of a flat function say where its maximum is to half of their digits only, and the rest
    would depend on the order in which sums were taken.
    """
    for _ in range(N_POLISHED):
        v = np.exp(log_variance)
        left = 1.0 / (1.0 + v * d)
        gained, lost = v * a**2 * left**2, v * d * left
        slope = float(np.sum(gained - lost))
        bend = float(np.sum(gained * (1.0 - 2.0 * lost) - lost * left))
        step = -slope / bend if bend < 0 else np.inf
        if abs(step) > FAR:
            return log_variance  # at an end of the grid, where the derivative has no root
        log_variance += step
    return log_variance
