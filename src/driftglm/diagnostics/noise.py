"""Steps whose noise is larger than that of others."""

from __future__ import annotations

import numpy as np
from scipy.stats import pearson3, skew

from driftglm._typing import FloatArray
from driftglm.diagnostics.finding import Finding, severity
from driftglm.diagnostics.inputs import Residuals
from driftglm.diagnostics.ranks import differ, half_normal_scores, step_deviations

FEWEST = 5
"""Rows a step must have; of fewer, the one in the middle decides too much."""
MINOR, MAJOR = 0.1, 0.3
"""Standard deviation of the log scale over steps."""
MINOR_STEP, MAJOR_STEP = 1.25, 2.0
"""Scale of one step over that of a typical one."""


def moving_noise(given: Residuals) -> Finding | None:
    """Fligner and Killeen's test of equal scales in all steps; wild rows count by rank only."""
    several, off, scale = _spread(given)
    there = several.counts > 0
    if there.sum() < 2:  # noqa: PLR2004
        return None
    p_value = differ(half_normal_scores(off), several.steps, several.counts)
    size = _moves(off, several)
    high, low = int(np.nanargmax(scale)), int(np.nanargmin(scale))
    return Finding(
        check="noise",
        finding=(
            f"the noise moves over steps, by {100 * size:.0f} % beyond chance: it is "
            f"{scale[high]:.2f} times the typical one in {given.labels[high]} and {scale[low]:.2f} "
            f"times in {given.labels[low]}"
        ),
        advice=(
            "intervals of the noisy steps are too narrow, those of the others too wide: fit with "
            "noise='drift' (the learned prior), or divide y by a known scale"
            if given.continuous
            else "y of some steps varies more than its family allows: look at how it was counted"
        ),
        statistic=size,
        p_value=p_value,
        severity=severity(size, MINOR, MAJOR),
    )


def wild_step(given: Residuals) -> Finding | None:
    """The step of the largest scale, with the error split over all steps."""
    several, off, scale = _spread(given)
    n_steps = int((several.counts > 0).sum())
    if n_steps < 3:  # noqa: PLR2004
        return None
    scores = half_normal_scores(off)
    apart = step_deviations(scores, several.steps, several.counts)
    step = int(apart.argmax())
    # A mean of few such scores is skewed to the right; a normal tail would find too much.
    lean = float(skew(scores)) if np.ptp(scores) > 0 else 0.0
    tail = float(pearson3.sf(apart[step], lean / np.sqrt(several.counts[step])))
    return Finding(
        check="wild step",
        finding=(
            f"the residuals of {given.labels[step]} ({given.counts[step]:,} rows) are "
            f"{scale[step]:.1f} times as large as those of a typical step"
        ),
        advice=(
            f"look at the rows of {given.labels[step]}: a change of unit or definition, or "
            "mistakes; fit without them, or with weights, and compare"
        ),
        statistic=float(scale[step]),
        p_value=min(1.0, n_steps * tail),
        severity=severity(float(scale[step]), MINOR_STEP, MAJOR_STEP),
    )


def _spread(given: Residuals) -> tuple[Residuals, FloatArray, FloatArray]:
    """Rows of steps with enough rows, how far each is off, and each step's scale over a typical."""
    several = given.within(FEWEST)
    off = np.abs(several.residual - several.medians[several.steps])
    scale = several.means(off)
    typical = np.nanmedian(scale) if several.residual.size else 1.0
    return several, off, scale / typical if typical > 0 else np.ones_like(scale)


def _moves(off: FloatArray, several: Residuals) -> float:
    """Standard deviation over steps of the log scale, less what chance adds."""
    there = several.counts > 0
    scale = several.means(off)[there]
    if (scale <= 0).any():
        return 0.0
    chance = (several.means(off**2)[there] / scale**2 - 1) / several.counts[there]
    return float(np.sqrt(max(0.0, float(np.log(scale).var(ddof=1) - np.median(chance)))))
