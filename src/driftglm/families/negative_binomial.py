"""Negative binomial with log link: counts of mean mu = exp(eta) and variance mu + alpha mu^2.

The dispersion alpha is the shape of this family: at 0 the counts are Poisson. With r = 1 / alpha

    log p(y | eta) = log [Gamma(y + r) / (Gamma(r) y!)] + (y + r) log Bernoulli(s; eta - log r),

where s = y / (y + r) is a share: in eta a binomial of weight y + r, whose expectation is taken by
the same quadrature (see `driftglm.families._logistic`). The quadratic model is local, and steps
are checked. A Polya-Gamma bound, which needs no check, would have a curvature far too large where
alpha is small.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln

from driftglm.families._logistic import FIT_NODES, FIT_WEIGHTS, expect_logistic
from driftglm.families._special import log_rising, uncertain_rate
from driftglm.families.base import CERTAIN, Array, refuse
from driftglm.families.poisson import LARGEST, MOST_EXCESS, Poisson
from driftglm.predictive import Distribution
from driftglm.predictive import NegativeBinomial as Counts

LEAST_START, MOST_START = 1e-3, 1e2


@dataclass(frozen=True)
class NegativeBinomial(Poisson):
    """Counts that scatter more than Poisson ones, the more so the larger they are.

    `alpha` is the dispersion, (variance - mean) / mean^2, as in statsmodels.
    """

    name: ClassVar[str] = "negative-binomial"
    noise_meaning: ClassVar[str] = "(variance - mean) / squared mean"
    shape_range: ClassVar[tuple[float, float] | None] = (1e-6, 1e3)
    alpha: float = 1.0

    def at(self, noise: Array, shape: float) -> Self:
        """With another dispersion."""
        del noise
        return dataclasses.replace(self, alpha=shape)

    def for_fit(self, *, posterior: bool, noise_asked: bool) -> Self:
        """The same for posteriors and modes."""
        del posterior, noise_asked
        return self

    def check_target(self, y: Array) -> None:
        """Whole numbers."""
        super().check_target(y)
        allowed = (
            "counts are whole numbers. For rates with weights use family='poisson', for positive "
            "amounts family='gamma'."
        )
        refuse(y, y != np.floor(y), allowed)

    def log_likelihood(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> float:
        """The expectation by quadrature; exact where eta is certain."""
        return self.evaluate(y, mean, variance, weights, noise)[0]

    def score(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """y - (y + r) E[p], p = mu / (mu + r); (y - mu) r / (r + mu) where eta is certain."""
        return self.evaluate(y, mean, variance, weights, CERTAIN)[1]

    def curvature(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """(y + r) E[p (1 - p)]."""
        return self.evaluate(y, mean, variance, weights, CERTAIN)[2]

    def evaluate(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> tuple[float, Array, Array]:
        """A binomial of y + r trials."""
        del noise
        r = 1.0 / self.alpha
        trials = y + r
        logit, nodes = mean - np.log(r), (FIT_NODES, FIT_WEIGHTS)
        value, *rows = expect_logistic(y / trials, logit, variance, weights * trials, nodes)
        constant = np.sum(weights * (log_rising(y, r) - gammaln(y + 1.0)))
        return float(value + constant), rows[0], rows[1]

    def effective_rows(self, y: Array, weights: Array, offset: Array) -> float:
        """The reference times the information about a constant, mu / (1 + alpha mu) a row."""
        null = np.exp(offset + self.center(y, weights, offset))
        alpha = self.shape_start(y, weights, offset)
        told = float(np.sum(weights * null / (1.0 + alpha * null)))
        return self.reference(y, weights, offset) * max(told, 0.5)

    def shape_start(self, y: Array, weights: Array, offset: Array) -> float:
        """The dispersion if nothing is explained, by moments."""
        null = np.exp(offset + self.center(y, weights, offset))
        excess = float(np.sum(weights * ((y - null) ** 2 - null)))
        return float(np.clip(excess / np.sum(weights * null**2), LEAST_START, MOST_START))

    def loss(self, y: Array, eta: Array) -> Array:
        """(y + r) log(1 + alpha exp(eta)) - y eta."""
        return np.asarray(
            (y + 1.0 / self.alpha) * np.logaddexp(0.0, eta + np.log(self.alpha)) - y * eta
        )

    def draw(self, eta: Array, noise: float, rng: np.random.Generator) -> Array:
        """Counts of dispersion `noise`."""
        rates = np.exp(eta) * rng.standard_gamma(1.0 / noise, eta.shape) * noise
        return np.asarray(rng.poisson(np.minimum(rates, LARGEST)), dtype=np.float64)

    def predictive(self, mean: Array, variance: Array, noise: Array) -> Distribution:
        """Negative binomial: an uncertain rate and scatter about it together."""
        del noise
        expected, spread = uncertain_rate(mean, variance)
        expected = np.minimum(expected, LARGEST)
        excess = expected * (self.alpha + spread + self.alpha * spread)
        return Counts(expected, 1.0 + np.minimum(excess, MOST_EXCESS))
