"""How the errors of coefficients that were judged jointly go together, at any step."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import cast

import numpy as np

from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray
from driftglm.fitting.coefficients import Step
from driftglm.solvers.joint import PathKernels


@dataclass(frozen=True)
class JointFit:
    """How the errors of m coefficients go together.

    Parameters
    ----------
    features
        (m,) columns of X they belong to.
    correlation
        (T, m, m) at every step.
    static, dynamic, rho
        (m,), (m, R) and (R,): their prior covariances (see `PathKernels`).
    gram
        Square of m (1 + R): what forecasts need (see `JointSolve.ahead`).
    """

    features: IntArray
    correlation: FloatArray
    static: FloatArray
    dynamic: FloatArray
    rho: FloatArray
    gram: FloatArray

    def ahead(self, n_steps: int) -> FloatArray:
        """(m, m) correlation `n_steps` after the last step."""
        kernels = PathKernels(self.static, self.dynamic, self.rho)
        terms = kernels.terms(n_steps)
        m, count = terms.shape
        gram = self.gram.reshape(m, count, m, count)
        taken = np.einsum("ip,ipjq,jq->ij", terms, gram, terms, optimize=False)
        return correlation_of(np.diag(kernels.variance) - taken)

    def applied(self, step: Step, correlation: FloatArray) -> Step:
        """A step whose coefficients have the variances they have, and are correlated."""
        deviation = np.sqrt(step.coef_variance[self.features])
        with one_thread():  # the same digits on any number of threads
            values, vectors = np.linalg.eigh(correlation)
        root = deviation[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        joint = np.zeros((step.coef.size, root.shape[1]))
        joint[self.features] = root
        own = step.coef_variance.copy()
        own[self.features] = 0.0
        return dataclasses.replace(step, coef_variance=own, joint=np.hstack([step.joint, joint]))


def correlation_of(covariance: FloatArray) -> FloatArray:
    """Of covariances (..., m, m); what is certain is correlated with nothing."""
    variance = np.maximum(np.einsum("...ii->...i", covariance), 0.0)
    deviation = np.sqrt(np.where(variance > 0, variance, np.inf))
    out = covariance / deviation[..., :, None] / deviation[..., None, :]
    np.einsum("...ii->...i", out)[...] = 1.0
    return cast("FloatArray", np.clip(out, -1.0, 1.0))
