"""The posterior of one path under a mixture of Gaussian components, O(T) per component.

Component k is zero, or Normal(0, K_k) with K = static * 11' + D and D a Markov chain. Components
that share D differ in the static variance only, so the chains are filtered once each: a forward
pass gives every component's evidence, and only the chains of components that end up with
noticeable weight are smoothed.

A chain is stored by its transitions, beta_t = carry_t beta_{t-1} + Normal(0, shock_t), which
covers both boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from driftglm._elementary import SMALLEST, exp_inplace, log_inplace, total
from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.priors.base import Boundary
from driftglm.priors.chain import alpha_of_rho
from driftglm.priors.gaussian_path import HUGE

NEGLIGIBLE = 1e-10
ZERO_CHAIN, STATIC_CHAIN = -2, -1

Tables = tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""Chain and static variance of every component; (T, C) carry, shock and D^-1 1 of every chain."""


@dataclass(frozen=True)
class Components:
    """The components of a mixture.

    Parameters
    ----------
    static, dynamic, rho
        (K,) variance of the constant part, variance of the chain and its lag-1 correlation;
        both variances are 0 for the point mass at zero.
    boundary
        Of the chains: "stationary" or "pinned".
    n_timesteps
        Length of the paths.
    """

    static: FloatArray
    dynamic: FloatArray
    rho: FloatArray
    boundary: Boundary
    n_timesteps: int

    @property
    def count(self) -> int:
        """Number of components."""
        return int(self.static.size)

    @property
    def variances(self) -> FloatArray:
        """(K,) total variances."""
        return self.static + self.dynamic

    @property
    def is_zero(self) -> BoolArray:
        """The point mass at zero."""
        return np.asarray((self.static == 0) & (self.dynamic == 0))

    @property
    def is_static(self) -> BoolArray:
        """Constant over time, zero included."""
        return np.asarray(self.dynamic == 0)

    @property
    def is_seasonal(self) -> BoolArray:
        """Whether there is a season: here there is none (see `seasons`)."""
        return np.zeros(self.count, dtype=bool)

    def take(self, keep: BoolArray | IntArray) -> Components:
        """Some of the components."""
        static, dynamic, rho = self.static[keep], self.dynamic[keep], self.rho[keep]
        return replace(self, static=static, dynamic=dynamic, rho=rho)

    def extended(self, n_more: int) -> Components:
        """The same components for paths `n_more` steps longer."""
        return replace(self, n_timesteps=self.n_timesteps + n_more)

    def tables_ahead(self, n_more: int) -> Tables:
        """Tables of paths that end `n_more` steps later; between the two ends nothing is known.

        A stationary chain leaps there at once, however far it is.
        """
        if self.boundary == "stationary":
            return self.extended(1).tables(leap=n_more)
        return self.extended(n_more).tables()

    def tables(self, leap: int = 1) -> Tables:
        """Arrays for the kernels; components of equal dynamic part share a chain.

        The last step of a stationary chain may lie `leap` steps after the one before it.
        """
        chains = np.column_stack([self.dynamic, self.rho])
        unique, chain = np.unique(chains, axis=0, return_inverse=True)
        moving = unique[:, 0] > 0
        number = np.where(moving, np.cumsum(moving) - 1, STATIC_CHAIN)
        numbers = np.where(self.is_zero, ZERO_CHAIN, number[chain.ravel()]).astype(np.int64)
        shape = self.n_timesteps, self.boundary
        found = [chain_transitions(variance, rho, *shape) for variance, rho in unique[moving]]
        if leap > 1:
            for (variance, rho), (carried, shocks) in zip(unique[moving], found, strict=True):
                carried[-1] = rho**leap
                shocks[-1] = variance * (1.0 - carried[-1]) * (1.0 + carried[-1])
        carry, shock = np.array(found).reshape(-1, 2, self.n_timesteps).transpose(1, 0, 2)
        # D^-1 = (I - C)' diag(1/shock) (I - C), applied to ones.
        slack = np.where(np.arange(self.n_timesteps) == 0, 1.0, 1.0 - carry) / shock
        ones = slack.copy()
        ones[:, :-1] -= carry[:, 1:] * slack[:, 1:]
        carry, shock, ones = (np.ascontiguousarray(each.T) for each in (carry, shock, ones))
        return numbers, self.static, carry, shock, ones


def chain_transitions(
    variance: float, rho: float, n_timesteps: int, boundary: Boundary
) -> tuple[FloatArray, FloatArray]:
    """carry and shock of a chain; the first shock is the variance of the first step."""
    carry = np.zeros(n_timesteps)
    shock = np.full(n_timesteps, float(variance))
    if boundary == "stationary":
        carry[1:] = rho
        shock[1:] = variance * (1.0 - rho) * (1.0 + rho)
        return carry, shock
    # Precision A(alpha) / variance: eliminating steps from the end leaves these pivots.
    alpha, pivot = alpha_of_rho(rho), 1.0
    for t in range(n_timesteps - 1, -1, -1):
        shock[t] = variance / pivot
        carry[t] = -alpha / pivot if t > 0 else 0.0
        pivot = 1.0 - alpha * alpha / pivot
    return carry, shock


