"""The learned prior: the hyperprior over scale and autocorrelation is estimated from the features.

A path is zero, or Gaussian with a constant part of variance `static` and a chain of variance
`dynamic` and autocorrelation rho. The combinations form a grid; their weights are learned by EM
from the features themselves, so no hyperparameter is left to tune.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.priors.base import Boundary, Prior, check_boundary
from driftglm.priors.mixture import Components

INTERCEPT_VARIANCES = 10.0 ** np.linspace(-5.0, 1.0, 19)
INTERCEPT_CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
STATIC_INTERCEPT = 0.25
"""Prior probability that an intercept does not move at all."""


def intercept_components(scale: float, n_timesteps: int, *, static: bool) -> Components:
    """Components of an intercept: constant, or with AR(1) deviations of unknown variance and rho.

    A single path says too little about variance and rho to choose them: at T = 8 the most likely
    component gives intervals of 90 % that cover 80 %, averaging over the grid gives 89 %.
    """
    components = [(0.0, 0.0)]
    if n_timesteps > 1 and not static:
        grid = product(INTERCEPT_CORRELATIONS, INTERCEPT_VARIANCES)
        components += [(scale * variance, rho) for rho, variance in grid]
    dynamic, rho = np.array(components).T
    flat = np.full(dynamic.size, np.inf)
    return Components(flat, dynamic.copy(), rho.copy(), "stationary", n_timesteps)


def intercept_log_weights(n_components: int) -> FloatArray:
    """Log prior probabilities of an intercept's components."""
    if n_components == 1:
        return np.zeros(1)
    moving = np.log((1.0 - STATIC_INTERCEPT) / (n_components - 1))
    return np.concatenate([[np.log(STATIC_INTERCEPT)], np.full(n_components - 1, moving)])


def _are_shares(values: tuple[float, ...]) -> bool:
    """Whether these are one or more numbers between 0 and 1."""
    numbers = np.ndim(values) == 1 and all(isinstance(value, Real) for value in values)
    return numbers and len(values) > 0 and all(0.0 <= value <= 1.0 for value in values)


ANY_LENGTH, MEMORY = 0.9, 10.0
"""Correlations up to the first are for paths of any length; for larger ones the memory,
1 / (1 - rho), is at most MEMORY times the number of steps."""
MOST_LEAST = 0.1
"""However few rows a step has, components of this share of the largest variance may drift."""


