"""One pass over the paths of a block, each set to its posterior given the rest."""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import Effects, KernelBlock
from driftglm.objective.bound import PathArrays
from driftglm.priors import mixture, seasons
from driftglm.priors.mixture import Tables
from driftglm.priors.offset import (
    offset_average_inplace,
    offset_evidences_inplace,
    times_information,
)
from driftglm.priors.seasons import SeasonTables
from driftglm.solvers.damping import damp_inplace
from driftglm.solvers.groups import refresh_away_inplace, refresh_inplace
from driftglm.solvers.kernels import gradient_inplace, update_score_inplace

STILL = (1e-10, 1e-6)
"""An update smaller than this (in squared deviations, in probability) is left undone."""
FAR = 1e-2
"""When paths have moved so far (in squared deviations) the effects of groups follow."""
SMALLEST = 1e-300

Steps = tuple[FloatArray, IntArray, float]
"""The precision of every step, where its rows begin, and the damping."""
Unknown = tuple[FloatArray, FloatArray, FloatArray]
"""`kept`, `offset` and `credit` of a `Posterior`, empty where no rows belong together."""
Follow = tuple[Effects, tuple[IntArray, FloatArray]]
"""Effects of groups, and the cells of a block whose rows are not at hand (`UpdateBlock.cells`)."""


@kernel
def _information_inplace(
    i: int,
    block: KernelBlock,
    scale: tuple[FloatArray, float, float],
    posterior: PathArrays,
    unknown: Unknown,
    out: tuple[FloatArray, FloatArray, FloatArray],
) -> float:
    """Curvature h and linear term b of a path's likelihood, in its unit; `out` is (h, b, scratch).

    `scale` is the steps' precision, the path's unit and the damping. Returns the variance of an
    error that all steps share (see `priors.offset`).
    """
    _, columns, rows, squares = block
    precision, unit, damping = scale
    beta, curvature, linear = posterior[0], posterior[5], posterior[6]
    kept, offset, _ = unknown
    h, b, g = out
    gradient_inplace(columns[0], i, rows, g)
    some = kept.shape[0] > 0
    error = offset[i] * unit * unit * damping if some else 0.0
    for t in range(h.shape[0]):
        per_unit = precision[t] / unit
        h[t] = per_unit / unit * squares[i, t]
        if some:
            h[t] *= kept[i, t]
        g[t] *= per_unit
    if error > 0.0:
        h /= damping  # more information about the point where the path is keeps it close
        b[:] = g + times_information(h, beta[i] * unit, error)
        return error
    for t in range(h.shape[0]):
        b[t] = g[t] + h[t] * beta[i, t] * unit
    if damping < 1.0:
        damp_inplace(h, b, (curvature[i], linear[i], beta[i]), unit, damping)
    return error


@kernel
def _own_information_inplace(
    i: int,
    block: KernelBlock,
    scale: tuple[FloatArray, float, float],
    posterior: PathArrays,
    out: tuple[FloatArray, FloatArray, FloatArray],
) -> None:
    """The same where no rows belong together."""
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
    told: bool,
) -> float:
    """Store the posterior of a path, and bring the score in step; nothing where it hardly changed.

    Unless what is stored was forgotten: `told` says whether it is there. `found` are h, b, the
    path's moments, its component probabilities, its divergence, and scratch.
    Returns how far the path moved, in squared deviations; negative where nothing was stored.
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
    if told and moved < STILL[0] and shifted < STILL[1]:
        return -1.0
    for t in range(h.shape[0]):
        beta[i, t] += change[t]
        variance[i, t] = out[1, t] / unit**2
        curvature[i, t] = h[t]
        linear[i, t] = b[t]
    phi[i] = new_phi
    divergence[i] = new_divergence
    update_score_inplace(columns[1], i, change, rows)
    return moved


@kernel
def _credit_inplace(
    i: int, h: FloatArray, out: FloatArray, lost: float, steps: Steps, unknown: Unknown
) -> None:
    """What effects of groups make up for of a path's variance, step by step (see `Posterior`)."""
    kept, offset, credit = unknown
    precision, _, damping = steps
    reach = max(h.sum(), SMALLEST)
    share = damping if offset[i] > 0.0 else 1.0
    for t in range(h.shape[0]):
        gone = (1.0 / kept[i, t] - 1.0) * out[1, t] + lost / reach
        credit[i, t] = share * h[t] * gone / precision[t]


