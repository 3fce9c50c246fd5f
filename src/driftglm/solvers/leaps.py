"""Leaps ahead where passes creep.

What is left to do then shrinks by nearly the same factor in every pass. Two passes tell the factor,
and a leap goes where they lead (Varadhan and Roland's squared extrapolation); it is taken back if
the bound has fallen. There are two reasons to creep, and a leap for each.

Columns that are not centred all say the same about the mean of a step, and passes that update one
path at a time hand it from one to the other: `leap` moves means, with a length for every step. The
pass after it makes posteriors of what are means only.

Columns that explain the same, such as a country and the country with every issue, hand effects to
each other for hundreds of passes until one of them is zero: `leap_of_paths` moves what the rest of
the model says about a path (curvature and linear term), with a length for every path, so that
posteriors are whole at once, in any family.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.objective import Bound
from driftglm.objective.bound import PathArrays
from driftglm.priors import mixture
from driftglm.priors.mixture import Tables

LONGEST, LONGEST_OF_PATHS = 8.0, 50.0
"""No leap is longer than this many passes, twice."""
FARTHEST = 5.0
"""By what factor a leap may change the curvature of a path, which is never negative."""
SMALLEST = 1e-300
Means = tuple[FloatArray, FloatArray, FloatArray]
"""Means of all paths, (n_features, T), before and after two passes."""
Terms = tuple[FloatArray, FloatArray]
"""Curvature and linear term of some paths, (n, T) each."""


def creeps(bound: Bound) -> bool:
    """Whether passes are slow from the start: columns with means and no intercept to take them.

    Posteriors must follow from means alone, as those of a quadratic family do.
    """
    alone = bound.family.quadratic and paths_may_leap(bound)
    constant = (np.ptp(column) == 0.0 and column.any() for column in bound.intercepts.columns)
    return alone and not bound.design.center.any() and not any(constant)


def paths_may_leap(bound: Bound) -> bool:
    """Whether curvature and linear term are all there is to a path."""
    return bound.row_groups is None and not bound.cycle


def leap(means: Means, squares: FloatArray) -> FloatArray:
    """What to add to the means after two passes; `squares` weigh features, step by step."""
    before, between, now = means
    first, second = between - before, now - between
    bend = second - first
    with np.errstate(divide="ignore", invalid="ignore"):
        length = np.sqrt((squares * first**2).sum(axis=0) / (squares * bend**2).sum(axis=0))
    length = np.where(np.isfinite(length), np.clip(length, 1.0, LONGEST), 1.0)
    return np.asarray(before + 2.0 * length * first + length**2 * bend - now)


def leap_of_paths(before: Terms, between: Terms, now: Terms) -> Terms:
    """Curvature and linear term where two passes lead, with a length for every path."""
    first, second = between[1] - before[1], now[1] - between[1]
    bend = second - first
    weights = 1.0 / np.maximum(now[0], SMALLEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        length = np.sqrt((weights * first**2).sum(axis=1) / (weights * bend**2).sum(axis=1))
    length = np.where(np.isfinite(length), np.clip(length, 1.0, LONGEST_OF_PATHS), 1.0)[:, None]
    curvature, linear = (
        a + 2.0 * length * (b - a) + length**2 * (c - 2.0 * b + a)
        for a, b, c in zip(before, between, now, strict=True)
    )
    return np.clip(curvature, now[0] / FARTHEST, now[0] * FARTHEST), linear


@kernel
def set_posteriors_inplace(
    features: IntArray,
    tables: Tables,
    weights: tuple[FloatArray, IntArray],
    unit: FloatArray,
    posterior: PathArrays,
) -> None:
    """The posterior of some paths from their curvature and linear term.

    `weights` are the log weights (G, K) and the group of every path.
    """
    beta, variance, phi, evidence, divergence, curvature, linear = posterior
    log_pi, groups = weights
    parts, out = np.empty((3, phi.shape[1])), np.empty((2, beta.shape[1]))
    for i in features:
        h, b = curvature[i], linear[i]
        mixture.log_evidences_inplace(h, b, tables, evidence[i], parts)
        mixture.weights_inplace(evidence[i], log_pi[groups[i]], phi[i])
        divergence[i] = mixture.average_inplace(h, b, tables, phi[i], parts, out)
        for t in range(beta.shape[1]):
            beta[i, t] = out[0, t] / unit[i]
            variance[i, t] = out[1, t] / unit[i] ** 2