@kernel
def filter_chains(h: FloatArray, b: FloatArray, tables: Tables) -> FloatArray:
    """(4, C + 2) b'V b, log|I + D H|, c = h'w and w'b of every chain, by a forward pass alone.

    Chains side by side, so that the processor takes several at once (see
    `gaussian_path.filter_evidence` for one). The last two stand for no chain at all (ZERO_CHAIN,
    STATIC_CHAIN counted from the end): nothing, and the static part alone.
    """
    _, _, carry, shock, _ = tables
    n_steps, n_chains = carry.shape
    out, state = np.zeros((4, n_chains + 2)), np.zeros((3, n_chains))
    work = np.ones((2, n_chains))
    product = work[0]
    for t in range(n_steps):
        ht, bt = h[t], b[t]
        for c in range(n_chains):
            predicted = carry[t, c] * carry[t, c] * state[0, c] + shock[t, c]
            m, u = carry[t, c] * state[1, c], carry[t, c] * state[2, c]
            excess = 1.0 + predicted * ht
            gain = 1.0 / excess
            product[c] *= excess
            out[0, c] += (predicted * bt * bt + 2.0 * bt * m - ht * m * m) * gain
            out[2, c] += ht * (1.0 - u) * (1.0 - u) * gain
            out[3, c] += (bt - ht * m) * (1.0 - u) * gain
            state[0, c] = predicted * gain
            state[1, c] = (m + predicted * bt) * gain
            state[2, c] = (u + predicted * ht) * gain
        for c in range(n_chains):
            if product[c] > HUGE:
                out[1, c] += np.log(product[c])
                product[c] = 1.0
    log_inplace(product, work[1])
    for c in range(n_chains):
        out[1, c] += product[c]
    out[2, n_chains + 1], out[3, n_chains + 1] = h.sum(), b.sum()
    return out


@kernel
def log_evidences_inplace(
    h: FloatArray, b: FloatArray, tables: Tables, evidence: FloatArray, parts: FloatArray
) -> None:
    """Log evidence of every component; `parts` (3, K) keeps logdet, v and w'b.

    Static parts as in `gaussian_path.static_part`, without asking of each which case it is.
    """
    chains, static, n_chains = tables[0], tables[1], tables[2].shape[1]
    filtered = filter_chains(h, b, tables)
    logdet, v, wb = parts[0], parts[1], parts[2]
    for k in range(chains.shape[0]):
        c = _column(chains[k], n_chains)
        reach, flat = filtered[2, c], static[k] == np.inf
        some = reach > 0.0
        above = (1.0 if some else 0.0) if flat else static[k]
        below = (reach if some else 1.0) if flat else 1.0 + static[k] * reach
        logdet[k] = max(below, SMALLEST)
        v[k] = above / below
        wb[k] = filtered[3, c]
    log_inplace(logdet, evidence)  # evidence serves as scratch until it is set below
    for k in range(chains.shape[0]):
        c = _column(chains[k], n_chains)
        logdet[k] += filtered[1, c]
        evidence[k] = 0.5 * (filtered[0, c] + v[k] * wb[k] * wb[k] - logdet[k])


@kernel
def _column(chain: int, n_chains: int) -> int:
    """Where `filter_chains` puts a chain; the negative ones come last."""
    return chain if chain >= 0 else n_chains + 2 + chain


@kernel
def weights_inplace(evidence: FloatArray, log_pi: FloatArray, phi: FloatArray) -> None:
    """phi proportional to pi exp(evidence); negligible ones become exactly 0."""
    n_components = phi.shape[0]
    top = -np.inf
    for k in range(n_components):
        phi[k] = evidence[k] + log_pi[k]
        top = max(top, phi[k])
    for k in range(n_components):
        phi[k] -= top
    exp_inplace(phi, np.empty(n_components))
    least = NEGLIGIBLE * total(phi)
    for k in range(n_components):
        phi[k] = phi[k] if phi[k] > least else 0.0
    remaining = total(phi)
    for k in range(n_components):
        phi[k] /= remaining


