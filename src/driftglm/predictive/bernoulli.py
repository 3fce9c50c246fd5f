"""Bernoulli forecasts, of yes or no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from driftglm._typing import FloatArray
from driftglm.predictive._checks import PROBABILITY, Range, check_codes
from driftglm.predictive.base import Discrete


@dataclass(frozen=True, eq=False)
class Bernoulli(Discrete):
    """Bernoulli distributions; y is 0 or 1.

    Parameters
    ----------
    probability
        Of a 1.

    Examples
    --------
    >>> Bernoulli([0.2, 0.2]).brier([0, 1]).round(2)
    array([0.04, 0.64])
    """

    ranges: ClassVar[dict[str, Range]] = {"probability": PROBABILITY}
    probability: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The probability."""
        return self.probability

    @property
    def variance(self) -> FloatArray:
        """p (1 - p)."""
        return self.probability * (1.0 - self.probability)

    def brier(self, y: ArrayLike) -> FloatArray:
        """Squared error of the probability; half of what the score of two classes would be."""
        values = self._values(y)
        check_codes(values, 2)
        return np.asarray((self.probability - values) ** 2)

    def _cdf(self, y: FloatArray) -> FloatArray:
        return np.where(y < 0, 0.0, np.where(y < 1, 1.0 - self.probability, 1.0))

    def _log_prob(self, y: FloatArray) -> FloatArray:
        no = np.where(y == 0, np.log1p(-self.probability), -np.inf)
        return np.where(y == 1, np.log(self.probability), no)

    def _quantile(self, levels: FloatArray) -> FloatArray:
        return (levels > 1.0 - self.probability).astype(np.float64)

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        return (rng.uniform(size=(n_draws, self.n_rows)) < self.probability).astype(np.float64)

    def _crps(self, y: FloatArray) -> FloatArray:
        return self.brier(y)
