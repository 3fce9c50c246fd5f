"""How much a coefficient changes: its largest difference between two steps, with an interval.

The two steps are those at which the posterior mean is largest and smallest. The interval is that of
the coefficient of the later one less that of the earlier one, which is a mixture over the path's
components: exactly zero in those that do not move, normal in the others (see `contrasts.py`). The
largest difference between any two steps is at least that of these two, so that an interval which
leaves small changes out is, if anything, too careful.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.fitting.fits import Fit, PosteriorFit
from driftglm.fitting.sampled import SampledFit
from driftglm.priors.mixture import Components, Tables
from driftglm.priors.offset import offset_average_inplace, offset_evidences_inplace
from driftglm.solvers.intercepts import averaged_intercept

N_BISECTIONS = 60
REACH = 9.0
"""Standard deviations within which all of a normal distribution lies."""

PathData = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""h, b, offset and phi of some paths."""


@dataclass(frozen=True)
class Changes:
    """Of every feature, (p,) each; `lower` and `upper` are NaN for a mode.

    `earlier` and `later` are the two steps, by code.
    """

    earlier: IntArray
    later: IntArray
    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray


def changes_of(fit: Fit, level: float) -> Changes:
    """The largest change of every feature, with central intervals of probability `level`."""
    path = fit.coef_path()
    ends = np.sort([path.argmin(axis=0), path.argmax(axis=0)], axis=0)
    every = np.arange(path.shape[1])
    estimate = path[ends[1], every] - path[ends[0], every]
    limits = np.full((2, path.shape[1]), np.nan)
    if isinstance(fit, SampledFit):
        limits = fit.change_limits(ends, level)
    elif isinstance(fit, PosteriorFit):
        limits = _limits(fit, ends, 0.5 * (1.0 - level))
    return Changes(ends[0], ends[1], estimate, limits[0], limits[1])


def _limits(fit: PosteriorFit, ends: IntArray, outside: float) -> FloatArray:
    """(2, p) quantiles of the change at `outside` and one minus that."""
    always_in, some = fit.columns.always_in, fit.intercepts
    limits = np.zeros((2, always_in.size))
    # Where a path moves with less than this probability, both quantiles are zero.
    paths = np.flatnonzero(fit.phi[:, ~fit.components.is_static].sum(axis=1) > outside)
    where = np.flatnonzero(~always_in)[paths]
    mixture = fit.components, fit.components.tables()
    error = fit.offset[paths] if fit.offset.size else np.zeros(paths.size)
    data = fit.h[paths], fit.b[paths], error, fit.phi[paths]
    limits[:, where] = _quantiles(mixture, data, ends[:, where], outside) / fit.unit[paths]
    for j, i in enumerate(np.flatnonzero(always_in), int(fit.columns.has_intercept)):
        kind = float(some.scale[j]), bool(some.static[j])
        path = averaged_intercept(*kind, fit.n_timesteps)
        h, b = some.h[j], some.b[j]
        error = some.offset[[j]]
        phi = path.posterior(h, b, float(error[0])).phi
        data = h[None], b[None], error, phi[None]
        mixture = path.components, path.tables
        limits[:, [i]] = _quantiles(mixture, data, ends[:, [i]], outside)
    return limits


def _quantiles(
    mixture: tuple[Components, Tables],
    data: PathData,
    ends: IntArray,
    outside: float,
) -> FloatArray:
    """(2, n) quantiles of the difference between two steps of n paths."""
    components, tables = mixture
    phi, moving = data[3], ~components.is_static
    moments = np.zeros((2, *phi.shape))
    _pair_moments_inplace(data, tables, moving, np.ascontiguousarray(ends), moments)
    means, deviations = moments[0][:, moving], np.sqrt(moments[1][:, moving])
    weights = phi[:, moving]
    return np.array(
        [_quantile(weights, means, deviations, level) for level in (outside, 1.0 - outside)]
    )


@kernel
def _pair_moments_inplace(
    data: PathData,
    tables: Tables,
    moving: BoolArray,
    ends: IntArray,
    moments: FloatArray,
) -> None:
    """Mean and variance of a difference between two steps, given every component that moves.

    Into `moments` (2, n, K). With V the posterior covariance of a component and a the weights of
    the difference, V a is the posterior mean that a linear term `a` would have.
    """
    h, b, offset, phi = data
    n_steps, n_components = h.shape[1], phi.shape[1]
    evidence, parts = np.empty(n_components), np.empty((3, n_components))
    along, alone = np.empty((2, n_steps)), np.zeros(n_components)
    for i in range(h.shape[0]):
        weights = np.zeros(n_steps)
        weights[ends[1, i]] += 1.0
        weights[ends[0, i]] -= 1.0
        offset_evidences_inplace(h[i], weights, offset[i], tables, evidence, parts)
        for k in range(n_components):
            if phi[i, k] == 0.0 or not moving[k]:
                continue
            alone[k] = 1.0
            offset_average_inplace(h[i], weights, offset[i], tables, alone, parts, along)
            alone[k] = 0.0
            for t in range(n_steps):
                moments[0, i, k] += b[i, t] * along[0, t]
                moments[1, i, k] += weights[t] * along[0, t]
            moments[1, i, k] = max(moments[1, i, k], 0.0)


def _quantile(
    weights: FloatArray, means: FloatArray, deviations: FloatArray, level: float
) -> FloatArray:
    """(n,) of normal mixtures (n, K) beside zero, which has the probability that is left."""
    left = 1.0 - weights.sum(axis=1)
    safe = np.where(deviations > 0, deviations, 1.0)

    def below(x: FloatArray) -> FloatArray:
        """Probability of the parts that are not exactly zero."""
        inside = np.where(deviations > 0, ndtr((x[:, None] - means) / safe), x[:, None] >= means)
        return np.asarray((weights * inside).sum(axis=1))

    at_zero = below(np.zeros(len(weights)))
    is_zero = (at_zero <= level) & (level <= at_zero + left)
    wanted = np.where(at_zero > level, level, level - left)
    used = weights > 0
    low = np.where(used, means - REACH * deviations, np.inf).min(axis=1, initial=np.inf)
    high = np.where(used, means + REACH * deviations, -np.inf).max(axis=1, initial=-np.inf)
    nothing = ~used.any(axis=1)
    low, high = np.where(nothing, 0.0, low), np.where(nothing, 0.0, high)
    for _ in range(N_BISECTIONS):
        middle = 0.5 * (low + high)
        less = below(middle) < wanted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.where(is_zero | nothing, 0.0, 0.5 * (low + high))
