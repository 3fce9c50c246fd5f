"""Modes of words' paths: every effect of one word in turn, each step checked exactly.

Given the contexts' log-rates a word is a Poisson regression. One update solves a tridiagonal system
at the present curvature, inflated where the model promises too much (a count far above its mean
would send a plain Newton step off by count / mean), and halves the step until the word's exact
objective does not fall. The prior enters through a quadratic that touches it from below, so the
exact posterior does not fall either.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.solvers import text_rates
from driftglm.solvers.kernels import largest_gradient, solve_inplace
from driftglm.solvers.text_rates import Counts, Effects, Pair, Scratch

N_TRIES = 25
FACTOR = 4.0
"""The curvature grows by this factor when a step has failed."""
ROUNDING = 1e-12
"""A fall by less than this, relative to the terms it is the difference of, is none."""

ModePass = tuple[FloatArray, BoolArray, FloatArray, float, bool]
"""(1 or V, F, 3) quadratic bounds of the prior; (F,) live effects; (F,) squared length below which
a path is zero; strength of a lasso (0: none); whether paths without a mode are set to zero."""
Penalties = tuple[FloatArray, float, float, bool]
"""The same of one path, without whether it is live."""
Work = tuple[FloatArray, FloatArray, FloatArray]
"""slope (3, T), the path aimed at and its changes (3, T), and an empty array."""


@kernel
def _quadratic_form(path: FloatArray, penalty: FloatArray) -> float:
    """path' P path with P the chain of (omega, omega_alpha, omega_end)."""
    n = path.shape[0]
    total: float = penalty[2] * (path[0] ** 2 + path[n - 1] ** 2)
    for t in range(n):
        total += penalty[0] * path[t] ** 2
        if t + 1 < n:
            total += 2.0 * penalty[1] * path[t] * path[t + 1]
    return total


@kernel
def _lasso_gradient(path: FloatArray, slope: FloatArray, strength: float) -> float:
    """As `largest_gradient`, of a lasso."""
    worst = 0.0
    for t in range(path.shape[0]):
        gradient = abs(slope[0, t] - strength * np.sign(path[t]))
        if path[t] == 0.0:
            gradient = max(abs(slope[0, t]) - strength, 0.0)
        if slope[1, t] > 0.0:
            worst = max(worst, gradient / np.sqrt(slope[1, t]))
    return worst


@kernel
def _aim_inplace(
    path: FloatArray, slope: FloatArray, penalty: FloatArray, strength: float, work: FloatArray
) -> float:
    """work[0] = the path of highest quadratic model; slope[1] is the curvature to use.

    Returns its squared length.
    """
    n = path.shape[0]
    aim, size = work[0], 0.0
    for t in range(n):
        aim[t] = slope[0, t] + slope[1, t] * path[t]
    if strength == 0.0:
        return solve_inplace(slope[1], aim, penalty, work, n)
    for t in range(n):
        aim[t] = np.sign(aim[t]) * max(abs(aim[t]) - strength, 0.0) / max(slope[1, t], 1e-300)
        size += aim[t] ** 2
    return size


@kernel
def _inflate_inplace(slope: FloatArray) -> None:
    """Where counts exceed their mean, the curvature whose step is the logarithm of their ratio.

    For an indicator gradient / curvature is count / mean - 1, and log(count / mean) is the step
    that makes them equal. Below the mean Newton's curvature is a bound already.
    """
    for t in range(slope.shape[1]):
        step = slope[0, t] / slope[1, t] if slope[1, t] > 0.0 else 0.0
        if step > 0.0:
            slope[1, t] *= step / np.log1p(step)


@kernel
def _fit_to_data(path: FloatArray, slope: FloatArray) -> float:
    """b'H^-1 b: below 4 T a sparse prior leaves no mode but zero."""
    total = 0.0
    for t in range(path.shape[0]):
        if slope[1, t] > 0.0:
            total += (slope[0, t] + slope[1, t] * path[t]) ** 2 / slope[1, t]
    return total


@kernel
def _update_path_inplace(
    effects: Effects, i: int, scratch: Scratch, path: FloatArray, penalties: Penalties, work: Work
) -> float:
    """Raise the word's objective along one path; returns the gradient found there."""
    penalty, zero_below, strength, decide = penalties
    slope, aim, nothing = work
    rates, n = scratch[3], path.shape[0]
    text_rates.slope_inplace(effects, i, rates, scratch[2], slope)
    inside = slope[2]
    if strength > 0.0:
        gradient = _lasso_gradient(path, slope, strength)
    else:
        gradient = largest_gradient(path, slope[0], slope[1], penalty, n)
    if decide and _fit_to_data(path, slope) < 4.0 * n:
        text_rates.try_move(effects, i, scratch, (-path, nothing), inside)
        text_rates.commit_inplace(effects, i, scratch)
        path[:] = 0.0
        return 0.0
    _inflate_inplace(slope)
    before = _quadratic_form(path, penalty)
    for _ in range(N_TRIES):
        if _aim_inplace(path, slope, penalty, strength, aim) < zero_below:
            aim[0] = 0.0
        gain = 0.5 * (before - _quadratic_form(aim[0], penalty))
        for t in range(n):
            gain -= strength * (abs(aim[0, t]) - abs(path[t]))
            aim[1, t] = aim[0, t] - path[t]
        gain += text_rates.try_move(effects, i, scratch, (aim[1], nothing), inside)
        if gain >= -ROUNDING * (1.0 + rates[2].sum()):
            text_rates.commit_inplace(effects, i, scratch)
            path[:] = aim[0]
            return gradient
        for t in range(n):
            slope[1, t] *= FACTOR
    return gradient


@kernel
def sweep_words_inplace(
    words: tuple[int, int],
    shared: tuple[Effects, IntArray],
    counts: Counts,
    rows: Pair,
    inputs: ModePass,
    beta: FloatArray,
    out: Pair,
) -> None:
    """Update every word of a chunk; `shared` are the effects and the order to update them in.

    `rows` holds the background (V, T) and the contexts' log-rates; `out` receives the chunk's
    expected count of every context, and (2,) its sum of counts times eta and its largest gradient.
    """
    effects, order = shared
    penalties, alive, zero_below, strength, decide = inputs
    expected, numbers = out
    n_steps = beta.shape[2]
    scratch = text_rates.scratch_for(effects, rows[1].shape[0])
    work = (np.empty((3, n_steps)), np.empty((3, n_steps)), np.empty(0))
    observed, certain = scratch[2], np.empty((0, n_steps))
    for w in range(words[0], words[1]):
        moments = (beta[w], certain)
        text_rates.start_word_inplace(w, effects, counts, rows, moments, scratch, numbers)
        common = penalties[w if penalties.shape[0] > 1 else 0]
        for i in order:
            path = beta[w, i]
            # A path that is zero stays there, unless the prior lets it leave.
            if not alive[i] or (zero_below[i] >= 0.0 and strength == 0.0 and not path.any()):
                continue
            text_rates.observe_inplace(effects, i, scratch)
            each = (common[i], zero_below[i], strength, decide)
            gradient = _update_path_inplace(effects, i, scratch, path, each, work)
            numbers[1] = max(numbers[1], gradient)
            for t in range(n_steps):
                numbers[0] += observed[t] * path[t]
        text_rates.end_word_inplace(w, effects, rows, moments, scratch[3][0], expected)
