"""The posterior of one path under a Gaussian prior with a static and an autoregressive part.

    beta ~ Normal(0, K),  K = static * 11' + dynamic * rho^|s - t|,
    likelihood proportional to exp(b'beta - beta'H beta / 2)

with H = diag(h). Everything is O(T): a Kalman filter and smoother for the autoregressive part,
one rank-1 correction for the static one. h_t = 0 (a step without data) is exact, and nothing is
divided by h. `static = inf` is a flat level: the limit of the formulas, the constant
log(static) left out of the evidence.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray


@kernel
def posterior_inplace(
    h: FloatArray, b: FloatArray, law: tuple[float, float, float], out: FloatArray
) -> tuple[float, float]:
    """Posterior of a path; returns the log evidence and log|I + K H|.

    `law` is (static, dynamic, rho); `out` (3, T) receives mean, variance and the covariance
    of neighbours (its last entry is 0).
    """
    static, dynamic, rho = law
    n = h.shape[0]
    mean, variance, lagged = out[0], out[1], out[2]
    w = np.ones(n)
    logdet = 0.0
    mean[:] = 0.0
    variance[:] = 0.0
    lagged[:] = 0.0
    if dynamic > 0.0:
        logdet = _smooth_inplace(h, b, dynamic, rho, out, w)
    if static > 0.0:
        c = 0.0
        wb = 0.0
        for t in range(n):
            c += h[t] * w[t]
            wb += w[t] * b[t]
        if static == np.inf:
            # Flat level. Without any data its mean is left at 0.
            v = 1.0 / c if c > 0.0 else 0.0
            logdet += np.log(c) if c > 0.0 else 0.0
        else:
            v = static / (1.0 + static * c)
            logdet += np.log1p(static * c)
        for t in range(n):
            mean[t] += v * wb * w[t]
            variance[t] += v * w[t] * w[t]
            if t + 1 < n:
                lagged[t] += v * w[t] * w[t + 1]
    explained = 0.0
    for t in range(n):
        explained += b[t] * mean[t]
    return 0.5 * (explained - logdet), logdet


@kernel
def _smooth_inplace(
    h: FloatArray, b: FloatArray, dynamic: float, rho: float, out: FloatArray, w: FloatArray
) -> float:
    """Filter and smoother of the autoregressive part; returns log|I + D H|.

    The same gains also give w = V D^-1 1, which equals 1 - V h without its cancellation.
    """
    n = h.shape[0]
    mean, variance, lagged = out[0], out[1], out[2]
    predicted = np.empty(n)
    innovation = dynamic * (1.0 - rho) * (1.0 + rho)
    logdet = 0.0
    for t in range(n):
        m_pred = rho * mean[t - 1] if t > 0 else 0.0
        w_pred = rho * w[t - 1] if t > 0 else 0.0
        predicted[t] = rho * rho * variance[t - 1] + innovation if t > 0 else dynamic
        corner = t in (0, n - 1)
        ones = (1.0 if corner else 1.0 - rho) / (dynamic * (1.0 + rho))
        if n == 1:
            ones = 1.0 / dynamic
        gain = 1.0 / (1.0 + predicted[t] * h[t])
        logdet -= np.log(gain)
        variance[t] = predicted[t] * gain
        mean[t] = (m_pred + predicted[t] * b[t]) * gain
        w[t] = (w_pred + predicted[t] * ones) * gain
    for t in range(n - 2, -1, -1):
        back = rho * variance[t] / predicted[t + 1]
        w[t] += back * (w[t + 1] - rho * w[t])
        mean[t] += back * (mean[t + 1] - rho * mean[t])
        variance[t] += back * back * (variance[t + 1] - predicted[t + 1])
        lagged[t] = back * variance[t + 1]
    return logdet


@kernel
def kl_divergence(h: FloatArray, b: FloatArray, out: FloatArray, logdet: float) -> float:
    """KL(posterior || prior), from the h and b that gave the posterior `out`."""
    total = logdet
    for t in range(h.shape[0]):
        total += b[t] * out[0, t] - h[t] * (out[1, t] + out[0, t] ** 2)
    return 0.5 * total


@kernel
def _evidence(h: FloatArray, b: FloatArray, law: tuple[float, float, float]) -> float:
    return posterior_inplace(h, b, law, np.empty((3, h.shape[0])))[0]


@kernel
def best_level_law(
    h: FloatArray, b: FloatArray, scale: float, current: tuple[float, float]
) -> tuple[float, float]:
    """Variance and autocorrelation of the deviations of a flat level that maximise the evidence.

    The fixed point of EM, found directly: a grid, then two rounds of halving around its best
    point. `current` competes too, so the evidence never falls.
    """
    best, best_value = current, _evidence(h, b, (np.inf, current[0], current[1]))
    for j in range(25):
        for k in range(9):
            trial = (scale * 10.0 ** (-7.0 + j / 3.0), 1.0 - 0.5**k)
            value = _evidence(h, b, (np.inf, trial[0], trial[1]))
            if value > best_value:
                best, best_value = trial, value
    width = (10.0 ** (1 / 6), 0.5**0.5)
    for _ in range(6):
        center = best
        for j in range(-1, 2):
            for k in range(-1, 2):
                far = min((1.0 - center[1]) * width[1] ** k, 1.0)
                trial = (center[0] * width[0] ** j, 1.0 - far)
                value = _evidence(h, b, (np.inf, trial[0], trial[1]))
                if value > best_value:
                    best, best_value = trial, value
        width = (width[0] ** 0.5, width[1] ** 0.5)
    return best
