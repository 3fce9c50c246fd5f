"""Poisson with log link: log p(y | eta) = y eta - exp(eta) - log y!.

With eta ~ Normal(mean, variance), E[exp(eta)] = exp(mean + variance / 2), so

    F = y mean - exp(mean + variance / 2) - log y!,

whose score is y - M and whose curvature is M = exp(mean + variance / 2). The model of the fit is
local: it promises too much to rows far below their count, and solvers check it.

Counts often scatter more than a Poisson distribution allows, and a model that ignores it takes
noise for signal. With a dispersion phi the density is that of the double Poisson distribution
(Efron 1986),

    -(1/2) log phi - D(y, eta) / (2 phi) + log p(y | eta = log y),   D the deviance,

which is the Poisson distribution at phi = 1, up to its normaliser (close to 1 and left out).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln, xlogy

from driftglm.families._special import MOST, uncertain_rate
from driftglm.families.base import CERTAIN, Array, Family, refuse
from driftglm.predictive import Distribution, NegativeBinomial

LARGEST = 1e15
MOST_EXCESS = 1e12
"""A larger dispersion than this says no more."""


@dataclass(frozen=True)
class Poisson(Family):
    """Counts, or rates with weights; `dispersed` ones scatter more than a Poisson distribution."""

    name: ClassVar[str] = "poisson"
    link: ClassVar[str] = "log"
    takes_exposure: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    noise_label: ClassVar[str | None] = "dispersion"
    noise_meaning: ClassVar[str] = "variance over mean"
    metric: ClassVar[str] = "poisson"
    metric_label: ClassVar[str] = "mean Poisson deviance"
    bounded: ClassVar[bool] = False
    largest_mean: ClassVar[float] = LARGEST
    dispersed: bool = False

    @property
    def has_noise(self) -> bool:
        """Whether there is a dispersion."""
        return self.dispersed

    def for_fit(self, *, posterior: bool, noise_asked: bool) -> Self:
        """A posterior knows that counts scatter; a mode only if it is told."""
        return dataclasses.replace(self, dispersed=posterior or noise_asked)

    def check_target(self, y: Array) -> None:
        """Not negative, finite."""
        bad = ~((y >= 0) & (y <= LARGEST))
        refuse(
            y,
            bad,
            f"counts must lie between 0 and {LARGEST:g}. Use family='gaussian' for numbers of both "
            "signs.",
        )

    def _rate(self, mean: Array, variance: Array) -> Array:
        """E[exp(eta)]."""
        return np.asarray(np.exp(np.clip(mean + 0.5 * variance, -MOST, MOST)))

    def log_likelihood(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> float:
        """Fractions count like whole numbers, y! by the gamma function."""
        if not self.dispersed:
            rows = y * mean - self._rate(mean, variance) - gammaln(y + 1.0)
            return float(np.sum(weights * rows))
        best = float(np.sum(weights * (xlogy(y, y) - y - gammaln(y + 1.0))))
        fall = 0.5 * float(np.sum(self.expected_deviance(y, mean, variance, weights) / noise))
        return best - 0.5 * float(np.sum(weights * np.log(noise))) - fall

    def score(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Weighted residual."""
        return weights * (y - self._rate(mean, variance))

    def curvature(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """The expected rate."""
        del y
        return weights * self._rate(mean, variance)

    def expected_deviance(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Expected deviance."""
        return 2.0 * weights * (xlogy(y, y) - y - y * mean + self._rate(mean, variance))

    def center(self, y: Array, weights: Array, offset: Array) -> float:
        """Log of counts over exposure, half a count added."""
        return float(np.log((np.sum(weights * y) + 0.5) / np.sum(weights * np.exp(offset))))

    def reference(self, y: Array, weights: Array, offset: Array) -> float:
        """The variance of eta were all scatter of the rates due to it."""
        return rate_spread(y, weights, offset)

    def effective_rows(self, y: Array, weights: Array, offset: Array) -> float:
        """The reference times the number of counts, fewer if they are dispersed."""
        told = self.reference(y, weights, offset) * (float(np.sum(weights * y)) + 0.5)
        if not self.dispersed:
            return told
        return told / self.noise_scale(y, weights, offset)[0]

    def noise_scale(self, y: Array, weights: Array, offset: Array) -> tuple[float, float | None]:
        """The dispersion if nothing is explained, at least 1, that of a Poisson distribution."""
        null = offset + self.center(y, weights, offset)
        deviance = self.expected_deviance(y, null, CERTAIN, weights)
        return max(float(np.sum(deviance)) / float(weights.sum()), 1.0), 1.0

    def mean(self, eta: Array, variance: Array) -> Array:
        """That of `predictive`: E[exp(eta)] unless eta is so uncertain that a far tail decides."""
        return np.minimum(uncertain_rate(eta, variance)[0], LARGEST)

    def loss(self, y: Array, eta: Array) -> Array:
        """exp(eta) - y eta."""
        return np.asarray(self._rate(eta, CERTAIN) - y * eta)

    def prediction_loss(self, y: Array, mean: Array) -> Array:
        """2 (y log(y / mu) - y + mu); infinite where a mean is impossible."""
        positive = mean > 0
        safe = np.where(positive, mean, 1.0)
        deviance = np.maximum(2 * (xlogy(y, y / safe) - y + safe), 0.0)
        # Nothing was expected, and nothing came.
        return np.where(positive, deviance, np.where((mean == 0) & (y == 0), 0.0, np.inf))

    def draw(self, eta: Array, noise: float, rng: np.random.Generator) -> Array:
        """Poisson counts."""
        del noise
        return np.asarray(rng.poisson(np.exp(eta)), dtype=np.float64)

    def predictive(self, mean: Array, variance: Array, noise: Array) -> Distribution:
        """Negative binomial: an uncertain rate and scatter about it together.

        A mixture over values of eta would be exact, and for large counts a staircase. Of a very
        uncertain rate the mean is below that of `mean`, which is one of the far tail.
        """
        expected, spread = uncertain_rate(mean, variance)
        expected = np.minimum(expected, LARGEST)
        excess = noise - 1.0 + expected * spread
        return NegativeBinomial(expected, 1.0 + np.clip(excess, 0.0, MOST_EXCESS))


def rate_spread(y: Array, weights: Array, offset: Array) -> float:
    """log(1 + var / mean^2) of y over exposure: the variance of eta were all scatter due to it."""
    exposed = weights * np.exp(offset)
    rates = y / np.exp(offset)
    mean = float(np.average(rates, weights=exposed))
    if mean == 0.0:
        return 1.0
    variance = float(np.average((rates - mean) ** 2, weights=exposed))
    return max(float(np.log1p(variance / mean**2)), 1e-12)
