"""Gamma with log link: positive amounts of mean mu = exp(eta) and variance phi mu^2.

The dispersion phi is the shape of this family. With nu = 1 / phi

    log p(y | eta) = nu log nu - log Gamma(nu) - log y - nu (y exp(-eta) + eta - log y),

and E[exp(-eta)] = exp(-mean + variance / 2), so that everything is in closed form. Unlike a noise
variance phi has no best value in closed form, since log Gamma(nu) is none of its powers. The
quadratic model is local, and steps are checked.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln

from driftglm.families._special import MOST, STIRLING, uncertain_rate
from driftglm.families.base import CERTAIN, Array, Family, refuse
from driftglm.families.poisson import rate_spread
from driftglm.predictive import Distribution
from driftglm.predictive import Gamma as Amounts

LEAST_START, MOST_START = 1e-4, 1e2
LARGEST = 1e100
"""No amount that is read is larger, and none is predicted."""


@dataclass(frozen=True)
class Gamma(Family):
    """Positive amounts whose standard deviation is proportional to their mean.

    `dispersion` is variance over squared mean, as in statsmodels and R.
    """

    name: ClassVar[str] = "gamma"
    link: ClassVar[str] = "log"
    takes_exposure: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    noise_label: ClassVar[str | None] = "dispersion"
    noise_meaning: ClassVar[str] = "variance over squared mean"
    metric: ClassVar[str] = "gamma"
    metric_label: ClassVar[str] = "mean gamma deviance"
    has_noise: ClassVar[bool] = False
    bounded: ClassVar[bool] = False
    largest_mean: ClassVar[float] = LARGEST
    shape_range: ClassVar[tuple[float, float] | None] = (1e-6, 1e3)
    dispersion: float = 1.0

    def at(self, noise: Array, shape: float) -> Self:
        """With another dispersion."""
        del noise
        return dataclasses.replace(self, dispersion=shape)

    def check_target(self, y: Array) -> None:
        """Positive, finite."""
        refuse(
            y,
            (y < 0) | ~np.isfinite(y),
            "amounts of family 'gamma' are positive. Use family='gaussian' for numbers of both "
            "signs.",
        )
        refuse(
            y,
            y == 0,
            "amounts of family 'gamma' are positive, and no family here has both zeros and "
            "positive amounts. Use family='gaussian' for log(1 + y), 'poisson' if these are "
            "counts, or model separately whether y is zero ('binomial') and the rest.",
        )

    def _ratio(self, y: Array, mean: Array, variance: Array) -> Array:
        """y E[exp(-eta)], near 1 where eta is right."""
        return np.asarray(y * np.exp(np.clip(0.5 * variance - mean, -MOST, MOST)))

    def log_likelihood(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> float:
        """From half the expected deviance and what does not depend on eta."""
        del noise
        nu = 1.0 / self.dispersion
        fall = nu * 0.5 * float(np.sum(self.expected_deviance(y, mean, variance, weights)))
        return float(np.sum(weights * (_peak(nu) - np.log(y)))) - fall

    def score(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """y / mu - 1, over the dispersion."""
        return np.asarray(weights / self.dispersion * (self._ratio(y, mean, variance) - 1.0))

    def curvature(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """y / mu, over the dispersion."""
        return np.asarray(weights / self.dispersion * self._ratio(y, mean, variance))

    def working(self, y: Array, eta: Array, weights: Array) -> tuple[Array, Array]:
        """With the expected curvature: that of a tiny y is tiny, and its target enormous."""
        return self.score(y, eta, CERTAIN, weights), weights / self.dispersion

    def expected_deviance(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Expected deviance."""
        return 2.0 * weights * (self._ratio(y, mean, variance) - 1.0 - np.log(y) + mean)

    def center(self, y: Array, weights: Array, offset: Array) -> float:
        """Log of the mean amount over exposure."""
        return float(np.log(np.average(y * np.exp(-offset), weights=weights)))

    def reference(self, y: Array, weights: Array, offset: Array) -> float:
        """log(1 + var / mean^2): the variance of eta were all scatter due to it."""
        return rate_spread(y, weights, offset)

    def effective_rows(self, y: Array, weights: Array, offset: Array) -> float:
        """The reference times the number of rows, over the dispersion if nothing is explained."""
        told = float(weights.sum()) / self.shape_start(y, weights, offset)
        return self.reference(y, weights, offset) * told

    def shape_start(self, y: Array, weights: Array, offset: Array) -> float:
        """The dispersion if nothing is explained, by moments."""
        null = offset + self.center(y, weights, offset)
        ratio = self._ratio(y, null, CERTAIN)
        spread = float(np.average((ratio - 1.0) ** 2, weights=weights))
        return float(np.clip(spread, LEAST_START, MOST_START))

    def mean(self, eta: Array, variance: Array) -> Array:
        """That of `predictive`: E[exp(eta)] unless eta is so uncertain that a far tail decides."""
        return np.minimum(uncertain_rate(eta, variance)[0], LARGEST)

    def loss(self, y: Array, eta: Array) -> Array:
        """y exp(-eta) + eta."""
        return np.asarray(self._ratio(y, eta, CERTAIN) + eta)

    def prediction_loss(self, y: Array, mean: Array) -> Array:
        """2 (y / mu - 1 - log(y / mu)); infinite where a mean is impossible."""
        positive = mean > 0
        ratio = y / np.where(positive, mean, 1.0)
        deviance = np.maximum(2.0 * (ratio - 1.0 - np.log(ratio)), 0.0)
        return np.where(positive, deviance, np.inf)

    def draw(self, eta: Array, noise: float, rng: np.random.Generator) -> Array:
        """Amounts of dispersion `noise`, none so small that it is zero."""
        drawn = np.exp(eta) * rng.standard_gamma(1.0 / noise, eta.shape) * noise
        return np.maximum(drawn, np.finfo(np.float64).tiny)

    def predictive(self, mean: Array, variance: Array, noise: Array) -> Distribution:
        """Gamma: an uncertain mean and scatter about it together."""
        del noise
        expected, spread = uncertain_rate(mean, variance)
        expected = np.minimum(expected, LARGEST)
        return Amounts(expected, 1.0 / (self.dispersion + spread + self.dispersion * spread))


def _peak(nu: float) -> float:
    """nu log nu - nu - log Gamma(nu)."""
    if nu < STIRLING:
        return float(nu * np.log(nu) - nu - gammaln(nu))
    return float(0.5 * np.log(nu / (2 * np.pi)) - 1.0 / (12.0 * nu) + 1.0 / (360.0 * nu**3))