@kernel
def smooth_chains(
    h: FloatArray, b: FloatArray, tables: Tables, used: IntArray, out: FloatArray
) -> None:
    """Posterior mean, variance, w and predicted variance of some chains into `out` (4, T, U).

    See `gaussian_path.smooth_inplace` for one.
    """
    _, _, carry, shock, ones = tables
    mean, variance, w, predicted = out[0], out[1], out[2], out[3]
    n_steps, n_used = h.shape[0], used.shape[0]
    for t in range(n_steps):
        ht, bt = h[t], b[t]
        for j in range(n_used):
            c = used[j]
            before, m, u = shock[t, c], 0.0, 0.0
            if t > 0:
                before += carry[t, c] * carry[t, c] * variance[t - 1, j]
                m, u = carry[t, c] * mean[t - 1, j], carry[t, c] * w[t - 1, j]
            gain = 1.0 / (1.0 + before * ht)
            predicted[t, j] = before
            variance[t, j] = before * gain
            mean[t, j] = (m + before * bt) * gain
            w[t, j] = (u + before * ones[t, c]) * gain
    for t in range(n_steps - 2, -1, -1):
        for j in range(n_used):
            step = carry[t + 1, used[j]]
            back = step * variance[t, j] / predicted[t + 1, j]
            w[t, j] += back * (w[t + 1, j] - step * w[t, j])
            mean[t, j] += back * (mean[t + 1, j] - step * mean[t, j])
            variance[t, j] += back * back * (variance[t + 1, j] - predicted[t + 1, j])


@kernel
def _by_chain(
    chains: IntArray, phi: FloatArray, parts: FloatArray, sums: FloatArray, used: IntArray
) -> tuple[int, float]:
    """Sums over the components of a chain, into `sums` (4, C + 1); the last are the static ones.

    Components that share a chain differ in the static variance v alone, which multiplies one path:
    sums of phi, phi v, phi v w'b and phi (v w'b)^2 are all that is needed. Also lists the chains
    used, and returns their number and sum phi (log phi + logdet / 2).
    """
    divergence, n_used = 0.0, 0
    last = sums.shape[1] - 1
    for k in range(chains.shape[0]):
        if phi[k] == 0.0:
            continue
        divergence += phi[k] * (np.log(phi[k]) + 0.5 * parts[0, k])
        if chains[k] == ZERO_CHAIN:
            continue
        c = last if chains[k] == STATIC_CHAIN else chains[k]
        if c < last and sums[0, c] == 0.0:
            used[n_used] = c
            n_used += 1
        move = parts[1, k] * parts[2, k]
        sums[0, c] += phi[k]
        sums[1, c] += phi[k] * parts[1, k]
        sums[2, c] += phi[k] * move
        sums[3, c] += phi[k] * move * move
    return n_used, divergence


@kernel
def average_inplace(
    h: FloatArray,
    b: FloatArray,
    tables: Tables,
    phi: FloatArray,
    parts: FloatArray,
    out: FloatArray,
) -> float:
    """Mean and variance of the mixture into `out` (2, T); returns sum phi (log phi + KL).

    KL is the divergence of a component's posterior from its prior.
    """
    n_steps, n_chains = tables[2].shape
    sums, used = np.zeros((4, n_chains + 1)), np.empty(n_chains, dtype=np.int64)
    n_used, divergence = _by_chain(tables[0], phi, parts, sums, used)
    used = used[:n_used]
    paths = np.empty((4, n_steps, n_used))
    smooth_chains(h, b, tables, used, paths)
    _, static_variance, static_mean, static_square = sums[:, n_chains]
    for t in range(n_steps):
        # Of a static component the chain is zero and w is one.
        first, second = static_mean, static_variance + static_square
        for j in range(n_used):
            weight, variance_j, mean_j, square_j = sums[:, used[j]]
            mean, along = paths[0, t, j], paths[2, t, j]
            first += weight * mean + mean_j * along
            second += weight * (paths[1, t, j] + mean * mean) + along * (
                2.0 * mean_j * mean + (variance_j + square_j) * along
            )
        divergence += 0.5 * (b[t] * first - h[t] * second)
        out[0, t] = first
        out[1, t] = max(second - first * first, 0.0)
    return divergence


@kernel
def last_step_inplace(
    h: FloatArray, b: FloatArray, phi: FloatArray, tables: Tables, out: FloatArray
) -> None:
    """Mean and variance of paths (n_paths, T) at the last step of `tables`, into (n_paths, 2).

    The tables may be those of longer paths: the steps they have more are empty, h = b = 0, and what
    the posterior says about the last of them is its forecast. `phi` (n_paths, K) stays as the
    steps with data left it.
    """
    n_steps, n_all, n_components = h.shape[1], tables[2].shape[0], phi.shape[1]
    longer, moments = np.zeros((2, n_all)), np.empty((2, n_all))
    evidence, parts = np.empty(n_components), np.empty((3, n_components))
    for i in range(h.shape[0]):
        longer[0, :n_steps], longer[1, :n_steps] = h[i], b[i]
        log_evidences_inplace(longer[0], longer[1], tables, evidence, parts)
        average_inplace(longer[0], longer[1], tables, phi[i], parts, moments)
        out[i, 0], out[i, 1] = moments[0, n_all - 1], moments[1, n_all - 1]


def with_empty_steps(h: FloatArray, b: FloatArray, n_more: int) -> tuple[FloatArray, FloatArray]:
    """h and b of one path (T,), followed by steps nothing is known about."""
    nothing = np.zeros(n_more)
    return np.concatenate([h, nothing]), np.concatenate([b, nothing])
