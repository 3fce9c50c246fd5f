"""Poisson forecasts, of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import i0e, i1e

from driftglm._typing import FloatArray
from driftglm.predictive._checks import COUNTED, Range
from driftglm.predictive._counts import log_poisson
from driftglm.predictive._incomplete import upper_gamma
from driftglm.predictive._search import count_quantile
from driftglm.predictive.base import Discrete


@dataclass(frozen=True, eq=False)
class Poisson(Discrete):
    """Poisson distributions.

    Parameters
    ----------
    rate
        Mean and variance, from 0 to 1e15.

    Examples
    --------
    >>> Poisson([0.0, 3.0]).quantile(0.9)
    array([0., 5.])
    """

    ranges: ClassVar[dict[str, Range]] = {"rate": COUNTED}
    rate: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The rate."""
        return self.rate

    @property
    def variance(self) -> FloatArray:
        """The rate."""
        return self.rate

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._smooth_cdf(np.floor(y))

    def _smooth_cdf(self, y: FloatArray) -> FloatArray:
        reached = upper_gamma(np.clip(y, 0.0, 1e300) + 1.0, self.rate)
        return np.where(y < 0, 0.0, np.where(np.isposinf(y), 1.0, reached))

    def _log_prob(self, y: FloatArray) -> FloatArray:
        possible = (y >= 0) & (y == np.floor(y)) & np.isfinite(y)
        found = log_poisson(np.where(possible, y, 0.0), self.rate)
        return np.where(possible, found, -np.inf)

    def _quantile(self, levels: FloatArray) -> FloatArray:
        skewness = 1.0 / np.sqrt(np.maximum(self.rate, np.finfo(float).tiny))
        return count_quantile(self, levels, skewness)

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        return rng.poisson(self.rate, (n_draws, self.n_rows)).astype(np.float64)

    def _crps(self, y: FloatArray) -> FloatArray:
        away = (y - self.rate) * (2.0 * self._cdf(y) - 1.0)
        here = np.exp(self._log_prob(np.floor(y)))
        spread = i0e(2.0 * self.rate) + i1e(2.0 * self.rate)
        return np.asarray(away + self.rate * (2.0 * here - spread))
