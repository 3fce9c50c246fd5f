"""Quantiles of a mixture of normal distributions and a point at zero, which a coefficient is."""

from __future__ import annotations

import math

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray

REACH = 9.0
"""Standard deviations within which all of a normal distribution lies."""
ROUNDS, CLOSE, DIGITS = 100, 1e-10, 1e-15
"""Steps of a search, at most; the probability it may be off by, or the share of its range."""
SQRT_TWO, SQRT_TWO_PI = math.sqrt(2.0), math.sqrt(2.0 * math.pi)


@kernel
def _below(x: float, mean: float, deviation: float) -> float:
    """Probability that a normal number is below x."""
    return 0.5 * math.erfc((mean - x) / (deviation * SQRT_TWO))


@kernel
def _reached(
    x: float, weights: FloatArray, means: FloatArray, deviations: FloatArray
) -> tuple[float, float]:
    """Weight of the normal parts below x, and its density there."""
    reached = density = 0.0
    for k in range(weights.size):
        if deviations[k] > 0.0:
            reached += weights[k] * _below(x, means[k], deviations[k])
            away = (x - means[k]) / deviations[k]
            density += weights[k] * math.exp(-0.5 * away * away) / deviations[k]
    return reached, density / SQRT_TWO_PI


@kernel
def _searched(
    wanted: float,
    ends: tuple[float, float],
    weights: FloatArray,
    means: FloatArray,
    deviations: FloatArray,
) -> float:
    """Where the normal parts reach a weight: Newton steps between ends that close in on it."""
    low, high = ends
    width, x = high - low, 0.5 * (low + high)
    for _ in range(ROUNDS):
        reached, density = _reached(x, weights, means, deviations)
        if reached < wanted:
            low = x
        else:
            high = x
        step = (wanted - reached) / density if density > 0.0 else np.inf
        if abs(wanted - reached) < CLOSE or high - low < DIGITS * width:
            return x
        x += step
        if not low < x < high:
            x = 0.5 * (low + high)
    return x


@kernel
def mixture_quantile(
    weights: FloatArray, means: FloatArray, deviations: FloatArray, level: float
) -> float:
    """Of a mixture of normal distributions; those without a deviation are points at zero."""
    wanted, point = level * weights.sum(), 0.0
    low, high = np.inf, -np.inf
    for k in range(weights.size):
        if deviations[k] == 0.0:
            point += weights[k]
            continue
        low = min(low, means[k] - REACH * deviations[k])
        high = max(high, means[k] + REACH * deviations[k])
    if point > 0.0:
        at_zero, _ = _reached(0.0, weights, means, deviations)
        if at_zero <= wanted <= at_zero + point:
            return 0.0
        if wanted > at_zero:
            wanted, low = wanted - point, max(low, 0.0)
        else:
            high = min(high, 0.0)
    return _searched(wanted, (low, high), weights, means, deviations)
