"""What rows of a step have in common and the model lacks."""

from __future__ import annotations

import numpy as np

from driftglm._typing import FloatArray
from driftglm.diagnostics.finding import Finding, severity
from driftglm.diagnostics.inputs import Residuals
from driftglm.diagnostics.ranks import differ

FEWEST_STEPS = 6
N_PERMUTATIONS = 999
MINOR, MAJOR = 0.1, 0.3
"""Standard deviation of what steps have in common, in standard deviations of the noise."""

ADVICE = (
    "rows of a step share something that lasts: fit an intercept (fit_intercept=True), or add "
    "columns that move over time, such as an index of the whole market"
)


def step_means(given: Residuals) -> Finding | None:
    """Step means that differ by more than chance, or follow those of the step before.

    Two tests, each with half of the error: Kruskal and Wallis' of equal steps, and a permutation
    test of a positive correlation of neighbouring steps. An intercept path that follows the steps
    makes their means small and their correlation negative, so both then find too little rather
    than too much.
    """
    there = given.counts > 0
    if there.sum() < FEWEST_STEPS:
        return None
    means = given.means(given.scores)
    unequal = differ(given.scores, given.steps, given.counts)
    # Means of many rows are known better, and would otherwise hide behind those of few.
    weights = np.sqrt(given.counts)
    overall = float(given.scores.mean())
    standard = np.where(there, (means - overall) * weights, 0.0)
    rng = np.random.default_rng(0)  # the same answer every time
    p_value, correlation = _follows(standard, there, rng)
    size = max(_lasting(means - overall, there), _beyond_chance(given, means))
    return Finding(
        check="steps",
        finding=(
            f"mean residuals of steps have a standard deviation of {size:.2f} (noise is 1) beyond "
            f"chance and a correlation of {correlation:.2f} with the step before"
        ),
        advice=ADVICE,
        statistic=size,
        p_value=min(1.0, 2 * min(unequal, p_value)),
        severity=severity(size, MINOR, MAJOR),
    )


def _follows(
    series: FloatArray, there: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Permutation p-value of a positive lag-1 correlation, and the correlation."""
    total = float((series**2).sum())
    if total == 0:
        return 1.0, 0.0
    pairs = there[1:] & there[:-1]
    shuffled = np.zeros((N_PERMUTATIONS, series.size))
    shuffled[:, there] = rng.permuted(np.tile(series[there], (N_PERMUTATIONS, 1)), axis=1)
    seen = float((series[1:] * series[:-1])[pairs].sum())
    drawn = (shuffled[:, 1:] * shuffled[:, :-1])[:, pairs].sum(axis=1)
    # A tie is as extreme as what was seen; rounding must not break it.
    p_value = (1 + (drawn >= seen - 1e-9 * total).sum()) / (1 + N_PERMUTATIONS)
    return float(p_value), seen / total


def _lasting(means: FloatArray, there: np.ndarray) -> float:
    """Root of the covariance of neighbouring step means: chance adds nothing to it."""
    pairs = there[1:] & there[:-1]
    products = (means[1:] * means[:-1])[pairs]
    return float(np.sqrt(max(0.0, products.mean()))) if products.size else 0.0


def _beyond_chance(given: Residuals, means: FloatArray) -> float:
    """Standard deviation of step means less what the rows of a step explain."""
    there = given.counts > 0
    free = given.scores.size - int(there.sum())
    if free == 0:
        return 0.0
    inside = float(((given.scores - means[given.steps]) ** 2).sum()) / free
    off = means[there] - float(given.scores.mean())
    chance = inside / given.counts[there]
    return float(np.sqrt(max(0.0, float((off**2 - chance).mean()))))
