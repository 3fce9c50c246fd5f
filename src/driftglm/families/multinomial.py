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

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import norm, qmc

from driftglm.families._special import MOST
from driftglm.families.base import Array, Target, refuse
from driftglm.families.binomial import REFERENCE, SMALLEST
from driftglm.families.poisson import Poisson
from driftglm.predictive import Categorical, Distribution

LEAST = 1e-12
N_DRAWS = 256
CHUNK = 2_000_000


@dataclass(frozen=True, eq=False)
class SoftmaxClass(Poisson):
    """Whether a row belongs to one of `n_classes` classes.

    `tilt` holds a, one number a row or one for all; whoever couples the classes changes it.
    """

    name: ClassVar[str] = "multinomial"
    target: ClassVar[Target] = "classes"
    link: ClassVar[str] = "softmax"
    takes_exposure: ClassVar[bool] = False
    positive: ClassVar[bool] = False
    noise_label: ClassVar[str | None] = None
    metric: ClassVar[str] = "log_loss"
    metric_label: ClassVar[str] = "log loss"
    coupled: ClassVar[bool] = True
    two_classes: ClassVar[str | None] = "binomial"
    n_classes: int = 2
    tilt: Array = field(default_factory=lambda: np.zeros(1))

    def for_fit(self, *, posterior: bool, noise_asked: bool) -> Self:
        """The same for both; only a posterior is tilted, by whoever couples the classes."""
        del posterior, noise_asked
        return self

    def check_target(self, y: Array) -> None:
        """Whether a row is of this class, or how much of it."""
        refuse(y, ~((y >= 0) & (y <= 1)), "a share must lie between 0 and 1.")

    def _rate(self, mean: Array, variance: Array) -> Array:
        return np.asarray(np.exp(np.minimum(mean + (0.5 - self.tilt) * variance, MOST)))

    def log_likelihood(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> float:
        """The class's part of the tilted bound."""
        del noise
        rows = y * mean - self._rate(mean, variance) - 0.5 * self.tilt**2 * variance
        return float(np.sum(weights * rows))

    def curvature(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """a^2 + (1 - 2 a) M, which is p (1 - p) at a = M = p."""
        del y
        bend = self.tilt**2 + (1.0 - 2.0 * self.tilt) * self._rate(mean, variance)
        return np.asarray(weights * np.maximum(bend, LEAST))

    def reference(self, y: Array, weights: Array, offset: Array) -> float:
        """A constant: logits have a natural size."""
        del y, weights, offset
        return REFERENCE

    def effective_rows(self, y: Array, weights: Array, offset: Array) -> float:
        """4 p (1 - p) of the rows, were the classes equally common."""
        del y, offset
        share = 1.0 / self.n_classes
        return REFERENCE * float(weights.sum()) * share * (1.0 - share)

    # ------------------------------------------------- of all classes together

    def for_classes(self, n_classes: int) -> Self:
        """With so many classes."""
        return dataclasses.replace(self, n_classes=n_classes)

    def tilted(self, tilt: Array) -> Self:
        """With another tilt."""
        return dataclasses.replace(self, tilt=tilt)

    def responses(self, y: Array) -> list[Array]:
        """For every class whether a row belongs to it."""
        return [(y == k).astype(np.float64) for k in range(self.n_classes)]

    def loss(self, y: Array, eta: Array) -> Array:
        """Minus the log-probability of every row's class, eta (n_rows, K)."""
        chosen = eta[np.arange(y.size), y.astype(np.int64)]
        return np.asarray(logsumexp(eta, axis=1) - chosen)

    def prediction_loss(self, y: Array, mean: Array) -> Array:
        """Minus the log of the probability given to what happened, mean (n_rows, K)."""
        chosen = mean[np.arange(y.size), y.astype(np.int64)]
        return np.asarray(-np.log(np.clip(chosen, SMALLEST, 1.0)))

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """(n_rows, K) E[softmax(eta)]."""
        out = np.empty_like(mean)
        for rows, draws in _draws(mean, variance):
            out[rows] = draws.mean(axis=0)
        return np.asarray(out / out.sum(axis=1, keepdims=True))

    def predictive(self, mean: Array, variance: Array, noise: Array) -> Distribution:
        """One of the classes."""
        del noise
        return Categorical(self.probabilities(mean, variance))

    def probability_interval(self, mean: Array, variance: Array, level: float) -> Array:
        """(n_rows, K, 2) of every class's probability."""
        out = np.empty((*mean.shape, 2))
        tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
        for rows, draws in _draws(mean, variance):
            out[rows] = np.moveaxis(np.quantile(draws, tails, axis=0), 0, -1)
        return out

    def draw(self, eta: Array, noise: float, rng: np.random.Generator) -> Array:
        """Classes 0, 1, ... at a known eta (n_rows, K)."""
        del noise
        # The largest of eta plus Gumbel noise has the softmax's distribution.
        return np.asarray(np.argmax(eta + rng.gumbel(size=eta.shape), axis=1), dtype=np.float64)


def _draws(mean: Array, variance: Array) -> Iterator[tuple[slice, Array]]:
    """Chunks of rows with draws of their probabilities, the same draws for every row."""
    n_classes = mean.shape[1]
    n_draws = N_DRAWS if variance.any() else 1
    normal = norm.ppf(qmc.Sobol(n_classes, scramble=True, rng=0).random(n_draws))
    size = max(1, CHUNK // (n_draws * n_classes))
    for start in range(0, mean.shape[0], size):
        rows = slice(start, start + size)
        yield rows, softmax_draws(mean[rows], variance[rows], normal)


def softmax_draws(mean: Array, variance: Array, draws: Array) -> Array:
    """(n_draws, n_rows, K) probabilities at eta = mean + deviation * draw, draws (n_draws, K)."""
    return np.asarray(softmax(mean + np.sqrt(variance) * draws[:, None, :], axis=2))
