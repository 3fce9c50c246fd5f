"""The noise variance (or dispersion) of a fit: given, one for all steps, or moving.

A noise that moves has log s2_t = flat part + AR(1) deviations, averaged over what variance and
autocorrelation of the deviations may be; one component is "does not move". Every component has a
normal posterior of its own (see `priors.log_variance`). All else in a fit sees the number
1 / E[1 / s2_t], which stands for s2_t in the likelihood; what that leaves out, the prior and the
divergence from it, is `Noise.path_value`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.special import xlogy

from driftglm._typing import FloatArray, IntArray
from driftglm.priors.log_variance import ahead_inplace, expected_value, update_inplace

VARIANCES = 10.0 ** np.linspace(-2.5, 1.0, 8)
CORRELATIONS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99)
CONSTANT = 0.25
"""Prior probability that the noise does not move."""
LEAST_SHARE = 1e-4
"""Every row has this much noise beside what is estimated, in units of the reference. Rows fitted
exactly would drive the estimate to zero otherwise."""
RARE = 1e-4
"""Components less probable than this do not show in a forecast."""


@lru_cache(maxsize=8)
def noise_components(n_timesteps: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Variance and autocorrelation of the deviations, and the log prior, of every component."""
    moving = [(v, rho) for rho, v in product(CORRELATIONS, VARIANCES) if n_timesteps > 1]
    dynamic, rho = np.array([(0.0, 0.0), *moving]).T
    weights = np.full(dynamic.size, (1.0 - CONSTANT) / max(len(moving), 1))
    weights[0] = CONSTANT if moving else 1.0
    return dynamic.copy(), rho.copy(), np.log(weights)


