"""One class of a softmax: a Poisson family, given every row's log-rate.

    log p(y | eta) = sum_k y_k eta_k - log sum_k exp(eta_k)

separates into one Poisson regression per class once every row has a free log-rate in its offset
(`driftglm.solvers.coupling.Softmax`). The sizes against which coefficients are measured are those
of logits, the same for every class, so that the classes can share what they learn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray
from driftglm.families.binomial import REFERENCE
from driftglm.families.poisson import Poisson


@dataclass(frozen=True)
class SoftmaxClass(Poisson):
    """Whether a row belongs to one of `n_classes` classes."""

    n_classes: int = 2

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
