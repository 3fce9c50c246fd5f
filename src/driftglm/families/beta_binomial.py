"""Beta-binomial with logit link: k successes of n trials whose probability varies from row to row.

The probability of a row is beta distributed with mean p = 1 / (1 + exp(-eta)) and precision
s = 1 / rho - 1. The intra-class correlation rho, between 0 and 1, is the shape of this family: the
correlation of two trials of a row. At 0 the successes are binomial, and

    Var(k) = n p (1 - p) (1 + (n - 1) rho).

With a = s p and b = s (1 - p)

    log p(k | eta) = log C(n, k) - R(s, n) + R(a, k) + R(b, n - k),

where R(a, k) is the logarithm of Gamma(a + k) / Gamma(a).

The expectation over a normal eta is taken by Gauss-Hermite quadrature, score and curvature being
the derivatives of this very sum. log p is not concave everywhere. Where uncertainty about eta would
be a gain, F is log p at the mean, a lower bound of the expectation, so that the curvature is never
negative: a sum of curvatures with both signs might be. Steps of solvers are checked.

y has two columns, successes and failures.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from scipy.special import expit, gammaln, xlogy

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray
from driftglm.exceptions import DataError
from driftglm.families._logistic import (
    FIT_NODES,
    FIT_WEIGHTS,
    NARROW,
    NODE_WEIGHTS,
    NODES,
    Nodes,
    expected_information,
    expected_share,
)
from driftglm.families._special import log_rising
from driftglm.families.base import CERTAIN, Array, Family, refuse
from driftglm.families.binomial import REFERENCE, reference_information
from driftglm.predictive import BetaBinomial as Successes
from driftglm.predictive import Distribution

LEAST_CURVATURE = 1e-12
LARGE = 10.0
"""From here on asymptotic series are exact."""
MOST_ETA = 300.0
MOST_TRIALS = 1e6
"""What a forecast takes."""
LEAST_START, MOST_START, NO_START = 1e-3, 0.9, 0.1
SURE = 1e-12
COLUMNS = 2
N_DRAWN = 10


@kernel
def _rise(a: float, k: float) -> tuple[float, float, float]:
    """log Gamma(a + k) / Gamma(a) and its first two derivatives in a, without cancellation."""
    value = slope = bend = 0.0
    x, end = a, a + k
    while x < LARGE and x < end - 0.5:
        value += np.log(x)
        slope += 1.0 / x
        bend -= 1.0 / (x * x)
        x += 1.0
    gap = end - x
    if gap < 0.5:  # noqa: PLR2004 (it is a whole number, up to rounding)
        return value, slope, bend
    i, j = 1.0 / x, 1.0 / end
    ii, jj = i * i, j * j
    ratio = np.log1p(gap / x)
    value += (end - 0.5) * ratio + gap * (np.log(x) - 1.0)
    value += j * (1 / 12 - jj * (1 / 360 - jj * (1 / 1260 - jj / 1680)))
    value -= i * (1 / 12 - ii * (1 / 360 - ii * (1 / 1260 - ii / 1680)))
    slope += ratio + 0.5 * (i - j) + ii * (1 / 12 - ii * (1 / 120 - ii * (1 / 252 - ii / 240)))
    slope -= jj * (1 / 12 - jj * (1 / 120 - jj * (1 / 252 - jj / 240)))
    bend += (j - i) + 0.5 * (jj - ii)
    bend += j * jj * (1 / 6 - jj * (1 / 30 - jj * (1 / 42 - jj / 30)))
    bend -= i * ii * (1 / 6 - ii * (1 / 30 - ii * (1 / 42 - ii / 30)))
    return value, slope, bend


@kernel
def row_terms(hits: float, misses: float, eta: float, s: float) -> tuple[float, float, float]:
    """What depends on eta in log p, and its first two derivatives."""
    eta = min(max(eta, -MOST_ETA), MOST_ETA)
    tail = np.exp(-abs(eta))
    small, large = tail / (1.0 + tail), 1.0 / (1.0 + tail)
    p, q = (large, small) if eta > 0.0 else (small, large)
    a, b = _rise(s * p, hits), _rise(s * q, misses)
    scale, slope = s * p * q, a[1] - b[1]
    return a[0] + b[0], scale * slope, scale * ((q - p) * slope + scale * (a[2] + b[2]))


@kernel
def _expect(
    y: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    weights: FloatArray,
    s: float,
    quadrature: Nodes,
) -> tuple[float, FloatArray, FloatArray]:
    """Sum of what depends on eta in E[log p], and its derivatives row by row."""
    nodes, node_weights = quadrature
    score, curvature = np.empty(y.shape[0]), np.empty(y.shape[0])
    total = 0.0
    for n in range(y.shape[0]):
        v = variance[n % variance.shape[0]]
        deviation = np.sqrt(v)
        value, slope, bend = certain = row_terms(y[n, 0], y[n, 1], mean[n], s)
        if v > 0.0:
            value = slope = bend = 0.0
            for k in range(nodes.shape[0]):
                f = row_terms(y[n, 0], y[n, 1], mean[n] + nodes[k] * deviation, s)
                value += node_weights[k] * f[0]
                slope += node_weights[k] * f[1]
                # Both are E[f''], the one exact for the sum, the other where it would cancel.
                second = f[2] if v < NARROW else nodes[k] * f[1] / deviation
                bend += node_weights[k] * second
            if value > certain[0]:
                value, slope, bend = certain[0], certain[1], 0.0
        total += weights[n] * value
        score[n] = weights[n] * slope
        curvature[n] = weights[n] * max(-bend, LEAST_CURVATURE)
    return total, score, curvature


@dataclass(frozen=True, eq=False)
class BetaBinomial(Family):
    """Successes out of trials that scatter more than binomial ones.

    `rho` is the intra-class correlation. `trials` are those of rows to be predicted; those of
    training are in y.
    """

    name: ClassVar[str] = "beta-binomial"
    link: ClassVar[str] = "logit"
    takes_trials: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    noise_label: ClassVar[str | None] = "dispersion"
    noise_meaning: ClassVar[str] = "correlation of two trials of a row"
    metric: ClassVar[str] = "binomial"
    metric_label: ClassVar[str] = "mean binomial deviance"
    has_noise: ClassVar[bool] = False
    bounded: ClassVar[bool] = False
    shape_range: ClassVar[tuple[float, float] | None] = (1e-6, 0.99)
    rho: float = 0.1
    trials: Array = field(default_factory=lambda: np.ones(1))

    def at(self, noise: Array, shape: float) -> Self:
        """With another correlation."""
        del noise
        return dataclasses.replace(self, rho=shape)

    # ------------------------------------------------------------- y of two columns

    def read_target(self, y: Array, trials: Array | None) -> Array:
        """Successes and failures, from two columns or from successes and trials."""
        if y.ndim == COLUMNS and trials is None and y.shape[1] == COLUMNS:
            return y
        if y.ndim > 1:
            raise DataError(
                f"y has shape {y.shape}{'' if trials is None else ' and trials are given'}; pass "
                "two columns, successes and failures, or successes alone and trials=."
            )
        if trials is None:
            refuse(
                y,
                ~np.isin(y, (0, 1)),
                "without trials= a row is one trial, and y is 0 or 1. Pass the number of trials "
                "(trials=), or y of two columns, successes and failures; for counts without an "
                "upper end use family='poisson' or 'negative-binomial'.",
            )
            trials = np.ones(y.shape)
        refuse(y, y > trials, "there are more successes than trials.")
        return np.column_stack([y, trials - y])

    def check_target(self, y: Array) -> None:
        """Whole numbers, none negative."""
        whole = "successes and trials are whole numbers"
        cure = "For shares without a number of trials use family='gaussian' of their logits."
        for column in self.read_target(y, None).T:
            refuse(column, ~((column >= 0) & (column <= MOST_TRIALS)), f"{whole} from 0 to 1e6.")
            refuse(column, column != np.floor(column), f"{whole}. {cure}")

    def empty(self, y: Array) -> BoolArray:
        """Rows without a trial."""
        return np.asarray(y.sum(axis=1) == 0)

    def observed(self, y: Array) -> Array:
        """Successes."""
        return np.asarray(y[:, 0])

    def for_rows(self, y: Array) -> Self:
        """With the trials of rows whose y is known."""
        return self.with_trials(y.sum(axis=1))

    def with_trials(self, trials: Array) -> Self:
        """With the trials of rows to be predicted."""
        return dataclasses.replace(self, trials=trials)

    def average(self, y: Array, weights: Array) -> float:
        """The share of successes."""
        hits, all_trials = weights @ y[:, 0], weights @ y.sum(axis=1)
        return float(hits / all_trials)

    # ------------------------------------------------------------------ for solvers

    def log_likelihood(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> float:
        """The expectation by quadrature; exact where eta is certain."""
        return self.evaluate(y, mean, variance, weights, noise)[0]

    def score(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Derivative of the sum with respect to the mean."""
        return self.evaluate(y, mean, variance, weights, CERTAIN)[1]

    def curvature(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """-2 times that with respect to the variance, where it is positive."""
        return self.evaluate(y, mean, variance, weights, CERTAIN)[2]

    def evaluate(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> tuple[float, Array, Array]:
        """All at once."""
        del noise
        s, n = 1.0 / self.rho - 1.0, y.sum(axis=1)
        found = _expect(y, mean, variance, weights, s, (FIT_NODES, FIT_WEIGHTS))
        ways = gammaln(n + 1.0) - gammaln(y + 1.0).sum(axis=1)
        return float(found[0] + np.sum(weights * (ways - log_rising(n, s)))), *found[1:]

    def expected_deviance(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Twice the expected loss."""
        deviation = np.sqrt(variance)
        parts = zip(NODES, NODE_WEIGHTS, strict=True)
        losses = sum(weight * self.loss(y, mean + node * deviation) for node, weight in parts)
        return np.asarray(2.0 * weights * losses)

    def center(self, y: Array, weights: Array, offset: Array) -> float:
        """The logit of the share, half a success and half a failure added."""
        del offset
        hits, misses = weights @ y
        return float(np.log((hits + 0.5) / (misses + 0.5)))

    def reference(self, y: Array, weights: Array, offset: Array) -> float:
        """A constant: logits have a natural size."""
        del y, weights, offset
        return REFERENCE

    def effective_rows(self, y: Array, weights: Array, offset: Array) -> float:
        """As of a binomial of n / (1 + (n - 1) rho) trials a row."""
        n = y.sum(axis=1)
        rho = self.shape_start(y, weights, offset)
        told = float(np.sum(weights * n / (1.0 + np.maximum(n - 1.0, 0.0) * rho)))
        return REFERENCE * told * reference_information(self.center(y, weights, offset))

    def shape_start(self, y: Array, weights: Array, offset: Array) -> float:
        """The correlation if nothing is explained, by moments."""
        n, p = y.sum(axis=1), float(expit(self.center(y, weights, offset)))
        several = n > 1
        pairs = float(np.sum((weights * (n - 1.0))[several]))
        if pairs == 0.0:
            return NO_START
        squares = (y[several, 0] - n[several] * p) ** 2 / (n[several] * p * (1.0 - p))
        excess = float(np.sum(weights[several] * (squares - 1.0)))
        return float(np.clip(excess / pairs, LEAST_START, MOST_START))

    # ------------------------------------------------------------------- for people

    def mean(self, eta: Array, variance: Array) -> Array:
        """E[p], the expected share of successes."""
        return expected_share(eta, variance)

    def loss(self, y: Array, eta: Array) -> Array:
        """That of binomial trials: minus log p at no correlation."""
        return np.asarray(y.sum(axis=1) * np.logaddexp(0.0, eta) - y[:, 0] * eta)

    def loss_derivatives(self, y: Array, eta: Array) -> tuple[Array, Array]:
        """n p - k and n p (1 - p)."""
        n, p = y.sum(axis=1), expit(eta)
        return np.asarray(n * p - y[:, 0]), np.asarray(n * p * expit(-eta))

    def prediction_loss(self, y: Array, mean: Array) -> Array:
        """Binomial deviance of a predicted share; infinite where it is impossible."""
        n = y.sum(axis=1)
        with np.errstate(divide="ignore"):
            shares = zip(y.T, (mean, 1.0 - mean), strict=True)
            parts = [xlogy(k, k / np.maximum(n, 1.0)) - xlogy(k, share) for k, share in shares]
        return np.asarray(np.maximum(2.0 * np.sum(parts, axis=0), 0.0))

    def draw(self, eta: Array, noise: float, rng: np.random.Generator) -> Array:
        """Successes and failures of ten trials, their correlation being `noise`."""
        s, p = 1.0 / noise - 1.0, np.clip(expit(eta), SURE, 1.0 - SURE)
        hits = rng.binomial(N_DRAWN, rng.beta(s * p, s * (1.0 - p)))
        return np.column_stack([hits, N_DRAWN - hits]).astype(np.float64)

    def predictive(self, mean: Array, variance: Array, noise: Array) -> Distribution:
        """Beta-binomial: mean and variance of the share are those of uncertain eta and scatter."""
        del noise
        share = expected_share(mean, variance)
        inside = np.maximum(share * expected_share(-mean, variance), np.finfo(np.float64).tiny)
        # What the variance of a share is short of that of a single trial.
        left = (1.0 - self.rho) * expected_information(mean, variance) / inside
        left = np.clip(left, SURE, 1.0 - SURE)
        trials = np.broadcast_to(self.trials, share.shape)
        return Successes(trials, share, left / (1.0 - left))
