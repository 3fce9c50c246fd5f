"""The learned prior for text: posteriors of all words' paths, weights of the mixture by EM.

A pass visits all words at fixed log-rates of the contexts, settles the log-rates, and updates the
weights: three exact ascents of one bound,

    sum c mean eta - sum_n N_n log sum_w E[exp(eta_nw)] + sum_gk (n_gk + a_gk) log pi_gk
        - sum phi (log phi + KL).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.priors.learned import Learned
from driftglm.priors.mixture import Components
from driftglm.solvers.base import Progress, StopReason
from driftglm.solvers.text_posterior_kernel import (
    Paths,
    ahead_words_inplace,
    visit_words_inplace,
)
from driftglm.solvers.text_problem import TextProblem
from driftglm.solvers.text_threads import in_order, run_chunks

DROP = 1e-10
"""Components with a smaller share of every group's paths are dropped."""
LARGEST = 4.0
"""Largest variance of a coefficient: log rates of +-2 a standard deviation."""
SMALLEST_SHARE = 400.0
"""The smallest variance is this many times smaller. Words share their weights, so that effects too
small to be seen in one word can be seen in thousands."""
INCLUDED = 0.5
N_PASSES = 10
"""At least so many passes: the weights have only begun to be learned when the first ones end."""


@dataclass
class TextPosterior:
    """Where the learned prior's solver ended.

    Parameters
    ----------
    mean, variance, h, b
        (V, F, T) moments and natural parameters of every path's posterior.
    phi, divergence
        (V, F, K) probabilities of the components, (V, F) sum_k phi (log phi + KL).
    log_pi, components
        (G, K) log weights, and the laws they belong to.
    log_rate
        (n_contexts,)
    """

    mean: FloatArray
    variance: FloatArray
    h: FloatArray
    b: FloatArray
    phi: FloatArray
    divergence: FloatArray
    log_pi: FloatArray
    components: Components
    log_rate: FloatArray

    def paths(self) -> Paths:
        """The arrays the kernels take."""
        return self.mean, self.variance, self.h, self.b, self.phi, self.divergence

    def inclusion(self) -> FloatArray:
        """(V, F) probability that a path is not zero, as far as its data could tell.

        A law whose variance the path's information cannot tell from zero counts as zero.
        """
        laws = self.components
        told = self.h.sum(axis=2)[:, :, None] * (laws.static + laws.dynamic) > 1.0
        return np.asarray((self.phi * told).sum(axis=2))

    def ahead(self, n_steps: int, n_jobs: int | None) -> FloatArray:
        """(2, V, F) means and variances `n_steps` after the last: empty steps are appended."""
        out = np.zeros((2, *self.mean.shape[:2]))
        tables = self.components.extended(n_steps).tables()

        def visit(_: int, first: int, last: int) -> None:
            ahead_words_inplace((first, last), tables, self.paths(), out)

        run_chunks(visit, out.shape[1], n_jobs)
        return out


