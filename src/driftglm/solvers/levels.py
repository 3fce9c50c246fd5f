"""The levels' own step: intercept and always-in paths, one after the other, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from driftglm._typing import FloatArray
from driftglm.objective import Problem, State
from driftglm.priors.gaussian_path import best_level_law, kl_divergence, posterior_inplace
from driftglm.priors.learned import level_components, level_log_weights
from driftglm.priors.mixture import (
    Components,
    Tables,
    average_inplace,
    log_evidences_inplace,
    weights_inplace,
    with_empty_steps,
)
from driftglm.solvers.damping import damp_inplace


def update_levels(
    problem: Problem,
    state: State,
    score: FloatArray,
    curvature: FloatArray,
    *,
    learn_law: bool = True,
    damping: float = 1.0,
) -> float:
    """Set every level's posterior given the rest; `score` is kept in step.

    The law of the deviations (variance, autocorrelation) is set to the one of highest evidence,
    which is where EM would end. Returns the largest scaled gradient met, in the units of
    `SolverResult.optimality`. `state.eta` is not touched.

    A level that has no law to learn is a point where the family is not quadratic: a mode, as
    the paths are.
    """
    worst = 0.0
    for j, h, b in _each_level(problem, state, score, curvature, damping):
        variance, rho = state.level_law[j]
        if learn_law and h.size > 1 and not problem.levels.static[j] and h.any():
            scale = float(problem.levels.scale[j])
            variance, rho = best_level_law(h, b, scale, (variance, rho))
            state.level_law[j] = variance, rho
        out = np.empty((3, h.size))
        _, logdet = posterior_inplace(h, b, (np.inf, variance, rho), out)
        state.level_divergence[j] = kl_divergence(h, b, out, logdet)
        if not problem.family.quadratic and (h.size == 1 or problem.levels.static[j]):
            out[1], state.level_divergence[j] = 0.0, 0.0
        worst = max(worst, _set_level(state, j, out, h))
    return worst


def average_levels(
    problem: Problem,
    state: State,
    score: FloatArray,
    curvature: FloatArray,
    *,
    damping: float = 1.0,
    flat: bool = False,
) -> float:
    """As `update_levels`, but averaged over the laws of `level_components` instead of choosing.

    `flat` keeps all levels constant over time.
    """
    worst = 0.0
    for j, h, b in _each_level(problem, state, score, curvature, damping):
        levels = problem.levels
        out, state.level_divergence[j], law = level_posterior(
            float(levels.scale[j]), bool(levels.static[j]) or flat, h, b
        )
        state.level_law[j] = law
        worst = max(worst, _set_level(state, j, out, h))
    return worst


def level_posterior(
    scale: float, static: bool, h: FloatArray, b: FloatArray
) -> tuple[FloatArray, float, tuple[float, float]]:
    """Mean and variance (2, T), divergence from the prior, and (P(moving), E[rho | moving])."""
    laws, _ = level_laws(scale, h.size, static)
    out, phi, divergence = _averaged(scale, static, h, b)
    moving = float(phi[1:].sum())
    rho = float(phi[1:] @ laws.rho[1:]) / moving if moving > 0 else 1.0
    return out, divergence, (moving, rho)


def level_forecast(
    scale: float, static: bool, h: FloatArray, b: FloatArray, n_steps: int
) -> tuple[float, float]:
    """Mean and variance `n_steps` after the last, averaged over a level's laws."""
    out = _averaged(scale, static, *with_empty_steps(h, b, n_steps))[0]
    return float(out[0, -1]), float(out[1, -1])


def law_forecast(
    law: tuple[float, float], h: FloatArray, b: FloatArray, n_steps: int
) -> tuple[float, float]:
    """The same under one law, the variance and autocorrelation of a level's deviations."""
    h, b = with_empty_steps(h, b, n_steps)
    out = np.empty((3, h.size))
    posterior_inplace(h, b, (np.inf, *law), out)
    return float(out[0, -1]), float(out[1, -1])


@lru_cache(maxsize=64)
def level_laws(scale: float, n_timesteps: int, static: bool) -> tuple[Components, Tables]:
    """A level's laws and their tables, which are asked for in every pass."""
    laws = level_components(scale, n_timesteps, static=static)
    return laws, laws.tables()


def _averaged(
    scale: float, static: bool, h: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Mean and variance (2, T), weights of the laws, divergence from the prior."""
    laws, tables = level_laws(scale, h.size, static)
    log_pi = level_log_weights(laws.count)
    evidence, parts, phi = np.empty(laws.count), np.empty((3, laws.count)), np.empty(laws.count)
    log_evidences_inplace(h, b, tables, evidence, parts)
    weights_inplace(evidence, log_pi, phi)
    out = np.empty((2, h.size))
    divergence = average_inplace(h, b, tables, phi, parts, out)
    return out, phi, divergence - float(phi @ log_pi)


def level_information(
    problem: Problem, state: State, j: int, score: FloatArray, curvature: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """h and b of a level: curvature and linear term of its likelihood, step by step."""
    precision, column = problem.precision(state), problem.levels.columns[j]
    h = precision * problem.design.by_step(curvature * column * column)
    b = precision * problem.design.by_step(score * column) + h * state.level_mean[j]
    return h, b


def _each_level(
    problem: Problem, state: State, score: FloatArray, curvature: FloatArray, damping: float
) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Every level with its h and b; the score follows what is done to the level in between."""
    for j, column in enumerate(problem.levels.columns):
        before = state.level_mean[j].copy()
        h, b = level_information(problem, state, j, score, curvature)
        if damping < 1.0:
            old = state.level_h[j], state.level_b[j], before
            damp_inplace(h, b, old, 1.0, damping)
        state.level_h[j], state.level_b[j] = h, b
        yield j, h, b
        score -= curvature * column * problem.design.spread(state.level_mean[j] - before)


def _set_level(state: State, j: int, out: FloatArray, h: FloatArray) -> float:
    """Store a level's posterior; returns its largest move in units of its precision."""
    change = np.abs(out[0] - state.level_mean[j]) * np.sqrt(h)
    state.level_mean[j], state.level_variance[j] = out[0], out[1]
    return float(np.max(change, initial=0.0))
