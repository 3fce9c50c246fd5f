"""Iteratively reweighted least squares around a penalised quadratic, with step control."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from driftglm._typing import FloatArray
from driftglm.baselines.problem import Problem, Solution
from driftglm.baselines.quadratic import Quadratic

N_HALVINGS = 40


def solve_path(
    problem: Problem, kind: type[Quadratic], strengths: FloatArray, tol: float, max_iter: int
) -> Iterator[Solution]:
    """Solutions along the strengths (strong to weak), each started from the one before."""
    solution = problem.start()
    once: Quadratic | None = None
    if problem.loss.family.quadratic:
        # The working target is the same at any eta, so one factorisation serves the whole path.
        once = kind(problem, problem.squares(problem.offset), many=strengths.size > 1)
    for strength in strengths:
        if once is not None:
            solution = once.solve(strength, solution, tol)
        else:
            solution = _irls(problem, kind, strength, solution, (tol, max_iter))
        yield solution


def _irls(
    problem: Problem,
    kind: type[Quadratic],
    strength: float,
    solution: Solution,
    limits: tuple[float, int],
) -> Solution:
    """Newton steps on the loss, the penalty as it is; the objective never rises."""
    tol, max_iter = limits

    def objective(at: Solution) -> tuple[FloatArray, float]:
        eta = problem.eta(at)
        return eta, problem.total_loss(eta) + kind.penalty(at.beta, strength)

    eta, value = objective(solution)
    for n_iter in range(1, max_iter + 1):
        aim = kind(problem, problem.squares(eta)).solve(strength, solution, tol)
        for k in range(N_HALVINGS):
            trial = _between(solution, aim, 0.5**k)
            eta, lower = objective(trial)
            if lower <= value:
                break
        else:
            # No step along the way goes down: only rounding is left.
            return replace(solution, converged=aim.converged, n_iter=n_iter)
        fall, solution, value = value - lower, trial, lower
        # Newton's last step squares the error, so a fall of tol^(3/2) leaves far less than tol.
        if fall <= tol**1.5 * (1.0 + abs(value)):
            return replace(solution, converged=aim.converged, n_iter=n_iter)
    return replace(solution, converged=False, n_iter=max_iter)


def _between(start: Solution, end: Solution, step: float) -> Solution:
    if step == 1.0:
        return end
    beta = start.beta + step * (end.beta - start.beta)
    return Solution(np.asarray(beta), start.gamma + step * (end.gamma - start.gamma))
