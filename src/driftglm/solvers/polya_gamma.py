"""Draws of Polya-Gamma variables of any shape (Polson, Scott and Windle 2013).

PG(b, c) is the distribution of sum_k g_k / (2 pi^2 ((k - 1/2)^2 + c^2 / (4 pi^2))) with
g_k ~ Gamma(b, 1). Of shape 1 Devroye's sampler, which rejects, is exact, and shapes add up.
Otherwise the first terms of the sum are drawn and the rest has its expectation: the variance that
is left out is below 1e-6 of the whole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray

CUT = 0.64
"""Where the two series of the density change places."""
MOST_SUMMED = 16
"""Larger whole shapes, and all fractions, are drawn term by term."""
N_TERMS = 200
SMALL = 1e-6


@kernel
def _ndtr(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@kernel
def _coefficient(n: int, x: float) -> float:
    """Term n of the series for the density of the tilted variable at x."""
    k = n + 0.5
    if x > CUT:
        return math.pi * k * math.exp(-0.5 * k * k * math.pi * math.pi * x)
    scale = 2.0 / (math.pi * x)
    return math.pi * k * scale * math.sqrt(scale) * math.exp(-2.0 * k * k / x)


@kernel
def _share_right(z: float) -> float:
    """Probability that the proposal comes from the exponential right of the cut."""
    rate = 0.125 * math.pi * math.pi + 0.5 * z * z
    root = math.sqrt(1.0 / CUT)
    b, a = root * (CUT * z - 1.0), -root * (CUT * z + 1.0)
    start = math.log(rate) + rate * CUT
    left = math.exp(start - z) * _ndtr(b) + math.exp(start + z) * _ndtr(a)
    return 1.0 / (1.0 + 4.0 / math.pi * left)


@kernel
def _inverse_gaussian(z: float, rng: Any) -> Any:
    """Inverse Gaussian of mean 1 / z and shape 1, cut off at the right."""
    if z * CUT < 1.0:  # the mean lies beyond the cut
        while True:
            first, second = rng.standard_exponential(), rng.standard_exponential()
            while first * first > 2.0 * second / CUT:
                first, second = rng.standard_exponential(), rng.standard_exponential()
            x = CUT / (1.0 + CUT * first) ** 2
            if rng.random() <= math.exp(-0.5 * z * z * x):
                return x
    mean = 1.0 / z
    while True:
        square = rng.standard_normal() ** 2
        half = 0.5 * mean * square
        x = mean * (1.0 + half - math.sqrt(2.0 * half + half * half))
        if rng.random() > mean / (mean + x):
            x = mean * mean / x
        if x < CUT:
            return x


@kernel
def draw_one(c: float, rng: Any) -> Any:
    """PG(1, c), by Devroye's alternating series."""
    z = 0.5 * abs(c)
    rate, right = 0.125 * math.pi * math.pi + 0.5 * z * z, _share_right(z)
    while True:
        if rng.random() < right:
            x = CUT + rng.standard_exponential() / rate
        else:
            x = _inverse_gaussian(z, rng)
        total = _coefficient(0, x)
        level, n = rng.random() * total, 0
        while True:
            n += 1
            if n % 2 == 1:
                total -= _coefficient(n, x)
                if level <= total:
                    return 0.25 * x
            else:
                total += _coefficient(n, x)
                if level > total:
                    break


@kernel
def _mean(b: float, c: float) -> float:
    size = abs(c)
    if size < SMALL:
        return 0.25 * b
    return 0.5 * b / size * math.tanh(0.5 * size)


@kernel
def _draw_terms(b: float, c: float, rng: Any) -> Any:
    """PG(b, c) term by term."""
    square = (0.5 * c / math.pi) ** 2
    total, expected = 0.0, 0.0
    for k in range(N_TERMS):
        below = (k + 0.5) ** 2 + square
        total += rng.standard_gamma(b) / below
        expected += b / below
    scale = 0.5 / math.pi**2
    return scale * total + max(_mean(b, c) - scale * expected, 0.0)


@kernel
def draw_inplace(b: FloatArray, c: FloatArray, rng: Any, out: FloatArray) -> None:
    """PG(b, c) of every row; none where b is 0."""
    for n in range(c.shape[0]):
        shape = b[n]
        if shape == np.floor(shape) and shape <= MOST_SUMMED:
            total = 0.0
            for _ in range(int(shape)):
                total += draw_one(c[n], rng)
            out[n] = total
        else:
            out[n] = _draw_terms(shape, c[n], rng)
