"""A leap ahead where passes creep: paths without an intercept, whose columns are not centred.

Columns with means of their own all say the same about the mean of a step, and passes that update
one path at a time hand it from one to the other. What is left then shrinks by nearly the same
factor in every pass. Two passes tell the factor, and a leap goes where they lead (Varadhan and
Roland's squared extrapolation, with a length for every step). The pass after it makes posteriors of
what are means only, and is taken back if the bound has fallen.
"""

from __future__ import annotations

import numpy as np

from driftglm._typing import FloatArray
from driftglm.objective import Bound

LONGEST = 8.0
"""No leap is longer than this many passes, twice."""
Means = tuple[FloatArray, FloatArray, FloatArray]
"""Means of all paths, (n_features, T), before and after two passes."""


def creeps(bound: Bound) -> bool:
    """Whether passes are slow: columns with means and no intercept to take them.

    Posteriors must follow from means alone, as those of a quadratic family do.
    """
    alone = bound.family.quadratic and bound.row_groups is None and not bound.cycle
    constant = (np.ptp(column) == 0.0 and column.any() for column in bound.intercepts.columns)
    return alone and not bound.design.center.any() and not any(constant)


def leap(means: Means, squares: FloatArray) -> FloatArray:
    """What to add to the means after two passes; `squares` weigh features, step by step."""
    before, between, now = means
    first, second = between - before, now - between
    bend = second - first
    with np.errstate(divide="ignore", invalid="ignore"):
        length = np.sqrt((squares * first**2).sum(axis=0) / (squares * bend**2).sum(axis=0))
    length = np.where(np.isfinite(length), np.clip(length, 1.0, LONGEST), 1.0)
    return np.asarray(before + 2.0 * length * first + length**2 * bend - now)
