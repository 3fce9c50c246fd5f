"""What a family of distributions offers: functions of the linear predictor eta, row by row.

A family knows neither X nor the prior. Solvers work on the quadratic

    log p(y | eta + d) ~ log p(y | eta) + precision * sum (score * d - curvature * d^2 / 2)

with `precision` = 1 / noise for families with a noise variance and 1 for the others. It is exact
for the Gaussian; a family for which it is a lower bound makes the block solver monotone as is.
"""

from __future__ import annotations

from typing import Protocol

from driftglm._typing import FloatArray


class Family(Protocol):
    """One distribution of y given eta. Adding a family means implementing this."""

    @property
    def has_noise(self) -> bool:
        """True if the family has a noise variance to estimate."""
        ...

    @property
    def quadratic(self) -> bool:
        """True if the quadratic model is exact, so that its curvature never changes."""
        ...

    def check_target(self, y: FloatArray) -> None:
        """Raise a DataError if y cannot come from this family."""
        ...

    def log_likelihood(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, noise: float
    ) -> float:
        """Weighted sum of log p(y | eta), all constants included."""
        ...

    def score(self, y: FloatArray, eta: FloatArray, weights: FloatArray) -> FloatArray:
        """Derivative of the log-likelihood with respect to eta, times the noise variance."""
        ...

    def curvature(self, y: FloatArray, eta: FloatArray, weights: FloatArray) -> FloatArray:
        """Curvature of the quadratic model, positive, times the noise variance."""
        ...

    def mean(self, eta: FloatArray) -> FloatArray:
        """E[y | eta]."""
        ...
