"""Student forecasts: like normal ones, with heavier tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import poch, stdtr, stdtrit

from driftglm._typing import FloatArray
from driftglm.predictive._checks import POSITIVE, Range, refuse
from driftglm.predictive.base import Distribution


@dataclass(frozen=True, eq=False)
class Student(Distribution):
    """Student's t distributions.

    Parameters
    ----------
    loc, scale
        Centre, and the unit of the distance from it. The scale is not the standard deviation.
    degrees
        Degrees of freedom, one number or one a row. The mean exists above 1 (else it is NaN), the
        variance is finite above 2 (else infinite, or NaN without a mean), and `crps` needs more
        than 1.

    Examples
    --------
    >>> from driftglm.predictive import Normal, Student
    >>> wide = Student(loc=0.0, scale=1.0, degrees=3.0).interval(0.99)
    >>> bool(wide[0, 1] > Normal(0.0, 1.0).interval(0.99)[0, 1])
    True
    """

    ranges: ClassVar[dict[str, Range]] = {"scale": POSITIVE, "degrees": POSITIVE}
    loc: FloatArray
    scale: FloatArray
    degrees: FloatArray

    @property
    def mean(self) -> FloatArray:
        """`loc`, NaN where the tails are too heavy for a mean."""
        return np.where(self.degrees > 1.0, self.loc, np.nan)

    @property
    def variance(self) -> FloatArray:
        """Above `scale` squared; infinite or NaN where it does not exist."""
        some = np.where(self.degrees > 2.0, self.degrees, 3.0)  # noqa: PLR2004
        finite = self.scale**2 * (some / (some - 2.0))
        missing = np.where(self.degrees > 1.0, np.inf, np.nan)
        return np.where(self.degrees > 2.0, finite, missing)  # noqa: PLR2004

    def _log_peak(self) -> FloatArray:
        """Logarithm of the density in the centre, for a scale of 1."""
        half = 0.5 * self.degrees
        return np.asarray(np.log(poch(half, 0.5)) - 0.5 * np.log(self.degrees * np.pi))

    def _log_fall(self, y: FloatArray) -> FloatArray:
        """log(1 + z^2 / degrees), which z^2 would overflow."""
        z = np.log(np.abs(y - self.loc)) - np.log(self.scale)
        return np.logaddexp(0.0, 2.0 * z - np.log(self.degrees))

    def _cdf(self, y: FloatArray) -> FloatArray:
        return np.asarray(stdtr(self.degrees, (y - self.loc) / self.scale))

    def _log_prob(self, y: FloatArray) -> FloatArray:
        fall = 0.5 * (self.degrees + 1.0) * self._log_fall(y)
        return np.asarray(self._log_peak() - np.log(self.scale) - fall)

    def _quantile(self, levels: FloatArray) -> FloatArray:
        return np.asarray(self.loc + self.scale * stdtrit(self.degrees, levels))

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        return self.loc + self.scale * rng.standard_t(self.degrees, (n_draws, self.n_rows))

    def _crps(self, y: FloatArray) -> FloatArray:
        few = self.degrees <= 1.0
        refuse("degrees", self.degrees, few, "numbers above 1, for a CRPS")
        nu = self.degrees
        peak = np.exp(self._log_peak())
        tails = 2.0 * nu / (nu - 1.0) * peak * np.exp(-0.5 * (nu - 1.0) * self._log_fall(y))
        # B(1/2, nu - 1/2) / B(1/2, nu / 2)^2, with B(1/2, a) = sqrt(pi) / poch(a, 1/2).
        betas = poch(0.5 * nu, 0.5) ** 2 / (poch(nu - 0.5, 0.5) * np.sqrt(np.pi))
        spread = 2.0 * np.sqrt(nu) / (nu - 1.0) * betas
        off = y - self.loc
        return np.asarray(off * (2.0 * self._cdf(y) - 1.0) + self.scale * (tails - spread))
