"""Modes of a text model under one of the paper's priors, under ridge, or under a lasso.

A pass evaluates the prior once (its quadratic bound then holds for all words at once, also where
thousands of them share one scale), updates all words at fixed log-rates of the contexts, takes off
what all words of an effect have in common, and settles the log-rates. None of these lowers the
floored log posterior.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.priors import Fixed, PathPrior, PathStats, Penalty
from driftglm.solvers.base import Progress, SolverResult, StopReason
from driftglm.solvers.journal import Journal, NoJournal, Snapshot
from driftglm.solvers.rate_rounds import RateRounds
from driftglm.solvers.stopping import last_rise, stands_still
from driftglm.solvers.text_engine import WordEngine, Words, sweep_chunks_inplace
from driftglm.solvers.text_mode_kernel import ModePass
from driftglm.solvers.text_problem import TextProblem
from driftglm.solvers.text_threads import in_order

REFERENCE = 4.0
"""Variance of a log rate that an effect could explain, roughly."""
FLOOR, ZERO = 1e-12, 1e-10
N_START_PASSES = 15
N_STALLED = 20
"""A fit whose objective has not moved in its last digits for so many passes has stalled."""


@dataclass
class TextMode:
    """Paths (V, F, T), the contexts' log-rates, and the prior evaluated at the paths."""

    beta: FloatArray
    log_rate: FloatArray
    alive: BoolArray
    mean_rho: FloatArray = field(default_factory=lambda: np.zeros(0))
    rate: float | None = None


