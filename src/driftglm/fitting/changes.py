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

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.fitting.fits import Fit, PosteriorFit
from driftglm.fitting.quantiles import mixture_quantile
from driftglm.fitting.sampled import SampledFit
from driftglm.priors.mixture import Components, Tables
from driftglm.priors.offset import offset_average_inplace, offset_evidences_inplace
from driftglm.solvers.intercepts import averaged_intercept

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
    out = np.zeros((2, len(phi)))
    _set_quantiles_inplace(np.ascontiguousarray(phi), moments, outside, out)
    return out


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


@kernel
def _set_quantiles_inplace(
    phi: FloatArray, moments: FloatArray, outside: float, out: FloatArray
) -> None:
    """Quantiles (2, n) of mixtures; components that do not move are exactly zero."""
    for i in range(phi.shape[0]):
        deviations = np.sqrt(moments[1, i])
        out[0, i] = mixture_quantile(phi[i], moments[0, i], deviations, outside)
        out[1, i] = mixture_quantile(phi[i], moments[0, i], deviations, 1.0 - outside)
