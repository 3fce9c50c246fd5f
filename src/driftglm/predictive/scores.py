"""Proper scores, row by row. All are losses: lower is better.

The first group takes a forecast, the second quantiles as plain arrays, (n, L) for levels (L,), as
other methods give them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.predictive._checks import checked_level, checked_levels
from driftglm.predictive.base import Distribution
from driftglm.predictive.bernoulli import Bernoulli
from driftglm.predictive.categorical import Categorical
from driftglm.predictive.mixture import Mixture

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def log_score(distribution: Distribution, y: ArrayLike) -> FloatArray:
    """Minus the logarithm of the density, or of the probability, of y."""
    return -distribution.log_prob(y)


def crps(distribution: Distribution, y: ArrayLike) -> FloatArray:
    """Continuous ranked probability score, in the unit of y."""
    return distribution.crps(y)


def brier(distribution: Distribution, y: ArrayLike) -> FloatArray:
    """Squared error of probabilities: of a 1, or summed over classes."""
    if not isinstance(distribution, Bernoulli | Categorical | Mixture):
        raise DataError(
            f"{type(distribution).__name__} has no Brier score; Bernoulli, Categorical and "
            f"mixtures of these have."
        )
    return distribution.brier(y)


def ranked_probability(distribution: Distribution, y: ArrayLike) -> FloatArray:
    """Squared errors of the cdf, summed over counts or classes in their order."""
    if not distribution.discrete:
        raise DataError(
            f"{type(distribution).__name__} is continuous; the ranked probability score is for "
            f"counts and classes, and crps is what it becomes."
        )
    return distribution.crps(y)


def interval_score(distribution: Distribution, y: ArrayLike, level: float = 0.9) -> FloatArray:
    """Width of the central interval, and 2 / (1 - level) times how far y is outside."""
    return score_of_interval(y, distribution.interval(level), level)


def quantile_score(
    distribution: Distribution, y: ArrayLike, levels: ArrayLike = LEVELS
) -> FloatArray:
    """Mean pinball loss of the quantiles at some levels."""
    asked = np.atleast_1d(checked_levels(levels))
    return np.asarray(pinball(y, distribution.quantile(asked), asked).mean(axis=1))


def pinball(y: ArrayLike, quantiles: ArrayLike, levels: ArrayLike) -> FloatArray:
    """Pinball loss of every quantile, (n, L); half the absolute error at level 0.5.

    Examples
    --------
    >>> pinball([1.0], [[0.0, 3.0]], [0.1, 0.9]).round(2)
    array([[0.1, 0.2]])
    """
    asked = np.atleast_1d(checked_levels(levels))
    values, given = _pair(y, quantiles, asked.size)
    error = values[:, None] - given
    return np.maximum(asked * error, (asked - 1.0) * error)


def score_of_interval(y: ArrayLike, interval: ArrayLike, level: float = 0.9) -> FloatArray:
    """`interval_score` of intervals (n, 2) that are given."""
    outside = 1.0 - checked_level(level)
    values, given = _pair(y, interval, 2)
    low, high = given.T
    if (low > high).any():
        raise DataError(f"The interval of row {np.argmax(low > high)} ends before it begins.")
    missed = np.maximum(low - values, 0.0) + np.maximum(values - high, 0.0)
    return np.asarray(high - low + 2.0 / outside * missed)


def crps_of_quantiles(y: ArrayLike, quantiles: ArrayLike, levels: ArrayLike) -> FloatArray:
    """CRPS from quantiles: twice the mean pinball loss.

    The levels should be the middles of equal shares, (l - 1/2) / L for l = 1, ..., L: then this
    approaches the CRPS as L grows.
    """
    return np.asarray(2.0 * pinball(y, quantiles, levels).mean(axis=1))


def _pair(y: ArrayLike, quantiles: ArrayLike, n_levels: int) -> tuple[FloatArray, FloatArray]:
    values, given = np.asarray(y, dtype=np.float64), np.asarray(quantiles, dtype=np.float64)
    if values.ndim != 1 or given.shape != (values.size, n_levels):
        raise DataError(
            f"y has shape {values.shape} and quantiles {given.shape}; (n,) and (n, {n_levels}) are "
            f"wanted, with a column for each level."
        )
    if np.isnan(values).any() or np.isnan(given).any():
        raise DataError("y or the quantiles have NaN; leave those rows out.")
    return values, given
