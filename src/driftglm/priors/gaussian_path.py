"""The posterior of one path under a Gaussian prior with a static and an autoregressive part.

    beta ~ Normal(0, K),  K = static * 11' + dynamic * rho^|s - t|,
    likelihood proportional to exp(b'beta - beta'H beta / 2)

with H = diag(h). Everything is O(T): a Kalman filter and smoother for the autoregressive part,
one rank-1 correction for the static one. h_t = 0 (a step without data) is exact, and nothing is
divided by h. `static = inf` is a flat intercept: the limit of the formulas, the constant
log(static) left out of the evidence.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray

HUGE = 1e200


Chain = tuple[FloatArray, FloatArray, FloatArray]
"""carry, shock and ones = D^-1 1 of a Markov chain with covariance D."""


@kernel
def smooth_inplace(h: FloatArray, b: FloatArray, chain: Chain, out: FloatArray) -> None:
    """Kalman filter and smoother of a Markov chain.

    Rows of `out` (4, T): posterior mean, variance, w = V D^-1 1 (which equals 1 - V h without
    its cancellation) and the predicted variance.
    """
    carry, shock, ones = chain
    mean, variance, w, predicted = out[0], out[1], out[2], out[3]
    n = h.shape[0]
    for t in range(n):
        m = u = 0.0
        predicted[t] = shock[t]
        if t > 0:
            predicted[t] += carry[t] * carry[t] * variance[t - 1]
            m, u = carry[t] * mean[t - 1], carry[t] * w[t - 1]
        gain = 1.0 / (1.0 + predicted[t] * h[t])
        variance[t] = predicted[t] * gain
        mean[t] = (m + predicted[t] * b[t]) * gain
        w[t] = (u + predicted[t] * ones[t]) * gain
    for t in range(n - 2, -1, -1):
        back = carry[t + 1] * variance[t] / predicted[t + 1]
        w[t] += back * (w[t + 1] - carry[t + 1] * w[t])
        mean[t] += back * (mean[t + 1] - carry[t + 1] * mean[t])
        variance[t] += back * back * (variance[t + 1] - predicted[t + 1])


@kernel
def filter_evidence(
    h: FloatArray, b: FloatArray, carry: FloatArray, shock: FloatArray
) -> tuple[float, float, float, float]:
    """b'V b, log|I + D H|, c = h'w and w'b of a chain, by a forward pass alone."""
    mean = unit = variance = 0.0
    quadratic = logdet = c = wb = 0.0
    product = 1.0
    for t in range(h.shape[0]):
        predicted = carry[t] * carry[t] * variance + shock[t]
        m, u = carry[t] * mean, carry[t] * unit
        excess = 1.0 + predicted * h[t]
        gain = 1.0 / excess
        product *= excess
        if product > HUGE:
            logdet += np.log(product)
            product = 1.0
        quadratic += (predicted * b[t] * b[t] + 2.0 * b[t] * m - h[t] * m * m) * gain
        c += h[t] * (1.0 - u) ** 2 * gain
        wb += (b[t] - h[t] * m) * (1.0 - u) * gain
        variance = predicted * gain
        mean = (m + predicted * b[t]) * gain
        unit = (u + predicted * h[t]) * gain
    return quadratic, logdet + np.log(product), c, wb


@kernel
def static_part(static: float, c: float) -> tuple[float, float]:
    """Posterior variance factor and log-determinant of the static part; inf is a flat intercept.

    Without any data (c = 0) a flat intercept keeps mean 0.
    """
    if static == np.inf:
        return (1.0 / c, np.log(c)) if c > 0.0 else (0.0, 0.0)
    return static / (1.0 + static * c), np.log1p(static * c)


