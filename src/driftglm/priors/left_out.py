"""What the forecast of a path would be without a step: all steps at once, O(T) per component.

Under a component a path is normal. Take what step t says, h_t and b_t, out of the posterior with
mean m and covariance V, and the mean of any other step f moves by

    V_ft (h_t m_t - b_t) / (1 - h_t V_tt).

V_ft of a chain follows from neighbours: V_ft = J_t V_f,t+1 with the gains J of the smoother. The
static part S adds S w to the chain, so that v w_f w_t comes on top, v being the variance of S.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.priors.mixture import (
    STATIC_CHAIN,
    ZERO_CHAIN,
    Tables,
    log_evidences_inplace,
    smooth_chains,
    with_empty_steps,
)
from driftglm.priors.offset import last_step_inplace

LEAST = 1e-300


@kernel
def _used_chains(tables: Tables, phi: FloatArray) -> tuple[IntArray, IntArray]:
    """The chains of components that are there, and the place of every chain among them."""
    chains, n_chains = tables[0], tables[2].shape[1]
    used, place = np.empty(n_chains, dtype=np.int64), np.full(n_chains, -1)
    count = 0
    for k in range(chains.shape[0]):
        c = chains[k]
        if phi[k] > 0.0 and c >= 0 and place[c] < 0:
            used[count], place[c] = c, count
            count += 1
    return used[:count], place


@kernel
def _chains_with_last(h: FloatArray, b: FloatArray, tables: Tables, used: IntArray) -> FloatArray:
    """(U, 4, T) mean, variance, w and covariance with the last step of some chains."""
    n_steps, carry = h.shape[0], tables[2]
    paths, out = np.empty((4, n_steps, used.shape[0])), np.empty((used.shape[0], 4, n_steps))
    smooth_chains(h, b, tables, used, paths)
    for j in range(used.shape[0]):
        for t in range(n_steps):
            for part in range(3):
                out[j, part, t] = paths[part, t, j]
        out[j, 3, n_steps - 1] = paths[1, n_steps - 1, j]
        for t in range(n_steps - 2, -1, -1):
            filtered = paths[3, t, j] / (1.0 + paths[3, t, j] * h[t])
            gain = carry[t + 1, used[j]] * filtered / paths[3, t + 1, j]
            out[j, 3, t] = gain * out[j, 3, t + 1]
    return out


@kernel
def _component_inplace(
    terms: tuple[FloatArray, FloatArray],
    chain: FloatArray,
    static: tuple[float, float],
    weight: float,
    out: FloatArray,
) -> None:
    """Add what a component says, times its weight; `static` is v and the mean of S."""
    h, b = terms
    mean, variance, w, last = chain
    v, move = static
    along = v * w[w.shape[0] - 1]
    for t in range(out.shape[0]):
        error = h[t] * (mean[t] + move * w[t]) - b[t]
        left = 1.0 - h[t] * (variance[t] + v * w[t] * w[t])
        out[t] += weight * (last[t] + along * w[t]) * error / max(left, LEAST)


@kernel
def moved_without_steps_inplace(
    h: FloatArray, b: FloatArray, phi: FloatArray, tables: Tables, out: FloatArray
) -> None:
    """How far the mean of a path at its last step moves without each of the others, into `out`.

    `out` may be shorter than the path, and is about its first steps. `phi` stays what it is.
    """
    used, place = _used_chains(tables, phi)
    chains = _chains_with_last(h, b, tables, used)
    none = np.zeros((4, h.shape[0]))
    none[2] = 1.0  # of a component without a chain w is one
    evidence, parts = np.empty(phi.shape[0]), np.empty((3, phi.shape[0]))
    log_evidences_inplace(h, b, tables, evidence, parts)
    out[:] = 0.0
    for k in range(phi.shape[0]):
        c = tables[0][k]
        if phi[k] == 0.0 or c == ZERO_CHAIN:
            continue
        chain = none if c == STATIC_CHAIN else chains[place[c]]
        static = parts[1, k], parts[1, k] * parts[2, k]
        _component_inplace((h, b), chain, static, phi[k], out)


def moved_without_steps(
    h: FloatArray, b: FloatArray, offset: FloatArray, phi: FloatArray, tables: Tables
) -> FloatArray:
    """(n_paths, T) by how much forecasts of paths differ if a step is left out.

    One by one where steps have an error in common: no step can be taken out by itself.
    """
    found = np.empty_like(h)
    if offset.any():
        now, without = np.empty((2, len(h), 2))
        last_step_inplace(h, b, offset, phi, tables, now)
        for t in range(h.shape[1]):
            others = np.arange(h.shape[1]) != t
            last_step_inplace(h * others, b * others, offset, phi, tables, without)
            found[:, t] = without[:, 0] - now[:, 0]
        return found
    for i, path in enumerate(found):
        moved_without_steps_inplace(*with_empty_steps(h[i], b[i], 1), phi[i], tables, path)
    return found