@dataclass(frozen=True)
class Learned(Prior):
    """A mixture over zero and (static variance, dynamic variance, autocorrelation).

    Parameters
    ----------
    shares
        The parts of a path's variance that are constant over time; 1 is a static path.
    correlations
        Lag-1 autocorrelations of the drifting part. Of those above .9 a fit uses the ones whose
        memory, 1 / (1 - rho) steps, is at most ten times its number of steps: longer ones look
        alike there, and each costs time.
    n_scales
        Number of total variances, on a geometric grid between what a single feature needs to
        explain all of y and what can just be told from zero.
    zero_weight
        Where the weight of zero starts; it is learned like the others.
    prior_count
        How many nonzero features the prior of the weights counts for, and how many that are zero:
        before the data are seen, either is as likely. Where features say little, their weights
        cannot be told from zero, and a model that set them there would be sure of it: without the
        prior, intervals of 90 % cover 76 % at 100 binary rows a step, with it 84 %, and the error
        falls by 3 %. With many features it does not matter.
    n_directions
        Number of shared directions, at most: those in which the columns vary most, each with a
        constant coefficient, all with one variance chosen by its evidence. A sum of hundreds of
        small effects, none of which could be told from zero by itself, is found there. There are
        twenty columns and ten rows or more for each direction, and none with fewer than a
        hundred columns; 0: none.
    boundary
        Of the drifting part: "stationary", or "pinned" as in the paper.
    weights
        Fixed weights of the components, zero first, instead of learning them (for experts).

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.priors import Learned
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=10, n_active=2, random_state=1)
    >>> model = DriftRegressor(prior=Learned(n_scales=6)).fit(panel.X, panel.y, time=panel.time)
    >>> int((model.inclusion_probability_ > 0.5).sum())
    2
    """

    posterior: ClassVar[bool] = True
    shares: tuple[float, ...] = (0.0, 0.5, 0.9, 1.0)
    correlations: tuple[float, ...] = (0.0, 0.5, 0.9, 0.98, 0.995, 0.999)
    n_scales: int = 12
    zero_weight: float = 0.9
    prior_count: float = 3.0
    n_directions: int = 50
    boundary: Boundary = "stationary"
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_boundary(self.boundary)
        for name in ("shares", "correlations"):
            if not _are_shares(getattr(self, name)):
                raise DataError(
                    f"{name}={getattr(self, name)!r}; pass a tuple of numbers between 0 and 1."
                )
        if 1.0 in self.correlations:
            raise DataError("correlations contains 1; a chain needs rho < 1, e.g. 0.99.")
        whole = isinstance(self.n_scales, Integral) and self.n_scales >= 1
        if not whole or not 0 < self.zero_weight < 1:
            raise DataError(
                f"n_scales={self.n_scales!r} must be a whole number, 1 or more, and "
                f"zero_weight={self.zero_weight!r} between 0 and 1."
            )
        if not (isinstance(self.prior_count, Real) and 0 <= self.prior_count < np.inf):
            raise DataError(f"prior_count={self.prior_count!r}; pass a number, 0 or more.")
        if not (isinstance(self.n_directions, Integral) and self.n_directions >= 0):
            raise DataError(f"n_directions={self.n_directions!r}; pass a whole number, 0 or more.")

    def for_text(self) -> Learned:
        """Fewer components than elsewhere.

        With thousands of words the full grid takes twice as long or more and changes the likelihood
        of the next step by one part in ten thousand.
        """
        return Learned(shares=(0.0, 0.8, 1.0), correlations=(0.5, 0.9), n_scales=6)

    def scales(self, largest: float, n_rows: float) -> FloatArray:
        """The grid of total variances: `largest` down to `largest / n_rows`.

        A smaller variance could not be told from zero, and inclusion would mean nothing.
        """
        return largest * np.geomspace(1.0, 1.0 / max(n_rows, 10.0), self.n_scales)

    def _told_apart(self, n_timesteps: int) -> list[float]:
        """The correlations that so many steps can tell from each other."""
        longest = max(ANY_LENGTH, 1.0 - 1.0 / (MEMORY * n_timesteps))
        return [rho for rho in self.correlations if rho <= longest] or [min(self.correlations)]

    def constant(self) -> Learned:
        """The same for paths that do not move; weights that are given stay, and are masked."""
        return self if self.weights is not None else replace(self, shares=(1.0,))

    def components(
        self, largest: float, n_rows: float, n_timesteps: int, n_seen: int | None = None
    ) -> Components:
        """The grid of components, zero first, those that share a chain side by side.

        `n_seen` is the number of steps that have rows, all of them if not given.
        """
        scales = self.scales(largest, n_rows)
        components = [(0.0, 0.0, 0.0)]
        if 1.0 in self.shares or n_timesteps == 1:
            components += [(0.0, 0.0, scale) for scale in scales]
        # A component that a single step could not tell from zero drifts along with the noise: of
        # 1,200 features of pure noise 19 were "included" that way, 5 without it.
        share_of_step = (n_seen or n_timesteps) / max(n_rows, 10.0)
        least = largest * min(share_of_step, MOST_LEAST) * (1.0 - 1e-9)
        # The scales are those of the drifting part, so that components which differ in the constant
        # part only share one chain, which is what costs time.
        components += [
            (scale, rho, scale * share / (1.0 - share))
            for scale, rho, share in product(scales, self._told_apart(n_timesteps), self.shares)
            if n_timesteps > 1 and share < 1.0 and least <= scale / (1.0 - share) <= 2.0 * largest
        ]
        dynamic, rho, static = np.array(sorted(components)).T
        return Components(static.copy(), dynamic.copy(), rho.copy(), self.boundary, n_timesteps)

    def start_weights(self, n_components: int) -> FloatArray:
        """Weights EM starts from."""
        if self.weights is not None:
            weights = np.asarray(self.weights, dtype=np.float64)
            usable = np.isfinite(weights).all() and (weights >= 0).all() and weights.any()
            if weights.shape != (n_components,) or not usable:
                raise DataError(
                    f"weights has shape {weights.shape}; this grid needs {n_components} weights, "
                    "zero first, all finite, none negative, not all zero."
                )
            return weights / weights.sum()
        out = np.full(n_components, (1.0 - self.zero_weight) / max(n_components - 1, 1))
        out[0] = self.zero_weight
        return out
