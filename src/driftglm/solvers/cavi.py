"""Coordinate ascent on the evidence lower bound, one path at a time.

A pass updates the levels, then visits paths (most correlated first), then the noise, then the
weights of the mixture; each step is the exact maximiser given the rest, so the bound never falls.
Paths that are almost surely zero are visited every few passes only, and components no feature
uses are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

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
BOLD, BOLDEST = 10, 300
"""EM steps for the weights taken at once after a pass over all paths: few at first, when the
evidences are still far from final and a component lost is lost for good, more in later rounds."""
RARE = 0.1
"""Paths less likely than this to matter are visited once a pass, the others N_INNER times more."""
N_INNER = 4
DROP = 1e-10
"""Components with a smaller share of the features are dropped."""
RISE, RISE_WARM = 0.1, 0.02
"""A round has converged when it raises the bound by less than this times tol per row. A warm start
is close to the end at once and must not stop for being so."""
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
    """Coordinate-ascent variational inference for the learned prior.

    A `warm` start has paths close to final and needs no passes over the live ones alone.
    """

    warm: bool = False

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
        climb = _Climb(bound, _Work(bound, posterior), _order(bound), max_iter, progress)
        reason = StopReason.MAX_ITER
        rise, last = np.inf, -np.inf
        n_rounds, least = 0, RISE_WARM if self.warm else RISE
        while not climb.exhausted:
            climb.all_paths()
            if not self.warm:
                climb.live_paths()
            rise, last = climb.history[-1] - last, climb.history[-1]
            if rise < least * tol * bound.n_rows:
                reason = StopReason.CONVERGED
                break
            n_rounds += 1
            if not climb.exhausted:  # a bold step is worth what the next pass makes of it
                climb.learn_boldly(min(BOLD * n_rounds**2, BOLDEST))
        optimality = float(rise / (least * bound.n_rows))
        return SolverResult(climb.posterior, np.array(climb.history), optimality, reason)


@dataclass
class _Climb:
    """Passes over all paths or the live ones, each recorded with the bound it reached."""

    bound: Bound
    work: _Work
    order: IntArray
    max_iter: int
    progress: Progress | None
    history: list[float] = field(default_factory=list)
    backup: Posterior | None = None

    @property
    def posterior(self) -> Posterior:
        return cast("Posterior", self.work.state)

    @property
    def exhausted(self) -> bool:
        return len(self.history) >= self.max_iter

    def _record(self) -> None:
        self.history.append(self.bound.value(self.posterior))
        if self.progress is not None:
            n_in = int((self.posterior.inclusion > INCLUDED).sum())
            self.progress(len(self.history), self.history[-1], n_in)

    def all_paths(self) -> None:
        """Visit every path; if a bold step for the weights did not pay, take the cautious one."""
        _pass(self.work, self.bound, self.posterior, self.order)
        if self.backup is not None and self.bound.value(self.posterior) < self.history[-1]:
            self.work = _Work(self.bound, self.backup)
            _pass(self.work, self.bound, self.posterior, self.order)
        self.backup = None
        self._record()

    def live_paths(self) -> None:
        """A few passes over the paths that may matter; they cost little and do most."""
        for _ in range(N_INNER):
            if self.exhausted:
                return
            _learn_weights(self.bound, self.posterior)
            live = self.order[self.posterior.inclusion[self.order] > RARE]
            _pass(self.work, self.bound, self.posterior, live)
            self._record()

    def learn_boldly(self, n_steps: int) -> None:
        """Update the weights, drop idle components, then look far ahead with a copy in hand."""
        if self.bound.prior.weights is None:
            _learn_weights(self.bound, self.posterior)
            _drop_components(self.bound, self.posterior)
            self.backup = self.posterior.copy()
            _learn_boldly(self.bound, self.posterior, n_steps)


def _learn_boldly(bound: Bound, posterior: Posterior, n_steps: int) -> None:
    """Many EM steps for the weights at once, at the evidences the last visits found.

    Exact if features did not interact; they do, so the caller keeps a copy to go back to.
    """
    for g in range(bound.n_groups):
        members = bound.groups == g
        if not members.any():
            continue
        # A law the group cannot have may fit so much better that all others underflow beside it.
        possible = np.isfinite(posterior.log_pi[g])
        evidence = posterior.evidence[members][:, possible]
        likelihood = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        pi = np.exp(posterior.log_pi[g, possible])
        for _ in range(n_steps):
            # einsum, not a BLAS product: the sum must not depend on the number of threads.
            total = np.einsum("ik,k->i", likelihood, pi)
            pi = pi * (likelihood / total[:, None]).mean(axis=0)
        with np.errstate(divide="ignore"):
            posterior.log_pi[g, possible] = np.log(pi / pi.sum())


def _order(bound: Bound) -> IntArray:
    """Features by falling correlation with what the levels alone leave unexplained."""
    null = bound.start()
    null_score = bound.family.score(bound.y, null.eta, bound.weights)
    average_levels(bound, null, null_score, bound.weights)
    return visiting_order(bound.design, null_score, bound.squares)


def _pass(work: _Work, bound: Bound, posterior: Posterior, order: IntArray) -> None:
    """Levels, paths, noise."""
    work.update_levels()
    rows = work.for_kernels()
    _visit_inplace(
        order,
        work.columns,
        rows,
        bound.squares,
        bound.precision(posterior),
        (posterior.components.tables(), posterior.log_pi, bound.groups, bound.unit),
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


def _learn_weights(bound: Bound, posterior: Posterior) -> None:
    """The EM step for the weights, given the present posterior."""
    if bound.prior.weights is None:
        counts = bound.counts(posterior)
        sizes = counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior.log_pi = np.where(sizes > 0, np.log(counts / sizes), posterior.log_pi)


def _drop_components(bound: Bound, posterior: Posterior) -> None:
    """Forget components that hold next to no features; all paths must be visited next.

    This lowers the bound by at most the number of features they hold, DROP of all.
    """
    pi = np.exp(posterior.log_pi)
    keep = np.asarray((pi > DROP).any(axis=0))
    if keep.all() or bound.prior.weights is not None:
        return
    posterior.components = posterior.components.take(keep)
    posterior.kept = posterior.kept[keep]
    pi = pi[:, keep]
    with np.errstate(divide="ignore"):
        posterior.log_pi = np.log(pi / pi.sum(axis=1, keepdims=True))
    posterior.phi = np.ascontiguousarray(posterior.phi[:, keep])
    posterior.evidence = np.ascontiguousarray(posterior.evidence[:, keep])
