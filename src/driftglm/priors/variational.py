"""The paper's variational bound, equation by equation, with its errors corrected.

q(lambda) is Gamma(a, b) and q(alpha) a truncated exponential with rate kappa. Profiling b out
leaves E[1/lambda] = T / Q with Q = S + 2 E[alpha] R, and a shape `a` that depends on T alone.
What remains is a function of kappa:

    B(kappa) = lambda part(Q) + (1/2) D(kappa) - tau (E[alpha] + C) - log Z(tau) + H[q(alpha)]

with D = log det A(E[alpha]) for bound="paper" (the paper's B'; Jensen goes the other way, so it
is not a lower bound) and D = E[log det A(alpha)] for bound="elbo" (a true lower bound).
B is stationary where kappa = tau + omega R - (1/2) dD/dE[alpha], omega = T / Q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, polygamma, psi

from driftglm._jit import kernel
from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.priors import truncated_exponential as texp
from driftglm.priors.adaptive import AdaptivePrior
from driftglm.priors.base import PathStats, Penalty, check_paths
from driftglm.priors.chain import ALPHA_BOUND, logdet_pinned, logdet_slope
from driftglm.priors.exact import Exact

N_NODES = 64
N_TRIES = 64
# exp(-40) = 4e-18 of its peak is where a density is cut off.
NEGLIGIBLE = 40.0

Rule = tuple[FloatArray, FloatArray]
"""Nodes and weights of a quadrature."""
Setting = tuple[tuple[int, int], float, bool, Rule]
"""(T, number of tied paths), tau, whether the bound is the true one, and a quadrature."""


@lru_cache(maxsize=256)
def gamma_shape(n: int) -> float:
    """The Gamma shape `a` that maximises the bound for n = T (m T for m tied paths).

    The root of 1 + n / (2 (a - 1)) = (n/2 + a) trigamma(a): no data in it.
    """

    def slope(log_excess: float) -> float:
        a = 1.0 + np.exp(log_excess)
        return float(1.0 + n / (2.0 * (a - 1.0)) - (n / 2.0 + a) * polygamma(1, a))

    return 1.0 + float(np.exp(brentq(slope, -5.0, np.log(n + 10.0), xtol=1e-14, rtol=1e-14)))


@lru_cache(maxsize=256)
def _lambda_constant(n: int) -> float:
    """The lambda part of the bound apart from -(n/2) log Q, Gamma entropy included."""
    a = gamma_shape(n)
    free = -(n / 2 + a) * psi(a) + n / 2 * np.log((a - 1) * n) - n / 2 + a + gammaln(a)
    return float(free - n / 2 * np.log(2 * np.pi))


@lru_cache(maxsize=1)
def _legendre() -> Rule:
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    return nodes, weights


@kernel
def _s_of(alpha: float) -> float:
    """s with alpha = -1/(2 cosh s), from -C to just below 0."""
    return np.arccosh(max(-0.5 / min(alpha, -1e-300), 1.0))


@kernel
def _mean_logdet(kappa: float, n_timesteps: int, legendre: Rule) -> tuple[float, float]:
    """E[log det A] under q(alpha | kappa) and its derivative with respect to E[alpha].

    The derivative along the family is Cov(alpha, log det A) / Var(alpha).
    """
    nodes, weights = legendre
    # Only 40/|kappa| of the interval carries weight. alpha = -C + w^2 (kappa >= 0) puts nodes
    # close to -C, where log det A is steepest.
    reach = ALPHA_BOUND if abs(kappa) * ALPHA_BOUND < NEGLIGIBLE else NEGLIGIBLE / abs(kappa)
    low = -ALPHA_BOUND if kappa >= 0 else -reach
    # Relative to the density's largest value, so that no exponential overflows.
    peak = low if kappa >= 0 else 0.0
    w = 0.5 * np.sqrt(reach) * (1.0 + nodes)
    alpha = low + w * w
    mass = weights * w * np.exp(-kappa * (alpha - peak))
    mass /= mass.sum()
    logdet = np.empty_like(alpha)
    for k in range(alpha.shape[0]):
        logdet[k] = logdet_pinned(_s_of(alpha[k]), n_timesteps)
    mean_det = (mass * logdet).sum()
    offset = alpha - (mass * alpha).sum()
    slope = (mass * offset * (logdet - mean_det)).sum() / (mass * offset * offset).sum()
    return mean_det, slope


@kernel
def _determinant_part(kappa: float, setting: Setting) -> tuple[float, float]:
    """D(kappa) and dD/dE[alpha] for either bound."""
    (n_timesteps, _), _, elbo, legendre = setting
    if elbo:
        return _mean_logdet(kappa, n_timesteps, legendre)
    alpha = texp.mean(kappa)
    return logdet_pinned(_s_of(alpha), n_timesteps), logdet_slope(alpha, n_timesteps)


@kernel
def _root(low: float, high: float, r: float, setting: Setting) -> float:
    """Bisection for a maximum between `low`, where the bound rises, and `high`, where it falls."""
    for _ in range(200):
        kappa = 0.5 * (low + high)
        if _slope_sign(kappa, r, setting) > 0.0:
            low = kappa
        else:
            high = kappa
        if high - low <= 1e-15 * max(abs(low), abs(high), 1e-3):
            break
    return 0.5 * (low + high)


@kernel
def _slope_sign(kappa: float, r: float, setting: Setting) -> float:
    """Right side minus left side of the fixed point: positive where a larger kappa is better."""
    (n_timesteps, n_tied), tau, _, _ = setting
    omega_r = n_timesteps * n_tied * r / (1.0 + 2.0 * texp.mean(kappa) * r)
    return tau + omega_r - 0.5 * n_tied * _determinant_part(kappa, setting)[1] - kappa


@kernel
def _bound_at(kappa: float, r: float, setting: Setting) -> float:
    """The part of the bound that depends on kappa."""
    (n_timesteps, n_tied), tau, _, _ = setting
    alpha, logdet = texp.mean(kappa), _determinant_part(kappa, setting)[0]
    log_q = np.log(1.0 + 2.0 * alpha * r)
    return 0.5 * n_tied * (logdet - n_timesteps * log_q) - tau * alpha + texp.entropy(kappa)


@kernel
def _profile_kappa(relative: FloatArray, setting: Setting) -> FloatArray:
    """Per path with r = R/S: kappa at the maximum, D(kappa), Q/S.

    For tau >= 0 every case scanned has one maximum. Strongly negative rates can have two, one
    on either side of zero: then both are found and the higher one is taken.
    """
    (n_timesteps, n_tied), tau, _, _ = setting
    count = n_timesteps * n_tied
    out = np.empty((relative.shape[0], 3))
    steepest = logdet_slope(-ALPHA_BOUND, n_timesteps)
    for i in range(relative.shape[0]):
        r = relative[i]
        # omega R is monotone in E[alpha]; the determinant only lowers kappa.
        ends = (count * r, count * r / (1.0 - 2.0 * ALPHA_BOUND * r))
        low = tau + min(ends) - 0.5 * n_tied * steepest
        high = tau + max(ends)
        kappa = _root(low, high, r, setting)
        if tau < 0.0:
            best = _bound_at(kappa, r, setting)
            before, rising = low, True
            for k in range(1, N_TRIES + 1):
                here = low + (high - low) * k / N_TRIES
                rises = _slope_sign(here, r, setting) > 0.0
                if rising and not rises:
                    other = _root(before, here, r, setting)
                    value = _bound_at(other, r, setting)
                    if value > best:
                        kappa, best = other, value
                before, rising = here, rises
        out[i, 0] = kappa
        out[i, 1] = _determinant_part(kappa, setting)[0]
        out[i, 2] = 1.0 + 2.0 * texp.mean(kappa) * r
    return out


@dataclass(frozen=True)
class Variational(AdaptivePrior):
    """The paper's variational approximation of the sparse adaptive prior.

    Parameters
    ----------
    rate
        tau; any real number, or "estimate" (empirical Bayes on the bound).
    bound
        "paper" is the published bound with its errors corrected (log det of the expectation);
        "elbo" is the true lower bound (expectation of the log det).

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.priors import Exact, Variational
    >>> path = np.array([[0.3, 0.4, 0.5, 0.4]])
    >>> bool(Variational(bound="elbo").log_density(path) < Exact().log_density(path))
    True
    """

    bound: Literal["paper", "elbo"] = "paper"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bound not in {"paper", "elbo"}:
            raise DataError(
                f"bound={self.bound!r} is not known; choose 'paper' (as published, corrected) "
                "or 'elbo' (a true lower bound)."
            )

    def evaluate(self, stats: PathStats, n_timesteps: int, n_tied: int = 1) -> Penalty:
        """Log bound and its quadratic minorant at nonzero paths (S > 0)."""
        tau, count = self.tau, n_timesteps * n_tied
        profile = _profile_kappa(stats.R / stats.S, self._setting(n_timesteps, n_tied))
        kappa, logdet = profile[:, 0], profile[:, 1]
        Q = stats.S * profile[:, 2]
        alpha, entropy = _mean_and_entropy(kappa)
        bound = _lambda_constant(count) - 0.5 * count * np.log(Q) + 0.5 * n_tied * logdet
        bound += entropy - tau * (alpha + ALPHA_BOUND) - texp.log_normalizer(tau)
        omega = count / Q
        return Penalty(
            log_density=bound,
            omega=omega,
            omega_alpha=omega * alpha,
            omega_end=np.zeros_like(Q),
            mean_alpha=alpha,
            mean_rho=-2.0 * alpha / (1.0 + np.sqrt(1.0 - 4.0 * alpha**2)),
        )

    def search_nodes(self, n_timesteps: int) -> FloatArray:
        """The exact prior's: a start need not know the bound it is for."""
        return Exact(rate=self.tau).search_nodes(n_timesteps)

    def kappa(self, paths: FloatArray) -> FloatArray:
        """The profiled variational parameter of every nonzero path (for diagnostics)."""
        paths = check_paths(paths)
        stats = PathStats.of(paths)
        nonzero, out = stats.S > 0, np.full(stats.S.size, np.nan)
        relative = stats.R[nonzero] / stats.S[nonzero]
        out[nonzero] = _profile_kappa(relative, self._setting(paths.shape[1], 1))[:, 0]
        return out

    def _setting(self, n_timesteps: int, n_tied: int) -> Setting:
        return (n_timesteps, n_tied), self.tau, self.bound == "elbo", _legendre()


@kernel
def _mean_and_entropy(kappa: FloatArray) -> tuple[FloatArray, FloatArray]:
    means, entropies = np.empty_like(kappa), np.empty_like(kappa)
    for i in range(kappa.shape[0]):
        means[i], entropies[i] = texp.mean(kappa[i]), texp.entropy(kappa[i])
    return means, entropies
