"""Gaussian: log p(y | eta) = -(1/2) log(2 pi s2) - (y - eta)^2 / (2 s2), identity link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftglm.families.base import Array, Family, refuse
from driftglm.predictive import Distribution, Normal


@dataclass(frozen=True)
class Gaussian(Family):
    """Real-valued targets with noise variance s2."""

    name: ClassVar[str] = "gaussian"
    noise_label: ClassVar[str | None] = "noise variance"
    noise_drifts: ClassVar[bool] = True
    metric: ClassVar[str] = "mse"
    metric_label: ClassVar[str] = "mean squared error"
    quadratic: ClassVar[bool] = True
    has_noise: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    def check_target(self, y: Array) -> None:
        """Any finite number will do."""
        refuse(y, ~np.isfinite(y), "drop or repair such rows.")

    def log_likelihood(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> float:
        """A row of weight w counts as w rows."""
        # np.sum, not a BLAS dot: that splits long sums over however many threads there are.
        squares = self.expected_deviance(y, mean, variance, weights)
        return -0.5 * float(np.sum(weights * np.log(2 * np.pi * noise)) + np.sum(squares / noise))

    def score(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Weighted residual."""
        del variance
        return weights * (y - mean)

    def curvature(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Constant in eta."""
        del y, mean, variance
        return weights

    def expected_deviance(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Expected squared residuals."""
        return weights * ((y - mean) ** 2 + variance)

    def center(self, y: Array, weights: Array, offset: Array) -> float:
        """The mean."""
        return float(np.average(y - offset, weights=weights))

    def reference(self, y: Array, weights: Array, offset: Array) -> float:
        """The mean square of what the offset leaves."""
        size = float(np.average(y**2, weights=weights))
        variance = float(np.average((y - offset) ** 2, weights=weights))
        # A constant y leaves nothing to explain; a speck of its size keeps all ratios finite.
        return max(variance, 1e-20 * size) or 1e-20

    def effective_rows(self, y: Array, weights: Array, offset: Array) -> float:
        """The number of rows."""
        del y, offset
        return float(weights.sum())

    def mean(self, eta: Array, variance: Array) -> Array:
        """Identity."""
        del variance
        return eta

    def loss(self, y: Array, eta: Array) -> Array:
        """Half the squared error."""
        return np.asarray(0.5 * (y - eta) ** 2)

    def prediction_loss(self, y: Array, mean: Array) -> Array:
        """Squared error."""
        return np.asarray((y - mean) ** 2)

    def draw(self, eta: Array, noise: float, rng: np.random.Generator) -> Array:
        """Normal about eta."""
        return np.asarray(eta + np.sqrt(noise) * rng.normal(size=eta.size))

    def predictive(self, mean: Array, variance: Array, noise: Array) -> Distribution:
        """Normal: uncertain coefficients plus noise."""
        return Normal(mean, np.sqrt(variance + noise))
