"""Probabilities and means of several paths, given what is known of each.

What the joint solve says of a path is its curvature and linear term; here it keeps its mixture.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray
from driftglm.priors.mixture import (
    Tables,
    average_inplace,
    log_evidences_inplace,
    weights_inplace,
)

SOLVABLE = 1e-8
"""Directions in which a path moves less than this, as a share of the most, are left out."""


@kernel
def weigh_paths_inplace(
    known: tuple[FloatArray, FloatArray],
    prior: tuple[Tables, FloatArray],
    given: BoolArray,
    phi: FloatArray,
    evidence: FloatArray,
) -> None:
    """Probabilities of the components of every path, and their log evidences, (m, K) both.

    `known` are curvatures and linear terms (m, T), `prior` the tables and log weights (m, K). Paths
    that are `given` stay.
    """
    (h, b), (tables, log_pi) = known, prior
    parts = np.empty((3, phi.shape[1]))
    for i in range(phi.shape[0]):
        if not given[i]:
            log_evidences_inplace(h[i], b[i], tables, evidence[i], parts)
            weights_inplace(evidence[i], log_pi[i], phi[i])


@kernel
def average_paths_inplace(
    known: tuple[FloatArray, FloatArray], tables: Tables, phi: FloatArray, out: FloatArray
) -> None:
    """Means and variances of every path into `out` (m, 2, T), its components weighing `phi`."""
    h, b = known
    evidence, parts = np.empty(phi.shape[1]), np.empty((3, phi.shape[1]))
    for i in range(phi.shape[0]):
        log_evidences_inplace(h[i], b[i], tables, evidence, parts)
        average_inplace(h[i], b[i], tables, phi[i], parts, out[i])


@kernel
def sweep_inplace(
    known: tuple[FloatArray, FloatArray],
    prior: tuple[Tables, FloatArray, FloatArray],
    given: BoolArray,
    paths: FloatArray,
) -> float:
    """Set each path to its mean given the others', the probabilities of its components held.

    `known` are gram and linear of a `PathInformation`; `prior` the components' tables, phi and the
    unit of the first paths, which are set: those after them stay, and those that are `given`.
    Returns the largest squared move, in units of what is known about the path.
    """
    gram, linear = known
    tables, phi, unit = prior
    n_steps, n_components = gram.shape[0], phi.shape[1]
    h, b, out = np.empty(n_steps), np.empty(n_steps), np.empty((2, n_steps))
    evidence, parts = np.empty(n_components), np.empty((3, n_components))
    worst = 0.0
    for i in range(phi.shape[0]):
        if given[i]:
            continue
        for t in range(n_steps):
            b[t] = linear[i, t] + gram[t, i, i] * paths[i, t]
            for j in range(paths.shape[0]):
                b[t] -= gram[t, i, j] * paths[j, t]
            h[t] = gram[t, i, i] / unit[i] ** 2
            b[t] /= unit[i]
        log_evidences_inplace(h, b, tables, evidence, parts)
        average_inplace(h, b, tables, phi[i], parts, out)
        moved = 0.0
        for t in range(n_steps):
            moved += h[t] * (out[0, t] - paths[i, t] * unit[i]) ** 2
            paths[i, t] = out[0, t] / unit[i]
        worst = max(worst, moved)
    return worst


@kernel
def linears_for_inplace(
    h: FloatArray, mean: FloatArray, tables: Tables, phi: FloatArray, b: FloatArray
) -> None:
    """The linear terms `b` (m, T) with which paths of curvature `h` have given means."""
    for i in range(h.shape[0]):
        _linear_for_inplace(h[i], mean[i], tables, phi[i], b[i])


@kernel
def _linear_for_inplace(
    h: FloatArray, mean: FloatArray, tables: Tables, phi: FloatArray, b: FloatArray
) -> None:
    """The linear term `b` (T,) with which a path of curvature `h` has a given mean.

    The mean is linear in b. Of a path that does not move only the sum of b matters: of all that
    give the mean it is the smallest. A step about which nothing is known has none, and its mean
    follows from the others'.
    """
    n_steps, n_components = h.shape[0], phi.shape[0]
    matrix, out = np.zeros((n_steps, n_steps)), np.empty((2, n_steps))
    evidence, parts = np.empty(n_components), np.empty((3, n_components))
    for t in range(n_steps):
        if h[t] == 0.0:
            continue
        one = np.zeros(n_steps)
        one[t] = 1.0
        log_evidences_inplace(h, one, tables, evidence, parts)
        average_inplace(h, one, tables, phi, parts, out)
        for s in range(n_steps):
            matrix[s, t] = out[0, s] if h[s] > 0.0 else 0.0
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    b[:] = 0.0
    for k in range(n_steps):
        if values[k] > SOLVABLE * values[n_steps - 1]:
            along = 0.0
            for t in range(n_steps):
                along += vectors[t, k] * mean[t]
            for t in range(n_steps):
                b[t] += along / values[k] * vectors[t, k]
