"""The parameter a family has of its own, beside the linear predictor and the noise.

The dispersion of negative binomial counts and the degrees of freedom of Student errors do not
divide the log-likelihood as a noise variance does, and have no closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

REACH = 1.0
"""How far one step goes at most, on the scale of the logarithm."""
APART = 1e-2
"""Distance of the values from which slope and bend are taken."""
PRECISION = 1e-5
N_STEPS = 3
CLOSE = 1e-3
"""After a step this small the next pass may go on."""
WIDTH = 3.0
"""Standard deviation of the prior of a logarithm: a factor of twenty either way is nothing odd."""


@dataclass(frozen=True)
class Shape:
    """Given, or estimated between two bounds; without any of it, there is no such parameter.

    Parameters
    ----------
    given
        The value, if the user knows it.
    reference
        Where estimation starts.
    bounds
        Least and largest value of an estimate; None: nothing is estimated.
    """

    given: float | None = None
    reference: float = 1.0
    bounds: tuple[float, float] | None = None

    @property
    def learned(self) -> bool:
        """Whether there is something to estimate."""
        return self.given is None and self.bounds is not None

    @property
    def start(self) -> float:
        """The given value, or where estimation starts."""
        return self.reference if self.given is None else self.given

    def log_prior(self, shape: float) -> float:
        """Log density, Normal(log reference, 3^2) of the logarithm, between the bounds.

        With its constant: fits with and without such a parameter are compared.
        """
        if not self.learned or self.bounds is None:
            return 0.0
        ends = ndtr(np.log(np.array(self.bounds) / self.reference) / WIDTH)
        constant = float(np.log(WIDTH * np.sqrt(2.0 * np.pi) * (ends[1] - ends[0])))
        return -(float(np.log(shape / self.reference)) ** 2) / (2.0 * WIDTH**2) - constant

    def improved(self, log_likelihood: Callable[[float], float], shape: float) -> float:
        """A value whose log-likelihood and prior together are no lower than those of `shape`."""
        assert self.bounds is not None  # noqa: S101 (asked for where it is learned)

        def value_at(log_shape: float) -> float:
            value = float(np.exp(log_shape))
            return log_likelihood(value) + self.log_prior(value)

        now = float(np.log(shape))
        low, high = (float(end) for end in np.log(self.bounds))
        value = value_at(now)
        for _ in range(N_STEPS):
            ahead, behind = value_at(now + APART), value_at(now - APART)
            slope, bend = (ahead - behind) / 2.0, ahead - 2.0 * value + behind
            step = -slope / bend * APART if bend < 0.0 else float(np.copysign(REACH, slope))
            step = float(np.clip(now + np.clip(step, -REACH, REACH), low, high)) - now
            while abs(step) > PRECISION and (reached := value_at(now + step)) <= value:
                step *= 0.5
            if abs(step) <= PRECISION:
                break
            now, value = now + step, reached
            if abs(step) < CLOSE:
                break
        return float(np.exp(now))