@dataclass(frozen=True)
class LearnedTextSolver:
    """Coordinate ascent on the bound, words in parallel.

    Parameters
    ----------
    prior
        The mixture; its weights are shared by all paths of a group.
    groups
        (F,) group of every effect: all the same, or each its own.
    order
        Effects to visit, in turn; the others keep a posterior at zero.
    reach
        (F,) largest |x - center|.
    """

    prior: Learned
    groups: IntArray
    order: IntArray
    reach: FloatArray
    n_jobs: int | None = None

    def start(self, problem: TextProblem) -> TextPosterior:
        """Every path at zero, weights where EM starts."""
        shape = problem.shape
        n_seen = int((np.diff(problem.design.steps) > 0).sum())
        components = self.prior.components(LARGEST, SMALLEST_SHARE, shape[2], n_seen)
        pi = self.prior.start_weights(components.count)
        phi = np.zeros((*shape[:2], components.count))
        phi[:, :, components.is_zero] = 1.0
        with np.errstate(divide="ignore"):
            log_pi = np.tile(np.log(pi), (int(self.groups.max()) + 1, 1))
        return TextPosterior(
            mean=np.zeros(shape),
            variance=np.zeros(shape),
            h=np.zeros(shape),
            b=np.zeros(shape),
            phi=phi,
            divergence=np.zeros(shape[:2]),
            log_pi=log_pi,
            components=components,
            log_rate=problem.start_log_rate(),
        )

    def solve(
        self, problem: TextProblem, *, max_iter: int, tol: float, progress: Progress | None = None
    ) -> tuple[TextPosterior, FloatArray, StopReason]:
        """Passes until one raises the bound by less than `tol` per token."""
        state = self.start(problem)
        enough = tol * float(problem.totals.sum())
        extra = self._prior_counts(state)
        history: list[float] = []
        for _ in range(max_iter):
            value, members = self._pass(problem, state, extra)
            if self.prior.weights is None:
                value += self._learn_weights(state, members + extra)
                extra = self._drop(state, extra)
            history.append(value)
            if progress is not None:
                progress(len(history), value, int((state.inclusion() > INCLUDED).sum()))
            if len(history) >= N_PASSES and history[-1] - history[-2] < enough:
                return state, np.array(history), StopReason.CONVERGED
        return state, np.array(history), StopReason.MAX_ITER

    def _pass(
        self, problem: TextProblem, state: TextPosterior, extra: FloatArray
    ) -> tuple[float, FloatArray]:
        """Visit all words, settle the log-rates; the bound and the groups' sums of phi."""
        n_chunks = problem.n_chunks
        expected = np.zeros((n_chunks, problem.totals.size))
        members = np.zeros((n_chunks, problem.shape[1], state.phi.shape[2]))
        numbers = np.zeros((n_chunks, 2))
        tables, paths = state.components.tables(), state.paths()
        law = (tables, state.log_pi, self.groups, self.reach)
        rows = (problem.background, state.log_rate)

        effects = problem.effects()

        def visit(c: int, first: int, last: int) -> None:
            visit_words_inplace(
                (first, last),
                effects,
                self.order,
                problem.counts,
                rows,
                law,
                paths,
                (expected[c], members[c], numbers[c]),
            )

        run_chunks(visit, problem.n_words, self.n_jobs)
        linear, divergence = in_order(numbers)
        state.log_rate = problem.settled(state.log_rate, in_order(expected))
        by_group = np.zeros_like(state.log_pi)
        np.add.at(by_group, self.groups, in_order(members))
        value = problem.log_likelihood(float(linear), state.log_rate) - float(divergence)
        return value + _cross(by_group + extra, state.log_pi), by_group

    def _prior_counts(self, state: TextPosterior) -> FloatArray:
        """(G, K): the paths the prior of the weights counts for, spread over the laws not zero."""
        if self.prior.weights is not None:
            return np.zeros_like(state.log_pi)
        nonzero = np.where(state.components.is_zero, 0.0, np.exp(state.log_pi))
        return np.asarray(self.prior.prior_count * nonzero / nonzero.sum(axis=1, keepdims=True))

    def _learn_weights(self, state: TextPosterior, counts: FloatArray) -> float:
        """The EM step; returns by how much it raises the bound."""
        before = _cross(counts, state.log_pi)
        with np.errstate(divide="ignore"):
            state.log_pi = np.log(counts / counts.sum(axis=1, keepdims=True))
        return _cross(counts, state.log_pi) - before

    def _drop(self, state: TextPosterior, extra: FloatArray) -> FloatArray:
        """Forget components no group has a use for; returns what is left of `extra`."""
        keep = np.asarray((np.exp(state.log_pi) > DROP).any(axis=0))
        if keep.all():
            return extra
        state.components = state.components.take(keep)
        state.log_pi = np.ascontiguousarray(state.log_pi[:, keep])
        state.phi = np.ascontiguousarray(state.phi[:, :, keep])
        return np.ascontiguousarray(extra[:, keep])


def _cross(counts: FloatArray, log_pi: FloatArray) -> float:
    used = counts > 0
    return float((counts[used] * log_pi[used]).sum())
