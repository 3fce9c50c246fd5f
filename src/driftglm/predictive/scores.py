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
    """Minus the logarithm of the density, or of the probability, of y.

    Examples
    --------
    >>> from driftglm.predictive import Poisson, log_score
    >>> log_score(Poisson([2.0, 2.0]), [2, 9]).round(2).tolist()
    [1.31, 8.56]
    """
    return -distribution.log_prob(y)


def crps(distribution: Distribution, y: ArrayLike) -> FloatArray:
    """Continuous ranked probability score, in the unit of y.

    Examples
    --------
    >>> from driftglm.predictive import Normal, crps
    >>> crps(Normal(0.0, [1.0, 0.1]), [0.0, 0.0]).round(3).tolist()  # sharp and right is best
    [0.234, 0.023]
    """
    return distribution.crps(y)


def brier(distribution: Distribution, y: ArrayLike) -> FloatArray:
    """Squared error of probabilities: of a 1, or summed over classes.

    Examples
    --------
    >>> from driftglm.predictive import Bernoulli, brier
    >>> brier(Bernoulli([0.9, 0.5]), [1, 0]).round(2).tolist()
    [0.01, 0.25]
    """
    if not isinstance(distribution, Bernoulli | Categorical | Mixture):
        raise DataError(
            f"{type(distribution).__name__} has no Brier score; Bernoulli, Categorical and "
            f"mixtures of these have."
        )
    return distribution.brier(y)


def ranked_probability(distribution: Distribution, y: ArrayLike) -> FloatArray:
    """Squared errors of the cdf, summed over counts or classes in their order.

    Examples
    --------
    >>> from driftglm.predictive import Categorical, ranked_probability
    >>> forecast = Categorical([[0.8, 0.2, 0.0]])
    >>> [float(ranked_probability(forecast, [y])[0].round(2)) for y in (0, 1, 2)]
    [0.04, 0.64, 1.64]
    """
    if not distribution.discrete:
        raise DataError(
            f"{type(distribution).__name__} is continuous; the ranked probability score is for "
            f"counts and classes, and crps is what it becomes."
        )
    return distribution.crps(y)


def interval_score(distribution: Distribution, y: ArrayLike, level: float = 0.9) -> FloatArray:
    """Width of the central interval, and 2 / (1 - level) times how far y is outside.

    Examples
    --------
    >>> from driftglm.predictive import Normal, interval_score
    >>> interval_score(Normal([0.0, 0.0], 1.0), [0.0, 3.0]).round(2).tolist()  # inside, and outside
    [3.29, 30.39]
    """
    return score_of_interval(y, distribution.interval(level), level)


def quantile_score(
    distribution: Distribution, y: ArrayLike, levels: ArrayLike = LEVELS
) -> FloatArray:
    """Mean pinball loss of the quantiles at some levels.

    Examples
    --------
    >>> from driftglm.predictive import Normal, quantile_score
    >>> near, far = quantile_score(Normal([0.0, 0.0], 1.0), [0.0, 2.0])
    >>> bool(near < far)
    True
    """
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
    """`interval_score` of intervals (n, 2) that are given.

    Examples
    --------
    >>> from driftglm.predictive import score_of_interval
    >>> score_of_interval([0.5, 2.0], [[0.0, 1.0], [0.0, 1.0]], level=0.9).round(6).tolist()
    [1.0, 21.0]
    """
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

    Examples
    --------
    >>> from driftglm.predictive import Normal, crps, crps_of_quantiles
    >>> import numpy as np
    >>> levels = (np.arange(500) + 0.5) / 500
    >>> forecast = Normal(0.0, 1.0)
    >>> approximate = crps_of_quantiles([0.3], forecast.quantile(levels), levels)
    >>> bool(abs(approximate - crps(forecast, [0.3]))[0] < 1e-3)
    True
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
