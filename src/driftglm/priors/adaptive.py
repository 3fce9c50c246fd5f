"""What the paper's two priors share: the rate tau, and use without any model around them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Literal, Self

import numpy as np
from scipy.optimize import minimize_scalar

from driftglm._typing import FloatArray, IntArray
from driftglm.exceptions import DataError
from driftglm.priors.base import PathPrior, PathStats, Penalty, check_paths, group_stats

LARGEST_RATE = 1e6
RATE_LIMIT = 100.0
"""Empirical Bayes looks for tau in [-100, 100]; often the likelihood has no maximum inside."""


@dataclass(frozen=True)
class AdaptivePrior(PathPrior):
    """lambda ~ 1/lambda, alpha ~ exponential(rate) on (-C, 0], beta ~ Normal(0, (A/lambda)^-1)."""

    rate: float | Literal["estimate"] = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.rate, str) and self.rate == "estimate":
            return
        number = isinstance(self.rate, Real) and not isinstance(self.rate, bool)
        if not number or not abs(float(self.rate)) <= LARGEST_RATE:
            raise DataError(
                f"rate={self.rate!r} cannot be used; pass a number between -1e6 and 1e6 (1.0 in "
                "the paper's forecasting task) or 'estimate'."
            )

    @property
    def sparse(self) -> bool:
        """The density is infinite at zero, so paths may become exactly zero."""
        return True

    @property
    def tau(self) -> float:
        """The rate as a number; 1.0 as long as it has not been estimated."""
        return 1.0 if isinstance(self.rate, str) else float(self.rate)

    @property
    def estimates_rate(self) -> bool:
        """Whether empirical Bayes sets the rate."""
        return self.rate == "estimate"

    @property
    def rate_used(self) -> float | None:
        """tau."""
        return self.tau

    def with_rate(self, rate: float) -> Self:
        """The same with another rate."""
        return dataclasses.replace(self, rate=rate)

    def with_estimated_rate(self, *samples: tuple[PathStats, int, int]) -> Self:
        """The same prior with the rate that makes the given paths most likely.

        A sample is (stats, n_timesteps, n_tied). Only nonzero paths count. The likelihood is
        not concave in tau, may have two maxima or none, so a grid on [-100, 100] is refined
        around its best point; a result at +-100 means that the limit was hit. At T = 1 the
        data say nothing and the rate stays as it is.
        """
        used = [(s.take(s.S > 0), n_steps, n_tied) for s, n_steps, n_tied in samples]
        used = [sample for sample in used if sample[0].S.size and sample[1] > 1]
        if not used:
            return dataclasses.replace(self, rate=self.tau)

        def log_likelihood(tau: float) -> float:
            prior = dataclasses.replace(self, rate=float(tau))
            return float(sum(prior.evaluate(*sample).log_density.sum() for sample in used))

        return dataclasses.replace(self, rate=_maximise(log_likelihood))

    def log_density(self, paths: FloatArray, groups: IntArray | None = None) -> FloatArray:
        """Log density of every path (n_paths, n_timesteps), without the floor: +inf at zero.

        `groups` gives a label per path; paths of one label share lambda and alpha, and one
        value per label (in sorted order) is returned. With rate="estimate" the rate is first
        fitted to these very paths.
        """
        return self._alone(paths, groups).log_density

    def expectations(
        self, paths: FloatArray, groups: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """E[1/lambda], E[alpha/lambda] and E[alpha] given every path (or group of paths)."""
        penalty = self._alone(paths, groups)
        return penalty.omega, penalty.omega_alpha, penalty.mean_alpha

    def _alone(self, paths: FloatArray, groups: IntArray | None) -> Penalty:
        paths = check_paths(paths)
        n_timesteps = paths.shape[1]
        # log m(c beta) = log m(beta) - T log c: taking the largest size out keeps squares from
        # overflowing or underflowing.
        size = float(np.abs(paths).max(initial=0.0)) or 1.0
        stats, sizes = group_stats(paths / size, groups)
        members = {int(n): np.flatnonzero((sizes == n) & (stats.S > 0)) for n in np.unique(sizes)}
        prior = self
        if self.rate == "estimate":
            samples = [(stats.take(index), n_timesteps, n) for n, index in members.items()]
            prior = self.with_estimated_rate(*samples)
        fields = {f.name: np.full(stats.S.size, np.nan) for f in dataclasses.fields(Penalty)}
        for n_tied, index in members.items():
            penalty = prior.evaluate(stats.take(index), n_timesteps, n_tied)
            for name, column in fields.items():
                column[index] = getattr(penalty, name)
        fields["log_density"] -= sizes * n_timesteps * np.log(size)
        for name in ("omega", "omega_alpha", "omega_end"):
            fields[name] /= size**2
        zero = stats.S == 0
        for name, limit in (("log_density", np.inf), ("omega", np.inf), ("omega_alpha", -np.inf)):
            fields[name][zero] = limit
        return Penalty(**fields)


def _maximise(function: Callable[[float], float]) -> float:
    """The best point of a grid dense around 0, refined between its neighbours."""
    grid = np.sinh(np.linspace(-np.arcsinh(RATE_LIMIT), np.arcsinh(RATE_LIMIT), 33))
    grid[0], grid[-1] = -RATE_LIMIT, RATE_LIMIT
    values = np.array([function(tau) for tau in grid])
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    found = minimize_scalar(
        lambda tau: -function(tau), bounds=(low, high), method="bounded", options={"xatol": 1e-6}
    )
    return float(found.x) if -found.fun > values[best] else float(grid[best])
