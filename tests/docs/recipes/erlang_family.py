"""Gamma with a known shape a and log link, y > 0: the one new module of the recipe "Add a family".

    log p(y | eta) = a log a - log Gamma(a) + (a - 1) log y - a eta - a y exp(-eta).

With eta ~ Normal(mean, variance), E[exp(-eta)] = exp(-mean + variance / 2), so

    F = constant - a mean - a y E,   E = exp(-mean + variance / 2),

with score a (y E - 1) and curvature a y E.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from driftglm import predictive
from driftglm.families.base import CERTAIN, Family, refuse

SHAPE = 4.0
MOST = 700.0


@dataclass(frozen=True)
class Erlang(Family):
    """Waiting times and amounts: positive numbers whose deviation is proportional to their mean."""

    name: ClassVar[str] = "erlang"
    link: ClassVar[str] = "log"
    takes_exposure: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    metric: ClassVar[str] = "erlang"
    metric_label: ClassVar[str] = "mean Erlang deviance"
    shape: float = SHAPE

    has_noise = False
    bounded = False

    def _inverse(self, mean, variance):
        return np.exp(np.clip(-mean + 0.5 * variance, -MOST, MOST))

    def check_target(self, y):
        refuse(y, y <= 0, "amounts must be positive. Drop zeros.")

    def log_likelihood(self, y, mean, variance, weights, noise):
        del noise
        a = self.shape
        constant = a * np.log(a) - gammaln(a) + (a - 1) * np.log(y)
        rows = constant - a * mean - a * y * self._inverse(mean, variance)
        return float(np.sum(weights * rows))

    def score(self, y, mean, variance, weights):
        return weights * self.shape * (y * self._inverse(mean, variance) - 1.0)

    def curvature(self, y, mean, variance, weights):
        return weights * self.shape * y * self._inverse(mean, variance)

    def expected_deviance(self, y, mean, variance, weights):
        return 2.0 * weights * (y * self._inverse(mean, variance) - 1.0 - np.log(y) + mean)

    def center(self, y, weights, offset):
        return float(np.log(np.average(y * np.exp(-offset), weights=weights)))

    def reference(self, y, weights, offset):
        rates = y * np.exp(-offset)
        mean = np.average(rates, weights=weights)
        variance = np.average((rates - mean) ** 2, weights=weights)
        return max(float(np.log1p(variance / mean**2)), 1e-12)

    def effective_rows(self, y, weights, offset):
        return self.reference(y, weights, offset) * self.shape * float(weights.sum())

    def mean(self, eta, variance):
        return np.exp(np.clip(eta + 0.5 * variance, -MOST, MOST))

    def loss(self, y, eta):
        return self.shape * (eta + y * self._inverse(eta, CERTAIN))

    def prediction_loss(self, y, mean):
        possible = mean > 0
        safe = np.where(possible, mean, 1.0)
        return np.where(possible, 2.0 * (y / safe - 1.0 - np.log(y / safe)), np.inf)

    def draw(self, eta, noise, rng):
        del noise
        return rng.gamma(self.shape, np.exp(eta) / self.shape)

    def predictive(self, mean, variance, noise):
        """Uncertain coefficients and scatter: a gamma distribution with the moments of both."""
        del noise
        # E[y] = exp(m + v / 2) and E[y^2] = (1 + 1 / a) exp(2 m + 2 v).
        relative = (1.0 + 1.0 / self.shape) * np.exp(np.minimum(variance, MOST)) - 1.0
        return predictive.Gamma(self.mean(mean, variance), 1.0 / relative)