@kernel
def _follow_inplace(moved: float, block: KernelBlock, steps: Steps, follow: Follow) -> None:
    """Let effects of groups follow where paths have moved far since they last did."""
    effects, cells = follow
    far = effects[5]
    far[0] += max(moved, 0.0)
    if far[0] < FAR:
        return
    far[0] = 0.0
    score, curvature, sums = block[2]
    if cells[0].shape[0] == 0:
        refresh_inplace(score, curvature, sums, steps[0], steps[1], effects)
    else:
        refresh_away_inplace(score, block[1][1], sums[0], steps[0], cells, effects)


@kernel
def update_paths_inplace(
    block: KernelBlock,
    steps: Steps,
    prior: tuple[Tables, FloatArray, IntArray, FloatArray],
    posterior: PathArrays,
) -> None:
    """One pass over the paths of a block; `posterior` and the score are updated.

    `prior` holds the components' tables, log weights (G, K), each path's group and its unit. Where
    rows belong together the next one does: it takes twice as long to compile.
    """
    tables, log_pi, groups, unit = prior
    n_steps, n_components = posterior[0].shape[1], posterior[2].shape[1]
    g, h, b = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    change, out = np.empty(n_steps), np.empty((2, n_steps))
    parts, new_phi = np.empty((3, n_components)), np.empty(n_components)
    for i in block[0]:
        _own_information_inplace(i, block, (steps[0], unit[i], steps[2]), posterior, (h, b, g))
        evidence = posterior[3][i]
        mixture.log_evidences_inplace(h, b, tables, evidence, parts)
        mixture.weights_inplace(evidence, log_pi[groups[i]], new_phi)
        divergence = mixture.average_inplace(h, b, tables, new_phi, parts, out)
        found = h, b, out, new_phi, divergence, change
        _settle_inplace(i, block, unit[i], posterior, found, True)


@kernel
def update_grouped_paths_inplace(
    block: KernelBlock,
    steps: Steps,
    prior: tuple[Tables, FloatArray, IntArray, FloatArray],
    posterior: PathArrays,
    unknown: Unknown,
    follow: Follow,
) -> None:
    """The same where rows belong together: their effects are unknown, and follow the paths."""
    tables, log_pi, groups, unit = prior
    n_steps, n_components = posterior[0].shape[1], posterior[2].shape[1]
    g, h, b = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    change, out = np.empty(n_steps), np.empty((2, n_steps))
    parts, new_phi = np.empty((3, n_components)), np.empty(n_components)
    for i in block[0]:
        scale = steps[0], unit[i], steps[2]
        error = _information_inplace(i, block, scale, posterior, unknown, (h, b, g))
        evidence = posterior[3][i]
        offset_evidences_inplace(h, b, error, tables, evidence, parts)
        mixture.weights_inplace(evidence, log_pi[groups[i]], new_phi)
        divergence, lost = offset_average_inplace(h, b, error, tables, new_phi, parts, out)
        found = h, b, out, new_phi, divergence, change
        some = unknown[0].shape[0] > 0
        told = not some or posterior[5][i].max() > 0.0
        moved = _settle_inplace(i, block, unit[i], posterior, found, told)
        if some and moved >= 0.0:
            _credit_inplace(i, h, out, lost, steps, unknown)
            _follow_inplace(moved, block, steps, follow)


@kernel
def update_seasonal_paths_inplace(
    block: KernelBlock,
    steps: Steps,
    prior: tuple[SeasonTables, FloatArray, IntArray, FloatArray],
    posterior: PathArrays,
    unknown: Unknown,
    follow: Follow,
) -> None:
    """The same where a path may have a season, found together with the rest of it."""
    tables, log_pi, groups, unit = prior
    n_steps, n_components = posterior[0].shape[1], posterior[2].shape[1]
    g, h, b = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    change, out = np.empty(n_steps), np.empty((2, n_steps))
    parts, new_phi = np.empty((3, n_components)), np.empty(n_components)
    for i in block[0]:
        scale = steps[0], unit[i], steps[2]
        _information_inplace(i, block, scale, posterior, unknown, (h, b, g))
        new_phi[:] = posterior[2][i]
        known = posterior[3][i], parts, new_phi
        law = tables, log_pi[groups[i]]
        divergence = seasons.posterior_inplace(h, b, law, known, out)
        found = h, b, out, new_phi, divergence, change
        some = unknown[0].shape[0] > 0
        told = not some or posterior[5][i].max() > 0.0
        moved = _settle_inplace(i, block, unit[i], posterior, found, told)
        if some and moved >= 0.0:
            _credit_inplace(i, h, out, 0.0, steps, unknown)
            _follow_inplace(moved, block, steps, follow)
