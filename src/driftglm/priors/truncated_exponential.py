"""The exponential distribution on (-C, 0] with any real rate, stable at rate 0 and at both ends.

    q(alpha | kappa) = kappa exp(-kappa (alpha + C)) / (1 - exp(-kappa C))

The paper takes kappa > 0, which confines the mean to (-C, -C/2): a feature without
autocorrelation is then forced to alpha <= -1/4. Negative kappa is an equally valid density.
With x = kappa C everything is a function of x times a power of C.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm.priors.chain import ALPHA_BOUND

# Below this |x| the closed forms of mean and variance cancel; a short series is exact there.
SERIES_BELOW = 0.05


@kernel
def log_normalizer(kappa: float) -> float:
    """log of the integral of exp(-kappa (alpha + C)) over (-C, 0]."""
    x = kappa * ALPHA_BOUND
    if abs(x) < SERIES_BELOW:
        # log((1 - e^-x) / x) = -x/2 + x^2/24 - x^4/2880 + x^6/181440 - ...
        square = x * x
        inner = -0.5 * x + square * (1 / 24 - square * (1 / 2880 - square / 181440))
        return np.log(ALPHA_BOUND) + inner
    if x > 0:
        return np.log(ALPHA_BOUND) + np.log(-np.expm1(-x) / x)
    # For x < 0 the largest value of the integrand is exp(-x): take it out of the logarithm.
    return np.log(ALPHA_BOUND) - x + np.log(np.expm1(x) / x)


@kernel
def mean(kappa: float) -> float:
    """E[alpha], rising from -C (kappa -> inf) through -C/2 (kappa = 0) to 0 (kappa -> -inf)."""
    x = kappa * ALPHA_BOUND
    if abs(x) < SERIES_BELOW:
        square = x * x
        shift = 0.5 - x * (1 / 12 - square * (1 / 720 - square / 30240))
        return ALPHA_BOUND * (shift - 1.0)
    if x > 0:
        return ALPHA_BOUND * (1.0 / x - 1.0 / np.expm1(x) - 1.0)
    # Mirror image: 1/x - 1/expm1(x) - 1 = 1/x + 1/expm1(-x), without cancellation at x -> -inf.
    return ALPHA_BOUND * (1.0 / x + 1.0 / np.expm1(-x))


@kernel
def variance(kappa: float) -> float:
    """Var[alpha], at most C^2/12 (at kappa = 0)."""
    x = abs(kappa * ALPHA_BOUND)
    if x < SERIES_BELOW:
        square = x * x
        return ALPHA_BOUND**2 * (1 / 12 - square * (1 / 240 - square / 6048))
    # e^-x / (1 - e^-x)^2 in a form that underflows to 0 instead of overflowing.
    tail = np.exp(-x) / np.expm1(-x) ** 2
    return ALPHA_BOUND**2 * (1.0 / (x * x) - tail)


@kernel
def entropy(kappa: float) -> float:
    """-E[log q]: largest, log C, at kappa = 0."""
    return log_normalizer(kappa) + kappa * (mean(kappa) + ALPHA_BOUND)
