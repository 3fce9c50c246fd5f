"""Gaussian: log p(y | eta) = -(1/2) log(2 pi s2) - (y - eta)^2 / (2 s2), identity link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError


@dataclass(frozen=True)
class Gaussian:
    """Real-valued targets with constant noise variance s2."""

    has_noise: bool = True
    quadratic: bool = True

    def check_target(self, y: FloatArray) -> None:
        """Any finite number will do."""
        if not np.isfinite(y).all():
            row = int(np.argmin(np.isfinite(y)))
            raise DataError(f"y has the value {y[row]} at row {row}; drop or repair such rows.")

    def log_likelihood(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, noise: float
    ) -> float:
        """A row of weight w counts as w rows."""
        squares = float(np.sum(weights * (y - eta) ** 2))
        return (
            -0.5 * float(weights.sum()) * float(np.log(2 * np.pi * noise)) - 0.5 * squares / noise
        )

    def score(self, y: FloatArray, eta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted residual."""
        return weights * (y - eta)

    def curvature(self, y: FloatArray, eta: FloatArray, weights: FloatArray) -> FloatArray:
        """Constant in eta."""
        del y, eta
        return weights

    def mean(self, eta: FloatArray) -> FloatArray:
        """Identity."""
        return eta
