"""Draws of paths, one after the other, each given the rest; the score is kept in step.

The same information about a path as in a variational pass, and the same evidences. The weights of
the mixture are integrated out: a component's prior is the number of other features that have it,
and what the prior of the weights adds (see `priors.weights`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.design.base import KernelBlock
from driftglm.priors import mixture
from driftglm.priors.mixture import Tables
from driftglm.priors.path_draws import draw_index, draw_path_inplace
from driftglm.solvers.kernels import gradient_inplace, update_score_inplace

PathState = tuple[FloatArray, FloatArray, IntArray]
"""Paths (p, T), their constant parts (p,), both in the units of the columns; components (p,)."""
Law = tuple[Tables, FloatArray, FloatArray, IntArray, FloatArray]
"""Tables of the components, counts (G, K) of features with what the prior adds to them, their
logarithms, each feature's group and its unit. Counts are empty where weights are given."""


@kernel
def information_inplace(
    i: int,
    block: KernelBlock,
    precision: FloatArray,
    unit: float,
    path: FloatArray,
    out: tuple[FloatArray, FloatArray],
) -> None:
    """Curvature h and linear term b of a path's likelihood, in its unit."""
    _, columns, rows, squares = block
    h, b = out
    gradient_inplace(columns[0], i, rows, b)
    for t in range(h.shape[0]):
        per_unit = precision[t] / unit
        h[t] = per_unit / unit * squares[i, t]
        b[t] = per_unit * b[t] + h[t] * path[t] * unit


@kernel
def count_inplace(law: Law, group: int, k: int, by: float) -> None:
    """One feature more, or less, has a component."""
    counts, log_counts = law[1], law[2]
    if counts.shape[0] > 0:
        # What is left when a feature goes is what the prior adds, but for rounding.
        counts[group, k] = max(counts[group, k] + by, 1e-300)
        log_counts[group, k] = np.log(counts[group, k])


@kernel
def set_path_inplace(
    i: int,
    block: KernelBlock,
    unit: float,
    found: tuple[FloatArray, float, int],
    state: PathState,
) -> None:
    """Store a path drawn in internal units, its constant part and component; the score follows."""
    path, static, k = found
    beta, constants, components = state
    change = np.empty(path.shape[0])
    for t in range(path.shape[0]):
        new = path[t] / unit
        change[t] = new - beta[i, t]
        beta[i, t] = new
    constants[i], components[i] = static / unit, k
    update_score_inplace(block[1][1], i, change, block[2])


@kernel
def draw_paths_inplace(
    block: KernelBlock,
    precision: FloatArray,
    law: Law,
    state: PathState,
    rng: Any,
    sums: FloatArray,
) -> None:
    """Component and path of every feature of a block; probabilities are added to `sums` (p, K).

    `sums` is empty where nobody wants to know.
    """
    tables, log_counts, groups, unit = law[0], law[2], law[3], law[4]
    n_steps, n_components = state[0].shape[1], tables[0].shape[0]
    h, b, path = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    evidence, phi = np.empty(n_components), np.empty(n_components)
    parts = np.empty((3, n_components))
    for i in block[0]:
        information_inplace(i, block, precision, unit[i], state[0][i], (h, b))
        count_inplace(law, groups[i], state[2][i], -1.0)
        mixture.log_evidences_inplace(h, b, tables, evidence, parts)
        mixture.weights_inplace(evidence, log_counts[groups[i]], phi)
        k = draw_index(phi, rng)
        static = draw_path_inplace(k, (h, b), tables, parts, rng, path)
        set_path_inplace(i, block, unit[i], (path, static, k), state)
        count_inplace(law, groups[i], k, 1.0)
        if sums.shape[0] > 0:
            for j in range(n_components):
                sums[i, j] += phi[j]


@kernel
def swap_paths_inplace(
    pairs: IntArray,
    block: KernelBlock,
    precision: FloatArray,
    law: Law,
    state: PathState,
    is_zero: BoolArray,
    rng: Any,
) -> int:
    """Where one of two columns that look alike has a path, draw which of them has it.

    Both are of one group, so that the prior has no say; the component stays, the path is drawn
    anew. Returns how many moved.
    """
    tables, unit = law[0], law[4]
    n_steps, n_components = state[0].shape[1], tables[0].shape[0]
    h, b = np.empty((2, n_steps)), np.empty((2, n_steps))
    evidence, path, nothing = np.empty(n_components), np.empty(n_steps), np.zeros(n_steps)
    parts = np.empty((2, 3, n_components))
    zero = 0
    for k in range(n_components):
        if is_zero[k]:
            zero = k
    moved = 0
    for p in range(pairs.shape[0]):
        one, other = pairs[p, 0], pairs[p, 1]
        if is_zero[state[2][one]]:
            one, other = other, one
        k = state[2][one]
        if is_zero[k] or not is_zero[state[2][other]]:
            continue
        set_path_inplace(one, block, unit[one], (nothing, 0.0, zero), state)
        said = np.empty(2)
        for j, i in enumerate((one, other)):
            information_inplace(i, block, precision, unit[i], state[0][i], (h[j], b[j]))
            mixture.log_evidences_inplace(h[j], b[j], tables, evidence, parts[j])
            said[j] = evidence[k]
        j = 1 if rng.random() * (1.0 + np.exp(said[0] - said[1])) < 1.0 else 0
        i = other if j == 1 else one
        static = draw_path_inplace(k, (h[j], b[j]), tables, parts[j], rng, path)
        set_path_inplace(i, block, unit[i], (path, static, k), state)
        moved += j
    return moved
