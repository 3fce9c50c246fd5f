"""The posterior of one path under a mixture of Gaussian laws, O(T) per component.

Component k is zero, or Normal(0, K_k) with K = static * 11' + D and D a Markov chain. Components
that share D differ in the static variance only, so the chains are filtered once each: a forward
pass gives every component's evidence, and only the chains of components that end up with
noticeable weight are smoothed.

A chain is stored by its transitions, beta_t = carry_t beta_{t-1} + Normal(0, shock_t), which
covers both boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.priors.base import Boundary
from driftglm.priors.chain import alpha_of_rho
from driftglm.priors.gaussian_path import filter_evidence, smooth_inplace, static_part

NEGLIGIBLE = 1e-10
ZERO_CHAIN, STATIC_CHAIN = -2, -1

Tables = tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Components:
    """The laws of a mixture.

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
    def is_zero(self) -> BoolArray:
        """The point mass at zero."""
        return np.asarray((self.static == 0) & (self.dynamic == 0))

    @property
    def is_static(self) -> BoolArray:
        """Constant over time, zero included."""
        return np.asarray(self.dynamic == 0)

    def take(self, keep: BoolArray | IntArray) -> Components:
        """Some of the components."""
        return Components(
            self.static[keep], self.dynamic[keep], self.rho[keep], self.boundary, self.n_timesteps
        )

    def extended(self, n_more: int) -> Components:
        """The same laws for paths `n_more` steps longer."""
        n_timesteps = self.n_timesteps + n_more
        return Components(self.static, self.dynamic, self.rho, self.boundary, n_timesteps)

    def tables(self) -> Tables:
        """Arrays for the kernels: chain of every component, static, carry, shock, D^-1 1."""
        laws = np.column_stack([self.dynamic, self.rho])
        unique, chain = np.unique(laws, axis=0, return_inverse=True)
        moving = unique[:, 0] > 0
        number = np.where(moving, np.cumsum(moving) - 1, STATIC_CHAIN)
        chains = number[chain.ravel()].astype(np.int64)
        chains[self.is_zero] = ZERO_CHAIN
        transitions = [
            chain_transitions(variance, rho, self.n_timesteps, self.boundary)
            for variance, rho in unique[moving]
        ]
        shape = (len(transitions), self.n_timesteps)
        carry = np.array([carry for carry, _ in transitions]).reshape(shape)
        shock = np.array([shock for _, shock in transitions]).reshape(shape)
        # D^-1 = (I - C)' diag(1/shock) (I - C), applied to ones.
        slack = np.where(np.arange(self.n_timesteps) == 0, 1.0, 1.0 - carry) / shock
        ones = slack.copy()
        ones[:, :-1] -= carry[:, 1:] * slack[:, 1:]
        return chains, self.static, carry, shock, ones


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
def log_evidences_inplace(
    h: FloatArray, b: FloatArray, tables: Tables, evidence: FloatArray, parts: FloatArray
) -> None:
    """Log evidence of every component; `parts` (3, K) keeps logdet, v and w'b."""
    chains, static, carry, shock, _ = tables
    last = -3
    quadratic = logdet = c = wb = 0.0
    for k in range(chains.shape[0]):
        if chains[k] == ZERO_CHAIN:
            evidence[k] = 0.0
            parts[:, k] = 0.0
            continue
        if chains[k] != last:
            last = chains[k]
            if last == STATIC_CHAIN:
                quadratic, logdet, c, wb = 0.0, 0.0, h.sum(), b.sum()
            else:
                quadratic, logdet, c, wb = filter_evidence(h, b, carry[last], shock[last])
        v, logdet_static = static_part(static[k], c)
        parts[0, k] = logdet + logdet_static
        parts[1, k] = v
        parts[2, k] = wb
        evidence[k] = 0.5 * (quadratic + v * wb * wb - parts[0, k])


@kernel
def weights_inplace(evidence: FloatArray, log_pi: FloatArray, phi: FloatArray) -> None:
    """phi proportional to pi exp(evidence); negligible ones become exactly 0."""
    top = (evidence + log_pi).max()
    total = 0.0
    for k in range(phi.shape[0]):
        phi[k] = np.exp(evidence[k] + log_pi[k] - top)
        total += phi[k]
    kept = 0.0
    for k in range(phi.shape[0]):
        phi[k] = phi[k] / total if phi[k] > NEGLIGIBLE * total else 0.0
        kept += phi[k]
    for k in range(phi.shape[0]):
        phi[k] /= kept


@kernel
def average_inplace(
    h: FloatArray,
    b: FloatArray,
    tables: Tables,
    phi: FloatArray,
    parts: FloatArray,
    out: FloatArray,
    work: FloatArray,
) -> float:
    """Mean and variance of the mixture into `out` (2, T); returns sum phi (log phi + KL).

    `work` is (4, T). KL is the divergence of a component's posterior from its law.
    """
    chains, _, carry, shock, ones = tables
    n = h.shape[0]
    out[:] = 0.0
    divergence = 0.0
    last = -3
    for k in range(chains.shape[0]):
        if phi[k] == 0.0:
            continue
        divergence += phi[k] * np.log(phi[k])
        if chains[k] == ZERO_CHAIN:
            continue
        if chains[k] != last:
            last = chains[k]
            if last == STATIC_CHAIN:
                work[0], work[1], work[2] = 0.0, 0.0, 1.0
            else:
                smooth_inplace(h, b, (carry[last], shock[last], ones[last]), work)
        v, wb = parts[1, k], parts[2, k]
        kl = parts[0, k]
        for t in range(n):
            mean = work[0, t] + v * wb * work[2, t]
            square = work[1, t] + v * work[2, t] ** 2 + mean * mean
            kl += b[t] * mean - h[t] * square
            out[0, t] += phi[k] * mean
            out[1, t] += phi[k] * square
        divergence += 0.5 * phi[k] * kl
    for t in range(n):
        out[1, t] = max(out[1, t] - out[0, t] ** 2, 0.0)
    return divergence
