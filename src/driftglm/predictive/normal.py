"""Normal forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from driftglm._typing import FloatArray
from driftglm.predictive._checks import POSITIVE, Range
from driftglm.predictive.base import Distribution


def distance(difference: FloatArray, scale: FloatArray) -> FloatArray:
    """E|Z - difference| for Z ~ Normal(0, scale^2)."""
    z = difference / scale
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return np.asarray(difference * (2.0 * ndtr(z) - 1.0) + 2.0 * scale * density)


@dataclass(frozen=True, eq=False)
class Normal(Distribution):
    """Normal distributions.

    Parameters
    ----------
    loc, scale
        Mean and standard deviation.

    Examples
    --------
    >>> forecast = Normal([0.0, 10.0], [1.0, 2.0])
    >>> forecast.interval(0.9).round(2)
    array([[-1.64,  1.64],
           [ 6.71, 13.29]])
    """

    ranges: ClassVar[dict[str, Range]] = {"scale": POSITIVE}
    loc: FloatArray
    scale: FloatArray

    @property
    def mean(self) -> FloatArray:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> FloatArray:
        """`scale` squared."""
        return self.scale**2

    @property
    def std(self) -> FloatArray:
        """`scale`."""
        return self.scale

    def _cdf(self, y: FloatArray) -> FloatArray:
        return np.asarray(ndtr((y - self.loc) / self.scale))

    def _log_prob(self, y: FloatArray) -> FloatArray:
        z = (y - self.loc) / self.scale
        return np.asarray(-0.5 * z * z - np.log(self.scale) - 0.5 * np.log(2 * np.pi))

    def _quantile(self, levels: FloatArray) -> FloatArray:
        return np.asarray(self.loc + self.scale * ndtri(levels))

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        return self.loc + self.scale * rng.standard_normal((n_draws, self.n_rows))

    def _crps(self, y: FloatArray) -> FloatArray:
        return np.asarray(distance(y - self.loc, self.scale) - self.scale / np.sqrt(np.pi))
