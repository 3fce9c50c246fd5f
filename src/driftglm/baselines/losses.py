"""Loss of one row as a function of its linear predictor, and what IRLS needs of it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import expit, xlogy

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError

STEEPEST = 1e-10
"""Least curvature: a row that is predicted for certain still has a (tiny) say in an IRLS step."""
LARGEST_LOG = 500.0
"""exp() of larger numbers is of no use to anyone; it keeps sums finite while steps are tried."""


class Loss(Protocol):
    """One family: the loss of a row given eta (offset included), constants left out."""

    quadratic: bool
    """True if the loss is a quadratic in eta, so that one IRLS step is the solution."""

    def check(self, y: FloatArray) -> None:
        """Raise a DataError if y cannot come from the family."""

    def value(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Loss of every row."""

    def slope(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """First derivative with respect to eta."""

    def curvature(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Second derivative, kept above zero."""

    def mean(self, eta: FloatArray) -> FloatArray:
        """E[y | eta]."""

    def level(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """A good intercept for a model of an intercept only."""


class SquaredLoss:
    """(y - eta)^2 / 2."""

    quadratic = True

    def check(self, y: FloatArray) -> None:
        """Every number will do."""

    def value(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Half the squared error."""
        return np.asarray(0.5 * (y - eta) ** 2)

    def slope(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Minus the residual."""
        return eta - y

    def curvature(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """One."""
        del eta
        return np.ones_like(y)

    def mean(self, eta: FloatArray) -> FloatArray:
        """Eta itself."""
        return eta

    def level(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """The mean."""
        return float(np.average(y - offset, weights=weights))


class LogisticLoss:
    """log(1 + exp(eta)) - y eta, y in {0, 1}."""

    quadratic = False

    def check(self, y: FloatArray) -> None:
        """Classes were encoded as 0 and 1 before."""

    def value(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Negative log-likelihood."""
        return np.asarray(np.logaddexp(0.0, eta) - y * eta)

    def slope(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Probability less outcome."""
        return np.asarray(expit(eta) - y)

    def curvature(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """p (1 - p)."""
        del y
        return np.maximum(expit(eta) * expit(-eta), STEEPEST)

    def mean(self, eta: FloatArray) -> FloatArray:
        """Probability of the second class."""
        return np.asarray(expit(eta))

    def level(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """Log odds, half a case added to both classes."""
        del offset
        total, positive = float(weights.sum()), float(weights @ y)
        return float(np.log((positive + 0.5) / (total - positive + 0.5)))


class PoissonLoss:
    """exp(eta) - y eta, y >= 0."""

    quadratic = False

    def check(self, y: FloatArray) -> None:
        """Counts cannot be negative."""
        if (y < 0).any():
            row = int(np.argmax(y < 0))
            raise DataError(
                f"y is {y[row]:g} in row {row}; family='poisson' needs counts of 0 or more. "
                "Correct the row, or use family='gaussian'."
            )

    def value(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Negative log-likelihood up to log y!."""
        return np.asarray(self.mean(eta) - y * eta)

    def slope(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Mean less count."""
        return self.mean(eta) - y

    def curvature(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """The mean."""
        del y
        return np.maximum(self.mean(eta), STEEPEST)

    def mean(self, eta: FloatArray) -> FloatArray:
        """exp(eta)."""
        return np.asarray(np.exp(np.minimum(eta, LARGEST_LOG)))

    def level(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """Log of the overall rate, half a count added so that it is finite without any."""
        expected = float(weights @ np.exp(offset))
        return float(np.log((float(weights @ y) + 0.5) / expected))


LOSSES: dict[str, Loss] = {
    "gaussian": SquaredLoss(),
    "binomial": LogisticLoss(),
    "poisson": PoissonLoss(),
}


def deviance(family: str, y: FloatArray, mean: FloatArray) -> FloatArray:
    """What a prediction is judged by, row by row: squared error, log loss, Poisson deviance."""
    if family == "gaussian":
        return np.asarray((y - mean) ** 2)
    if family == "binomial":
        p = np.clip(mean, np.finfo(np.float64).eps, 1 - np.finfo(np.float64).eps)
        return np.asarray(-(y * np.log(p) + (1 - y) * np.log1p(-p)))
    mean = np.maximum(mean, np.finfo(np.float64).tiny)
    return np.asarray(2 * (xlogy(y, y / mean) - y + mean))
