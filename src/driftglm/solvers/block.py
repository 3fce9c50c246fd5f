"""Block majorise-minimise: one feature's path at a time, monotone, no step size.

A fit has two parts. The *search* (sparse priors only) starts from given paths and visits every
feature, most correlated first; a path at zero may leave it if a nonzero mode exists given the
others, and the noise falls from var(y) as features come in. The *ascent* then raises the floored
objective; a path that reaches zero stays there, and only live paths are visited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.objective import Objective, State
from driftglm.priors import Penalty
from driftglm.solvers.base import Progress, SolverResult, StopReason
from driftglm.solvers.kernels import search_inplace, sweep_inplace
from driftglm.solvers.levels import update_levels
from driftglm.solvers.rowstate import RowWork

N_SEARCH_PASSES = 10
N_STALLED, SLACK = 100, 0.99


@dataclass
class _Pass(RowWork):
    """A pass over the features of an Objective."""

    problem: Objective

    @property
    def _paths(self) -> tuple[FloatArray, BoolArray, FloatArray]:
        return self.state.beta, self.problem.static, self.problem.zero_below

    def sweep(self, order: IntArray, penalty: Penalty) -> float:
        laws = np.column_stack([penalty.omega, penalty.omega_alpha, penalty.omega_end])
        precision, rows = self.problem.precision(self.state), self.for_kernels()
        worst = sweep_inplace(order, self.columns, rows, self.squares, precision, laws, self._paths)
        self.absorb(rows)
        return worst

    def search(self, order: IntArray, nodes: tuple[FloatArray, FloatArray]) -> int:
        precision, rows = self.problem.precision(self.state), self.for_kernels()
        n_switched = search_inplace(
            order, self.columns, rows, self.squares, precision, nodes, self._paths
        )
        self.absorb(rows)
        return n_switched

    def finish(self) -> float:
        """Bring eta and noise in step; returns the noise's move in standard deviations."""
        self.settle()
        spread = self.problem.level_spread(self.state, self.curvature)
        return self.problem.update_noise(self.state, spread)


def visiting_order(design: ColumnDesign, score: FloatArray, squares: FloatArray) -> IntArray:
    """Features by falling correlation with what the levels leave unexplained."""
    total = squares.sum(axis=1)
    pull = np.abs(design.gradient(score).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(total > 0, pull / np.sqrt(total), -1.0)
    return np.argsort(-correlation, kind="stable").astype(np.int64)


def search_start(objective: Objective, state: State) -> IntArray:
    """Move `state` to a start for the ascent and return the order to visit features in."""
    work = _Pass(objective, state)
    beta, state.beta = state.beta, np.zeros_like(state.beta)
    null_score = objective.family.score(objective.y, np.zeros_like(state.eta), objective.weights)
    null = state.copy()
    update_levels(objective, null, null_score, work.curvature)
    order = visiting_order(objective.design, null_score, work.squares)
    state.beta = beta
    n_steps = objective.design.n_timesteps
    full, single = objective.prior.search_nodes(n_steps), objective.prior.search_nodes(1)
    if full is None or single is None:
        return order
    for _ in range(N_SEARCH_PASSES):
        work.update_levels()
        n_switched = work.search(order, (full, single))
        moved = work.finish()
        if n_switched == 0 and moved < 1.0:
            break
    return order


def _stands_still(history: list[float], pulls: list[float]) -> bool:
    """Neither the objective nor the largest pull has moved for N_STALLED passes.

    Close to a maximum the objective stops moving in its last digit long before the gradient
    does, and the gradient of a stiff problem falls slowly.
    """
    if len(history) < 2 * N_STALLED:
        return False
    rise = history[-1] - history[-N_STALLED]
    no_rise = rise <= 1e-15 * N_STALLED * abs(history[-1])
    return no_rise and min(pulls[-N_STALLED:]) > SLACK * min(pulls[:-N_STALLED])


@dataclass(frozen=True)
class BlockSolver:
    """The default solver: exact block updates, strong sparsity."""

    def solve(
        self,
        objective: Objective,
        state: State,
        *,
        max_iter: int,
        tol: float,
        progress: Progress | None = None,
    ) -> SolverResult:
        """Search for a start, then ascend until no coefficient is pulled by more than `tol`."""
        state = state.copy()
        order = search_start(objective, state)
        work = _Pass(objective, state)
        penalty = objective.penalty(state.beta)
        history: list[float] = []
        pulls: list[float] = []
        optimality, reason = np.inf, StopReason.MAX_ITER
        for iteration in range(max_iter):
            alive = order[objective.alive(state.beta)[order]]
            pull = work.update_levels()
            optimality = max(pull, work.sweep(alive, penalty))
            optimality = max(optimality, work.finish())
            penalty = objective.penalty(state.beta)
            history.append(objective.value(state, penalty))
            if progress is not None:
                progress(iteration + 1, history[-1], int(alive.size))
            if optimality <= tol:
                reason = StopReason.CONVERGED
                break
            pulls.append(optimality)
            if _stands_still(history, pulls):
                reason = StopReason.STALLED
                break
        return SolverResult(state, np.array(history), float(optimality), reason)
