"""Block majorise-minimise: one feature's path at a time, monotone, no step size.

A fit has two parts. The *search* (sparse priors only) starts from given paths and updates every
feature, most correlated first; a path at zero may leave it if a nonzero mode exists given the
others, and the noise falls from var(y) as features come in. The *ascent* then raises the floored
objective; a path that reaches zero stays there, and only live paths are updated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.objective import Objective, State
from driftglm.priors import Penalty
from driftglm.solvers.base import Run, Solver, SolverResult, StopReason
from driftglm.solvers.coupling import Coupling
from driftglm.solvers.kernels import Paths, search_inplace, sweep_inplace
from driftglm.solvers.rowstate import LEAST_DAMPING, RowWork
from driftglm.solvers.stopping import stands_still

N_SEARCH_PASSES = 10
N_STALLED, SLACK = 100, 0.99


@dataclass
class _Pass(RowWork):
    """Passes over the features of an Objective."""

    problem: Objective
    penalty: Penalty = field(init=False)

    @property
    def _paths(self) -> Paths:
        return self.state.beta, self.problem.static, self.problem.zero_below

    @property
    def alive(self) -> IntArray:
        """The paths that are not zero, in the order to update them."""
        return self.order[self.problem.alive(self.state.beta)[self.order]]

    def ascend(self) -> float:
        """Update intercepts, live paths and noise once; returns the largest gradient."""
        self.penalty = self.problem.penalty(self.state.beta)
        return self.guarded(self._ascend, self.problem.value)

    def _ascend(self) -> float:
        order = self.alive
        self.begin(order)
        worst = self.update_intercepts()
        penalty = self.penalty
        penalties = np.column_stack([penalty.omega, penalty.omega_alpha, penalty.omega_end])
        precision, gradient = self.problem.precision(self.state), 0.0
        for block in self.update_blocks(order):
            paths = block.take_all(self._paths)
            found = block.inputs, precision, block.take(penalties), paths, self.damping
            gradient = max(gradient, sweep_inplace(*found))
            block.put_back()
        self.settle(order)
        return max(worst, gradient, self.problem.update_noise(self.state))

    def search(self, nodes: tuple[FloatArray, FloatArray]) -> tuple[int, float]:
        """Intercepts, then every path to its mode given the others: switches, move of the noise.

        The floored objective may fall, so a step is judged by the likelihood alone: it may fall
        short of what the model promised by the model's quadratic term at most.
        """
        while True:
            backup = self.state.copy()
            self.begin(self.order)
            score, curvature = self.score.copy(), self.curvature
            self.update_intercepts()
            precision, n_switched = self.problem.precision(self.state), 0
            for block in self.update_blocks(self.order):
                paths = block.take_all(self._paths)
                n_switched += search_inplace(block.inputs, precision, nodes, paths, self.damping)
                block.put_back()
            self.settle(self.order)
            if self.problem.family.bounded or self._rose_enough(backup, score, curvature):
                break
            if self.damping < LEAST_DAMPING:
                self.restart(backup)
                return 0, 0.0
            self.damping *= 0.5
            self.restart(backup)
        return n_switched, self.problem.update_noise(self.state)

    def _rose_enough(self, old: State, score: FloatArray, curvature: FloatArray) -> bool:
        problem, state = self.problem, self.state
        change = state.eta - old.eta
        precision = problem.by_row(problem.precision(old))
        promise = float(np.sum(precision * (score * change - curvature * change**2)))
        given = problem.by_row(old.noise), old.shape
        before, after = (problem.certain_likelihood(eta, *given) for eta in (old.eta, state.eta))
        return bool(after - before >= promise)


def search_start(work: _Pass) -> None:
    """Move the state to a start for the ascent and find the order to update features in."""
    objective, state = work.problem, work.state
    null = _Pass(objective, objective.start())
    null.set_intercepts()
    null.survey()
    work.order = null.update_order()
    if not objective.family.quadratic and not state.intercept_mean.any():
        for name, value in vars(null.state).items():
            if name.startswith("intercept_"):
                setattr(state, name, value.copy())
        work.restart(state)
    n_steps = objective.design.n_timesteps
    full, single = objective.prior.search_nodes(n_steps), objective.prior.search_nodes(1)
    if full is None or single is None:
        return
    for _ in range(N_SEARCH_PASSES):
        n_switched, moved = work.search((full, single))
        if n_switched == 0 and moved < 1.0:
            break


def _begin(works: list[_Pass], coupling: Coupling) -> None:
    """Where the ascent starts."""
    coupling.settle([work.state for work in works])
    for work in works:
        search_start(work)
    coupling.settle([work.state for work in works])


def _recentre(works: list[_Pass]) -> None:
    """Take what all responses of a softmax have in common off their paths.

    It changes no probability, and ridge prefers paths that add up to zero; one response at a
    time would creep there.
    """
    if len(works) > 1 and not works[0].problem.prior.sparse:
        common = np.mean([work.state.beta for work in works], axis=0)
        for work in works:
            work.state.beta -= common
            work.restart(work.state)


def _stalled(history: list[float], gradients: list[float]) -> bool:
    """Neither the objective nor the largest gradient has moved for N_STALLED passes.

    Close to a maximum the objective stops moving in its last digit long before the gradient
    does, and the gradient of a stiff problem falls slowly.
    """
    if len(history) < 2 * N_STALLED or not stands_still(history, N_STALLED):
        return False
    return min(gradients[-N_STALLED:]) > SLACK * min(gradients[:-N_STALLED])


@dataclass(frozen=True)
class BlockSolver(Solver[Objective, State]):
    """The default solver: exact block updates, strong sparsity."""

    def run(self, run: Run[Objective, State]) -> SolverResult[State]:
        """Search for a start, then ascend until no coefficient has a gradient above `tol`."""
        works = [_Pass(*pair) for pair in zip(run.problems, run.states, strict=True)]
        gradients: list[float] = []
        if (saved := run.journal.read()) is not None:
            run.history, gradients = saved["history"], saved["gradients"]
            for work, stored in zip(works, saved["works"], strict=True):
                work.resume(stored)
        else:
            _begin(works, run.coupling)
        optimality, reason = np.inf, StopReason.MAX_ITER
        while not run.exhausted:
            n_alive = sum(int(work.alive.size) for work in works)
            optimality = max(work.ascend() for work in works)
            _recentre(works)
            run.coupling.settle([work.state for work in works])
            values = sum(work.problem.value(work.state) for work in works)
            run.record(values + run.coupling.constant, n_alive)
            if optimality <= run.tol:
                reason = StopReason.CONVERGED
                break
            gradients.append(optimality)
            if _stalled(run.history, gradients) or np.isinf(optimality):
                reason = StopReason.STALLED
                break
            found = [work.snapshot() for work in works]
            run.journal.write({"works": found, "history": run.history, "gradients": gradients})
        return run.result((work.state for work in works), optimality, reason)
