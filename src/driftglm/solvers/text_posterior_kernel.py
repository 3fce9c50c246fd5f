"""Posteriors of words' paths under a mixture prior: every effect of one word in turn.

An update replaces a path's posterior by the one that a local quadratic of the word's Poisson
objective gives. The path's part of the exact bound is compared before and after; if it would fall,
or the step is too long for a quadratic, the posterior moves part of the way, in its natural
parameters h and b, along which small steps always rise.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.priors.mixture import (
    Tables,
    average_inplace,
    log_evidences_inplace,
    weights_inplace,
)
from driftglm.solvers.damping import damp_inplace
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

N_TRIES = 20
LONGEST = 1.0
"""Longest step of a linear predictor that a quadratic is trusted with before it is tried."""
LEAST = 0.02
"""The most a single try shortens a step."""
ROUNDING = 1e-12
STILL = (1e-10, 1e-6)
"""An update smaller than this (in squared deviations, in probability) is left undone."""

Paths = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""mean, variance, h, b (V, F, T), phi (V, F, K) and divergence (V, F)."""
Path = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""The same of one path: (T,) four times, (K,) and (1,)."""
Work = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""slope (3, T), new h and b (2, T), moves (2, T), (2 + 3, K), mean and variance (2, T)."""


@kernel
def _aim_inplace(natural: FloatArray, slope: FloatArray, path: Path, damping: float) -> None:
    """h and b that the local quadratic gives, or part of the way there."""
    mean, _, h, b, _, _ = path
    for t in range(mean.shape[0]):
        natural[0, t] = slope[1, t]
        natural[1, t] = slope[0, t] + slope[1, t] * mean[t]
    if damping < 1.0:
        damp_inplace(natural[0], natural[1], (h, b, mean), 1.0, damping)


@kernel
def _posterior_inplace(tables: Tables, log_pi: FloatArray, work: Work) -> float:
    """Posterior at the new h and b: phi into work[3][0], moments into work[4]."""
    _, natural, _, parts, moments = work
    log_evidences_inplace(natural[0], natural[1], tables, parts[1], parts[2:])
    weights_inplace(parts[1], log_pi, parts[0])
    return average_inplace(natural[0], natural[1], tables, parts[0], parts[2:], moments)


@kernel
def _longest_move(path: Path, work: Work) -> tuple[float, float]:
    """Change of mean and variance into work[2]; largest change and squared deviations moved."""
    longest = moved = 0.0
    _, natural, move, _, moments = work
    for t in range(move.shape[1]):
        move[0, t] = moments[0, t] - path[0][t]
        move[1, t] = moments[1, t] - path[1][t]
        longest = max(longest, abs(move[0, t]))
        moved += natural[0, t] * (move[0, t] ** 2 + abs(move[1, t]))
    return longest, moved


@kernel
def _prior_gain(phi: FloatArray, old: FloatArray, log_pi: FloatArray) -> tuple[float, float]:
    """Change of sum phi log pi, and of phi in all."""
    gain = shifted = 0.0
    for k in range(phi.shape[0]):
        change = phi[k] - old[k]
        if change != 0.0:
            gain += change * log_pi[k]
            shifted += abs(change)
    return gain, shifted


@kernel
def _update_path_inplace(
    effects: Effects,
    i: int,
    rates: Rates,
    observed: FloatArray,
    path: Path,
    component: tuple[Tables, FloatArray, float],
    work: Work,
    trial: tuple[FloatArray, FloatArray, FloatArray],
) -> None:
    """Raise the word's bound along one path."""
    tables, log_pi, reach = component
    slope, natural, move, parts, moments = work
    slope_inplace(effects, i, rates, observed, slope)
    damping = 1.0
    for _ in range(N_TRIES):
        _aim_inplace(natural, slope, path, damping)
        new_divergence = _posterior_inplace(tables, log_pi, work)
        longest, moved = _longest_move(path, work)
        gain, shifted = _prior_gain(parts[0], path[4], log_pi)
        if damping == 1.0 and moved < STILL[0] and shifted < STILL[1]:
            return
        if longest * reach > LONGEST and damping == 1.0:
            damping = max(LONGEST / (longest * reach), LEAST)
            continue
        gain -= new_divergence - path[5][0]
        known = (observed, slope[2])
        gain += try_move(effects, i, rates, (move[0], move[1]), known, trial)
        if gain >= -ROUNDING * (1.0 + rates[2].sum() + abs(path[5][0])):
            commit_inplace(effects, i, rates, trial)
            for t in range(natural.shape[1]):
                path[0][t], path[1][t] = moments[0, t], moments[1, t]
                path[2][t], path[3][t] = natural[0, t], natural[1, t]
            path[4][:] = parts[0]
            path[5][0] = new_divergence
            return
        damping *= 0.25


@kernel
def update_words_inplace(
    words: tuple[int, int],
    effects: Effects,
    order: IntArray,
    counts: tuple[IntArray, IntArray, FloatArray],
    rows: tuple[FloatArray, FloatArray],
    component: tuple[Tables, FloatArray, IntArray, FloatArray],
    paths: Paths,
    out: tuple[FloatArray, FloatArray, FloatArray],
) -> None:
    """Update the effects in `order` for every word of a chunk.

    `rows` holds the background (V, T) and the contexts' log-rates; `component` the components' tables,
    log weights (G, K), each effect's group and its largest |x - center|. `out` receives the chunk's
    expected count of every context, (F, K) its sums of phi, and (2,) its sums of counts times eta
    and of divergences.
    """
    background, log_rate = rows
    tables, log_pi, groups, reach = component
    mean, variance, h, b, phi, divergence = paths
    expected, members, numbers = out
    n_steps, n_components = mean.shape[2], phi.shape[2]
    n_contexts = log_rate.shape[0]
    y, by_step, observed = np.empty(n_contexts), np.empty(n_steps), np.empty(n_steps)
    rates = (np.empty(n_contexts), np.empty(n_steps), np.empty(n_steps))
    longest = 0
    for i in range(mean.shape[1]):
        longest = max(longest, effects[2][i, n_steps] - effects[2][i, 0])
    trial = (np.empty(longest), np.empty(n_steps), np.empty(n_steps))
    work = (
        np.empty((3, n_steps)),
        np.empty((2, n_steps)),
        np.empty((2, n_steps)),
        np.empty((5, n_components)),
        np.empty((2, n_steps)),
    )
    for w in range(words[0], words[1]):
        counts_inplace(counts, w, effects[3], y, by_step)
        log_rates_inplace(effects, mean[w], variance[w], background[w], rates[0])
        start_rates_inplace(log_rate, effects[3], rates)
        for t in range(n_steps):
            numbers[0] += by_step[t] * background[w, t]
        for i in order:
            observed_inplace(effects, i, y, by_step, observed)
            path = (
                mean[w, i],
                variance[w, i],
                h[w, i],
                b[w, i],
                phi[w, i],
                divergence[w, i : i + 1],
            )
            each = (tables, log_pi[groups[i]], reach[i])
            _update_path_inplace(effects, i, rates, observed, path, each, work, trial)
            for t in range(n_steps):
                numbers[0] += observed[t] * mean[w, i, t]
            numbers[1] += divergence[w, i]
            for k in range(n_components):
                members[i, k] += phi[w, i, k]
        log_rates_inplace(effects, mean[w], variance[w], background[w], rates[0])
        add_expected_inplace(log_rate, rates[0], expected)
