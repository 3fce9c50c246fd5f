"""Negative binomial forecasts, of counts that scatter more than Poisson ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betaincc

from driftglm._typing import BoolArray, FloatArray
from driftglm.predictive._checks import COUNTED, LARGEST, Range
from driftglm.predictive._counts import log_negative_binomial
from driftglm.predictive._incomplete import lower_gamma
from driftglm.predictive._search import count_quantile, matched_gamma
from driftglm.predictive.base import Discrete
from driftglm.predictive.poisson import Poisson

LARGE = 1e6
"""With mean and size above, the cdf is that of a gamma distribution of the same three moments."""
_NO_EXCESS = 1e-12
_N_NODES = 200
_REACH = 4.1


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Discrete):
    """Negative binomial distributions.

    Parameters
    ----------
    mean
        The mean, from 0 to 1e15.
    dispersion
        Variance over mean, from 1 to 1e15. A row with 1 (or less than 1e-12 above) is Poisson.

    Notes
    -----
    The size is mean / (dispersion - 1). Where both mean and size exceed 1e6, the cdf (and with it
    quantiles) is that of a gamma distribution with the same mean, variance and skewness, with half
    a count added; it is off by less than 1e-8. Probabilities are exact everywhere.

    Examples
    --------
    >>> from driftglm.predictive import NegativeBinomial, Poisson
    >>> counts = NegativeBinomial(mean=4.0, dispersion=3.0)
    >>> float(counts.variance[0]), float(Poisson(4.0).variance[0])
    (12.0, 4.0)
    """

    ranges: ClassVar[dict[str, Range]] = {
        "mean": COUNTED,
        "dispersion": Range(f"numbers from 1 to {LARGEST:g}", low=1.0, high=LARGEST),
    }
    mean: FloatArray
    dispersion: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Mean times dispersion."""
        return self.mean * self.dispersion

    def _parts(self) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Which rows are Poisson; size and odds, which are harmless there."""
        excess = self.dispersion - 1.0
        plain = (excess < _NO_EXCESS) | (self.mean == 0)
        odds = np.where(plain, 1.0, excess)
        return plain, np.where(plain, 1.0, self.mean / odds), odds

    @property
    def _skewness(self) -> FloatArray:
        least = np.finfo(float).tiny
        return (2.0 * self.dispersion - 1.0) / np.sqrt(np.maximum(self.variance, least))

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._smooth_cdf(np.floor(y))

    def _smooth_cdf(self, y: FloatArray) -> FloatArray:
        plain, size, odds = self._parts()
        large = ~plain & (size > LARGE) & (self.mean > LARGE)
        count = np.clip(y, 0.0, np.finfo(float).max)
        # Many counts and a large size would keep the incomplete beta function busy for long.
        short = np.where(plain | large, 0.0, count)
        reached = betaincc(short + 1.0, np.where(large, 1.0, size), odds / (1.0 + odds))
        if large.any():
            shape, scale, shift = matched_gamma(self.mean, self.variance, self._skewness)
            unit = np.maximum((count + 0.5 - shift) / scale, 0.0)
            reached = np.where(large, lower_gamma(np.where(large, shape, 1.0), unit), reached)
        if plain.any():
            reached = np.where(plain, Poisson(self.mean)._smooth_cdf(count), reached)  # noqa: SLF001
        return np.where(y < 0, 0.0, np.where(np.isposinf(y), 1.0, reached))

    def _log_prob(self, y: FloatArray) -> FloatArray:
        plain, size, odds = self._parts()
        possible = (y >= 0) & (y == np.floor(y)) & np.isfinite(y)
        found = log_negative_binomial(np.where(possible, y, 0.0), size, odds)
        if plain.any():
            found = np.where(plain, Poisson(self.mean)._log_prob(y), found)  # noqa: SLF001
        return np.where(possible, found, -np.inf)

    def _quantile(self, levels: FloatArray) -> FloatArray:
        return count_quantile(self, levels, self._skewness)

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        plain, size, odds = self._parts()
        rates = np.where(plain, self.mean, odds * rng.standard_gamma(size, (n_draws, self.n_rows)))
        return rng.poisson(rates).astype(np.float64)

    def _crps(self, y: FloatArray) -> FloatArray:
        plain, _, odds = self._parts()
        count = np.floor(y)
        here = np.exp(self._log_prob(count))
        away = (y - self.mean) * (2.0 * self._cdf(y) - 1.0)
        found = away + 2.0 * here * (self.mean + odds * np.maximum(count, 0.0)) - self._spread()
        return np.where(plain, Poisson(self.mean)._crps(y), found)  # noqa: SLF001

    def _spread(self) -> FloatArray:
        """E|X - X'| / 2 from the characteristic function, as an integral over log u.

        With u = tan(t / 2) it is 1 / (2 pi) times the integral over u > 0 of

            (1 - (1 + 4 odds (1 + odds) u^2 / (1 + u^2))^(-size)) / u^2.

        In log u this falls off exponentially on both sides, which the trapezoid rule likes.
        """
        _, size, odds = self._parts()
        place, step = np.linspace(-_REACH, _REACH, _N_NODES, retstep=True)
        rise = 4.0 * odds * (1.0 + odds)
        start = -0.5 * np.log1p(rise * np.maximum(size, 1.0))
        total = np.zeros(self.n_rows)
        for at in place:
            u = np.exp(start + np.sinh(at))
            inner = np.log1p(rise * (u / np.hypot(1.0, u)) ** 2)
            total -= np.expm1(-size * inner) / u * np.cosh(at)
        return total * step / (2.0 * np.pi)
