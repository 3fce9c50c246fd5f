"""What a path or an intercept with a season may be: grids of components.

Every pair of a drift and a season costs a filter of its own, so the grids are thinner than those
without seasons: those say how large a drift is and how long it lasts, here it is enough to tell the
two apart.
"""

from __future__ import annotations

import numpy as np

from driftglm._typing import FloatArray
from driftglm.priors.learned import Learned, intercept_components, intercept_log_weights
from driftglm.priors.mixture import Components
from driftglm.priors.seasons import SeasonalComponents

RECURRENCES = (1.0, 0.8)
"""Correlations of a season from one cycle to the next; at 1 it repeats itself exactly."""
EVERY_SEASON, EVERY_MAIN = 2, 3
"""Of the prior's scales, every second is one of a season, every third one of what goes with it."""
DRIFTS = (0.9, 0.98)
"""Of the prior's correlations, those of drifts that go with a season; if none is, the largest."""
DRIFT_SHARE = 0.5
"""The constant part of the variance of a path that drifts and has a season."""
LEAST_SIZE, MOST_LEAST = 4.0, 0.1
"""The least variance of a season: what two standard errors of the effect of one phase are, squared,
and at most this share of the largest. At one standard error seasons were said of constant effects
two to six times as often."""
N_INTERCEPT_SEASONS, N_INTERCEPT_DRIFTS = 7, 7
INTERCEPT_DRIFTS = (0.5, 0.9, 0.98)
SEASONAL_INTERCEPT = 0.5
"""Prior probability that an intercept has a season."""


def seasonal_components(
    prior: Learned, plain: Components, sizes: tuple[float, float], cycle: int
) -> SeasonalComponents:
    """The grid of a prior with seasons: `plain`, and pairs of some of it with a season.

    `sizes` are the largest variance and the rows, as `Learned.components` has them.
    """
    largest, n_rows = sizes
    scales = prior.scales(largest, n_rows)
    # A season that the rows of one phase could not tell from zero goes along with the noise.
    share_of_phase = LEAST_SIZE * cycle / max(n_rows, 10.0)
    least = largest * min(share_of_phase, MOST_LEAST) * (1.0 - 1e-9)
    seasons = [
        (scale, rho) for scale in scales[::EVERY_SEASON] if scale >= least for rho in RECURRENCES
    ]
    static = scales[1::EVERY_MAIN]
    moving = plain.dynamic[plain.dynamic > 0]
    known = np.unique(plain.rho[plain.dynamic > 0])
    drifts = [rho for rho in known if rho in DRIFTS] or known[-1:]
    lowest = moving.min() if moving.size else np.inf
    mains = [(0.0, 0.0, 0.0), *((float(each), 0.0, 0.0) for each in static)]
    mains += [
        (float(scale) * DRIFT_SHARE / (1.0 - DRIFT_SHARE), float(scale), float(rho))
        for scale in static
        if scale >= lowest
        for rho in drifts
    ]
    return SeasonalComponents.of(plain, mains, seasons, cycle)


def seasonal_intercept(
    scale: float, n_timesteps: int, cycle: int
) -> tuple[SeasonalComponents, FloatArray]:
    """Components of an intercept that may have a season, and their log weights."""
    plain = intercept_components(scale, n_timesteps, static=False)
    sizes = scale * 10.0 ** np.linspace(-3.5, 0.5, N_INTERCEPT_SEASONS)
    seasons = [(float(size), rho) for size in sizes for rho in RECURRENCES]
    drifts = scale * 10.0 ** np.linspace(-4.0, 0.5, N_INTERCEPT_DRIFTS)
    mains = [(np.inf, 0.0, 0.0)]
    mains += [(np.inf, float(drift), rho) for drift in drifts for rho in INTERCEPT_DRIFTS]
    found = SeasonalComponents.of(plain, mains, seasons, cycle)
    halves = [intercept_log_weights(plain.count), intercept_log_weights(len(mains))]
    halves[1] = np.repeat(halves[1] - np.log(len(seasons)), len(seasons))
    shares = np.log([1.0 - SEASONAL_INTERCEPT, SEASONAL_INTERCEPT])
    return found, np.concatenate([half + s for half, s in zip(halves, shares, strict=True)])
