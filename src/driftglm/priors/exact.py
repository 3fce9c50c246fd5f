"""The paper's prior with lambda *and* alpha integrated out: what it calls intractable.

lambda integrates in closed form, alpha by one smooth one-dimensional integral per path:

    log m(beta) = -(T/2) log(2 pi) + log Gamma(T/2)
                  + log integral p(alpha | tau) |A(alpha)|^(1/2) (Q(alpha)/2)^(-T/2) d alpha

Q is linear in (S, R, E) (see `priors.base`). m paths tied to one (lambda, alpha) sum their
statistics and turn T into mT and |A|^(1/2) into |A|^(m/2).

The integral runs over v = log s with alpha = -1/(2 cosh s): in v the steep rise at alpha -> -1/2
and the flat tail at alpha -> 0 are both gentle. For short paths one set of nodes serves all. The
integrand of a long path or of thousands of tied ones is far narrower than the interval: there the
nodes are placed, path by path, where the integrand lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from driftglm._jit import kernel
from driftglm._typing import FloatArray
from driftglm.priors import truncated_exponential
from driftglm.priors.adaptive import AdaptivePrior
from driftglm.priors.base import Boundary, PathStats, Penalty, check_boundary
from driftglm.priors.chain import ALPHA_BOUND, S_MIN, logdet_pinned

N_NODES = 20
N_SCAN = 49
N_SEARCH = 16
V_LOW, V_HIGH = float(np.log(S_MIN)), float(np.log(40.0))
# exp(-40) = 4e-18 of the peak is where the integrand is cut off.
NEGLIGIBLE = 40.0
PANEL_RANGE, PANEL_STEPS = 16.0, 10
# Up to this many coefficients in a group and this rate, common nodes reach 1e-11 on every path.
SHORT = 64
STEEP = 1e3
N_PANELS = 10


@lru_cache(maxsize=1)
def _legendre() -> Pair:
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    return nodes, np.log(weights)


Relative = tuple[float, float]
"""R/S and E/S of a path."""
Setting = tuple[tuple[int, int], float, bool]
"""(T, number of tied paths), tau, and whether the boundary is stationary."""
Pair = tuple[FloatArray, FloatArray]


@kernel
def _quadratic(s: float, problem: Relative, stationary: bool) -> float:
    """Q(alpha) / S as a function of s and the path's (R/S, E/S)."""
    r, e = problem
    if stationary:
        rho = np.exp(-s)
        return 1.0 + rho * rho * (1.0 - e) - 2.0 * rho * r
    return 1.0 - r / np.cosh(s)


@kernel
def _log_integrand(v: float, problem: Relative, setting: Setting) -> float:
    """log of the integrand in v, Jacobian included, constants left out."""
    (n_timesteps, n_tied), tau, stationary = setting
    s = np.exp(v)
    cosh = np.cosh(s)
    # d alpha / d v = s sinh(s) / (2 cosh(s)^2)
    log_jacobian = v + np.log(np.tanh(s)) - np.log(2.0 * cosh)
    logdet = np.log(-np.expm1(-2.0 * s)) if stationary else logdet_pinned(s, n_timesteps)
    log_q = np.log(_quadratic(s, problem, stationary))
    return log_jacobian + 0.5 * tau / cosh + 0.5 * n_tied * (logdet - n_timesteps * log_q)


