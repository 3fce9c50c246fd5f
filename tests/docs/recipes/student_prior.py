"""A chain with heavy tails: the one new module of the recipe "Add a prior".

A Gaussian chain whose variance is not known exactly, scale times an inverse gamma of `degrees`
degrees of freedom, has the density of a multivariate Student distribution,

    log m(beta) = constant - (T + d) / 2 log(1 + Q / d),   Q = beta' P beta,

P being the chain's precision. The logarithm is concave in Q, so that its tangent, a quadratic in
beta of weight (T + d) / (d + Q), touches the density from below.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from driftglm.priors.base import PathPrior, Penalty
from driftglm.priors.fixed import Fixed


@dataclass(frozen=True)
class StudentChain(PathPrior):
    """Ridge over time that forgives a few large paths."""

    scale: float = 0.1
    autocorrelation: float = 0.9
    degrees: float = 4.0

    sparse = False

    def evaluate(self, stats, n_timesteps, n_tied=1):
        chain = Fixed(self.scale, self.autocorrelation, "stationary")
        fixed, size = chain.evaluate(stats, n_timesteps, n_tied), n_tied * n_timesteps
        omega, beside, end = chain.precision(n_timesteps)
        quadratic = omega * stats.S + 2 * beside * stats.R + end * stats.E
        # The chain's own density has the determinant; what is left of it at Q = 0 is that.
        determinant = fixed.log_density + 0.5 * quadratic + 0.5 * size * np.log(2 * np.pi)
        d = self.degrees
        constant = gammaln(0.5 * (size + d)) - gammaln(0.5 * d) - 0.5 * size * np.log(np.pi * d)
        tail = 0.5 * (size + d) * np.log1p(quadratic / d)
        weight = (size + d) / (d + quadratic)
        return Penalty(
            log_density=determinant + constant - tail,
            omega=weight * omega,
            omega_alpha=weight * beside,
            omega_end=weight * end,
            mean_alpha=fixed.mean_alpha,
            mean_rho=fixed.mean_rho,
        )
