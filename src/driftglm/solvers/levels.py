"""The levels' own step: intercept and always-in paths, one after the other, in closed form."""

from __future__ import annotations

import numpy as np

from driftglm._typing import FloatArray
from driftglm.objective import Problem, State
from driftglm.priors.gaussian_path import best_level_law, kl_divergence, posterior_inplace


def update_levels(
    problem: Problem,
    state: State,
    score: FloatArray,
    curvature: FloatArray,
    *,
    learn_law: bool = True,
) -> float:
    """Set every level's posterior given the rest; `score` is kept in step.

    The law of the deviations (variance, autocorrelation) is set to the one of highest evidence,
    which is where EM would end. Returns the largest scaled gradient met, in the units of
    `SolverResult.optimality`. `state.eta` is not touched.
    """
    design, levels = problem.design, problem.levels
    precision = problem.precision(state)
    squares = problem.level_squares(curvature)
    out = np.empty((3, design.n_timesteps))
    worst = 0.0
    for j in range(levels.count):
        column = levels.columns[j]
        h = precision * squares[j]
        b = precision * design.by_step(score * column) + h * state.level_mean[j]
        variance, rho = state.level_law[j]
        if learn_law and design.n_timesteps > 1 and not levels.static[j] and h.any():
            variance, rho = best_level_law(h, b, float(levels.scale[j]), (variance, rho))
            state.level_law[j] = variance, rho
        _, logdet = posterior_inplace(h, b, (np.inf, variance, rho), out)
        change = out[0] - state.level_mean[j]
        worst = max(worst, float(np.max(np.abs(change) * np.sqrt(h), initial=0.0)))
        state.level_mean[j], state.level_variance[j] = out[0], out[1]
        state.level_divergence[j] = kl_divergence(h, b, out, logdet)
        score -= curvature * column * design.spread(change)
    return worst
