"""The learned prior for text: posteriors of all words' paths, weights of the mixture by EM.

A pass updates all words at fixed log-rates of the contexts, settles the log-rates, and updates the
weights: three exact ascents of one bound,

    sum c mean eta - sum_n N_n log sum_w E[exp(eta_nw)] + sum_gk (n_gk + a_gk) log pi_gk
        - sum phi (log phi + KL).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.priors import weights
from driftglm.priors.learned import Learned
from driftglm.priors.mixture import Components, last_step_inplace
from driftglm.solvers import text_engine
from driftglm.solvers.base import Progress, SolverResult, StopReason
from driftglm.solvers.journal import Journal, NoJournal, Snapshot
from driftglm.solvers.stopping import Movement, last_rise
from driftglm.solvers.text_engine import PosteriorPass, PosteriorReport, WordEngine, WordPosteriors
from driftglm.solvers.text_posterior_kernel import Paths
from driftglm.solvers.text_problem import TextProblem
from driftglm.solvers.text_threads import in_order, run_chunks

LARGEST = 4.0
"""Largest variance of a coefficient: log rates of +-2 a standard deviation."""
SMALLEST_SHARE = 400.0
"""The smallest variance is this many times smaller. Words share their weights, so that effects too
small to be seen in one word can be seen in thousands."""
N_PASSES = 10
"""At least so many passes: the weights have only begun to be learned when the first ones end."""

MOST_WORK = 2e7
"""Updates of a path's step, of all words, that may be spent on letting probabilities settle after
the bound has: some seconds. Larger fits say that they still move."""


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
        (G, K) log weights, and the components they belong to.
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
        """(V, F) probability that a path is not zero, as far as its data could tell."""
        return text_engine.inclusion(self.components.variances, self.h, self.phi)

    def ahead(self, n_steps: int, n_jobs: int | None) -> FloatArray:
        """(2, V, F) means and variances `n_steps` after the last: empty steps are appended."""
        n_words, n_effects, _ = self.mean.shape
        out = np.zeros((n_words * n_effects, 2))
        tables = self.components.tables_ahead(n_steps)
        # Words one below the other: a path is a path.
        h, b, phi = (each.reshape(out.shape[0], -1) for each in (self.h, self.b, self.phi))

        def update(_: int, first: int, last: int) -> None:
            rows = slice(first * n_effects, last * n_effects)
            last_step_inplace(h[rows], b[rows], phi[rows], tables, out[rows])

        run_chunks(update, n_words, n_jobs)
        return np.ascontiguousarray(out.T).reshape(2, n_words, n_effects)


@dataclass
class Mixture:
    """What all words share while they are updated.

    Parameters
    ----------
    components
        The components.
    log_pi, prior_counts
        (G, K) log weights, and what their prior adds to the number of paths.
    log_rate
        (n_contexts,)
    """

    components: Components
    log_pi: FloatArray
    prior_counts: FloatArray
    log_rate: FloatArray

    def pass_inputs(self) -> PosteriorPass:
        """What a pass takes."""
        tables, variances = self.components.tables(), self.components.variances
        return PosteriorPass(tables, variances, self.log_pi, self.log_rate)

    def posterior(self, paths: Paths) -> TextPosterior:
        """Together with the paths of the words."""
        return TextPosterior(
            *paths, log_pi=self.log_pi, components=self.components, log_rate=self.log_rate
        )


@dataclass
class LocalPosteriors:
    """The words' posteriors in this process."""

    words: text_engine.Words
    fixed: text_engine.FixedInputs
    now: Paths
    n_jobs: int | None

    def update(self, inputs: PosteriorPass) -> PosteriorReport:
        """One pass over all words."""
        given = self.words, self.fixed
        return text_engine.update_chunks_inplace(*given, inputs, self.now, self.n_jobs)

    def keep(self, components: BoolArray) -> None:
        """Forget all components but these."""
        mean, variance, h, b, phi, divergence = self.now
        phi = np.ascontiguousarray(phi[:, :, components])
        self.now = mean, variance, h, b, phi, divergence

    def put(self, paths: Paths) -> None:
        """Go on from here."""
        self.now = paths

    def paths(self) -> Paths:
        """Where they have come to."""
        return self.now


