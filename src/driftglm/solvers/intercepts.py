"""The update of the intercepts, one after the other, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from driftglm._typing import FloatArray
from driftglm.objective import Problem, State
from driftglm.priors.averaging import AveragedPath, SeasonalPath
from driftglm.priors.gaussian_path import best_intercept_dynamics, kl_divergence, posterior_inplace
from driftglm.priors.learned import intercept_components, intercept_log_weights
from driftglm.priors.mixture import with_empty_steps
from driftglm.priors.offset import times_information
from driftglm.priors.seasonal_grid import seasonal_intercept
from driftglm.solvers.damping import damp_inplace

SMALLEST = 1e-300


def update_intercepts(
    problem: Problem,
    state: State,
    score: FloatArray,
    curvature: FloatArray,
    *,
    learn_dynamics: bool = True,
    damping: float = 1.0,
) -> float:
    """Set every intercept's posterior given the rest; `score` is kept in step.

    Variance and autocorrelation of the deviations are set to those of highest evidence, which is
    where EM would end. Returns the largest scaled gradient met, in the units of
    `SolverResult.optimality`. `state.eta` is not touched.

    An intercept that does not move is a point where the family is not quadratic: a mode, as the
    paths are.
    """
    worst = 0.0
    for j, h, b, _ in _each_intercept(problem, state, score, curvature, damping):
        variance, rho = state.intercept_dynamics[j]
        if learn_dynamics and h.size > 1 and not problem.intercepts.static[j] and h.any():
            scale = float(problem.intercepts.scale[j])
            variance, rho = best_intercept_dynamics(h, b, scale, (variance, rho))
            state.intercept_dynamics[j] = variance, rho
        out = np.empty((3, h.size))
        _, logdet = posterior_inplace(h, b, (np.inf, variance, rho), out)
        state.intercept_divergence[j] = kl_divergence(h, b, out, logdet)
        if not problem.family.quadratic and (h.size == 1 or problem.intercepts.static[j]):
            out[1], state.intercept_divergence[j] = 0.0, 0.0
        worst = max(worst, _set_intercept(state, j, (out[0], out[1]), h))
    return worst


def average_intercepts(
    problem: Problem,
    state: State,
    score: FloatArray,
    curvature: FloatArray,
    *,
    damping: float = 1.0,
    flat: bool = False,
) -> float:
    """As `update_intercepts`, but averaged over the components instead of choosing one.

    The components are those of `intercept_components`; `flat` keeps all intercepts constant.
    """
    worst, intercepts = 0.0, problem.intercepts
    for j, h, b, offset in _each_intercept(problem, state, score, curvature, damping):
        kind = float(intercepts.scale[j]), bool(intercepts.static[j]) or flat
        path = averaged_intercept(*kind, h.size, intercepts.cycle)
        found = path.posterior(h, b, offset)
        if problem.row_groups is not None:
            whole = problem.design.by_step(curvature * intercepts.columns[j] ** 2)
            spread = found.lost / max(float(h.sum()), SMALLEST)
            less = h * (spread - found.variance) / problem.precision(state)
            less *= damping if offset > 0 else 1.0
            state.intercept_credit[j] = whole * found.variance + less
        state.intercept_divergence[j] = found.divergence
        state.intercept_dynamics[j] = path.dynamics(found.phi)
        worst = max(worst, _set_intercept(state, j, (found.mean, found.variance), h))
    return worst


def intercept_forecast(
    prior: tuple[float, bool, int], h: FloatArray, b: FloatArray, offset: float, n_steps: int
) -> tuple[float, float]:
    """Mean and variance `n_steps` after the last, averaged over an intercept's components.

    `prior` is the intercept's scale, whether it is constant, and the steps of a cycle.
    """
    h, b = with_empty_steps(h, b, n_steps)
    scale, static, cycle = prior
    found = averaged_intercept(scale, static, h.size, cycle).posterior(h, b, offset)
    return float(found.mean[-1]), float(found.variance[-1])


def forecast_of_dynamics(
    dynamics: tuple[float, float], h: FloatArray, b: FloatArray, n_steps: int
) -> tuple[float, float]:
    """The same if variance and autocorrelation of an intercept's deviations are given."""
    h, b = with_empty_steps(h, b, n_steps)
    out = np.empty((3, h.size))
    posterior_inplace(h, b, (np.inf, *dynamics), out)
    return float(out[0, -1]), float(out[1, -1])


@lru_cache(maxsize=64)
def averaged_intercept(
    scale: float, static: bool, n_timesteps: int, cycle: int = 0
) -> AveragedPath:
    """The components of an intercept, which are asked for in every pass.

    One that is constant has no season, nor has any if `cycle` is 0.
    """
    if cycle and not static:
        return SeasonalPath(*seasonal_intercept(scale, n_timesteps, cycle))
    components = intercept_components(scale, n_timesteps, static=static)
    return AveragedPath(components, intercept_log_weights(components.count))


def intercept_information(
    problem: Problem,
    state: State,
    j: int,
    score: FloatArray,
    curvature: FloatArray,
    damping: float = 1.0,
) -> tuple[FloatArray, FloatArray, float]:
    """h and b of an intercept: curvature and linear term of its likelihood, step by step.

    Also the variance of an error that all steps share. With `damping` those of a step that goes
    part of the way.
    """
    precision, column = problem.precision(state), problem.intercepts.columns[j]
    h = precision * problem.design.by_step(curvature * column * column)
    gradient, mean = precision * problem.design.by_step(score * column), state.intercept_mean[j]
    offset = float(state.intercept_offset[j])
    if problem.row_groups is not None:
        h *= state.intercept_kept[j]
    if offset > 0.0:
        # More information about the point where the intercept is keeps it close.
        h, offset = h / damping, offset * damping
        return h, gradient + times_information(h, mean, offset), offset
    b = gradient + h * mean
    if damping < 1.0:
        damp_inplace(h, b, (state.intercept_h[j], state.intercept_b[j], mean), 1.0, damping)
    return h, b, offset


def _each_intercept(
    problem: Problem, state: State, score: FloatArray, curvature: FloatArray, damping: float
) -> Iterator[tuple[int, FloatArray, FloatArray, float]]:
    """Every intercept with its h, b and offset; the score follows what the caller does to it."""
    for j, column in enumerate(problem.intercepts.columns):
        before = state.intercept_mean[j].copy()
        known = intercept_information(problem, state, j, score, curvature, damping)
        h, b, offset = known
        # The same point with the information of a whole step: `offset` is kept as it is elsewhere.
        whole = damping if offset > 0.0 else 1.0
        state.intercept_h[j], state.intercept_b[j] = whole * h, whole * b
        yield j, *known
        score -= curvature * column * problem.design.to_rows(state.intercept_mean[j] - before)


def _set_intercept(
    state: State, j: int, moments: tuple[FloatArray, FloatArray], h: FloatArray
) -> float:
    """Store an intercept's posterior; returns its largest move in units of its precision."""
    change = np.abs(moments[0] - state.intercept_mean[j]) * np.sqrt(h)
    state.intercept_mean[j], state.intercept_variance[j] = moments
    return float(np.max(change, initial=0.0))
