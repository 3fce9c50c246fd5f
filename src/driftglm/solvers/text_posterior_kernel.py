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
from driftglm.priors import mixture
from driftglm.priors.mixture import Tables
from driftglm.solvers import text_rates
from driftglm.solvers.damping import damp_inplace
from driftglm.solvers.text_rates import Counts, Effects, Pair, Scratch

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
PathMixture = tuple[Tables, FloatArray, float]
"""Of one path: the components' tables, log weights (K,) and the largest |x - center|."""
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
    mixture.log_evidences_inplace(natural[0], natural[1], tables, parts[1], parts[2:])
    mixture.weights_inplace(parts[1], log_pi, parts[0])
    return mixture.average_inplace(natural[0], natural[1], tables, parts[0], parts[2:], moments)


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
    effects: Effects, i: int, scratch: Scratch, path: Path, mixture_prior: PathMixture, work: Work
) -> None:
    """Raise the word's bound along one path."""
    tables, log_pi, reach = mixture_prior
    slope, natural, move, parts, moments = work
    rates = scratch[3]
    text_rates.slope_inplace(effects, i, rates, scratch[2], slope)
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
        gain += text_rates.try_move(effects, i, scratch, (move[0], move[1]), slope[2])
        if gain >= -ROUNDING * (1.0 + rates[2].sum() + abs(path[5][0])):
            text_rates.commit_inplace(effects, i, scratch)
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
    shared: tuple[Effects, IntArray],
    counts: Counts,
    rows: Pair,
    mixture_prior: tuple[Tables, FloatArray, IntArray, FloatArray],
    paths: Paths,
    out: tuple[FloatArray, FloatArray, FloatArray],
) -> None:
    """Update every word of a chunk; `shared` are the effects and the order to update them in.

    `rows` holds the background (V, T) and the contexts' log-rates; `mixture_prior` the
    components' tables, log weights (G, K), each effect's group and its largest |x - center|. `out`
    receives the chunk's expected count of every context, (F, K) its sums of phi, and (2,) its sums
    of counts times eta and of divergences.
    """
    effects, order = shared
    tables, log_pi, groups, reach = mixture_prior
    mean, variance, h, b, phi, divergence = paths
    expected, members, numbers = out
    n_steps, n_components = mean.shape[2], phi.shape[2]
    scratch = text_rates.scratch_for(effects, rows[1].shape[0])
    natural, move, moments = np.empty((2, n_steps)), np.empty((2, n_steps)), np.empty((2, n_steps))
    work = (np.empty((3, n_steps)), natural, move, np.empty((5, n_components)), moments)
    observed = scratch[2]
    for w in range(words[0], words[1]):
        word = (mean[w], variance[w])
        text_rates.start_word_inplace(w, effects, counts, rows, word, scratch, numbers)
        for i in order:
            text_rates.observe_inplace(effects, i, scratch)
            first = (mean[w, i], variance[w, i], h[w, i], b[w, i])
            path = (*first, phi[w, i], divergence[w, i : i + 1])
            each = (tables, log_pi[groups[i]], reach[i])
            _update_path_inplace(effects, i, scratch, path, each, work)
            for t in range(n_steps):
                numbers[0] += observed[t] * mean[w, i, t]
            numbers[1] += divergence[w, i]
            for k in range(n_components):
                members[i, k] += phi[w, i, k]
        text_rates.end_word_inplace(w, effects, rows, word, scratch[3][0], expected)
