"""Coordinate ascent on the evidence lower bound, one path at a time.

A pass updates the levels, then visits paths (most correlated first), then the noise, then the
weights of the mixture; each step is the exact maximiser given the rest, so the bound never falls.
Paths that are almost surely zero are visited every few passes only, and components no feature
uses are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.bound import Bound, Posterior
from driftglm.priors.mixture import (
    Tables,
    average_inplace,
    log_evidences_inplace,
    weights_inplace,
)
from driftglm.solvers.base import Progress, SolverResult, StopReason
from driftglm.solvers.block import visiting_order
from driftglm.solvers.kernels import Columns, RowState, gradient_inplace, shift_inplace
from driftglm.solvers.levels import average_levels
from driftglm.solvers.rowstate import RowWork

INCLUDED = 0.5
N_BOLD = 60
"""EM steps for the weights taken at once after a pass over all paths."""
RARE = 0.01
"""Paths less likely than this to matter are visited every EVERY passes."""
EVERY = 4
N_FULL = 3
"""Passes at the start that visit every path."""
DROP = 1e-10
"""Components with a smaller share of the features are dropped."""
RISE = 0.1
"""A pass has converged when it raises the bound by less than RISE * tol per row."""
STILL = (1e-10, 1e-6)
"""An update smaller than this (in squared deviations, in probability) is left undone."""


@kernel
def _visit_inplace(
    order: IntArray,
    columns: Columns,
    rows: RowState,
    squares: FloatArray,
    precision: float,
    law: tuple[Tables, FloatArray, IntArray, FloatArray],
    posterior: tuple[
        FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray
    ],
) -> None:
    """One pass over the paths in `order`; everything in `posterior` and the score is updated."""
    tables, log_pi, groups, unit = law
    beta, variance, phi, all_evidence, divergence, pull, precision_seen = posterior
    n_steps, n_components = beta.shape[1], phi.shape[1]
    g, h, b = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    change, out, work = np.empty(n_steps), np.empty((2, n_steps)), np.empty((4, n_steps))
    parts = np.empty((3, n_components))
    new_phi = np.empty(n_components)
    for i in order:
        gradient_inplace(columns, i, rows, g)
        per_unit = precision / unit[i]
        for t in range(n_steps):
            h[t] = per_unit / unit[i] * squares[i, t]
            b[t] = per_unit * g[t] + h[t] * beta[i, t] * unit[i]
        evidence = all_evidence[i]
        log_evidences_inplace(h, b, tables, evidence, parts)
        weights_inplace(evidence, log_pi[groups[i]], new_phi)
        new_divergence = average_inplace(h, b, tables, new_phi, parts, out, work)
        moved = shifted = 0.0
        for t in range(n_steps):
            change[t] = out[0, t] / unit[i] - beta[i, t]
            moved += h[t] * (change[t] * unit[i]) ** 2
        for k in range(n_components):
            shifted += abs(new_phi[k] - phi[i, k])
        if moved < STILL[0] and shifted < STILL[1]:
            continue
        for t in range(n_steps):
            beta[i, t] += change[t]
            variance[i, t] = out[1, t] / unit[i] ** 2
            pull[i, t] = b[t]
        phi[i] = new_phi
        divergence[i] = new_divergence
        precision_seen[i] = precision
        shift_inplace(columns, i, change, rows)


class _Work(RowWork):
    """A pass over the features of a Bound: levels are averaged over their laws."""

    def update_levels(self) -> float:
        """Levels given the rest."""
        return average_levels(self.problem, self.state, self.score, self.curvature)


@dataclass(frozen=True)
class CAVISolver:
    """Coordinate-ascent variational inference for the learned prior."""

    def solve(
        self,
        bound: Bound,
        posterior: Posterior,
        *,
        max_iter: int,
        tol: float,
        progress: Progress | None = None,
    ) -> SolverResult:
        """Ascend until a pass over all paths raises the bound by less than 0.1 `tol` per row."""
        posterior = posterior.copy()
        work = _Work(bound, posterior)
        order = _order(bound)
        history: list[float] = []
        rise, reason = np.inf, StopReason.MAX_ITER
        tables = posterior.components.tables()
        since_full, everyone = 0, True
        backup: Posterior | None = None
        for iteration in range(max_iter):
            full = iteration < N_FULL or since_full + 1 >= EVERY or everyone
            visited = order if full else order[posterior.inclusion[order] > RARE]
            _pass(work, bound, posterior, visited, tables)
            value = bound.value(posterior)
            if backup is not None and history and value < history[-1]:
                # The bold step for the weights did not pay: go back to the cautious one.
                posterior, value = backup, history[-1]
                work = _Work(bound, posterior)
                tables = posterior.components.tables()
            history.append(value)
            since_full = 0 if full else since_full + 1
            if progress is not None:
                progress(iteration + 1, value, int((posterior.inclusion > INCLUDED).sum()))
            rise = value - history[-2] if iteration else np.inf
            went_back = posterior is backup
            backup = None
            if rise < RISE * tol * bound.n_rows and not went_back:
                if full and iteration >= N_FULL:
                    reason = StopReason.CONVERGED
                    break
                since_full = EVERY  # look at all paths before believing it
            everyone = went_back or _learn_weights(bound, posterior)
            if everyone and not went_back:
                tables = posterior.components.tables()
            if full and not went_back and bound.prior.weights is None:
                backup = posterior.copy()
                _learn_boldly(bound, posterior)
                everyone = True
        return SolverResult(
            posterior, np.array(history), float(rise / (RISE * bound.n_rows)), reason
        )


def _learn_boldly(bound: Bound, posterior: Posterior) -> None:
    """Many EM steps for the weights at once, at the evidences the last visits found.

    Exact if features did not interact; they do, so the caller keeps a copy to go back to.
    """
    for g in range(bound.n_groups):
        members = bound.groups == g
        if not members.any():
            continue
        evidence = posterior.evidence[members]
        likelihood = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        pi = np.exp(posterior.log_pi[g])
        for _ in range(N_BOLD):
            pi = pi * (likelihood / (likelihood @ pi)[:, None]).mean(axis=0)
        with np.errstate(divide="ignore"):
            posterior.log_pi[g] = np.log(pi / pi.sum())


def _order(bound: Bound) -> IntArray:
    """Features by falling correlation with what the levels alone leave unexplained."""
    null = bound.start()
    null_score = bound.family.score(bound.y, null.eta, bound.weights)
    average_levels(bound, null, null_score, bound.weights)
    return visiting_order(bound.design, null_score, bound.squares)


def _pass(work: _Work, bound: Bound, posterior: Posterior, order: IntArray, tables: Tables) -> None:
    """Levels, paths, noise."""
    work.update_levels()
    rows = work.for_kernels()
    _visit_inplace(
        order,
        work.columns,
        rows,
        bound.squares,
        bound.precision(posterior),
        (tables, posterior.log_pi, bound.groups, bound.unit),
        (
            posterior.beta,
            posterior.variance,
            posterior.phi,
            posterior.evidence,
            posterior.divergence,
            posterior.pull,
            posterior.precision_seen,
        ),
    )
    work.absorb(rows)
    work.settle()
    bound.update_noise(posterior, bound.spread(posterior))


def _learn_weights(bound: Bound, posterior: Posterior) -> bool:
    """The EM step for the weights; returns True if components were dropped.

    Dropping lowers the bound by at most the features they held, DROP of all; every path must
    be visited before the bound is looked at again.
    """
    if bound.prior.weights is not None:
        return False
    counts = bound.counts(posterior)
    sizes = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    pi = np.where(counts.sum(axis=1, keepdims=True) > 0, counts / sizes, np.exp(posterior.log_pi))
    keep = (counts > DROP * sizes).any(axis=0)
    if keep.all():
        with np.errstate(divide="ignore"):
            posterior.log_pi = np.log(pi)
        return False
    posterior.components = posterior.components.take(keep)
    posterior.kept = posterior.kept[keep]
    pi = pi[:, keep]
    with np.errstate(divide="ignore"):
        posterior.log_pi = np.log(pi / pi.sum(axis=1, keepdims=True))
    posterior.phi = np.ascontiguousarray(posterior.phi[:, keep])
    posterior.evidence = np.ascontiguousarray(posterior.evidence[:, keep])
    return True
