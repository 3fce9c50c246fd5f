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
    """

    mean: FloatArray
    variance: FloatArray
    phi: FloatArray
    divergence: float


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

    def posterior(self, h: FloatArray, b: FloatArray) -> Average:
        """Given curvature and linear term of the likelihood."""
        count = self.log_weights.size
        evidence, phi = np.empty(count), np.empty(count)
        parts, out = np.empty((3, count)), np.empty((2, h.size))
        mixture.log_evidences_inplace(h, b, self.tables, evidence, parts)
        mixture.weights_inplace(evidence, self.log_weights, phi)
        divergence = mixture.average_inplace(h, b, self.tables, phi, parts, out)
        return Average(out[0], out[1], phi, divergence - float(phi @ self.log_weights))
