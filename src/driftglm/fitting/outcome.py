"""What a fit leaves: how the solver ended, and forecasters that answer for any step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from driftglm._typing import FloatArray, IntArray
from driftglm.fitting.fits import Fit, Step
from driftglm.fitting.group_effects import GroupFit
from driftglm.fitting.residuals import RowChecks
from driftglm.fitting.views import ViewName
from driftglm.objective import NoisePath
from driftglm.solvers import StopReason

N_NODES = 11
"""Values of an uncertain noise that stand for its distribution in forecasts."""
N_BISECTIONS = 60
SMALLEST = 1e-300
HALF = np.full(1, 0.5)


@dataclass(frozen=True)
class NoiseDistribution:
    """What the noise of one step may be: its logarithm is a mixture of normal distributions.

    `weights`, `mean` and `variance` (K,) are those of the parts, and of the logarithm.
    """

    weights: FloatArray
    mean: FloatArray
    variance: FloatArray

    def quantile(self, levels: FloatArray) -> FloatArray:
        """Of the noise itself, by bisection."""
        deviation = np.sqrt(self.variance)
        at = self.mean + deviation * ndtri(levels)[:, None]
        low, high = at.min(axis=1), at.max(axis=1)
        if (high > low).any():
            safe = np.where(deviation > 0, deviation, SMALLEST)
            for _ in range(N_BISECTIONS):
                middle = 0.5 * (low + high)
                below = ndtr((middle[:, None] - self.mean) / safe) @ self.weights < levels
                low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(np.exp(0.5 * (low + high)))


@dataclass(frozen=True)
class Forecaster:
    """One way to predict: a fit for every response, and the noise about it.

    Parameters
    ----------
    name
        What it is called where there are several.
    fits
        One a response.
    noise
        (T,) noise variance or dispersion of the training steps.
    shape
        The family's own parameter, 1 where it has none.
    noise_path
        The posterior of the logarithm of a noise that moves.
    view
        What the intercept of a step was taken to be (learned prior; see `views.py`).
    groups
        Effects of groups, one a response; none where rows do not belong together.
    """

    name: str
    fits: tuple[Fit, ...]
    noise: FloatArray
    shape: float = 1.0
    noise_path: NoisePath | None = None
    view: ViewName = "per-step"
    groups: tuple[GroupFit, ...] = ()

    def group_moments(
        self, group: IntArray, codes: IntArray | int
    ) -> tuple[FloatArray, FloatArray]:
        """(n_rows, n_responses) mean and variance of the effects of rows' groups."""
        if not self.groups:
            nothing = np.zeros((group.size, len(self.fits)))
            return nothing, nothing.copy()
        means, variances = zip(*(each.moments(group, codes) for each in self.groups), strict=True)
        return np.column_stack(means), np.column_stack(variances)

    @property
    def posterior(self) -> bool:
        """Whether coefficients are uncertain."""
        return self.fits[0].posterior

    @property
    def n_timesteps(self) -> int:
        """Number of training steps."""
        return self.fits[0].n_timesteps

    def noise_at(self, codes: IntArray | int) -> FloatArray:
        """The noise of the steps of some rows, or of one step: its median where it moves.

        After the last step a constant noise goes on, and one that moves is forecast.
        """
        if self._noise_is_known:
            return np.asarray(self.noise[np.minimum(np.atleast_1d(codes), self.n_timesteps - 1)])
        return self._by_step(codes, lambda code: self.noise_distribution(code).quantile(HALF))[:, 0]

    def noise_nodes(self, codes: IntArray | int) -> tuple[FloatArray, FloatArray]:
        """What the noise of some rows may be, (n_rows, J), and the (J,) probabilities of that."""
        if self._noise_is_known:
            return self.noise_at(codes)[:, None], np.ones(1)
        places, weights = np.polynomial.legendre.leggauss(N_NODES)
        levels = 0.5 + 0.5 * places
        nodes = self._by_step(codes, lambda code: self.noise_distribution(code).quantile(levels))
        if (nodes == nodes[:, :1]).all():
            return nodes[:, :1], np.ones(1)
        return nodes, 0.5 * weights

    def noise_distribution(self, code: int) -> NoiseDistribution:
        """What the noise of a step may be."""
        if self.noise_path is None:
            last = self.noise[min(code, self.n_timesteps - 1)]
            return NoiseDistribution(np.ones(1), np.log([last]), np.zeros(1))
        if code < self.n_timesteps:
            return NoiseDistribution(*self.noise_path.at_step(code))
        return NoiseDistribution(*self.noise_path.ahead(code - self.n_timesteps + 1))

    def spread_at(self, codes: IntArray | int) -> float | FloatArray:
        """What variances of forecasts are multiplied by in the steps of some rows."""
        del codes
        return 1.0

    def shape_at(self, codes: IntArray | int) -> float | FloatArray:
        """The family's own parameter in the steps of some rows."""
        del codes
        return self.shape

    @property
    def _noise_is_known(self) -> bool:
        """Whether there is but one value the noise of a step may have."""
        return self.noise_path is None

    def _by_step(self, codes: IntArray | int, of_step: Callable[[int], FloatArray]) -> FloatArray:
        """(n_rows, J) numbers of every row's step."""
        steps, places = np.unique(np.atleast_1d(codes), return_inverse=True)
        return np.array([of_step(int(code)) for code in steps])[places.ravel()]

    def steps(self, code: int, *, hold: bool, drift: bool = True) -> list[Step]:
        """Coefficients of a step, which may lie after the last, for every response.

        `hold` takes those of the last step for later ones; without `drift` they are as certain as
        in the last step.
        """
        n_ahead = code - self.n_timesteps + 1
        if n_ahead > 0 and hold:
            return [
                fit.held(n_ahead) if drift else fit.at(fit.n_timesteps - 1) for fit in self.fits
            ]
        return [fit.at(code) for fit in self.fits]


@dataclass(frozen=True)
class Outcome:
    """A fit and how its solver ended.

    Parameters
    ----------
    forecasters
        What was fitted; one, unless several are averaged.
    history
        The objective after every iteration.
    optimality, reason
        How close the solver came, and why it stopped.
    rate
        The rate of the paper's priors, given or estimated.
    checks
        What the rows leave behind; None where a fit is put together again.
    directions
        The shared directions of the rows, for further fits to them.
    """

    forecasters: tuple[Forecaster, ...]
    history: FloatArray
    optimality: float
    reason: StopReason
    rate: float | None = None
    checks: RowChecks | None = None
    directions: Any = None

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return int(self.history.size)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.reason is StopReason.CONVERGED
