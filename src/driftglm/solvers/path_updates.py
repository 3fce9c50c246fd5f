"""One pass over the paths of a block, each set to its posterior given the rest."""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import KernelBlock
from driftglm.objective.bound import PathArrays
from driftglm.priors import mixture, seasons
from driftglm.priors.mixture import Tables
from driftglm.priors.seasons import SeasonTables
from driftglm.solvers.damping import damp_inplace
from driftglm.solvers.kernels import gradient_inplace, update_score_inplace

STILL = (1e-10, 1e-6)
"""An update smaller than this (in squared deviations, in probability) is left undone."""


@kernel
def _information_inplace(
    i: int,
    block: KernelBlock,
    scale: tuple[FloatArray, float, float],
    posterior: PathArrays,
    out: tuple[FloatArray, FloatArray, FloatArray],
) -> None:
    """Curvature h and linear term b of a path's likelihood, in its unit; `out` is (h, b, scratch).

    `scale` is the steps' precision, the path's unit and the damping.
    """
    _, columns, rows, squares = block
    precision, unit, damping = scale
    beta, curvature, linear = posterior[0], posterior[5], posterior[6]
    h, b, g = out
    gradient_inplace(columns[0], i, rows, g)
    for t in range(h.shape[0]):
        per_unit = precision[t] / unit
        h[t] = per_unit / unit * squares[i, t]
        b[t] = per_unit * g[t] + h[t] * beta[i, t] * unit
    if damping < 1.0:
        damp_inplace(h, b, (curvature[i], linear[i], beta[i]), unit, damping)


@kernel
def _settle_inplace(
    i: int,
    block: KernelBlock,
    unit: float,
    posterior: PathArrays,
    found: tuple[FloatArray, FloatArray, FloatArray, FloatArray, float, FloatArray],
) -> None:
    """Store the posterior of a path, and bring the score in step; nothing where it hardly changed.

    `found` are h, b, the path's moments, its component probabilities, its divergence, and scratch.
    """
    _, columns, rows, _ = block
    beta, variance, phi, _, divergence, curvature, linear = posterior
    h, b, out, new_phi, new_divergence, change = found
    moved = shifted = 0.0
    for t in range(h.shape[0]):
        change[t] = out[0, t] / unit - beta[i, t]
        moved += h[t] * (change[t] * unit) ** 2
    for k in range(new_phi.shape[0]):
        shifted += abs(new_phi[k] - phi[i, k])
    if moved < STILL[0] and shifted < STILL[1]:
        return
    for t in range(h.shape[0]):
        beta[i, t] += change[t]
        variance[i, t] = out[1, t] / unit**2
        curvature[i, t] = h[t]
        linear[i, t] = b[t]
    phi[i] = new_phi
    divergence[i] = new_divergence
    update_score_inplace(columns[1], i, change, rows)


@kernel
def update_paths_inplace(
    block: KernelBlock,
    precision: FloatArray,
    damping: float,
    prior: tuple[Tables, FloatArray, IntArray, FloatArray],
    posterior: PathArrays,
) -> None:
    """One pass over the paths of a block; `posterior` and the score are updated.

    `prior` holds the components' tables, log weights (G, K), each path's group and its unit.
    """
    tables, log_pi, groups, unit = prior
    n_steps, n_components = posterior[0].shape[1], posterior[2].shape[1]
    g, h, b = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    change, out = np.empty(n_steps), np.empty((2, n_steps))
    parts, new_phi = np.empty((3, n_components)), np.empty(n_components)
    for i in block[0]:
        scale = precision, unit[i], damping
        _information_inplace(i, block, scale, posterior, (h, b, g))
        evidence = posterior[3][i]
        mixture.log_evidences_inplace(h, b, tables, evidence, parts)
        mixture.weights_inplace(evidence, log_pi[groups[i]], new_phi)
        divergence = mixture.average_inplace(h, b, tables, new_phi, parts, out)
        found = h, b, out, new_phi, divergence, change
        _settle_inplace(i, block, unit[i], posterior, found)


@kernel
def update_seasonal_paths_inplace(
    block: KernelBlock,
    precision: FloatArray,
    damping: float,
    prior: tuple[SeasonTables, FloatArray, IntArray, FloatArray],
    posterior: PathArrays,
) -> None:
    """The same where a path may have a season, found together with the rest of it."""
    tables, log_pi, groups, unit = prior
    n_steps, n_components = posterior[0].shape[1], posterior[2].shape[1]
    g, h, b = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    change, out = np.empty(n_steps), np.empty((2, n_steps))
    parts, new_phi = np.empty((3, n_components)), np.empty(n_components)
    for i in block[0]:
        scale = precision, unit[i], damping
        _information_inplace(i, block, scale, posterior, (h, b, g))
        new_phi[:] = posterior[2][i]
        known = posterior[3][i], parts, new_phi
        law = tables, log_pi[groups[i]]
        divergence = seasons.posterior_inplace(h, b, law, known, out)
        found = h, b, out, new_phi, divergence, change
        _settle_inplace(i, block, unit[i], posterior, found)
