"""Quantiles by search on the cdf, for all rows and levels at once."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from driftglm._typing import FloatArray
from driftglm.predictive.base import Distribution

_MOST_STEPS = 400
_LEAST = np.finfo(float).tiny
_RESOLUTION, _STEP = 4e-16, 1e-14
"""A cdf is known to the first, relative; a step below the second gains nothing."""


def matched_gamma(
    mean: FloatArray, variance: FloatArray, skewness: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shape, scale and shift of the gamma distribution with these three moments."""
    deviation = np.sqrt(variance)
    return 4.0 / skewness**2, 0.5 * deviation * skewness, mean - 2.0 * deviation / skewness


def cantelli(distribution: Distribution, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far from the mean a quantile can be, by Cantelli's inequality."""
    odds = np.sqrt(levels / (1.0 - levels))
    return distribution.mean - distribution.std / odds, distribution.mean + distribution.std * odds


def count_quantile(
    distribution: Distribution, levels: FloatArray, skewness: FloatArray
) -> FloatArray:
    """Quantiles of counts whose first three moments are known.

    A gamma distribution of the same moments says where to begin, and is mostly right within one
    count or two.
    """
    mean = distribution.mean
    low, high = cantelli(distribution, levels)
    low, high = np.floor(low) - 1.0, np.ceil(high) + 1.0
    shape, scale, shift = matched_gamma(mean, distribution.variance, skewness)
    some = np.isfinite(shape) & (shape > _LEAST) & np.isfinite(shift)
    guess = shift + scale * gammaincinv(np.where(some, shape, 1.0), levels) - 0.5
    guess = np.where(some, guess, mean)
    return first_reaching(distribution, levels, np.maximum(low, 0.0), high, np.ceil(guess))


def first_reaching(
    distribution: Distribution,
    levels: FloatArray,
    low: FloatArray,
    high: FloatArray,
    guess: FloatArray,
) -> FloatArray:
    """Smallest whole number from low to high whose cdf reaches the level; all of shape (L, n).

    Steps away from the guess grow until the answer is passed; then the bracket is halved.
    """
    p, low, high, guess = (a.ravel() for a in np.broadcast_arrays(levels, low, high, guess))
    rows = np.tile(np.arange(distribution.n_rows), p.size // distribution.n_rows)
    below, above = low - 1.0, high.copy()
    tested_below, tested_above = np.zeros(p.size, dtype=bool), np.zeros(p.size, dtype=bool)
    step = np.ones(p.size)
    probe = np.clip(guess, below + 1.0, np.maximum(above - 1.0, below + 1.0))
    left = np.flatnonzero(above - below > 1.0)
    while left.size:
        at = probe[left]
        reached = distribution.take(rows[left])._cdf(at) >= p[left]  # noqa: SLF001
        above[left] = np.where(reached, at, above[left])
        below[left] = np.where(reached, below[left], at)
        tested_above[left] |= reached
        tested_below[left] |= ~reached
        middle = np.floor(0.5 * (below[left] + above[left]))
        gallop = np.where(reached, at - step[left], at + step[left])
        both = tested_below[left] & tested_above[left]
        # The bracket itself may be huge, and is halved only if steps have grown as large.
        probe[left] = np.where(both, middle, gallop)
        outside = (probe[left] <= below[left]) | (probe[left] >= above[left])
        probe[left] = np.where(outside, middle, probe[left])
        step[left] *= 4.0
        # Counts above 2^53 have no neighbours.
        stuck = (middle <= below[left]) | (middle >= above[left])
        left = left[(above[left] - below[left] > 1.0) & ~stuck]
    return above.reshape(-1, distribution.n_rows)


def root(
    distribution: Distribution, levels: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Where a continuous cdf is the level, between low and high: Newton's method, kept in bounds.

    A step is taken if it stays in the bracket and the last one halved the gap; else the bracket is
    halved.
    """
    p, low, high = (np.array(a).ravel() for a in np.broadcast_arrays(levels, low, high))
    rows = np.tile(np.arange(distribution.n_rows), p.size // distribution.n_rows)
    x, last = _middle(low, high), np.full(p.size, np.inf)
    left = np.flatnonzero(high > low)
    x[high <= low] = low[high <= low]
    for _ in range(_MOST_STEPS):
        if not left.size:
            break
        some, at = distribution.take(rows[left]), x[left]
        gap = some._cdf(at) - p[left]  # noqa: SLF001
        high[left] = np.where(gap >= 0, at, high[left])
        low[left] = np.where(gap <= 0, at, low[left])
        density = np.exp(some._log_prob(at))  # noqa: SLF001
        newton = at - gap / np.where(density > 0, density, _LEAST)
        good = (newton > low[left]) & (newton < high[left]) & (np.abs(gap) <= 0.5 * last[left])
        small = np.abs(gap) <= _RESOLUTION * p[left]
        after = np.where(good, newton, _middle(low[left], high[left]))
        still = good & (np.abs(newton - at) <= _STEP * np.abs(at))
        narrow = high[left] - low[left] <= _RESOLUTION * np.abs(at)
        x[left] = np.where(small, at, after)
        last[left] = np.abs(gap)
        left = left[~(small | still | narrow)]
    return x.reshape(-1, distribution.n_rows)


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    """The geometric mean of positive numbers far apart, so that tiny roots are reached too."""
    far = (low >= 0) & (high > 8.0 * low)
    geometric = np.sqrt(np.maximum(low, _LEAST)) * np.sqrt(np.maximum(high, 0.0))
    return np.where(far, geometric, low + 0.5 * (high - low))