@dataclass(frozen=True)
class TiedPrior:
    """A prior over the paths of all words: each by itself, or all words of an effect together.

    Parameters
    ----------
    prior
        Density of one path, or of a group of paths that share scale and autocorrelation.
    by_effect
        Whether the words of an effect form one group.
    floor
        (F,) added to a path's squared length, so that the density is finite at zero.
    """

    prior: PathPrior
    by_effect: bool
    floor: FloatArray

    def evaluate(self, beta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log density, penalties (1 or V, F, 3), and E[rho] (F,) or (V, F).

        Zero paths of a sparse prior count at the floor; their penalties are never asked for.
        """
        n_words, n_effects, n_steps = beta.shape
        shape = (1, n_effects) if self.by_effect else (n_words, n_effects)
        stats = self._stats(beta)
        n_tied = n_words if self.by_effect else 1
        floor = np.broadcast_to(self.floor * n_tied, shape).ravel()
        penalty = self._each(stats, floor, n_steps, n_tied)
        penalties = np.stack([penalty.omega, penalty.omega_alpha, penalty.omega_end], axis=-1)
        rho = penalty.mean_rho.reshape(shape)
        return float(penalty.log_density.sum()), penalties.reshape(*shape, 3), rho

    def _each(self, stats: PathStats, floor: FloatArray, n_steps: int, n_tied: int) -> Penalty:
        if not self.prior.sparse:
            return self.prior.evaluate(stats, n_steps, n_tied)
        # Most paths are zero, all with the few values the floors have: those are evaluated once.
        zero = stats.S == 0.0
        values, position = np.unique(floor[zero], return_inverse=True)
        nothing = np.zeros_like(values)
        live, at_zero = np.flatnonzero(~zero), np.flatnonzero(zero)
        out = np.zeros((6, stats.S.size))
        for members, part, positions in (
            (live, stats.take(live).floored(floor[live]), np.arange(live.size)),
            (at_zero, PathStats(values, nothing, nothing), position.ravel()),
        ):
            if members.size:
                penalty = self.prior.evaluate(part, n_steps, n_tied)
                for row, numbers in zip(out, vars(penalty).values(), strict=True):
                    row[members] = numbers[positions]
        return Penalty(*out)

    def _stats(self, beta: FloatArray) -> PathStats:
        if not self.by_effect:
            return PathStats.of(beta.reshape(-1, beta.shape[2]))
        ends = beta[:, :, 0] ** 2 + beta[:, :, -1] ** 2
        return PathStats(
            S=np.einsum("vit,vit->i", beta, beta),
            R=np.einsum("vit,vit->i", beta[:, :, :-1], beta[:, :, 1:]),
            E=ends.sum(axis=0),
        )

    def sample(self, beta: FloatArray) -> tuple[PathStats, int, int]:
        """What the prior's rate is estimated from."""
        return self._stats(beta), beta.shape[2], beta.shape[0] if self.by_effect else 1


@dataclass
class _Progress:
    """How far a search for a mode has come: the round, and the passes of this round."""

    rounds: RateRounds
    history: list[float] = field(default_factory=list)
    optimality: float = np.inf
    reason: str | None = None

    @classmethod
    def saved(cls, at: Snapshot) -> _Progress:
        """As it was when `snapshot` was taken."""
        return cls(**at | {"rounds": RateRounds(**at["rounds"])})

    def snapshot(self) -> Snapshot:
        """Plain values."""
        return vars(self) | {"rounds": vars(self.rounds)}


@dataclass(frozen=True)
class ModeTextSolver:
    """Majorise-minimise over words.

    Parameters
    ----------
    prior
        Any prior with a quadratic bound; not used by a lasso.
    by_effect
        Whether all words of an effect share scale and autocorrelation.
    order
        Effects to update, in turn; the others stay at zero.
    mean_square
        (F,) of the effects about their centers: the unit in which a path is small.
    strength
        Of a lasso, strength * sum |beta|, instead of the prior; one step only. 0: no lasso.
    flat
        A pass that raises the objective by less per token is the last. Effects that occur together
        (the states of one district) are told apart slowly, long after probabilities have settled.
    engine
        Who updates the words; None: threads of this process.
    """

    prior: PathPrior
    by_effect: bool
    order: IntArray
    mean_square: FloatArray
    n_jobs: int | None = None
    strength: float = 0.0
    flat: float = 0.0
    engine: WordEngine | None = None

    def solve(
        self,
        problem: TextProblem,
        *,
        max_iter: int,
        tol: float,
        start: TextMode | None = None,
        progress: Progress | None = None,
        journal: Journal | None = None,
    ) -> SolverResult[TextMode]:
        """Ascend until no coefficient has a scaled gradient above `tol`.

        A sparse prior never leaves zero, so that it starts from a ridge fit; without `by_effect`
        the paths that could not have a nonzero mode given the others are then set to zero. A rate
        that is to be estimated alternates with the mode, in rounds.
        """
        journal = journal or NoJournal()
        tied, at = self._tied(), _Progress(RateRounds(self.prior.estimates_rate))
        if (saved := journal.read()) is None:
            state = self._start(problem, start)
        else:
            state = TextMode(saved["beta"], saved["log_rate"], saved["alive"])
            at = _Progress.saved(saved["at"])
            if at.rounds.rate is not None:
                tied = replace(tied, prior=self.prior.with_rate(at.rounds.rate))
        limits, watched = (max_iter, tol), (progress, journal)
        reason = self._ascend(problem, tied, state, limits, at, watched)
        while at.rounds.go_on:
            prior, rounds = at.rounds.following(tied.prior, tied.sample(state.beta))
            tied, at = replace(tied, prior=prior), _Progress(rounds)
            reason = self._ascend(problem, tied, state, limits, at, watched)
        state.rate = tied.prior.rate_used
        journal.write(_snapshot(state, at), last=True)
        state.mean_rho = tied.evaluate(state.beta)[2] if self.strength == 0.0 else np.zeros(0)
        return SolverResult((state,), np.array(at.history), at.optimality, reason)

    def _tied(self) -> TiedPrior:
        unit = REFERENCE / self.mean_square
        return TiedPrior(self.prior, self.by_effect, FLOOR * unit if self._sparse else 0.0 * unit)

    @property
    def _sparse(self) -> bool:
        return self.strength == 0.0 and self.prior.sparse

    def _start(self, problem: TextProblem, start: TextMode | None) -> TextMode:
        if start is not None:
            return TextMode(start.beta.copy(), start.log_rate.copy(), start.alive.copy())
        state = TextMode(
            np.zeros(problem.shape), problem.start_log_rate(), np.ones(problem.shape[1], np.bool_)
        )
        if not self._sparse:
            return state
        ridge = replace(self, prior=Fixed(1.0, 0.9, "stationary"), by_effect=True)
        state = ridge.solve(problem, max_iter=N_START_PASSES, tol=1e-3, start=state).state
        if not self.by_effect:
            _, penalties, _ = self._tied().evaluate(state.beta)
            self._sweep(problem, state, penalties, decide=True)
        return state

    def _ascend(
        self,
        problem: TextProblem,
        tied: TiedPrior,
        state: TextMode,
        limits: tuple[int, float],
        at: _Progress,
        watched: tuple[Progress | None, Journal],
    ) -> StopReason:
        """Passes until one of them is the last of this round; `at` is kept in step."""
        max_iter, tol = limits
        progress, journal = watched
        history = at.history
        while at.reason is None:
            if len(history) >= max_iter:
                at.reason = StopReason.MAX_ITER.value
                break
            self._bury(state)
            penalties = np.zeros((1, problem.shape[1], 3))
            if self.strength == 0.0:
                _, penalties, _ = tied.evaluate(state.beta)
            likelihood, at.optimality = self._sweep(problem, state, penalties)
            history.append(likelihood + self._log_prior(tied, state))
            if progress is not None:
                progress(len(history), history[-1], int(state.alive.sum()))
            flat = last_rise(history) < self.flat * float(problem.totals.sum())
            if at.optimality <= tol or flat:
                at.reason = StopReason.CONVERGED.value
            elif stands_still(history, N_STALLED):
                at.reason = StopReason.STALLED.value
            elif journal.due():
                journal.write(_snapshot(state, at))
        return StopReason(at.reason)

    def _log_prior(self, tied: TiedPrior, state: TextMode) -> float:
        if self.strength > 0.0:
            return -self.strength * float(np.abs(state.beta).sum())
        return tied.evaluate(state.beta)[0]

    def _sweep(
        self, problem: TextProblem, state: TextMode, penalties: FloatArray, *, decide: bool = False
    ) -> tuple[float, float]:
        """One pass over all words: the log-likelihood and the largest gradient met."""
        zero_below = np.full(problem.shape[1], -1.0)
        if self._sparse and not self.by_effect:
            zero_below = ZERO * REFERENCE / self.mean_square
        inputs = (penalties, state.alive, zero_below, self.strength, decide)
        expected, numbers = self._update(problem, state, inputs)
        state.log_rate = problem.settled(state.log_rate, in_order(expected))
        likelihood = problem.log_likelihood(float(in_order(numbers)[0]), state.log_rate)
        self._recentre(problem, state)
        return likelihood, float(numbers[:, 1].max())

    def _update(
        self, problem: TextProblem, state: TextMode, inputs: ModePass
    ) -> tuple[FloatArray, FloatArray]:
        if self.engine is not None:
            return self.engine.sweep(problem, self.order, inputs, state.beta, state.log_rate)
        shared = (problem.effects(), self.order)
        return sweep_chunks_inplace(
            Words.of(problem), shared, inputs, state.beta, state.log_rate, self.n_jobs
        )

    def _recentre(self, problem: TextProblem, state: TextMode) -> None:
        """Take off what all words have in common, which changes no probability.

        One word at a time would creep there. For priors that see an effect's words together (ridge
        among them) this raises the density; a prior that prefers single paths at exactly zero
        loses by it. The log-rates move so that expected counts stay as they are.
        """
        if self.strength > 0.0 or (self.prior.sparse and not self.by_effect):
            return
        common = in_order(state.beta) / problem.n_words
        state.beta -= common
        state.log_rate = state.log_rate + problem.design.eta(common)

    def _bury(self, state: TextMode) -> None:
        """An effect whose words are all but zero together is zero for good."""
        if not (self._sparse and self.by_effect):
            return
        size = np.einsum("vit,vit->i", state.beta, state.beta)
        below = ZERO * REFERENCE / self.mean_square * state.beta.shape[0]
        state.alive &= size >= below
        state.beta[:, ~state.alive] = 0.0


def _snapshot(state: TextMode, at: _Progress) -> Snapshot:
    """What it takes to go on with the next pass."""
    arrays = {"beta": state.beta, "log_rate": state.log_rate, "alive": state.alive}
    return {**arrays, "at": at.snapshot()}
