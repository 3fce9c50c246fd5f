"""Gaussian: log p(y | eta) = -(1/2) log(2 pi s2) - (y - eta)^2 / (2 s2), identity link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.families.base import separately


@dataclass(frozen=True)
class Gaussian:
    """Real-valued targets with constant noise variance s2."""

    has_noise: bool = True
    quadratic: bool = True
    bounded: bool = True

    def check_target(self, y: FloatArray) -> None:
        """Any finite number will do."""
        if not np.isfinite(y).all():
            row = int(np.argmin(np.isfinite(y)))
            raise DataError(f"y has the value {y[row]} at row {row}; drop or repair such rows.")

    def log_likelihood(
        self,
        y: FloatArray,
        mean: FloatArray,
        variance: FloatArray,
        weights: FloatArray,
        noise: float,
    ) -> float:
        """A row of weight w counts as w rows."""
        squares = self.squares(y, mean, variance, weights)
        return (
            -0.5 * float(weights.sum()) * float(np.log(2 * np.pi * noise)) - 0.5 * squares / noise
        )

    def score(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Weighted residual."""
        del variance
        return weights * (y - mean)

    def curvature(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Constant in eta."""
        del y, mean, variance
        return weights

    def evaluate(
        self,
        y: FloatArray,
        mean: FloatArray,
        variance: FloatArray,
        weights: FloatArray,
        noise: float,
    ) -> tuple[float, FloatArray, FloatArray]:
        """One after the other."""
        return separately(self, y, mean, variance, weights, noise)

    def squares(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> float:
        """Expected residual sum of squares."""
        # np.sum, not a BLAS dot: that splits long sums over however many threads there are.
        return float(np.sum(weights * ((y - mean) ** 2 + variance)))

    def mean(self, eta: FloatArray, variance: FloatArray) -> FloatArray:
        """Identity."""
        del variance
        return eta

    def center(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """The mean."""
        return float(np.average(y - offset, weights=weights))

    def reference(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """The mean square of what the offset leaves."""
        size = float(np.average(y**2, weights=weights))
        variance = float(np.average((y - offset) ** 2, weights=weights))
        # A constant y leaves nothing to explain; a speck of its size keeps all ratios finite.
        return max(variance, 1e-20 * size) or 1e-20

    def effective_rows(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """The number of rows."""
        del y, offset
        return float(weights.sum())
