"""A season that the model lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import f as fisher

from driftglm._typing import BoolArray, FloatArray
from driftglm.diagnostics.finding import Finding, severity
from driftglm.diagnostics.inputs import Residuals

N_PERMUTATIONS = 999
MINOR, MAJOR = 0.1, 0.5
"""Standard deviation of the season in standard deviations of the noise."""
FEWEST_STEPS = 12
"""Steps that a search for an unknown period needs."""
LONGEST = 24
"""Longest period that is searched for."""


def season(given: Residuals) -> Finding | None:
    """Steps by phase of the period, against permutations of the steps.

    What is looked at is the intercept path plus the mean residual of each step: an intercept path
    follows a season but cannot forecast it. An AR(1) is taken off first, as such paths are one.
    Two full periods are needed. If the period is unknown those from 2 to T / 3 are tried, and the
    permutations pay for it, as they try them all too.
    """
    there = given.counts > 0
    periods = _periods(given)
    if not periods or there.sum() < 2 * min(periods):
        return None
    effect = np.where(there, given.means(given.scores), 0.0)
    if given.intercept_path is not None:
        effect = effect + given.intercept_path
    added, kept = _less_ar1(effect, there)
    if kept.sum() < FEWEST_STEPS // 2 or np.ptp(added[kept]) <= np.finfo(np.float64).eps:
        return None
    p_value, period = _best(added[kept], np.flatnonzero(kept), periods)
    size = _size(added[kept], np.flatnonzero(kept) % period)
    phase = np.arange(effect.size) % period
    mean = [effect[there & (phase == each)].mean() for each in phase[there]]
    high, low = np.flatnonzero(there)[[np.argmax(mean), np.argmin(mean)]]
    return Finding(
        check="season",
        finding=(
            f"steps repeat every {period}, by a standard deviation of {size:.2f} (noise is 1): "
            f"they are highest in steps such as {given.labels[high]} and lowest in those such "
            f"as {given.labels[low]}"
        ),
        advice=(
            f"pass seasonality={period} (learned prior), or add indicators of its {period} phases "
            f"as columns, or y of {period} steps before; an intercept path follows a season late "
            "and does not forecast it"
        ),
        statistic=size,
        p_value=p_value,
        severity=severity(size, MINOR, MAJOR),
    )


def _periods(given: Residuals) -> Sequence[int]:
    """Periods to try."""
    if given.period is not None:
        return (given.period,) if given.n_timesteps >= 2 * given.period else ()
    if given.n_timesteps < FEWEST_STEPS:
        return ()
    return range(2, min(given.n_timesteps // 3, LONGEST) + 1)


def _less_ar1(series: FloatArray, there: BoolArray) -> tuple[FloatArray, BoolArray]:
    """What each step adds to a fitted share of the step before, and where both are there."""
    both = np.zeros(there.size, dtype=np.bool_)
    both[1:] = there[1:] & there[:-1]
    centered = series - series[there].mean()
    before = np.roll(centered, 1)
    square = float((before[both] ** 2).sum())
    share = float((centered * before)[both].sum()) / square if square > 0 else 0.0
    return centered - share * before, both


def _best(values: FloatArray, places: np.ndarray, periods: Sequence[int]) -> tuple[float, int]:
    """P-value of the clearest period among permutations of the steps, and that period."""
    rng = np.random.default_rng(0)  # the same answer every time
    draws = np.concatenate(
        [values[None], rng.permuted(np.tile(values, (N_PERMUTATIONS, 1)), axis=1)]
    )
    draws = draws - values.mean()
    evidence = np.stack([_log_p(draws, places % period) for period in periods])
    clearest = evidence.min(axis=0)
    # What was seen is one of the permutations; rounding must not make it more than that.
    p_value = float((clearest <= clearest[0] + 1e-9).mean())
    return p_value, int(periods[int(evidence[:, 0].argmin())])


def _log_p(draws: FloatArray, phase: np.ndarray) -> FloatArray:
    """(draws,) log p-value of an analysis of variance by phase."""
    member = (phase[:, None] == np.unique(phase)).astype(np.float64)
    between = ((draws @ member) ** 2 / member.sum(axis=0)).sum(axis=1)
    inside = np.maximum((draws**2).sum(axis=1) - between, np.finfo(np.float64).tiny)
    first, second = member.shape[1] - 1, phase.size - member.shape[1]
    if first < 1 or second < 1:
        return np.zeros(len(draws))
    return np.asarray(fisher.logsf(between / first / (inside / second), first, second))


def _size(values: FloatArray, phase: np.ndarray) -> float:
    """Standard deviation between phases, less what chance adds."""
    member = (phase[:, None] == np.unique(phase)).astype(np.float64)
    rows = member.sum(axis=0)
    means = values @ member / rows
    free = values.size - rows.size
    if free < 1 or rows.size < 2:  # noqa: PLR2004
        return 0.0
    inside = (float((values**2).sum()) - float((rows * means**2).sum())) / free
    return float(np.sqrt(max(0.0, float(means.var(ddof=1) - (inside / rows).mean()))))
