"""Draws from the posterior of one path: its component, its constant part, its chain.

Given curvature h and linear term b of its likelihood, the component has the probabilities of
`mixture.weights_inplace`. Given the component, the constant part is normal with the chain
integrated out, and given both the chain is drawn from the last step back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray
from driftglm.priors.mixture import STATIC_CHAIN, ZERO_CHAIN, Tables


@kernel
def draw_index(probabilities: FloatArray, rng: Any) -> int:
    """A position, with these probabilities (up to a factor)."""
    total = 0.0
    for each in probabilities:
        total += each
    left = rng.random() * total
    last = 0
    for k in range(probabilities.shape[0]):
        if probabilities[k] > 0.0:
            last = k
            left -= probabilities[k]
            if left < 0.0:
                return k
    return last


@kernel
def draw_chain_inplace(
    h: FloatArray, b: FloatArray, chain: tuple[FloatArray, FloatArray], rng: Any, out: FloatArray
) -> None:
    """A Markov chain, (carry, shock), given its likelihood: filtered forwards, drawn backwards."""
    carry, shock = chain
    n_steps = h.shape[0]
    mean, variance, predicted = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    for t in range(n_steps):
        before, m = shock[t], 0.0
        if t > 0:
            before += carry[t] * carry[t] * variance[t - 1]
            m = carry[t] * mean[t - 1]
        gain = 1.0 / (1.0 + before * h[t])
        predicted[t], variance[t], mean[t] = before, before * gain, (m + before * b[t]) * gain
    last = n_steps - 1
    out[last] = mean[last] + np.sqrt(variance[last]) * rng.standard_normal()
    for t in range(last - 1, -1, -1):
        back = carry[t + 1] * variance[t] / predicted[t + 1]
        left = variance[t] * shock[t + 1] / predicted[t + 1]
        middle = mean[t] + back * (out[t + 1] - carry[t + 1] * mean[t])
        out[t] = middle + np.sqrt(left) * rng.standard_normal()


@kernel
def draw_path_inplace(
    k: int,
    likelihood: tuple[FloatArray, FloatArray],
    tables: Tables,
    parts: FloatArray,
    rng: Any,
    out: FloatArray,
) -> float:
    """A path of component k into `out` (T,); returns its constant part.

    `parts` are those of `mixture.log_evidences_inplace` at the same likelihood, (h, b).
    """
    h, b = likelihood
    chain = tables[0][k]
    out[:] = 0.0
    if chain == ZERO_CHAIN:
        return 0.0
    static = parts[1, k] * parts[2, k] + np.sqrt(parts[1, k]) * rng.standard_normal()
    if chain != STATIC_CHAIN:
        law = tables[2][:, chain].copy(), tables[3][:, chain].copy()
        draw_chain_inplace(h, b - h * static, law, rng, out)
    for t in range(h.shape[0]):
        out[t] += static
    return float(static)