@dataclass(frozen=True)
class LearnedTextSolver:
    """Coordinate ascent on the bound, words in parallel.

    Parameters
    ----------
    prior
        The mixture; its weights are shared by all paths of a group.
    groups
        (F,) group of every effect: one for all, or one each.
    order
        Effects to update, in turn; the others keep a posterior at zero.
    reach
        (F,) largest |x - center|.
    engine
        Who updates the words; None: threads of this process.
    """

    prior: Learned
    groups: IntArray
    order: IntArray
    reach: FloatArray
    n_jobs: int | None = None
    engine: WordEngine | None = None

    def start(self, problem: TextProblem) -> Mixture:
        """Weights where EM starts; log-rates without any effect."""
        n_timesteps = problem.design.n_timesteps
        n_seen = int((np.diff(problem.design.step_offsets) > 0).sum())
        components = self.prior.components(LARGEST, SMALLEST_SHARE, n_timesteps, n_seen)
        free = np.zeros(int(self.groups.max()) + 1, dtype=np.bool_)
        pi = weights.start_weights(self.prior, components, free)
        counts = weights.prior_counts(self.prior, components, pi)
        return Mixture(components, weights.log_weights(pi), counts, problem.start_log_rate())

    def _posteriors(
        self, problem: TextProblem, state: Mixture, *, count_included: bool
    ) -> WordPosteriors:
        """Every path at zero."""
        start = state.components.is_zero.astype(np.float64)
        effects = problem.effects(), self.order, self.groups, self.reach
        fixed = text_engine.FixedInputs(*effects, start, count_included)
        if self.engine is not None:
            return self.engine.posteriors(problem, fixed)
        words, paths = text_engine.Words.of(problem), fixed.start_paths(problem.n_words)
        return LocalPosteriors(words, fixed, paths, self.n_jobs)

    def solve(
        self,
        problem: TextProblem,
        *,
        max_iter: int,
        tol: float,
        progress: Progress | None = None,
        journal: Journal | None = None,
    ) -> SolverResult[TextPosterior]:
        """Passes until one raises the bound by less than `tol` per token, and words stand still.

        A large fit does not wait for the words.
        """
        journal = journal or NoJournal()
        state = self.start(problem)
        words = self._posteriors(problem, state, count_included=progress is not None)
        n_tokens = float(problem.totals.sum())
        enough = tol * n_tokens
        history: list[float] = []
        movement, n_more = Movement(), int(MOST_WORK / max(int(np.prod(problem.shape)), 1))
        if (saved := journal.read()) is not None:
            state, history = Mixture(**saved["mixture"]), saved["history"]
            words.put(tuple(saved["paths"]))
            movement, n_more = Movement(saved["moved"], saved["left"]), saved["n_more"]
        while len(history) < max_iter:
            if _settled(history, enough):
                if movement.settled(tol) or n_more <= 0:
                    break
                n_more -= 1
            if history and journal.due():
                at = {"moved": movement.last, "left": movement.left, "n_more": n_more}
                journal.write(_snapshot(state, words.paths(), history) | at)
            report = words.update(state.pass_inputs())
            movement.add(float(report.moved.max(initial=0.0)))
            value, counts = self._settle(problem, state, report)
            if self.prior.weights is None:
                value += _learn(state, counts)
                _drop(state, words)
            history.append(value)
            if progress is not None:
                progress(len(history), value, int(report.included.sum()))
        paths = words.paths()
        at = {"moved": movement.last, "left": movement.left, "n_more": n_more}
        journal.write(_snapshot(state, paths, history) | at, last=True)
        reason = StopReason.MOVING if len(history) < max_iter else StopReason.MAX_ITER
        if _settled(history, enough) and movement.settled(tol):
            reason = StopReason.CONVERGED
        optimality = last_rise(history) / n_tokens
        return SolverResult((state.posterior(paths),), np.array(history), optimality, reason)

    def _settle(
        self, problem: TextProblem, state: Mixture, report: PosteriorReport
    ) -> tuple[float, FloatArray]:
        """Settle the log-rates after a pass; the bound, and what the weights are learned from."""
        linear, divergence = in_order(report.numbers)
        state.log_rate = problem.settled(state.log_rate, in_order(report.expected))
        by_group = np.zeros_like(state.log_pi)
        np.add.at(by_group, self.groups, in_order(report.members))
        counts = by_group + state.prior_counts
        value = problem.log_likelihood(float(linear), state.log_rate) - float(divergence)
        return value + weights.cross_term(counts, state.log_pi), counts


def _learn(state: Mixture, counts: FloatArray) -> float:
    """The EM step for the weights; returns by how much it raises the bound."""
    before = weights.cross_term(counts, state.log_pi)
    state.log_pi = weights.learned_weights(counts, state.log_pi)
    return weights.cross_term(counts, state.log_pi) - before


def _drop(state: Mixture, words: WordPosteriors) -> None:
    """Forget components no group has a use for."""
    keep = weights.components_in_use(state.log_pi)
    if keep.all():
        return
    state.components = state.components.take(keep)
    state.log_pi = weights.renormalized_weights(state.log_pi, keep)
    state.prior_counts = np.ascontiguousarray(state.prior_counts[:, keep])
    words.keep(keep)


def _settled(history: list[float], enough: float) -> bool:
    return len(history) >= N_PASSES and last_rise(history) < enough


def _snapshot(state: Mixture, paths: Paths, history: list[float]) -> Snapshot:
    """What it takes to go on with the next pass."""
    return {"mixture": dict(vars(state)), "paths": list(paths), "history": history}
