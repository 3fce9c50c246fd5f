"""What a fit with seasons says about them, apart from all else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray
from driftglm.fitting.fits import PosteriorFit
from driftglm.priors.averaging import SeasonalPath
from driftglm.priors.mixture import with_empty_steps
from driftglm.priors.seasons import SeasonalComponents
from driftglm.solvers.intercepts import averaged_intercept


@dataclass(frozen=True)
class Seasons:
    """The seasons of one response, in the user's units and column order.

    Parameters
    ----------
    mean, deviation
        (T', p) the seasonal part of every coefficient, and its posterior standard deviation.
    probability
        (p,) that a coefficient has a season.
    intercept, intercept_deviation
        (T',) the same of the intercept at the columns' centre; zeros without one.
    intercept_probability
        That it has a season.
    drift
        (p,) probability that a coefficient drifts beside its season, if it has one.
    """

    mean: FloatArray
    deviation: FloatArray
    probability: FloatArray
    intercept: FloatArray
    intercept_deviation: FloatArray
    intercept_probability: float
    drift: FloatArray

    @classmethod
    def of(cls, fit: PosteriorFit, n_more: int = 0) -> Seasons:
        """Those of a fit, in the training steps and `n_more` after them."""
        n_steps = fit.n_timesteps + n_more
        paths, (likely, drifts) = np.zeros((2, len(fit.h), n_steps)), np.zeros((2, len(fit.h)))
        components = fit.components.extended(n_more)
        if isinstance(components, SeasonalComponents):
            found = fit.season_moments(components)
            paths[0], paths[1] = (found[:, 2] / fit.unit[:, None], found[:, 3])
            paths[1] /= fit.unit[:, None] ** 2
            # A column that says nothing has the prior's probabilities, and no coefficient.
            said = fit.h.any(axis=1)
            likely = np.where(said, fit.phi[:, components.is_seasonal].sum(axis=1), 0)
            drifts = np.where(said, fit.phi[:, components.dynamic > 0].sum(axis=1), 0)
        some = fit.intercepts
        inner, (own, moving) = (
            np.zeros((2, len(some.scale), n_steps)),
            np.zeros((2, len(some.scale))),
        )
        for j, (h, b) in enumerate(zip(some.h, some.b, strict=True)):
            prior = float(some.scale[j]), bool(some.static[j]), n_steps, some.cycle
            law = averaged_intercept(*prior)
            if isinstance(law, SeasonalPath):
                season = law.season(*with_empty_steps(h, b, n_more))
                inner[0, j], inner[1, j] = season.mean, season.variance
                own[j] = season.phi[law.components.is_seasonal].sum()
                moving[j] = season.phi[law.components.dynamic > 0].sum()
        columns, first = fit.columns, int(fit.columns.has_intercept)
        mean, variance = (columns.arrange(*each) for each in zip(paths, inner, strict=True))
        level = inner[:, :first].sum(axis=1)
        return cls(
            mean,
            np.sqrt(variance),
            columns.per_feature(likely, own),
            level[0],
            np.sqrt(level[1]),
            float(own[:first].sum()),
            np.minimum(columns.per_feature(drifts, moving), 1.0),
        )


@dataclass(frozen=True)
class PhaseChanges:
    """Largest differences between two steps of one phase, (p,) each: the later less the earlier.

    A season that repeats itself is not in them. The interval takes the two steps for independent,
    which is careful: what is known of them is known from the same rows in part.
    """

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, fit: PosteriorFit, cycle: int, reach: float) -> PhaseChanges:
        """Of a fit of `cycle` steps a cycle; intervals of `reach` standard deviations."""
        path, variance = fit.coef_path(), fit.std_path() ** 2
        best, spread = np.zeros((2, path.shape[1]))
        for apart in range(cycle, len(path), cycle):
            change = path[apart:] - path[:-apart]
            both = variance[apart:] + variance[:-apart]
            at, every = np.abs(change).argmax(axis=0), np.arange(path.shape[1])
            larger = np.abs(change[at, every]) > np.abs(best)
            best = np.where(larger, change[at, every], best)
            spread = np.where(larger, np.sqrt(both[at, every]), spread)
        return cls(best, best - reach * spread, best + reach * spread)
