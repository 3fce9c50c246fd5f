"""Logarithms of probabilities of counts, without the differences of large numbers.

log k! and k log k are huge for large counts, and their difference, which is wanted, is small. Both
are taken apart as in C. Loader (2000), "Fast and accurate computation of binomial probabilities":

    log k! = k log k - k + log(2 pi k) / 2 + remainder(k),
    k log(k / m) + m - k = deviance(k, m), a series in (k - m) / (k + m) where that is small.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from driftglm._typing import FloatArray

_SMALL = 15.0
_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
_CLOSE = 0.1
_N_SERIES = 9


def remainder(k: FloatArray) -> FloatArray:
    """What Stirling's formula leaves of log k!, for real k > 0."""
    large = np.maximum(k, _SMALL)
    inverse = 1.0 / (large * large)
    series = np.zeros_like(large)
    for term in reversed(_TERMS):
        series = series * inverse + term
    small = np.minimum(k, _SMALL)
    exact = gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    return np.where(k > _SMALL, series / large, exact)


def deviance(k: FloatArray, m: FloatArray, difference: FloatArray) -> FloatArray:
    """k log(k / m) + m - k for k, m > 0, given k - m, which may be known better than both."""
    v = difference / (k + m)
    near = np.clip(v, -_CLOSE, _CLOSE)
    series = np.zeros_like(near)
    for j in range(_N_SERIES, 0, -1):
        series = (series + 1.0 / (2 * j + 1)) * near * near
    far = k * (np.log(k) - np.log(m)) - difference
    return np.where(np.abs(v) < _CLOSE, difference * near + 2.0 * k * near * series, far)


def log_poisson(k: FloatArray, rate: FloatArray) -> FloatArray:
    """log(rate^k exp(-rate) / k!) for real k >= 0."""
    k, rate = np.broadcast_arrays(k, rate)
    safe, some = np.maximum(k, np.finfo(float).tiny), np.where(rate > 0, rate, 1.0)
    out = -remainder(safe) - deviance(safe, some, safe - some) - 0.5 * np.log(2 * np.pi * safe)
    out = np.where(rate > 0, out, -np.inf)
    return np.where(k > 0, out, -rate)


def log_negative_binomial(k: FloatArray, size: FloatArray, odds: FloatArray) -> FloatArray:
    """log of Gamma(size + k) / (Gamma(size) k!) odds^k / (1 + odds)^(size + k)."""
    k, size, odds = np.broadcast_arrays(k, size, odds)
    possible = (size > 0) & (odds > 0)
    count, r = np.where(k > 0, k, 1.0), np.where(possible, size, 1.0)
    ratio = np.where(possible, odds, 1.0)
    total = r + count
    # Of r and its expectation only the difference counts, and r may be 1e12 times that.
    short = (r * ratio - count) / (1.0 + ratio)
    out = (
        remainder(total)
        - remainder(r)
        - remainder(count)
        - deviance(r, total / (1.0 + ratio), short)
        - deviance(count, total * (ratio / (1.0 + ratio)), -short)
        + 0.5 * (np.log(r) - np.log(total) - np.log(2 * np.pi * count))
    )
    return np.where(k > 0, np.where(possible, out, -np.inf), -size * np.log1p(odds))
