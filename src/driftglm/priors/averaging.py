"""One path averaged over fixed components, as intercepts are.

A single path says too little about variance and autocorrelation to choose them, and there are no
other paths to learn their distribution from: the components have fixed weights, and everything is
averaged over them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftglm._typing import FloatArray
from driftglm.priors import mixture, seasons
from driftglm.priors.mixture import Components, Tables
from driftglm.priors.offset import offset_average_inplace, offset_evidences_inplace
from driftglm.priors.seasons import SeasonalComponents, SeasonTables


@dataclass(frozen=True)
class Average:
    """The posterior of one path.

    Parameters
    ----------
    mean, variance
        (T,).
    phi
        (K,) probabilities of the components.
    divergence
        From the prior.
    lost
        By how much the error all steps share lowers the trace of information times covariance.
    """

    mean: FloatArray
    variance: FloatArray
    phi: FloatArray
    divergence: float
    lost: float = 0.0


@dataclass(frozen=True)
class AveragedPath:
    """Components of one path, with fixed weights.

    Parameters
    ----------
    components
        What the path may be.
    log_weights
        (K,) logarithms of their prior probabilities.
    """

    components: Components
    log_weights: FloatArray

    @cached_property
    def tables(self) -> Tables:
        """Those of the components, made once."""
        return self.components.tables()

    def posterior(self, h: FloatArray, b: FloatArray, offset: float = 0.0) -> Average:
        """Given curvature and linear term of the likelihood, and an error all steps share."""
        count = self.log_weights.size
        h, b = np.ascontiguousarray(h), np.ascontiguousarray(b)  # or kernels are compiled twice
        evidence, phi = np.empty(count), np.empty(count)
        parts, out = np.empty((3, count)), np.empty((2, h.size))
        if offset == 0.0:  # kernels that are not needed are not compiled
            mixture.log_evidences_inplace(h, b, self.tables, evidence, parts)
            mixture.weights_inplace(evidence, self.log_weights, phi)
            divergence, lost = mixture.average_inplace(h, b, self.tables, phi, parts, out), 0.0
        else:
            offset_evidences_inplace(h, b, offset, self.tables, evidence, parts)
            mixture.weights_inplace(evidence, self.log_weights, phi)
            divergence, lost = offset_average_inplace(h, b, offset, self.tables, phi, parts, out)
        return Average(out[0], out[1], phi, divergence - float(phi @ self.log_weights), lost)

    def dynamics(self, phi: FloatArray) -> tuple[float, float]:
        """How likely the path is to move, and its mean autocorrelation if it does."""
        moving = float(phi[1:].sum())
        return moving, float(phi[1:] @ self.components.rho[1:]) / moving if moving > 0 else 1.0


@dataclass(frozen=True)
class SeasonalPath(AveragedPath):
    """Components of one path that may have a season, with fixed weights."""

    components: SeasonalComponents

    @cached_property
    def season_tables(self) -> SeasonTables:
        """Those of the components, made once."""
        return self.components.season_tables()

    def posterior(self, h: FloatArray, b: FloatArray, offset: float = 0.0) -> Average:
        """Given curvature and linear term of the likelihood; errors in common are not for it."""
        del offset
        return self._posterior(h, b, np.empty((2, h.size)))

    def season(self, h: FloatArray, b: FloatArray) -> Average:
        """The posterior of the season alone."""
        out = np.empty((4, h.size))
        return dataclasses.replace(self._posterior(h, b, out), mean=out[2], variance=out[3])

    def _posterior(self, h: FloatArray, b: FloatArray, out: FloatArray) -> Average:
        count, tables = self.log_weights.size, self.season_tables
        evidence, phi, parts = np.empty(count), np.empty(count), np.empty((3, count))
        every = np.ones(len(tables[1][2]), dtype=bool)
        seasons.log_evidences_inplace(h, b, tables, every, (evidence, parts))
        mixture.weights_inplace(evidence, self.log_weights, phi)
        divergence = seasons.average_inplace(h, b, tables, phi, parts, out)
        return Average(out[0], out[1], phi, divergence - float(phi @ self.log_weights))

    def dynamics(self, phi: FloatArray) -> tuple[float, float]:
        """How likely the path is to move beside its season, and its autocorrelation if it does."""
        moves = self.components.dynamic > 0
        moving = float(phi[moves].sum())
        return moving, float(phi[moves] @ self.components.rho[moves]) / moving if moving else 1.0
