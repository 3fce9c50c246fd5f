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
from driftglm.priors.chain import solve_tridiagonal_inplace
from driftglm.solvers.text_rates import (
    Effects,
    Rates,
    add_expected_inplace,
    commit_inplace,
    counts_inplace,
    log_rates_inplace,
    observed_inplace,
    slope_inplace,
    start_rates_inplace,
    try_move,
)

N_TRIES = 25
FACTOR = 4.0
"""The curvature grows by this factor when a step has failed."""
ROUNDING = 1e-12
"""A fall by less than this, relative to the terms it is the difference of, is none."""

ModePass = tuple[FloatArray, BoolArray, FloatArray, float, bool]
"""(1 or V, F, 3) quadratic bounds of the prior; (F,) live effects; (F,) squared length below which
a path is zero; strength of a lasso (0: none); whether paths without a mode are set to zero."""


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
def _largest_gradient(
    path: FloatArray, slope: FloatArray, penalty: FloatArray, strength: float
) -> float:
    """Largest derivative along a path in units of one over its conditional deviation."""
    n = path.shape[0]
    worst = 0.0
    for t in range(n):
        if strength > 0.0:
            gradient = slope[0, t] - strength * np.sign(path[t])
            if path[t] == 0.0:
                gradient = max(abs(slope[0, t]) - strength, 0.0)
            bend = slope[1, t]
        else:
            beside = (path[t - 1] if t > 0 else 0.0) + (path[t + 1] if t < n - 1 else 0.0)
            bend = (
                penalty[0] + (penalty[2] if t == 0 else 0.0) + (penalty[2] if t == n - 1 else 0.0)
            )
            gradient = slope[0, t] - bend * path[t] - penalty[1] * beside
            bend += slope[1, t]
        if bend > 0.0:
            worst = max(worst, abs(gradient) / np.sqrt(bend))
    return worst


@kernel
def _aim_inplace(
    path: FloatArray, slope: FloatArray, penalty: FloatArray, strength: float, work: FloatArray
) -> None:
    """work[0] = the path of highest quadratic model; slope[1] is the curvature to use."""
    n = path.shape[0]
    for t in range(n):
        h = slope[1, t]
        b = slope[0, t] + h * path[t]
        work[0, t], work[1, t], work[2, t] = b, h + penalty[0], penalty[1]
        if strength > 0.0:
            work[0, t] = np.sign(b) * max(abs(b) - strength, 0.0)
            work[1, t], work[2, t] = max(h, 1e-300), 0.0
    if strength == 0.0:
        work[1, 0] += penalty[2]
        work[1, n - 1] += penalty[2]
    solve_tridiagonal_inplace(work[1], work[2], work[0])


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
    effects: Effects,
    i: int,
    rates: Rates,
    observed: FloatArray,
    path: FloatArray,
    penalties: tuple[FloatArray, float, float, bool],
    work: tuple[FloatArray, FloatArray, FloatArray],
    trial: tuple[FloatArray, FloatArray, FloatArray],
) -> float:
    """Raise the word's objective along one path; returns the gradient found there."""
    penalty, zero_below, strength, decide = penalties
    slope, aim, nothing = work
    slope_inplace(effects, i, rates, observed, slope)
    gradient = _largest_gradient(path, slope, penalty, strength)
    n = path.shape[0]
    known = (observed, slope[2])
    if decide and _fit_to_data(path, slope) < 4.0 * n:
        try_move(effects, i, rates, (-path, nothing), known, trial)
        commit_inplace(effects, i, rates, trial)
        path[:] = 0.0
        return 0.0
    _inflate_inplace(slope)
    before = _quadratic_form(path, penalty)
    for _ in range(N_TRIES):
        _aim_inplace(path, slope, penalty, strength, aim)
        size = 0.0
        for t in range(n):
            size += aim[0, t] ** 2
        if size < zero_below:
            aim[0] = 0.0
        gain = 0.5 * (before - _quadratic_form(aim[0], penalty))
        for t in range(n):
            gain -= strength * (abs(aim[0, t]) - abs(path[t]))
            aim[1, t] = aim[0, t] - path[t]
        gain += try_move(effects, i, rates, (aim[1], nothing), known, trial)
        if gain >= -ROUNDING * (1.0 + rates[2].sum()):
            commit_inplace(effects, i, rates, trial)
            path[:] = aim[0]
            return gradient
        for t in range(n):
            slope[1, t] *= FACTOR
    return gradient


@kernel
def sweep_words_inplace(
    words: tuple[int, int],
    effects: Effects,
    order: IntArray,
    counts: tuple[IntArray, IntArray, FloatArray],
    rows: tuple[FloatArray, FloatArray],
    penalty: ModePass,
    beta: FloatArray,
    out: tuple[FloatArray, FloatArray],
) -> None:
    """Update the effects in `order` for every word of a chunk.

    `rows` holds the background (V, T) and the contexts' log-rates; `out` receives the chunk's
    expected count of every context, and (2,) its sum of counts times eta and its largest gradient.
    """
    background, log_rate = rows
    penalties, alive, zero_below, strength, decide = penalty
    expected, numbers = out
    n_effects, n_steps = beta.shape[1], beta.shape[2]
    n_contexts = log_rate.shape[0]
    y, by_step = np.empty(n_contexts), np.empty(n_steps)
    rates = (np.empty(n_contexts), np.empty(n_steps), np.empty(n_steps))
    longest = 0
    for i in range(n_effects):
        longest = max(longest, effects[2][i, n_steps] - effects[2][i, 0])
    trial = (np.empty(longest), np.empty(n_steps), np.empty(n_steps))
    work = (np.empty((3, n_steps)), np.empty((3, n_steps)), np.empty(0))
    observed, sure = np.empty(n_steps), np.empty((0, n_steps))
    for w in range(words[0], words[1]):
        counts_inplace(counts, w, effects[3], y, by_step)
        log_rates_inplace(effects, beta[w], sure, background[w], rates[0])
        start_rates_inplace(log_rate, effects[3], rates)
        common = penalties[w if penalties.shape[0] > 1 else 0]
        for t in range(n_steps):
            numbers[0] += by_step[t] * background[w, t]
        for i in order:
            path = beta[w, i]
            # A path that is zero stays there, unless the prior lets it leave.
            if not alive[i] or (zero_below[i] >= 0.0 and strength == 0.0 and not path.any()):
                continue
            observed_inplace(effects, i, y, by_step, observed)
            each = (common[i], zero_below[i], strength, decide)
            gradient = _update_path_inplace(effects, i, rates, observed, path, each, work, trial)
            numbers[1] = max(numbers[1], gradient)
            for t in range(n_steps):
                numbers[0] += observed[t] * path[t]
        # Afresh, so that no rounding of the updates remains.
        log_rates_inplace(effects, beta[w], sure, background[w], rates[0])
        add_expected_inplace(log_rate, rates[0], expected)
