"""The logarithm of a variance that moves: flat part + AR(1), given sums of squares by step.

The likelihood of z_t = log s2_t is -(n_t / 2) z_t - (D_t / 2) exp(-z_t). Under Normal(m, V) its
expectation is -(n_t / 2) m - (D_t / 2) exp(-m + V / 2), concave in m, so that steps on its
quadratic model, shortened where they overshoot, lead to the best normal distribution.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray
from driftglm.priors.gaussian_path import kl_divergence, posterior_inplace

N_STEPS, STILL = 6, 1e-7
"""Steps of one update, at most, and the rise in nats below which it ends."""
N_HALVINGS = 12
ROUNDING = 1e-12

Squares = tuple[FloatArray, FloatArray]
"""(T,) sums of squares and number of rows, step by step."""
Paths = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""(K, T) mean, variance, h and b, and the (K,) divergence from the prior, of every component."""


@kernel
def expected_value(squares: Squares, mean: FloatArray, variance: FloatArray) -> float:
    """The expected log-likelihood."""
    deviance, rows = squares
    total = 0.0
    for t in range(mean.shape[0]):
        if rows[t] > 0.0:
            total -= rows[t] * mean[t] + deviance[t] * np.exp(0.5 * variance[t] - mean[t])
    return 0.5 * total


@kernel
def update_component_inplace(
    squares: Squares, component: tuple[float, float], paths: Paths, k: int
) -> float:
    """Raise the bound of component k, (variance, rho); returns it, that of its prior left out."""
    deviance, rows = squares
    mean, variance, h, b, divergence = paths
    n_steps = mean.shape[1]
    new_h, new_b, out = np.empty(n_steps), np.empty(n_steps), np.empty((3, n_steps))
    # A path that has no posterior yet has an infinite divergence, and any step is a gain.
    value = expected_value(squares, mean[k], variance[k]) - divergence[k]
    for _ in range(N_STEPS):
        share = 1.0
        for _ in range(N_HALVINGS):
            for t in range(n_steps):
                bend = 0.0
                if rows[t] > 0.0:
                    bend = 0.5 * deviance[t] * np.exp(0.5 * variance[k, t] - mean[k, t])
                new_h[t] = h[k, t] + share * (bend - h[k, t])
                linear = bend * (1.0 + mean[k, t]) - 0.5 * rows[t]
                new_b[t] = b[k, t] + share * (linear - b[k, t])
            _, logdet = posterior_inplace(new_h, new_b, (np.inf, component[0], component[1]), out)
            trial_divergence = kl_divergence(new_h, new_b, out, logdet)
            trial = expected_value(squares, out[0], out[1]) - trial_divergence
            if trial >= value - ROUNDING * abs(value):
                break
            share *= 0.5
        else:
            return value
        rise = trial - value
        value = trial
        mean[k], variance[k], h[k], b[k] = out[0], out[1], new_h, new_b
        divergence[k] = trial_divergence
        if rise < STILL:
            break
    return value


@kernel
def update_inplace(
    squares: Squares, dynamic: FloatArray, rho: FloatArray, paths: Paths, bounds: FloatArray
) -> None:
    """Raise the bounds of the first components, as many as `bounds` (K,) has."""
    for k in range(bounds.shape[0]):
        bounds[k] = update_component_inplace(squares, (dynamic[k], rho[k]), paths, k)


@kernel
def ahead_inplace(
    h: FloatArray, b: FloatArray, dynamic: FloatArray, rho: FloatArray, moments: FloatArray
) -> None:
    """Mean and variance at the last step into `moments` (K, 2); h and b (K, T) may end in zeros."""
    out = np.empty((3, h.shape[1]))
    for k in range(h.shape[0]):
        posterior_inplace(h[k], b[k], (np.inf, dynamic[k], rho[k]), out)
        moments[k, 0], moments[k, 1] = out[0, -1], out[1, -1]