@dataclass
class NoisePath:
    """Posterior of the logarithm of a noise variance that moves.

    Parameters
    ----------
    mean, variance
        (K, T) of the normal distribution under every component.
    h, b
        (K, T) curvature and linear term of the likelihood that gave it.
    divergence
        (K,) from the prior.
    phi
        (K,) probabilities of the components.
    flat
        Whether it is kept from moving: all but the first component have no posterior yet.
    """

    mean: FloatArray
    variance: FloatArray
    h: FloatArray
    b: FloatArray
    divergence: FloatArray
    phi: FloatArray
    flat: bool = False

    @classmethod
    def at(cls, log_noise: FloatArray, *, flat: bool) -> NoisePath:
        """Components at given means, without a posterior."""
        count = noise_components(log_noise.size)[0].size
        mean, nothing = np.tile(log_noise, (count, 1)), np.zeros((count, log_noise.size))
        parts = mean, nothing, nothing.copy(), nothing.copy()
        return cls(*parts, np.full(count, np.inf), np.eye(count)[0], flat)

    @property
    def used(self) -> IntArray:
        """Components that have a probability."""
        return np.flatnonzero(self.phi)

    @property
    def effective(self) -> FloatArray:
        """(T,) 1 / E[1 / s2]."""
        k = self.used
        inverse = np.exp(0.5 * self.variance[k] - self.mean[k])
        return np.asarray(1.0 / np.einsum("k,kt->t", self.phi[k], inverse))

    @property
    def expected_log(self) -> FloatArray:
        """(T,) E[log s2]."""
        return np.asarray(np.einsum("k,kt->t", self.phi, self.mean))

    def at_step(self, t: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Probability, mean and variance of every component that matters, at a step."""
        k = np.flatnonzero(self.phi > RARE)
        return self.phi[k] / self.phi[k].sum(), self.mean[k, t], self.variance[k, t]

    def ahead(self, n_steps: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same `n_steps` after the last."""
        k = np.flatnonzero(self.phi > RARE)
        dynamic, rho, _ = noise_components(self.mean.shape[1])
        nothing = np.zeros((k.size, n_steps))
        h, b = (np.concatenate([each[k], nothing], axis=1) for each in (self.h, self.b))
        moments = np.empty((k.size, 2))
        ahead_inplace(h, b, dynamic[k], rho[k], moments)
        return self.phi[k] / self.phi[k].sum(), moments[:, 0], moments[:, 1]

    def value(self, deviance: FloatArray, n_rows: FloatArray) -> float:
        """The bound, as far as it depends on this path."""
        log_weights, phi = noise_components(self.mean.shape[1])[2], self.phi
        squares, k = (deviance, n_rows), self.used
        values = [expected_value(squares, self.mean[j], self.variance[j]) for j in k]
        inner = np.array(values) - self.divergence[k] + log_weights[k]
        return float(phi[k] @ inner - np.sum(xlogy(phi[k], phi[k])))

    def moved(self, deviance: FloatArray, n_rows: FloatArray) -> NoisePath:
        """A path of no lower bound."""
        dynamic, rho, log_weights = noise_components(self.mean.shape[1])
        paths = self.mean.copy(), self.variance.copy(), self.h.copy(), self.b.copy()
        new = NoisePath(*paths, self.divergence.copy(), self.phi, self.flat)
        bounds = np.empty(1 if self.flat else dynamic.size)
        update_inplace((deviance, n_rows), dynamic, rho, (*paths, new.divergence), bounds)
        phi = np.zeros(dynamic.size)
        log_phi = bounds + log_weights[: bounds.size]
        # Bounds of many rows are large numbers: their differences first.
        phi[: bounds.size] = np.exp(log_phi - log_phi.max())
        return replace(new, phi=phi / phi.sum())


@dataclass(frozen=True)
class Noise:
    """The noise variance: given, or estimated with a weak scaled-inverse-chi-squared prior.

    Without the prior and the floor, joint estimation runs to noise variance 0 as soon as there are
    as many features as rows per step.

    Parameters
    ----------
    given
        The value, if the user knows it; None: it is estimated.
    reference
        Where estimation starts, and the scale of the prior: var(y), or a dispersion of 1.
    degrees
        Degrees of freedom of the prior: the rows it is worth.
    least
        The floor where the family has a natural one; None: a small share of the reference.
    drifts
        Whether every step has its own.
    """

    given: float | None
    reference: float
    degrees: float = 1.0
    least: float | None = None
    drifts: bool = False

    @property
    def floor(self) -> float:
        """The least value an estimate may take, if it is the same for all steps."""
        return 1e-3 * self.reference if self.least is None else self.least

    @property
    def start(self) -> float:
        """Where estimation starts: at var(y), from above; from below it would be trapped."""
        return self.reference if self.given is None else self.given

    def start_path(self, n_rows: FloatArray, noise: FloatArray | None = None) -> NoisePath | None:
        """Where a noise that moves starts: at one for all steps, or at those of an earlier fit."""
        if not self.drifts:
            return None
        flat = noise is None
        start = np.full(n_rows.size, self.start) if noise is None else noise
        return self.moved(NoisePath.at(np.log(start), flat=flat), n_rows * start, n_rows)

    def log_prior(self, noise: FloatArray) -> float:
        """Log density up to a constant; 0 when the value is given, or moves."""
        if self.given is not None or self.drifts:
            return 0.0
        one = float(noise[0])  # the same at every step
        chi = self.degrees * self.reference / (2 * one)
        return -(self.degrees / 2 + 1) * float(np.log(one)) - chi

    def update(self, deviance: FloatArray, n_rows: FloatArray) -> FloatArray:
        """(T,) the maximiser given the expected deviance and the rows of every step."""
        if self.given is not None:
            return np.full(n_rows.size, self.given)
        total = float(deviance.sum()) + self.degrees * self.reference
        best = total / (float(n_rows.sum()) + self.degrees + 2)
        return np.full(n_rows.size, max(best, self.floor))

    def prior_deviance(self, n_rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(T,) squares and rows that the prior of a noise that moves adds to those of the data."""
        total = float(n_rows.sum())
        share = self.degrees * n_rows / total
        return self.reference * (share + LEAST_SHARE * n_rows), share

    def path_value(self, path: NoisePath | None, n_rows: FloatArray) -> float:
        """What a noise that moves adds to the bound, beside the likelihood at `effective`."""
        if path is None:
            return 0.0
        unknown = 0.5 * float(np.sum(n_rows * (path.expected_log - np.log(path.effective))))
        return path.value(*self.prior_deviance(n_rows)) - unknown

    def moved(self, path: NoisePath, deviance: FloatArray, n_rows: FloatArray) -> NoisePath:
        """A path of no lower bound, given the expected deviance and the rows of every step."""
        more = self.prior_deviance(n_rows)
        return path.moved(deviance + more[0], n_rows + more[1])
