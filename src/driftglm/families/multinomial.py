"""One class of a softmax: a Poisson family, given every row's log-rate.

    log p(y | eta) = sum_k y_k eta_k - log sum_k exp(eta_k)

separates into one Poisson regression per class once every row has a free log-rate in its offset
(`driftglm.solvers.coupling.Softmax`). Where eta is uncertain, Jensen's bound, E[log sum exp] at
most log sum E[exp], would count p for the information p (1 - p) that there is. The tilted bound
(Knowles and Minka 2011)

    E[log sum_k exp(eta_k)] <= sum_k a_k^2 v_k / 2 + log sum_k exp(m_k + (1 - 2 a_k) v_k / 2)

holds for any a_k and has the right information at a_k = p_k; a = 0 is Jensen's. The sizes against
which coefficients are measured are those of logits, the same for every class, so that the classes
can share what they learn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from driftglm._typing import FloatArray
from driftglm.families.binomial import REFERENCE
from driftglm.families.poisson import MOST, Poisson

LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class SoftmaxClass(Poisson):
    """Whether a row belongs to one of `n_classes` classes.

    `tilt` holds a, one number a row or one for all; whoever couples the classes changes it.
    """

    n_classes: int = 2
    tilt: FloatArray = field(default_factory=lambda: np.zeros(1))

    def _rate(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        return np.asarray(np.exp(np.minimum(mean + (0.5 - self.tilt) * variance, MOST)))

    def log_likelihood(
        self,
        y: FloatArray,
        mean: FloatArray,
        variance: FloatArray,
        weights: FloatArray,
        noise: float,
    ) -> float:
        """The class's part of the tilted bound."""
        del noise
        rows = y * mean - self._rate(mean, variance) - 0.5 * self.tilt**2 * variance
        return float(np.sum(weights * rows))

    def score(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Weighted residual."""
        return np.asarray(weights * (y - self._rate(mean, variance)))

    def curvature(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """a^2 + (1 - 2 a) M, which is p (1 - p) at a = M = p."""
        del y
        bend = self.tilt**2 + (1.0 - 2.0 * self.tilt) * self._rate(mean, variance)
        return np.asarray(weights * np.maximum(bend, LEAST))

    def reference(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """A constant: logits have a natural size."""
        del y, weights, offset
        return REFERENCE

    def effective_rows(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """4 p (1 - p) of the rows, were the classes equally common."""
        del y, offset
        share = 1.0 / self.n_classes
        return REFERENCE * float(weights.sum()) * share * (1.0 - share)


def softmax_draws(mean: FloatArray, variance: FloatArray, draws: FloatArray) -> FloatArray:
    """(n_draws, n_rows, K) probabilities at eta = mean + deviation * draw, draws (n_draws, K)."""
    eta = mean + np.sqrt(variance) * draws[:, None, :]
    eta -= eta.max(axis=2, keepdims=True)
    p = np.exp(eta)
    return np.asarray(p / p.sum(axis=2, keepdims=True))
