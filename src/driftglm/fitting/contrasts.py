"""Linear functions of coefficients over features and steps, and what they may be.

The posterior of a path is a mixture over components. Given component k it is Normal(V_k b, V_k),
and a'beta has mean (V_k a)'b and variance a'V_k a. V_k a is the posterior mean that a linear term
`a` would have: the kernels of a fit give it in O(T), and no matrix is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.fitting.coefficients import Step
from driftglm.fitting.fits import PosteriorFit
from driftglm.fitting.sampled import SampledFit
from driftglm.predictive import Distribution, Mixture, Normal
from driftglm.priors.mixture import (
    Components,
    Tables,
    with_empty_steps,
)
from driftglm.priors.offset import offset_average_inplace, offset_evidences_inplace
from driftglm.solvers.intercepts import averaged_intercept

BALANCED = 1e-12
"""Weights whose sum is below this share of their sizes cancel, but for rounding."""
LEAST_VARIANCE = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of coefficients: what it is believed to be.

    Parameters
    ----------
    estimate, std
        Posterior mean and standard deviation.
    level, lower, upper
        Probability and ends of the central interval.
    probability_positive, probability_zero
        Probabilities that the sum is above zero, and that it is exactly zero; below zero is the
        rest.
    distribution
        What the sum is if it is not exactly zero; None if it is zero for certain.
    """

    estimate: float
    std: float
    level: float
    lower: float
    upper: float
    probability_positive: float
    probability_zero: float
    distribution: Distribution | None = field(repr=False, compare=False)


@dataclass(frozen=True)
class _Share:
    """One feature's share of a contrast, a mixture: probability, mean and variance (K,) each."""

    phi: FloatArray
    means: FloatArray
    variances: FloatArray

    @property
    def mean(self) -> float:
        return float(self.phi @ self.means)

    @property
    def variance(self) -> float:
        return float(self.phi @ (self.variances + (self.means - self.mean) ** 2))

    @property
    def is_zero(self) -> BoolArray:
        """Components in which the share is exactly zero."""
        return np.asarray((self.variances == 0) & (self.means == 0))

    @property
    def zero(self) -> float:
        """Probability of being exactly zero."""
        return float(min(self.phi[self.is_zero].sum(), 1.0))


@dataclass(frozen=True)
class _Belief:
    """Moments of a contrast, probability of exactly zero, and what it is otherwise."""

    mean: float
    variance: float
    zero: float
    rest: Distribution | None

    def contrast(self, level: float) -> Contrast:
        """As users get it."""
        outside = 0.5 * (1.0 - level)
        lower, upper = self._quantiles(np.array([outside, 1.0 - outside]))
        some = 1.0 - self.zero
        positive = 0.0 if self.rest is None else some * (1.0 - float(self.rest.cdf([0.0])[0]))
        ends = float(lower), float(upper)
        found = self.mean, float(np.sqrt(self.variance)), level, *ends
        return Contrast(*found, positive, self.zero, self.rest)

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        """Smallest values whose probability, of them or less, reaches the levels."""
        if self.rest is None:
            return np.zeros(levels.size)
        some = 1.0 - self.zero
        below = some * float(self.rest.cdf([0.0])[0])
        at_zero = (below <= levels) & (levels <= below + self.zero)
        of_rest = (levels - np.where(levels > below, self.zero, 0.0)) / some
        found = self.rest.quantile(np.where(at_zero, 0.5, of_rest))[0]
        return np.where(at_zero, 0.0, found)


def contrast_of(fit: PosteriorFit, weights: FloatArray, level: float, *, hold: bool) -> Contrast:
    """The contrast of `weights` (T or more steps, p).

    Steps from T on are forecast. With `hold` their weights go to the last step, which gives the
    estimate; the variance is that of the forecast and of the distance between the two, feature by
    feature, as in `Fit.held`.

    One feature: exact. Several, or coefficients that are held: a normal distribution with the exact
    mean and variance, beside the exact probability of zero. Of features judged jointly the errors
    count as correlated within one step; in contrasts of several steps they do not. Of a fit that
    was sampled: draw by draw, `distribution` being normal with the moments of the draws.
    """
    n_steps = fit.n_timesteps
    used = np.flatnonzero(weights.any(axis=0))
    n_all = max(n_steps, 1 + int(np.max(np.flatnonzero(weights.any(axis=1)), initial=-1)))
    by_draws = isinstance(fit, SampledFit) and np.isin(used, fit.kept()).all()
    if isinstance(fit, SampledFit) and by_draws and not (hold and n_all > n_steps):
        return _of_draws(fit, weights[:n_all], level)
    shares = _shares(fit, weights[:n_all], used)
    totals = np.array([0.0 if _balanced(a) else a.sum() for a in weights.T])
    totals = totals[~fit.columns.always_in]
    shared = float(totals @ fit.shared.mean), float(np.sum((totals @ fit.shared.root) ** 2))
    held = hold and n_all > n_steps
    if len(shares) == 1 and not held:
        return _exact(shares[0], shared).contrast(level)
    mean, variance = shared
    mean += sum(share.mean for share in shares)
    variance += sum(share.variance for share in shares)
    if held:
        last = weights[:n_steps].copy()
        last[-1] += weights[n_steps:n_all].sum(axis=0)
        for now, share in zip(_shares(fit, last, used), shares, strict=True):
            distance = now.mean - share.mean
            mean += distance
            variance += distance**2
    together = _variance_in_a_step(fit, weights[:n_all], held=held)
    variance = variance if together is None else together
    zero = 0.0 if shared[1] > 0 else float(np.prod([share.zero for share in shares]))
    return _of_moments(mean, variance, zero).contrast(level)


