"""One global scale and autocorrelation: ridge over time (ridge-ts), and ridge at rho = 0."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from driftglm.exceptions import DataError
from driftglm.priors.base import Boundary, PathPrior, PathStats, Penalty, check_boundary
from driftglm.priors.chain import alpha_of_rho, logdet_unit_tridiagonal


@dataclass(frozen=True)
class Fixed(PathPrior):
    """A Gaussian chain with given variance and autocorrelation, the same for every feature.

    Parameters
    ----------
    scale
        lambda: the variance of a coefficient (stationary boundary), or the paper's divisor
        of A(alpha) (pinned boundary).
    autocorrelation
        rho in [0, 1); the pinned chain uses alpha = -rho / (1 + rho^2). At 0 every step is a
        separate ridge regression with penalty 1 / scale.
    boundary
        "pinned" (the paper's) or "stationary".

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.priors import Fixed, PathStats
    >>> steady = Fixed(scale=1.0, autocorrelation=0.9, boundary="stationary")
    >>> paths = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
    >>> flat, restless = steady.evaluate(PathStats.of(paths), 3).log_density
    >>> bool(flat > restless)
    True
    """

    scale: float = 1.0
    autocorrelation: float = 0.9
    boundary: Boundary = "pinned"

    def __post_init__(self) -> None:
        if not (isinstance(self.scale, Real) and np.isfinite(self.scale) and self.scale > 0):
            raise DataError(f"scale={self.scale!r}; pass a positive variance, e.g. 1.0.")
        if not (isinstance(self.autocorrelation, Real) and 0 <= self.autocorrelation < 1):
            raise DataError(
                f"autocorrelation={self.autocorrelation!r}; pass a number in [0, 1), e.g. 0.9."
            )
        check_boundary(self.boundary)

    @property
    def sparse(self) -> bool:
        """The density is bounded: no path is ever exactly zero."""
        return False

    def precision(self, n_timesteps: int) -> tuple[float, float, float]:
        """omega, omega_alpha and omega_end: the entries of the tridiagonal precision."""
        rho = self.autocorrelation
        if n_timesteps == 1:
            return 1.0 / self.scale, 0.0, 0.0
        if self.boundary == "pinned":
            return 1.0 / self.scale, alpha_of_rho(rho) / self.scale, 0.0
        unit = 1.0 / (self.scale * (1.0 - rho * rho))
        return unit * (1.0 + rho * rho), -unit * rho, -unit * rho * rho

    def evaluate(self, stats: PathStats, n_timesteps: int, n_tied: int = 1) -> Penalty:
        """Gaussian log density; its quadratic bound is the density itself."""
        omega, omega_alpha, omega_end = self.precision(n_timesteps)
        rho = self.autocorrelation
        logdet = -n_timesteps * np.log(self.scale)
        if self.boundary == "pinned":
            logdet += logdet_unit_tridiagonal(alpha_of_rho(rho), n_timesteps)
        elif n_timesteps > 1:
            logdet -= (n_timesteps - 1) * np.log1p(-rho * rho)
        quadratic = omega * stats.S + 2 * omega_alpha * stats.R + omega_end * stats.E
        constant = n_tied * (logdet - n_timesteps * np.log(2 * np.pi))
        same = omega, omega_alpha, omega_end, alpha_of_rho(rho), rho
        parts = (np.full(stats.S.shape, value) for value in same)
        return Penalty(0.5 * (constant - quadratic), *parts)
