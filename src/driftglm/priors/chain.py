"""Algebra of the first-order chain, for both boundaries. Pure, O(T) or better.

Pinned (the paper's): precision A(alpha) / lambda, A with 1 on the diagonal and alpha beside it.
Stationary: covariance lambda rho^|s - t|; its precision is A(alpha) with both corners corrected,
alpha = -rho / (1 + rho^2). The paper's restriction -C < alpha <= 0 makes rho in [0, 0.9937).

The substitution rho = exp(-s), alpha = -1 / (2 cosh s) turns both into elementary functions of s.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray

ALPHA_BOUND = 0.5 - 1e-5
"""The paper's C: alpha lies in (-C, 0]."""

S_MIN = float(2.0 * np.arcsinh(np.sqrt((0.5 - ALPHA_BOUND) / (2.0 * ALPHA_BOUND))))
"""s at alpha = -C, cosh s = 1/(2C); arccosh itself would lose half its digits so close to 1."""


def alpha_of_rho(rho: float) -> float:
    """Off-diagonal of the unit-diagonal chain whose interior correlation is rho."""
    return -rho / (1.0 + rho * rho)


@kernel
def logdet_unit_tridiagonal(alpha: float, n_timesteps: int) -> float:
    """Log-determinant of A(alpha): ones on the diagonal, alpha beside it. Cost O(T).

    A(alpha) is positive definite for every T when |alpha| <= 1/2; callers guarantee it.
    """
    pivot, logdet = 1.0, 0.0
    for _ in range(1, n_timesteps):
        # LDL' pivots. With |alpha| <= 1/2 they never fall below 1/2, so the log is safe.
        pivot = 1.0 - alpha * alpha / pivot
        logdet += np.log(pivot)
    return logdet


@kernel
def logdet_pinned(s: float, n_timesteps: int) -> float:
    """Log-determinant of A(-1 / (2 cosh s)), log(sinh((T+1)s) / (sinh s (2 cosh s)^T))."""
    decay = np.exp(-2.0 * s)
    ratio = np.expm1(-2.0 * (n_timesteps + 1) * s) / np.expm1(-2.0 * s)
    return np.log(ratio) - n_timesteps * np.log1p(decay)


@kernel
def logdet_slope(alpha: float, n_timesteps: int) -> float:
    """d log det A / d alpha; zero at alpha = 0, positive below it. Cost O(T).

    The recursion adds terms of one sign; the closed form would cancel near alpha = 0.
    """
    pivot, change, slope = 1.0, 0.0, 0.0
    for _ in range(1, n_timesteps):
        change = (change * alpha / pivot - 2.0) * alpha / pivot
        pivot = 1.0 - alpha * alpha / pivot
        slope += change / pivot
    return slope


@kernel
def solve_tridiagonal_inplace(diagonal: FloatArray, beside: FloatArray, rhs: FloatArray) -> None:
    """Solve a symmetric positive definite tridiagonal system; the answer replaces `rhs`.

    `beside[t]` couples t and t + 1 (its last entry is not read). `diagonal` is overwritten.
    """
    n = diagonal.shape[0]
    for t in range(1, n):
        factor = beside[t - 1] / diagonal[t - 1]
        diagonal[t] -= factor * beside[t - 1]
        rhs[t] -= factor * rhs[t - 1]
    rhs[n - 1] /= diagonal[n - 1]
    for t in range(n - 2, -1, -1):
        rhs[t] = (rhs[t] - beside[t] * rhs[t + 1]) / diagonal[t]
