"""One path averaged over fixed components, as intercepts are.

A single path says too little about variance and autocorrelation to choose them, and there are no
other paths to learn their distribution from: the components have fixed weights, and everything is
averaged over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftglm._typing import FloatArray
from driftglm.priors import mixture
from driftglm.priors.mixture import Components, Tables
from driftglm.priors.offset import offset_average_inplace, offset_evidences_inplace


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
        evidence, phi = np.empty(count), np.empty(count)
        parts, out = np.empty((3, count)), np.empty((2, h.size))
        offset_evidences_inplace(h, b, offset, self.tables, evidence, parts)
        mixture.weights_inplace(evidence, self.log_weights, phi)
        divergence, lost = offset_average_inplace(h, b, offset, self.tables, phi, parts, out)
        return Average(out[0], out[1], phi, divergence - float(phi @ self.log_weights), lost)
