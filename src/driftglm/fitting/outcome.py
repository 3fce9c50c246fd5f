"""What a fit leaves: how the solver ended, and forecasters that answer for any step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.fitting.fits import Fit, Step
from driftglm.fitting.residuals import RowChecks
from driftglm.fitting.views import ViewName
from driftglm.solvers import StopReason


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
    """

    name: str
    fits: tuple[Fit, ...]
    noise: FloatArray

    @property
    def posterior(self) -> bool:
        """Whether coefficients are uncertain."""
        return self.fits[0].posterior

    @property
    def n_timesteps(self) -> int:
        """Number of training steps."""
        return self.fits[0].n_timesteps

    def noise_at(self, codes: IntArray | int) -> FloatArray:
        """The noise of the steps of some rows, or of one step; after the last it goes on."""
        return np.asarray(self.noise[np.minimum(np.atleast_1d(codes), self.n_timesteps - 1)])

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
    view
        What the intercept of a step was taken to be (learned prior; see `views.py`).
    rate
        The rate of the paper's priors, given or estimated.
    checks
        What the rows leave behind; None where a fit is put together again.
    """

    forecasters: tuple[Forecaster, ...]
    history: FloatArray
    optimality: float
    reason: StopReason
    view: ViewName = "per-step"
    rate: float | None = None
    checks: RowChecks | None = None

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return int(self.history.size)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.reason is StopReason.CONVERGED
