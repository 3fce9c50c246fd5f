"""Student errors: y = eta + error, the error a Student distribution of scale s and nu degrees.

Up to constants log p(y | eta) = -(1/2) log s2 - (nu + 1) / 2 log(1 + u / (nu s2)) with
u = (y - eta)^2. The last term is convex in u, so that by Jensen its value at E[u] is a lower bound
whatever the distribution of eta, and the line that touches it there bounds it in turn:

    F = -(1/2) log s2 - (nu + 1) / 2 log(1 + E[u] / (nu s2)),    E[u] = (y - mean)^2 + variance,

has score weight * (y - mean) / s2 and curvature weight / s2, with weight =
(nu + 1) / (nu + E[u] / s2): least squares in which rows far off count little. Every step is an
ascent, and so is the estimate of s2 from the weighted squares.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln

from driftglm.families.base import Array
from driftglm.families.gaussian import Gaussian
from driftglm.predictive import Distribution
from driftglm.predictive import Student as StudentForecast

START = 8.0
FAR = 10.0
"""Robust deviations from the median beyond which a row says nothing about center and scale."""


@dataclass(frozen=True)
class Student(Gaussian):
    """Real-valued targets with tails: `degrees` of freedom, and squared scale `noise` of the rows.

    Both are those of the fit where `at` has set them. From two degrees of freedom down there would
    be no variance, so that estimates stay above.
    """

    name: ClassVar[str] = "student"
    noise_label: ClassVar[str | None] = "squared scale"
    quadratic: ClassVar[bool] = False
    shape_range: ClassVar[tuple[float, float] | None] = (2.1, 200.0)
    degrees: float = START
    noise: Array = field(default_factory=lambda: np.ones(1))

    def at(self, noise: Array, shape: float) -> Self:
        """With these degrees of freedom and squared scales."""
        return dataclasses.replace(self, degrees=shape, noise=noise)

    def shape_start(self, y: Array, weights: Array, offset: Array) -> float:
        """Between heavy tails and a normal distribution."""
        del y, weights, offset
        return START

    def center(self, y: Array, weights: Array, offset: Array) -> float:
        """The mean, no row being further off than `FAR` robust deviations."""
        return super().center(_tamed(y - offset, weights), weights, np.zeros(1))

    def reference(self, y: Array, weights: Array, offset: Array) -> float:
        """The mean square of what the offset leaves, far-off rows tamed in the same way."""
        left = _tamed(y - offset, weights)
        return super().reference(left + offset, weights, offset)

    def working(self, y: Array, eta: Array, weights: Array) -> tuple[Array, Array]:
        """As of normal errors, so that both have columns centred alike."""
        return np.asarray(weights * _tamed(y - eta, weights)), weights

    def _row_weights(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """How much a row counts, and its expected square."""
        squares = (y - mean) ** 2 + variance
        return (self.degrees + 1.0) / (self.degrees + squares / self.noise), squares

    def log_likelihood(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> float:
        """A row of weight w counts as w rows."""
        nu, squares = self.degrees, (y - mean) ** 2 + variance
        constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(np.pi * nu)
        rows = 0.5 * np.log(noise) + 0.5 * (nu + 1.0) * np.log1p(squares / (nu * noise))
        return float(np.sum(weights * (constant - rows)))

    def score(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Weighted residual, less of it from rows far off."""
        return np.asarray(weights * self._row_weights(y, mean, variance)[0] * (y - mean))

    def curvature(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Less of rows far off."""
        return np.asarray(weights * self._row_weights(y, mean, variance)[0])

    def expected_deviance(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Expected squared residuals, less of rows far off."""
        counted, squares = self._row_weights(y, mean, variance)
        return np.asarray(weights * counted * squares)

    def draw(self, eta: Array, noise: float, rng: np.random.Generator) -> Array:
        """Student about eta."""
        return np.asarray(eta + np.sqrt(noise) * rng.standard_t(self.degrees, size=eta.size))

    def predictive(self, mean: Array, variance: Array, noise: Array) -> Distribution:
        """Student: the variance is that of coefficients and errors together, the tails the errors'.

        The sum of a normal and a Student variable has no closed form.
        """
        squares = noise + variance * (self.degrees - 2.0) / self.degrees
        return StudentForecast(mean, np.sqrt(squares), np.atleast_1d(self.degrees))


def _tamed(residual: Array, weights: Array) -> Array:
    """Residuals no further from their median than `FAR` robust deviations."""
    middle = _median(residual, weights)
    deviation = 1.4826 * _median(np.abs(residual - middle), weights)
    if deviation == 0.0:
        return residual
    return np.clip(residual, middle - FAR * deviation, middle + FAR * deviation)


def _median(values: Array, weights: Array) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, 0.5 * reached[-1])])
