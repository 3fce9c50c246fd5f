"""One word's expected counts in every context, and what a change of one path does to them.

Words are Poisson regressions on the contexts (`driftglm.solvers.coupling`): word w has the expected
count M_n = exp(mu_n + theta_t + mean_n + variance_n / 2) in context n of step t, where mean and
variance are those of sum_i (x_ni - center_it) beta_it. Effects are centred without being touched: a
path moves all contexts of a step by one common factor, stored by itself, and only those where the
effect is not zero one by one.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import RowArray

Effects = tuple[FloatArray, RowArray, IntArray, IntArray, FloatArray]
"""values, rows, segments, steps and center of a ColumnDesign."""
Counts = tuple[IntArray, IntArray, FloatArray]
"""Start of every word's entries (V + 1,), their contexts and their counts."""
Rates = tuple[FloatArray, FloatArray, FloatArray]
"""Of one word: (N,) expected counts up to the factor of the step, (T,) that factor, and (T,) the
expected count of the whole step, factor included."""
Scratch = tuple[FloatArray, FloatArray, FloatArray, Rates, Rates]
"""Of one word: counts y (N,), their sums by step (T,), sums of (x - center) y of one effect (T,),
rates, and the rates of a move that is tried, by entry of the effect's column, and by step."""
Pair = tuple[FloatArray, FloatArray]


@kernel
def scratch_for(effects: Effects, n_contexts: int) -> Scratch:
    """Arrays to work on, made once for many words."""
    segments = effects[2]
    n_steps = segments.shape[1] - 1
    longest = 0
    for i in range(segments.shape[0]):
        longest = max(longest, segments[i, n_steps] - segments[i, 0])
    rates = (np.empty(n_contexts), np.empty(n_steps), np.empty(n_steps))
    trial = (np.empty(longest), np.empty(n_steps), np.empty(n_steps))
    return np.empty(n_contexts), np.empty(n_steps), np.empty(n_steps), rates, trial


@kernel
def log_rates_inplace(
    effects: Effects, mean: FloatArray, variance: FloatArray, base: FloatArray, out: FloatArray
) -> None:
    """log E[exp(eta)] of one word in every context, `base` (T,) being its background.

    `mean` and `variance` are (n_effects, T); an empty `variance` stands for zeros.
    """
    values, rows, segments, steps, center = effects
    sure = variance.shape[0] == 0
    for t in range(base.shape[0]):
        common = base[t]
        for i in range(mean.shape[0]):
            c = center[i, t]
            common -= c * mean[i, t]
            if not sure:
                common += 0.5 * c * c * variance[i, t]
        out[steps[t] : steps[t + 1]] = common
        for i in range(mean.shape[0]):
            m, v = mean[i, t], 0.0 if sure else variance[i, t]
            if m == 0.0 and v == 0.0:
                continue
            for k in range(segments[i, t], segments[i, t + 1]):
                x = values[k]
                out[rows[k]] += x * m + 0.5 * x * (x - 2.0 * center[i, t]) * v


@kernel
def start_rates_inplace(log_rate: FloatArray, steps: IntArray, rates: Rates) -> None:
    """Expected counts at `rates[0]` = log E[exp(eta)] and the contexts' log-rates."""
    rate, factor, total = rates
    for t in range(factor.shape[0]):
        factor[t] = 1.0
        total[t] = 0.0
        for n in range(steps[t], steps[t + 1]):
            rate[n] = np.exp(rate[n] + log_rate[n])
            total[t] += rate[n]


@kernel
def start_word_inplace(
    w: int,
    effects: Effects,
    counts: Counts,
    rows: Pair,
    moments: Pair,
    scratch: Scratch,
    numbers: FloatArray,
) -> None:
    """Counts and rates of one word into `scratch`; counts times background added to `numbers`.

    `rows` holds the background (V, T) and the contexts' log-rates, `moments` mean and variance of
    the word's paths.
    """
    starts, contexts, values = counts
    y, by_step, _, rates, _ = scratch
    steps, background = effects[3], rows[0][w]
    y[:] = 0.0
    for k in range(starts[w], starts[w + 1]):
        y[contexts[k]] = values[k]
    for t in range(by_step.shape[0]):
        by_step[t] = y[steps[t] : steps[t + 1]].sum()
        numbers[0] += by_step[t] * background[t]
    log_rates_inplace(effects, moments[0], moments[1], background, rates[0])
    start_rates_inplace(rows[1], steps, rates)


