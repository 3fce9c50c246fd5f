"""Steps that decide the results."""

from __future__ import annotations

import numpy as np

from driftglm.diagnostics.finding import Finding, severity
from driftglm.diagnostics.inputs import Residuals

MINOR, MAJOR = 2.0, 4.0
"""Posterior standard deviations that the results move by if a step is left out."""
LAST = 2.0
"""The last step may move the results twice as far: the future is forecast from it."""


def influence(given: Residuals) -> Finding | None:
    """The step whose absence moves the results furthest, if it was worked out.

    There is no p-value. Of 360 panels drawn from the model none came to 2, or to 2.3 at the last
    step; a column in another unit in one step moves a static coefficient by more than 70.
    """
    if given.influence is None or given.n_timesteps < 2:  # noqa: PLR2004
        return None
    moved = np.abs(given.influence)
    allowed = np.ones_like(moved)
    allowed[-1] = LAST
    step = int((moved / allowed).argmax())
    return Finding(
        check="influence",
        finding=(
            f"without {given.labels[step]} ({given.counts[step]:,} rows) the results move by "
            f"{moved[step]:.1f} posterior standard deviations"
        ),
        advice=(
            f"look at the rows of {given.labels[step]}, and report the results with and without "
            "them"
        ),
        statistic=float(moved[step]),
        p_value=None,
        severity=severity(float(moved[step] / allowed[step]), MINOR, MAJOR),
    )
