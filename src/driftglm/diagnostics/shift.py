"""A step that is apart from the steps around it."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from driftglm._typing import FloatArray
from driftglm.diagnostics.finding import Finding, severity
from driftglm.diagnostics.inputs import Residuals

FEWEST_STEPS = 8
MINOR, MAJOR = 0.5, 2.0
"""Distance from the steps around, in standard deviations of the noise."""


def shifted_step(given: Residuals) -> Finding | None:
    """The step whose intercept plus mean residual is furthest from that of its two neighbours.

    An intercept path follows a step that is shifted as a whole, so nothing is left of it in the
    residuals; without the path this check is not made. The yardstick are the steps further away,
    and the error is split over all steps. The first and the last step are not judged.
    """
    there = given.counts > 0
    if given.intercept_path is None or there.sum() < FEWEST_STEPS:
        return None
    places = np.flatnonzero(there)
    effect = (given.intercept_path + np.nan_to_num(given.means(given.scores)))[places]
    chance = 1 / given.counts[places]
    apart = effect[1:-1] - (effect[:-2] + effect[2:]) / 2
    known = chance[1:-1] + (chance[:-2] + chance[2:]) / 4
    ratio, free = _against_others(apart, known)
    worst = int(np.abs(ratio).argmax())
    step, distance = int(places[worst + 1]), float(apart[worst])
    p_value = 2 * apart.size * float(student.sf(np.abs(ratio[worst]), free))
    return Finding(
        check="shifted step",
        finding=(
            f"{given.labels[step]} ({given.counts[step]:,} rows) as a whole is "
            f"{'above' if distance > 0 else 'below'} the steps around it by {abs(distance):.1f} "
            "standard deviations of the noise"
        ),
        advice=(
            f"look at what is different about {given.labels[step]}: a change of unit or "
            "definition, or an event; give it an indicator, or leave it out, and compare"
        ),
        statistic=abs(distance),
        p_value=min(1.0, p_value),
        severity=severity(abs(distance), MINOR, MAJOR),
    )


def _against_others(apart: FloatArray, known: FloatArray) -> tuple[FloatArray, float]:
    """Each distance over what is usual without it and its two neighbours, and degrees of freedom.

    What is usual has a part that is known, from the number of rows, and one that is learned.
    """
    n = apart.size
    near = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
    others = (~near).sum(axis=1)
    learned = np.where(near, 0.0, apart**2 - known).sum(axis=1) / others
    # Distances of neighbouring steps share steps, so they count for half their number.
    return apart / np.sqrt(np.maximum(learned, 0.0) + known), float(others.min()) / 2
