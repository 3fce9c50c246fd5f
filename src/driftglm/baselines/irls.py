"""Iteratively reweighted least squares around a penalised quadratic, with step control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from driftglm._typing import FloatArray
from driftglm.baselines.problem import Problem, Solution
from driftglm.baselines.quadratic import Quadratic

MakeQuadratic = Callable[[FloatArray, FloatArray], Quadratic]
"""(working target, working weights) -> quadratic."""
PenaltyValue = Callable[[FloatArray, float], float]
"""(beta, strength) -> penalty."""

N_HALVINGS = 40


def solve_path(
    problem: Problem,
    quadratic: MakeQuadratic,
    penalty: PenaltyValue,
    strengths: Iterable[float],
    tol: float,
    max_iter: int,
) -> Iterator[Solution]:
    """Solutions along the strengths (strong to weak), each started from the one before."""
    solution = problem.start()
    if problem.loss.quadratic:
        # The working target is the same at any eta, so one factorisation serves the whole path.
        once = quadratic(*problem.squares(problem.offset))
        for strength in strengths:
            solution = once.solve(strength, solution, tol)
            yield solution
        return
    for strength in strengths:
        solution = _irls(problem, quadratic, penalty, strength, solution, (tol, max_iter))
        yield solution


def _irls(
    problem: Problem,
    quadratic: MakeQuadratic,
    penalty: PenaltyValue,
    strength: float,
    solution: Solution,
    limits: tuple[float, int],
) -> Solution:
    """Newton steps on the loss, the penalty kept as it is; the objective never rises."""
    tol, max_iter = limits
    eta = problem.eta(solution)
    value = problem.total_loss(eta) + penalty(solution.beta, strength)
    for n_iter in range(1, max_iter + 1):
        inner = quadratic(*problem.squares(eta))
        aim = inner.solve(strength, solution, tol)
        step = 1.0
        for _ in range(N_HALVINGS):
            trial = _between(solution, aim, step)
            eta = problem.eta(trial)
            lower = problem.total_loss(eta) + penalty(trial.beta, strength)
            if lower <= value:
                break
            step *= 0.5
        else:
            # No step along the way goes down: only rounding is left.
            return Solution(solution.beta, solution.gamma, aim.converged, n_iter)
        fall, solution, value = value - lower, trial, lower
        # Newton's last step squares the error, so a fall of tol^(3/2) leaves far less than tol.
        if fall <= tol**1.5 * (1.0 + abs(value)):
            return Solution(solution.beta, solution.gamma, aim.converged, n_iter)
    return Solution(solution.beta, solution.gamma, converged=False, n_iter=max_iter)


def _between(start: Solution, end: Solution, step: float) -> Solution:
    if step == 1.0:
        return end
    beta = start.beta + step * (end.beta - start.beta)
    return Solution(np.asarray(beta), start.gamma + step * (end.gamma - start.gamma))