@kernel
def _panels(problem: Relative, setting: Setting) -> FloatArray:
    """Ends of consecutive panels that cover the part of the interval that matters.

    A panel ends where the log-integrand has moved far or the panel is wide, so that a few
    nodes are enough in each, whether the integrand has one narrow peak, a long tail or two peaks.
    """
    low, high = V_LOW, V_HIGH
    values = np.empty(N_SCAN)
    for _ in range(8):
        step = (high - low) / (N_SCAN - 1)
        for k in range(N_SCAN):
            values[k] = _log_integrand(low + k * step, problem, setting)
        least = values.max() - NEGLIGIBLE
        first, last = 0, N_SCAN - 1
        while values[first] < least:
            first += 1
        while values[last] < least:
            last -= 1
        first, last = max(first - 1, 0), min(last + 1, N_SCAN - 1)
        if last - first > N_SCAN // 2:
            break
        low, high = low + first * step, low + last * step
    ends = np.empty(N_SCAN)
    ends[0] = low + first * step
    n_ends, moved = 1, 0.0
    for k in range(first + 1, last + 1):
        moved += abs(values[k] - values[k - 1]) / PANEL_RANGE + 1.0 / PANEL_STEPS
        if moved > 1.0 or k == last:
            ends[n_ends] = low + k * step
            n_ends, moved = n_ends + 1, 0.0
    return ends[:n_ends]


@kernel
def _integrate(relative: Pair, setting: Setting, legendre: Pair) -> FloatArray:
    """Per path: log integral, E[inside/Q], E[beside/Q], E[end/Q], E[alpha], E[rho].

    inside, beside, end are the entries of the chain's precision whose quadratic form is Q.
    """
    stationary, (nodes, log_weights) = setting[2], legendre
    n_nodes = nodes.shape[0]
    out = np.empty((relative[0].shape[0], 6))
    points, logs = np.empty(N_SCAN * n_nodes), np.empty(N_SCAN * n_nodes)
    for i in range(relative[0].shape[0]):
        problem = (relative[0][i], relative[1][i])
        ends = _panels(problem, setting)
        used = 0
        for panel in range(ends.shape[0] - 1):
            half = 0.5 * (ends[panel + 1] - ends[panel])
            for k in range(n_nodes):
                v = ends[panel] + half * (1.0 + nodes[k])
                points[used], log_weight = v, np.log(half) + log_weights[k]
                logs[used] = log_weight + _log_integrand(v, problem, setting)
                used += 1
        top = logs[:used].max()
        total = 0.0
        sums = np.zeros(5)
        for k in range(used):
            weight = np.exp(logs[k] - top)
            s = np.exp(points[k])
            rho = np.exp(-s)
            alpha = -0.5 / np.cosh(s)
            inv_q = weight / _quadratic(s, problem, stationary)
            total += weight
            sums[0] += inv_q * (1.0 + rho * rho if stationary else 1.0)
            sums[1] += inv_q * (-rho if stationary else alpha)
            sums[2] += inv_q * (-rho * rho if stationary else 0.0)
            sums[3] += weight * alpha
            sums[4] += weight * rho
        out[i, 0] = top + np.log(total)
        out[i, 1:] = sums / total
    return out


def _node_table(v: FloatArray, log_weight: FloatArray, setting: Setting) -> FloatArray:
    """Rows (coefficients of S, R, E in Q; log weight; alpha; rho) for nodes v."""
    (n_timesteps, n_tied), tau, stationary = setting
    s = np.exp(v)
    rho, alpha = np.exp(-s), -0.5 / np.cosh(s)
    log_jacobian = v + np.log(np.tanh(s)) - np.log(2.0 * np.cosh(s))
    if stationary:
        coefficients = [1.0 + rho**2, -2.0 * rho, -(rho**2)]
        logdet = np.log(-np.expm1(-2.0 * s))
    else:
        coefficients = [np.ones_like(s), 2.0 * alpha, np.zeros_like(s)]
        logdet = np.array([logdet_pinned(x, n_timesteps) for x in s])
    total = log_weight + log_jacobian - tau * alpha + 0.5 * n_tied * logdet
    return np.column_stack([*coefficients, total, alpha, rho])


@lru_cache(maxsize=32)
def _common_nodes(setting: Setting) -> FloatArray:
    """Nodes that serve every short path: N_PANELS panels of Gauss-Legendre nodes."""
    nodes, log_weights = _legendre()
    ends = np.linspace(V_LOW, V_HIGH, N_PANELS + 1)
    half = 0.5 * np.diff(ends)[:, None]
    v = (ends[:-1, None] + half * (1.0 + nodes)).ravel()
    log_weight = (np.log(half) + log_weights).ravel()
    return _node_table(v, log_weight, setting)