def _of_draws(fit: SampledFit, weights: FloatArray, level: float) -> Contrast:
    """The contrast of features whose draws are kept, draw by draw."""
    rng = np.random.default_rng(fit.draws.seed)  # the same answer every time
    draws = fit.continued_draws(len(weights) - fit.n_timesteps, rng)
    values = np.einsum("stn,tn->s", draws, weights[:, fit.kept()])
    scale = np.abs(weights).sum() * np.abs(draws).max(initial=0.0)
    zero = np.abs(values) <= BALANCED * scale
    values = np.where(zero, 0.0, values)
    lower, upper = np.quantile(values, [0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    some = values[~zero]
    rest = _normal(float(some.mean()), float(some.var())) if some.size else None
    found = float(values.mean()), float(values.std()), level, float(lower), float(upper)
    return Contrast(*found, float((values > 0).mean()), float(zero.mean()), rest)


def contrast_of_step(step: Step, weights: FloatArray, level: float) -> Contrast:
    """A sum of coefficients of one step, weights (p,): normal, with its exact mean and variance."""
    variance = weights**2 @ step.coef_variance + np.sum((weights @ step.joint) ** 2)
    return _of_moments(float(weights @ step.coef), float(variance), 0.0).contrast(level)


def _variance_in_a_step(fit: PosteriorFit, weights: FloatArray, *, held: bool) -> float | None:
    """Variance of a contrast within one step of a fit that knows correlations, else None."""
    steps = np.flatnonzero(weights.any(axis=1))
    if fit.joint is None or steps.size != 1:
        return None
    code, row = int(steps[0]), weights[steps[0]]
    step = fit.held(code - fit.n_timesteps + 1) if held else fit.at(code)
    return float(row**2 @ step.coef_variance + np.sum((row @ step.joint) ** 2))


def _exact(share: _Share, shared: tuple[float, float]) -> _Belief:
    """The mixture of one feature, and what it has from the shared directions."""
    total = _Share(share.phi, share.means + shared[0], share.variances + shared[1])
    some = ~total.is_zero & (total.phi > 0)
    if not some.any():
        return _Belief(0.0, 0.0, 1.0, None)
    parts = tuple(map(_normal, total.means[some], total.variances[some]))
    phi = total.phi[some] / total.phi[some].sum()
    rest = parts[0] if len(parts) == 1 else Mixture(parts, phi)
    return _Belief(total.mean, total.variance, total.zero, rest)


def _of_moments(mean: float, variance: float, zero: float) -> _Belief:
    """Zero with some probability, else normal, so that mean and variance are those given.

    Coefficients that are held may leave no variance for that; then all of it is normal.
    """
    if variance == 0:
        return _Belief(mean, variance, 1.0, None)
    some = 1.0 - zero
    left = (variance + mean**2) / some - (mean / some) ** 2 if some > 0 else 0.0
    if left <= 0:
        return _Belief(mean, variance, 0.0, _normal(mean, variance))
    return _Belief(mean, variance, zero, _normal(mean / some, left))


def _normal(mean: float, variance: float) -> Normal:
    return Normal(np.array([mean]), np.sqrt([max(variance, LEAST_VARIANCE)]))


def _shares(fit: PosteriorFit, weights: FloatArray, used: IntArray) -> list[_Share]:
    """What each of the features used adds, without its part along the shared directions."""
    always_in, n_more = fit.columns.always_in, len(weights) - fit.n_timesteps
    components, some = fit.components.extended(n_more), fit.intercepts
    tables, shares = components.tables(), []
    for i in used:
        # Paths and intercepts are counted apart, each in the order of the columns.
        j = int(np.count_nonzero(always_in[:i] == always_in[i]))
        if not always_in[i]:
            mixture, phi = (components, tables), fit.phi[j]
            data, unit = with_empty_steps(fit.h[j], fit.b[j], n_more), float(fit.unit[j])
            error = float(fit.offset[j]) if fit.offset.size else 0.0
        else:
            j += int(fit.columns.has_intercept)
            data, unit = with_empty_steps(some.h[j], some.b[j], n_more), 1.0
            path = averaged_intercept(float(some.scale[j]), bool(some.static[j]), len(weights))
            error = float(some.offset[j])
            mixture, phi = (path.components, path.tables), path.posterior(*data, error).phi
        shares.append(_by_component(mixture, phi, (*data, error), weights[:, i] / unit))
    return shares


def _by_component(
    mixture: tuple[Components, Tables],
    phi: FloatArray,
    data: tuple[FloatArray, FloatArray, float],
    weights: FloatArray,
) -> _Share:
    """Moments of weights'beta given every component; `data` are h, b and offset of the path."""
    (components, tables), (h, b, error) = mixture, data
    evidence, parts = np.empty(components.count), np.empty((3, components.count))
    offset_evidences_inplace(h, weights, error, tables, evidence, parts)
    means, variances = np.zeros((2, components.count))
    moments, alone = np.empty((2, h.size)), np.zeros(components.count)
    # Of a path that does not move, weights that cancel leave nothing at all.
    still = components.is_static if _balanced(weights) else components.is_zero
    for k in np.flatnonzero((phi > 0) & ~still):
        alone[k] = 1.0
        offset_average_inplace(h, weights, error, tables, alone, parts, moments)
        alone[k] = 0.0
        means[k], variances[k] = b @ moments[0], max(weights @ moments[0], 0.0)
    return _Share(phi, means, variances)


def _balanced(weights: FloatArray) -> bool:
    """Whether the weights cancel: what does not move has no part in them."""
    return bool(abs(weights.sum()) <= BALANCED * np.abs(weights).sum())
