"""The log posterior: the one place where family, prior and design meet.

    sum_n w_n log p(y_n | eta_n)  +  sum_i log m(beta_i)  +  levels  +  log p(noise)

It is a SUM over rows; nothing is divided by their number anywhere else. Paths enter through the
floored density (S + floor), because the density itself is infinite at zero and would reward
deleting features without limit. Levels (the intercept and features that are always in) have a
Gaussian posterior of their own: their part is the expectation of the likelihood minus the
divergence from their prior.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from driftglm._typing import BoolArray, FloatArray
from driftglm.design import ColumnDesign
from driftglm.families import Family
from driftglm.priors import PathPrior, PathStats, Penalty

FLOOR = 1e-12
"""eps^2 in units of var(y) / mean(x^2): a path this small counts as zero."""

ZERO = 1e-10
"""A path is set to exactly zero when S * max_t sum_n x_nt^2 falls below ZERO * var(y)."""


@dataclass(frozen=True)
class Noise:
    """The noise variance: given, or estimated with a weak scaled-inverse-chi-squared prior.

    Without the prior and the floor, joint estimation runs to s2 = 0 as soon as there are as
    many features as rows per step.
    """

    given: float | None
    reference: float
    degrees: float = 1.0

    @property
    def floor(self) -> float:
        """The least value an estimate may take."""
        return 1e-3 * self.reference

    @property
    def start(self) -> float:
        """Where estimation starts: at var(y), from above; from below it would be trapped."""
        return self.reference if self.given is None else self.given

    def log_prior(self, noise: float) -> float:
        """Log density up to a constant; 0 when the value is given."""
        if self.given is not None:
            return 0.0
        chi = self.degrees * self.reference / (2 * noise)
        return -(self.degrees / 2 + 1) * float(np.log(noise)) - chi

    def update(self, squares: float, n_rows: float) -> float:
        """The maximiser given the expected residual sum of squares."""
        if self.given is not None:
            return self.given
        best = (squares + self.degrees * self.reference) / (n_rows + self.degrees + 2)
        return max(best, self.floor)


@dataclass(frozen=True)
class Levels:
    """Columns that are never shrunk to zero: the intercept, and features that are always in.

    Parameters
    ----------
    columns
        (n_levels, n_rows), rows in the design's order.
    static
        (n_levels,): kept constant over time.
    scale
        (n_levels,): the size of a plausible variance, var(y) / mean(x^2).
    """

    columns: FloatArray
    static: BoolArray
    scale: FloatArray

    @property
    def count(self) -> int:
        """Number of levels."""
        return int(self.columns.shape[0])


@dataclass
class State:
    """What a solver changes: paths, levels with their posterior, noise, and eta to match.

    `level_law` (n_levels, 2) is the variance and autocorrelation of a level's deviations in a
    MAP fit, and the probability that the level moves and its mean autocorrelation in a fit
    with the learned prior.
    """

    beta: FloatArray
    level_mean: FloatArray
    level_variance: FloatArray
    level_law: FloatArray
    level_divergence: FloatArray
    noise: float
    eta: FloatArray

    def copy(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)


@dataclass(frozen=True)
class Problem:
    """Data and likelihood: everything about a fit but the law of the paths.

    `static` marks features whose path is one number.
    """

    design: ColumnDesign
    family: Family
    levels: Levels
    noise: Noise
    y: FloatArray
    weights: FloatArray
    static: BoolArray

    @property
    def n_rows(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def start(self, beta: FloatArray | None = None) -> State:
        """A state at given paths (zero if not given), levels at zero, noise at its start."""
        n_steps, n_levels = self.design.n_timesteps, self.levels.count
        if beta is None:
            beta = np.zeros((self.design.n_features, n_steps))
        law = np.zeros((n_levels, 2))
        if n_steps > 1:
            law[:, 0] = np.where(self.levels.static, 0.0, 1e-2 * self.levels.scale)
            law[:, 1] = 0.5
        beta = np.ascontiguousarray(beta, dtype=np.float64)
        zeros = np.zeros((n_levels, n_steps))
        return State(
            beta=beta,
            level_mean=zeros,
            level_variance=zeros.copy(),
            level_law=law,
            level_divergence=np.zeros(n_levels),
            noise=self.noise.start,
            eta=self.design.eta(beta),
        )

    def precision(self, state: State) -> float:
        """1 / noise where the family has noise, else 1."""
        return 1.0 / state.noise if self.family.has_noise else 1.0

    def level_squares(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * z^2 per level and step."""
        columns = self.levels.columns
        if not columns.size:
            return np.zeros((self.levels.count, self.design.n_timesteps))
        return np.array([self.design.by_step(curvature * z * z) for z in columns])

    def level_spread(self, state: State, curvature: FloatArray) -> float:
        """What the levels' uncertainty adds to the weighted sum of squares."""
        return float((self.level_squares(curvature) * state.level_variance).sum())

    def common_value(self, state: State, spread: float) -> float:
        """Expected log-likelihood, divergence of the levels, log prior of the noise.

        `spread` is the weighted sum of squares that uncertainty adds to eta.
        """
        return float(
            self.family.log_likelihood(self.y, state.eta, self.weights, state.noise)
            - 0.5 * self.precision(state) * spread
            - state.level_divergence.sum()
            + self.noise.log_prior(state.noise)
        )

    def update_noise(self, state: State, spread: float) -> float:
        """Set the noise to its best value; returns its move in posterior standard deviations."""
        if not self.family.has_noise:
            return 0.0
        old = state.noise
        # np.sum, not a BLAS dot: that splits long sums over however many threads there are.
        squares = float(np.sum(self.weights * (self.y - state.eta) ** 2)) + spread
        state.noise = self.noise.update(squares, self.n_rows)
        return float(abs(np.log(state.noise / old)) * np.sqrt(0.5 * self.n_rows))