@kernel
def _integrate_at(relative: Pair, table: FloatArray, half_count: float) -> FloatArray:
    """What `_integrate` returns, with given nodes."""
    out = np.empty((relative[0].shape[0], 6))
    n_nodes = table.shape[0]
    inv_q, logs = np.empty(n_nodes), np.empty(n_nodes)
    for i in range(relative[0].shape[0]):
        r, e = relative[0][i], relative[1][i]
        for k in range(n_nodes):
            q = table[k, 0] + table[k, 1] * r + table[k, 2] * e
            inv_q[k] = 1.0 / q
            logs[k] = table[k, 3] - half_count * np.log(q)
        top = logs.max()
        total = 0.0
        sums = np.zeros(5)
        for k in range(n_nodes):
            weight = np.exp(logs[k] - top)
            total += weight
            for c in range(3):
                sums[c] += weight * inv_q[k] * table[k, c]
            sums[3] += weight * table[k, 4]
            sums[4] += weight * table[k, 5]
        out[i, 0] = top + np.log(total)
        out[i, 1:] = sums / total
        out[i, 2] *= 0.5  # R counts both neighbours
    return out


@dataclass(frozen=True)
class Exact(AdaptivePrior):
    """The exact marginal of the sparse adaptive prior, a density of S, R and E alone.

    Parameters
    ----------
    rate
        tau, the rate of the exponential distribution of alpha; any real number, or "estimate" to
        maximise the marginal likelihood of the nonzero paths (empirical Bayes).
    boundary
        "pinned" is the paper's chain, tied to zero outside both ends, so the last step is
        drawn to zero; "stationary" is the AR(1) chain of the same autocorrelation.

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.priors import Exact
    >>> prior = Exact(rate=1.0)
    >>> float(prior.log_density(np.array([[2.0]]))[0].round(12))  # T = 1: 1/|beta|
    -0.69314718056
    """

    boundary: Boundary = "pinned"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_boundary(self.boundary)

    def evaluate(self, stats: PathStats, n_timesteps: int, n_tied: int = 1) -> Penalty:
        """Log density and quadratic bound at nonzero paths (S > 0)."""
        tau, setting = self.tau, self._setting(n_timesteps, n_tied)
        relative = (stats.R / stats.S, stats.E / stats.S)
        half_count = 0.5 * n_tied * n_timesteps
        if n_tied * n_timesteps <= SHORT and abs(tau) <= STEEP:
            moments = _integrate_at(relative, _common_nodes(setting), half_count)
        else:
            moments = _integrate(relative, setting, _legendre())
        # p(alpha) = exp(-tau (alpha + C)) / Z(tau); the kernel integrates exp(-tau alpha).
        log_prior_constant = -truncated_exponential.log_normalizer(tau) - tau * ALPHA_BOUND
        constant = gammaln(half_count) - half_count * np.log(np.pi) + log_prior_constant
        scale = 2.0 * half_count / stats.S
        return Penalty(
            log_density=constant - half_count * np.log(stats.S) + moments[:, 0],
            omega=scale * moments[:, 1],
            omega_alpha=scale * moments[:, 2],
            omega_end=scale * moments[:, 3],
            mean_alpha=moments[:, 4],
            mean_rho=moments[:, 5],
        )

    def search_nodes(self, n_timesteps: int) -> FloatArray:
        """A coarse mixture that stands in for the integral while a start is searched for."""
        v = np.linspace(V_LOW, np.log(5.0), N_SEARCH)
        table = _node_table(v, np.zeros_like(v), self._setting(n_timesteps, 1))
        return np.ascontiguousarray(table[:, :4])

    def _setting(self, n_timesteps: int, n_tied: int) -> Setting:
        # At T = 1 there is nothing to correlate and both boundaries are A = 1.
        return (n_timesteps, n_tied), self.tau, self.boundary == "stationary" and n_timesteps > 1
