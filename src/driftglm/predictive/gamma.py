"""Gamma forecasts, of positive numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaincinv, poch

from driftglm._typing import FloatArray
from driftglm.predictive._checks import POSITIVE, Range
from driftglm.predictive._counts import log_poisson
from driftglm.predictive._incomplete import LARGE_SHAPE, lower_gamma
from driftglm.predictive._search import cantelli, root
from driftglm.predictive.base import Distribution


@dataclass(frozen=True, eq=False)
class Gamma(Distribution):
    """Gamma distributions.

    Parameters
    ----------
    mean
        The mean.
    shape
        The variance is mean^2 / shape.

    Examples
    --------
    >>> from driftglm.predictive import Gamma
    >>> forecast = Gamma(mean=[2.0, 8.0], shape=4.0)
    >>> forecast.std.tolist()
    [1.0, 4.0]
    """

    ranges: ClassVar[dict[str, Range]] = {"mean": POSITIVE, "shape": POSITIVE}
    mean: FloatArray
    shape: FloatArray

    @property
    def variance(self) -> FloatArray:
        """mean^2 / shape."""
        return self.mean**2 / self.shape

    def _unit(self, y: FloatArray) -> FloatArray:
        """Y in units of the scale, 0 if negative."""
        return np.maximum(y, 0.0) / self.mean * self.shape

    def _log_share(self, y: FloatArray) -> FloatArray:
        """Logarithm of density times y / shape, a Poisson probability of a real count."""
        x = self._unit(y)
        finite = np.where(np.isfinite(x), x, 1.0)
        return np.where(np.isfinite(x), log_poisson(self.shape, finite), -np.inf)

    def _cdf(self, y: FloatArray) -> FloatArray:
        return lower_gamma(self.shape, self._unit(y))

    def _log_prob(self, y: FloatArray) -> FloatArray:
        positive = (y > 0) & np.isfinite(y)
        inside = self._log_share(y) + np.log(self.shape) - np.log(np.where(positive, y, 1.0))
        # At 0 the density is infinite, 1 / mean or 0, for a shape below, at or above 1.
        edge = np.where(self.shape < 1.0, np.inf, -np.inf)
        edge = np.where(self.shape == 1.0, -np.log(self.mean), edge)
        return np.where(positive, inside, np.where(y == 0, edge, -np.inf))

    def _quantile(self, levels: FloatArray) -> FloatArray:
        found = np.asarray(gammaincinv(self.shape, levels) / self.shape * self.mean)
        if (large := np.flatnonzero(self.shape > LARGE_SHAPE)).size:
            some = self.take(large)
            low, high = cantelli(some, levels)
            found[:, large] = root(some, levels, np.maximum(low, 0.0), high)
        return found

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        return self.mean * rng.standard_gamma(self.shape, (n_draws, self.n_rows)) / self.shape

    def _crps(self, y: FloatArray) -> FloatArray:
        away = (y - self.mean) * (2.0 * self._cdf(y) - 1.0)
        spread = poch(self.shape, 0.5) / (self.shape * np.sqrt(np.pi))
        return np.asarray(away + self.mean * (2.0 * np.exp(self._log_share(y)) - spread))