@dataclass(frozen=True)
class Objective(Problem):
    """The floored log posterior of a MAP fit: the number a solver must raise.

    A static path has length one for the prior.
    """

    prior: PathPrior
    floor: FloatArray = field(init=False)
    zero_below: FloatArray = field(init=False)
    zero_log_density: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        squares = self.design.squares(self.weights)
        total = squares.sum(axis=1)
        total[total == 0] = self.n_rows  # a column of zeros: any unit will do
        largest = np.where(self.static, total, np.maximum(squares.max(axis=1), total * 1e-12))
        reference = self.noise.reference
        if self.prior.sparse:
            floor = FLOOR * reference * self.n_rows / total
            zero_below = ZERO * reference / largest
        else:
            floor, zero_below = np.zeros_like(total), np.full_like(total, -1.0)
        object.__setattr__(self, "floor", floor)
        object.__setattr__(self, "zero_below", zero_below)
        zero = PathStats(np.zeros_like(total), np.zeros_like(total), np.zeros_like(total))
        object.__setattr__(self, "zero_log_density", np.zeros_like(total))
        self.zero_log_density[:] = self._evaluate(zero, np.ones(total.size, bool)).log_density

    def alive(self, beta: FloatArray) -> BoolArray:
        """Paths that are not exactly zero; all of them if the prior has no spike at zero."""
        return np.asarray(beta.any(axis=1) | (not self.prior.sparse))

    def penalty(self, beta: FloatArray) -> Penalty:
        """Floored log density and quadratic bound of every path; a zero path keeps a constant."""
        return self._evaluate(PathStats.of(beta), self.alive(beta))

    def _evaluate(self, stats: PathStats, alive: BoolArray) -> Penalty:
        n_steps = self.design.n_timesteps
        out = np.zeros((6, stats.S.size))
        out[0] = self.zero_log_density
        for members, length in (
            (np.flatnonzero(alive & ~self.static), n_steps),
            (np.flatnonzero(alive & self.static), 1),
        ):
            if members.size:
                part = stats.take(members)
                if length < n_steps:
                    part = PathStats(part.S / n_steps, np.zeros_like(part.S), 2 * part.S / n_steps)
                penalty = self.prior.evaluate(part.floored(self.floor[members]), length)
                for row, values in zip(out, vars(penalty).values(), strict=True):
                    row[members] = values
        return Penalty(*out)

    def value(self, state: State, penalty: Penalty | None = None) -> float:
        """The floored log posterior. Every solver must raise it and never lower it."""
        penalty = penalty or self.penalty(state.beta)
        curvature = self.family.curvature(self.y, state.eta, self.weights)
        spread = self.level_spread(state, curvature)
        return self.common_value(state, spread) + float(penalty.log_density.sum())