@kernel
def stationary_chain(dynamic: float, rho: float, n: int) -> Chain:
    """carry, shock and D^-1 1 of D = dynamic * rho^|s - t|."""
    carry, shock, ones = np.full(n, rho), np.empty(n), np.empty(n)
    carry[0] = 0.0
    shock[:] = dynamic * (1.0 - rho) * (1.0 + rho)
    shock[0] = dynamic
    ones[:] = (1.0 - rho) / (dynamic * (1.0 + rho))
    ones[0] = ones[n - 1] = 1.0 / (dynamic * (1.0 + rho))
    if n == 1:
        ones[0] = 1.0 / dynamic
    return carry, shock, ones


@kernel
def posterior_inplace(
    h: FloatArray, b: FloatArray, component: tuple[float, float, float], out: FloatArray
) -> tuple[float, float]:
    """Posterior of a path; returns the log evidence and log|I + K H|.

    `component` is (static, dynamic, rho); `out` (3, T) receives mean, variance and the covariance
    of neighbours (its last entry is 0).
    """
    static, dynamic, rho = component
    n = h.shape[0]
    work = np.zeros((4, n))
    work[2] = 1.0
    out[2] = 0.0
    quadratic, logdet, c, wb = 0.0, 0.0, h.sum(), b.sum()
    if dynamic > 0.0:
        chain = stationary_chain(dynamic, rho, n)
        quadratic, logdet, c, wb = filter_evidence(h, b, chain[0], chain[1])
        smooth_inplace(h, b, chain, work)
        for t in range(n - 1):
            filtered = work[3, t] / (1.0 + work[3, t] * h[t])
            out[2, t] = rho * filtered / work[3, t + 1] * work[1, t + 1]
    v, logdet_static = static_part(static, c) if static > 0.0 else (0.0, 0.0)
    w = work[2]
    out[0] = work[0] + v * wb * w
    out[1] = work[1] + v * w * w
    for t in range(n - 1):
        out[2, t] += v * w[t] * w[t + 1]
    logdet += logdet_static
    return 0.5 * (quadratic + v * wb * wb - logdet), logdet


@kernel
def kl_divergence(h: FloatArray, b: FloatArray, out: FloatArray, logdet: float) -> float:
    """KL(posterior || prior), from the h and b that gave the posterior `out`."""
    total = logdet
    for t in range(h.shape[0]):
        total += b[t] * out[0, t] - h[t] * (out[1, t] + out[0, t] ** 2)
    return 0.5 * total


@kernel
def intercept_evidence(h: FloatArray, b: FloatArray, dynamic: float, rho: float) -> float:
    """Log evidence of a flat intercept with autoregressive deviations, up to a constant."""
    quadratic, logdet, c, wb = 0.0, 0.0, h.sum(), b.sum()
    if dynamic > 0.0:
        carry, shock, _ = stationary_chain(dynamic, rho, h.shape[0])
        quadratic, logdet, c, wb = filter_evidence(h, b, carry, shock)
    v, logdet_static = static_part(np.inf, c)
    return 0.5 * (quadratic + v * wb * wb - logdet - logdet_static)


@kernel
def best_intercept_dynamics(
    h: FloatArray, b: FloatArray, scale: float, current: tuple[float, float]
) -> tuple[float, float]:
    """Variance and autocorrelation of an intercept's deviations that maximise the evidence.

    The fixed point of EM, found directly: a grid, then two rounds of halving around its best
    point. `current` competes too, so the evidence never falls.
    """
    best, best_value = current, intercept_evidence(h, b, current[0], current[1])
    for j in range(25):
        for k in range(9):
            trial = (scale * 10.0 ** (-7.0 + j / 3.0), 1.0 - 0.5**k)
            value = intercept_evidence(h, b, trial[0], trial[1])
            if value > best_value:
                best, best_value = trial, value
    width = (10.0 ** (1 / 6), 0.5**0.5)
    for _ in range(6):
        center = best
        for j in range(-1, 2):
            for k in range(-1, 2):
                far = min((1.0 - center[1]) * width[1] ** k, 1.0)
                trial = (center[0] * width[0] ** j, 1.0 - far)
                value = intercept_evidence(h, b, trial[0], trial[1])
                if value > best_value:
                    best, best_value = trial, value
        width = (width[0] ** 0.5, width[1] ** 0.5)
    return best
