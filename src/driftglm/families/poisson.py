"""Poisson with log link: log p(y | eta) = y eta - exp(eta) - log y!.

With eta ~ Normal(mean, variance), E[exp(eta)] = exp(mean + variance / 2), so

    F = y mean - exp(mean + variance / 2) - log y!,

whose score is y - M and whose curvature is M = exp(mean + variance / 2). The model of the fit is
local: it promises too much to rows far below their count, and solvers check it.

Counts often scatter more than a Poisson law allows, and a model that does not know it is certain of
noise. With a dispersion phi the density is that of the double Poisson law (Efron 1986),

    -(1/2) log phi - D(y, eta) / (2 phi) + log p(y | eta = log y),   D the deviance,

which is the Poisson law at phi = 1, up to its normaliser (close to 1 and left out).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.families.base import separately

LARGEST = 1e15
MOST = 700.0
"""exp of more overflows; a fit that gets there is refused by its own check."""


def _rate(mean: FloatArray, variance: FloatArray) -> FloatArray:
    return np.exp(np.minimum(mean + 0.5 * variance, MOST))


@dataclass(frozen=True)
class Poisson:
    """Counts, or rates with weights; `dispersed` counts scatter more than a Poisson law."""

    dispersed: bool = False
    quadratic: bool = False
    bounded: bool = False

    @property
    def has_noise(self) -> bool:
        """Whether there is a dispersion."""
        return self.dispersed

    def check_target(self, y: FloatArray) -> None:
        """Not negative, finite."""
        bad = ~((y >= 0) & (y <= LARGEST))
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"y is {y[row]} at row {row}; counts must lie between 0 and {LARGEST:g}."
            )

    def log_likelihood(
        self,
        y: FloatArray,
        mean: FloatArray,
        variance: FloatArray,
        weights: FloatArray,
        noise: float,
    ) -> float:
        """Fractions count like whole numbers, y! by the gamma function."""
        if not self.dispersed:
            rows = y * mean - _rate(mean, variance) - gammaln(y + 1.0)
            return float(np.sum(weights * rows))
        best = float(np.sum(weights * (xlogy(y, y) - y - gammaln(y + 1.0))))
        fall = 0.5 * self.squares(y, mean, variance, weights) / noise
        return best - 0.5 * float(weights.sum()) * float(np.log(noise)) - fall

    def score(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Weighted residual."""
        return weights * (y - _rate(mean, variance))

    def curvature(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """The expected rate."""
        del y
        return weights * _rate(mean, variance)

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
        """Expected deviance."""
        rows = xlogy(y, y) - y - y * mean + _rate(mean, variance)
        return 2.0 * float(np.sum(weights * rows))

    def mean(self, eta: FloatArray, variance: FloatArray) -> FloatArray:
        """E[exp(eta)]."""
        return _rate(eta, variance)

    def center(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """Log of counts over exposure, half a count added."""
        exposed = np.exp(offset)
        return float(np.log((np.sum(weights * y) + 0.5) / np.sum(weights * exposed)))

    def reference(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """log(1 + var / mean^2) of the rates: the variance of eta were all scatter due to it."""
        exposed = weights * np.exp(offset)
        rates = y / np.exp(offset)
        mean = float(np.average(rates, weights=exposed))
        if mean == 0.0:
            return 1.0
        variance = float(np.average((rates - mean) ** 2, weights=exposed))
        return max(float(np.log1p(variance / mean**2)), 1e-12)

    def effective_rows(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """The reference times the number of counts, fewer if they are dispersed."""
        told = self.reference(y, weights, offset) * (float(np.sum(weights * y)) + 0.5)
        if not self.dispersed:
            return told
        null = offset + self.center(y, weights, offset)
        dispersion = self.squares(y, null, np.zeros(1), weights) / float(weights.sum())
        return told / max(dispersion, 1.0)
