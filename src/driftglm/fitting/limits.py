"""Central intervals of coefficients: what they are with a probability, step by step.

The posterior of a coefficient is a mixture over its path's components, zero among them. It is no
normal distribution: where several components are likely it has long tails, and a path that may well
be zero has all of that probability in one point. Its quantiles are found, as those of contrasts and
of changes are.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from driftglm._jit import kernel
from driftglm._typing import FloatArray
from driftglm.fitting.fits import Fit, PosteriorFit
from driftglm.fitting.quantiles import mixture_quantile
from driftglm.fitting.sampled import SampledFit
from driftglm.priors.mixture import Tables
from driftglm.priors.offset import offset_average_inplace, offset_evidences_inplace
from driftglm.priors.seasons import SeasonalComponents

RARE = 1e-7
"""Components that are less likely than this move no end of an interval that is looked at."""
PathData = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""h, b, offset and phi of some paths."""


def limits_of(fit: Fit, level: float) -> FloatArray:
    """(2, T, p) ends of the central intervals of every coefficient; of a mode both are the mode.

    The mean, which is what users are shown, lies in its interval always.
    """
    mean = fit.coef_path()
    if isinstance(fit, SampledFit):
        return fit.limits(level)
    outside = 0.5 * (1.0 - level)
    reach = float(ndtri(1.0 - outside)) * (fit.std_path() if fit.posterior else 0.0)
    limits = np.stack([mean - reach, mean + reach])
    if isinstance(fit, PosteriorFit) and not isinstance(fit.components, SeasonalComponents):
        _set_mixtures(fit, outside, limits)
        limits = np.stack([np.minimum(limits[0], mean), np.maximum(limits[1], mean)])
    return limits


def _set_mixtures(fit: PosteriorFit, outside: float, limits: FloatArray) -> None:
    """Put quantiles where paths are mixtures; those of a paths' shared part are normal."""
    shared = fit.shared.variance
    paths = np.flatnonzero(~fit.columns.always_in)
    zero = fit.phi[:, fit.components.is_zero].sum(axis=1)
    nothing = (1.0 - zero <= outside) & (shared == 0)
    limits[:, :, paths[nothing]] = 0.0
    some = np.flatnonzero(~nothing)
    error = fit.offset[some] if fit.offset.size else np.zeros(some.size)
    data = fit.h[some], fit.b[some], error, fit.phi[some]
    deviation = np.sqrt(shared[some]) * fit.unit[some]
    ends = np.zeros((2, fit.n_timesteps, some.size))
    quantiles_inplace(data, fit.components.tables(), deviation, outside, ends)
    limits[:, :, paths[some]] = ends / fit.unit[some] + fit.shared.mean[some]


@kernel
def quantiles_inplace(
    data: PathData, tables: Tables, deviation: FloatArray, outside: float, ends: FloatArray
) -> None:
    """Quantiles of every path at every step at `outside` and one minus that, into (2, T, n).

    To every path something is added that is normal about zero, of a `deviation` (n,).
    """
    h, b, offset, phi = data
    n_steps, n_components = h.shape[1], phi.shape[1]
    evidence, parts = np.empty(n_components), np.empty((3, n_components))
    alone, moments = np.zeros(n_components), np.empty((2, n_steps))
    weights, means, deviations = np.empty((3, n_steps, n_components))
    for i in range(h.shape[0]):
        offset_evidences_inplace(h[i], b[i], offset[i], tables, evidence, parts)
        count = 0
        for k in range(n_components):
            if phi[i, k] < RARE:
                continue
            alone[k] = 1.0
            offset_average_inplace(h[i], b[i], offset[i], tables, alone, parts, moments)
            alone[k] = 0.0
            for t in range(n_steps):
                weights[t, count] = phi[i, k]
                means[t, count] = moments[0, t]
                spread = max(moments[1, t], 0.0) + deviation[i] * deviation[i]
                deviations[t, count] = math.sqrt(spread)
            count += 1
        for t in range(n_steps):
            one = weights[t, :count], means[t, :count], deviations[t, :count]
            ends[0, t, i] = mixture_quantile(one[0], one[1], one[2], outside)
            ends[1, t, i] = mixture_quantile(one[0], one[1], one[2], 1.0 - outside)
