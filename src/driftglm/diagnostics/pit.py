"""Predictive distributions of the wrong shape."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstwo, norm

from driftglm._typing import FloatArray
from driftglm.diagnostics.finding import Finding, severity
from driftglm.diagnostics.inputs import Residuals

FEWEST_ROWS = 20
N_RESAMPLES = 999
GRID = np.linspace(0.02, 0.98, 49)
"""Probabilities at which the shape is looked at."""
MINOR, MAJOR = 0.03, 0.1
"""Largest error of a predicted probability."""


def pit(given: Residuals) -> Finding | None:
    """Largest distance of the pooled distribution of residuals from the normal one.

    Rows of a step are dependent, so the band resamples whole steps. With few steps such a band is
    too narrow; Kolmogorov's, of independent rows, must be left as well.
    """
    n = given.residual.size
    if n < FEWEST_ROWS:
        return None
    counts = _below(given)
    share = counts.sum(axis=0) / n
    off = share - GRID
    worst = int(np.abs(off).argmax())
    distance = float(np.abs(off[worst]))
    p_value = max(float(kstwo.sf(distance, n)), _by_steps(counts, given, distance))
    return Finding(
        check="pit",
        finding=(
            f"{100 * share[worst]:.0f} % of the rows are below what the model gives as their "
            f"{100 * GRID[worst]:.0f} % quantile: {_shape(off)}"
        ),
        advice=(
            "probabilities and intervals are off: transform y (its logarithm, say), or use a "
            "family that suits it better"
        ),
        statistic=distance,
        p_value=p_value,
        severity=severity(distance, MINOR, MAJOR),
    )


def _below(given: Residuals) -> FloatArray:
    """(T, grid) rows of each step below each quantile."""
    cell = np.searchsorted(norm.ppf(GRID), given.residual)
    n_cells = GRID.size + 1
    table = np.bincount(given.steps * n_cells + cell, minlength=given.n_timesteps * n_cells)
    return np.asarray(table.reshape(-1, n_cells).cumsum(axis=1)[:, :-1], dtype=np.float64)


def _by_steps(counts: FloatArray, given: Residuals, distance: float) -> float:
    """Share of resamples of whole steps that are further from the pooled shape than `distance`."""
    there = given.counts > 0
    rows, below = given.counts[there], counts[there]
    n_steps = rows.size
    rng = np.random.default_rng(0)  # the same answer every time
    drawn = rng.multinomial(n_steps, np.full(n_steps, 1 / n_steps), size=N_RESAMPLES)
    share = drawn @ below / (drawn @ rows)[:, None]
    apart = np.abs(share - below.sum(axis=0) / rows.sum()).max(axis=1)
    return float((1 + (apart >= distance).sum()) / (1 + N_RESAMPLES))


def _shape(off: FloatArray) -> str:
    """The error of the shape in words: that of place, of width or of skewness, if largest."""
    side, middle = np.sign(0.5 - GRID), np.where(np.abs(GRID - 0.5) < 0.25, 1, -1)  # noqa: PLR2004
    parts = {
        ("y is lower than predicted", "y is higher than predicted"): off.mean(),
        ("intervals are too narrow", "intervals are too wide"): (off * side).mean(),
        ("y is skewed to the right", "y is skewed to the left"): (off * middle).mean(),
    }
    words, value = max(parts.items(), key=lambda part: abs(part[1]))
    return words[0] if value > 0 else words[1]
