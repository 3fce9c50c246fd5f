"""Functions that several families need."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from driftglm._typing import FloatArray

MOST_STEPS = 30
PRECISION = 1e-12
LARGE, SMALL = 1e7, 1e-6
"""Beyond, one term of a series is exact to six digits."""
MOST = 700.0
"""exp of more overflows; a fit that gets there is refused by its own check."""
WIDEST = 16.0
"""Variance of eta above which a rate says nothing: a factor of fifty either way is one standard
deviation. The mean of a wider distribution lies beyond its own 95 % quantile."""
STIRLING = 1e3
"""Above, Stirling's series is exact where a difference of two logarithms would lose digits."""


def uncertain_rate(mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean, and variance over squared mean, of a gamma distribution close to exp(eta).

    Its logarithm has the mean and the variance of eta. Matching the moments of exp(eta) instead is
    matching the far end of its tail: with a variance of eta of 4 and a median of 7, Poisson counts
    would be zero in 86 of 100 rows where 14 are. A variance above `WIDEST` counts as that.

    Parameters
    ----------
    mean, variance
        Of eta, normal.
    """
    variance = np.minimum(variance, WIDEST)
    shape = inverse_trigamma(variance)
    # How far the mean logarithm lies below the logarithm of the mean; about variance / 2.
    short = np.where(variance < SMALL, 0.5 * variance, np.log(shape) - digamma(shape))
    return np.exp(np.clip(mean + short, -MOST, MOST)), 1.0 / shape


def inverse_trigamma(value: FloatArray) -> FloatArray:
    """The shape whose trigamma function is `value`, by Newton's method from below; of 0, 1e300."""
    inside = np.clip(value, SMALL, LARGE)
    found = 0.5 + 1.0 / inside
    for _ in range(MOST_STEPS):
        trigamma = polygamma(1, found)
        step = trigamma * (1.0 - trigamma / inside) / polygamma(2, found)
        found = found + step
        if np.max(np.abs(step) / found, initial=0.0) < PRECISION:
            break
    found = np.where(value > LARGE, 1.0 / np.sqrt(np.maximum(value, LARGE)), found)
    return np.where(value < SMALL, 1.0 / np.maximum(value, 1e-300), found)


def log_rising(y: FloatArray, r: float) -> FloatArray:
    """log of Gamma(y + r) / Gamma(r)."""
    if r < STIRLING:
        return np.asarray(gammaln(y + r) - gammaln(r))
    total = y + r
    rest = (1.0 / total - 1.0 / r) / 12.0 - (1.0 / total**3 - 1.0 / r**3) / 360.0
    return np.asarray((total - 0.5) * np.log1p(y / r) + y * (np.log(r) - 1.0) + rest)