@kernel
def end_word_inplace(
    w: int, effects: Effects, rows: Pair, moments: Pair, rate: FloatArray, expected: FloatArray
) -> None:
    """Add one word's expected counts, computed afresh: no rounding of the updates remains."""
    log_rates_inplace(effects, moments[0], moments[1], rows[0][w], rate)
    for n in range(rate.shape[0]):
        expected[n] += np.exp(rate[n] + rows[1][n])


@kernel
def observe_inplace(effects: Effects, i: int, scratch: Scratch) -> None:
    """Sum of (x - center) y per step: all that a word's counts say about one path."""
    values, rows, segments, _, center = effects
    y, by_step, out, _, _ = scratch
    for t in range(out.shape[0]):
        inside = 0.0
        for k in range(segments[i, t], segments[i, t + 1]):
            inside += values[k] * y[rows[k]]
        out[t] = inside - center[i, t] * by_step[t]


@kernel
def slope_inplace(
    effects: Effects, i: int, rates: Rates, observed: FloatArray, out: FloatArray
) -> None:
    """Gradient, curvature and the expected count where x is not zero, per step: `out` (3, T)."""
    values, rows, segments, _, center = effects
    rate, factor, total = rates
    for t in range(factor.shape[0]):
        c = center[i, t]
        inside = first = second = 0.0
        for k in range(segments[i, t], segments[i, t + 1]):
            x, m = values[k], rate[rows[k]]
            inside += m
            first += x * m
            second += x * (x - 2.0 * c) * m
        out[0, t] = observed[t] - factor[t] * first + c * total[t]
        out[1, t] = max(factor[t] * second + c * c * total[t], 0.0)
        out[2, t] = factor[t] * inside


@kernel
def try_move(effects: Effects, i: int, scratch: Scratch, move: Pair, inside: FloatArray) -> float:
    """Exact change of the word's log-likelihood if one path moves; nothing is changed yet.

    `move` holds the changes of mean and variance (an empty one: none), `inside` the expected counts
    where x is not zero. `commit_inplace` takes the move over.
    """
    values, rows, segments, _, center = effects
    _, _, observed, (rate, factor, total), trial = scratch
    sure = move[1].shape[0] == 0
    gain = 0.0
    for t in range(factor.shape[0]):
        dm, dv, c = move[0][t], 0.0 if sure else move[1][t], center[i, t]
        common = -c * dm + 0.5 * c * c * dv
        scale = np.exp(common) if common != 0.0 else 1.0
        new = max(total[t] - inside[t], 0.0) * scale
        # Indicators have one value: its exponential serves all rows.
        last, grown = 0.0, factor[t] * scale
        for k in range(segments[i, t], segments[i, t + 1]):
            x = values[k]
            if x != last:
                last = x
                grown = factor[t] * np.exp(common + x * dm + 0.5 * x * (x - 2.0 * c) * dv)
            trial[0][k - segments[i, 0]] = rate[rows[k]] * grown
            new += rate[rows[k]] * grown
        trial[1][t] = factor[t] * scale
        trial[2][t] = new
        gain += observed[t] * dm - (new - total[t])
    return gain


@kernel
def commit_inplace(effects: Effects, i: int, scratch: Scratch) -> None:
    """Take over the move tried last."""
    _, rows, segments, _, _ = effects
    _, _, _, (rate, factor, total), trial = scratch
    for t in range(factor.shape[0]):
        factor[t], total[t] = trial[1][t], trial[2][t]
        for k in range(segments[i, t], segments[i, t + 1]):
            rate[rows[k]] = trial[0][k - segments[i, 0]] / factor[t]
