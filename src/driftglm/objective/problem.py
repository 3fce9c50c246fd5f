"""Data and likelihood: everything about a fit but the law of the paths.

The log-likelihood is a SUM over rows; nothing is divided by their number anywhere else. Levels (the
intercept and features that are always in) have a Gaussian posterior of their own: their part is the
expectation of the likelihood minus the divergence from their prior. So has the background (see
`Background`), in fits that have one.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

import numpy as np

from driftglm._typing import BoolArray, FloatArray
from driftglm.design import Design, Scores
from driftglm.families import Family

N_HALVINGS = 40


@dataclass(frozen=True)
class Noise:
    """The noise variance: given, or estimated with a weak scaled-inverse-chi-squared prior.

    Without the prior and the floor, joint estimation runs to s2 = 0 as soon as there are as
    many features as rows per step. `least` is the floor where the family has a natural one.
    """

    given: float | None
    reference: float
    degrees: float = 1.0
    least: float | None = None

    @property
    def floor(self) -> float:
        """The least value an estimate may take."""
        return 1e-3 * self.reference if self.least is None else self.least

    @property
    def start(self) -> float:
        """Where estimation starts: at var(y), from above; from below it would be trapped."""
        return self.reference if self.given is None else self.given

    def log_prior(self, noise: FloatArray) -> float:
        """Log density up to a constant; 0 when the value is given."""
        if self.given is not None:
            return 0.0
        one = float(noise[0])  # the same at every step
        chi = self.degrees * self.reference / (2 * one)
        return -(self.degrees / 2 + 1) * float(np.log(one)) - chi

    def update(self, deviance: FloatArray, n_rows: FloatArray) -> FloatArray:
        """(T,) the maximiser given the expected deviance and the rows of every step."""
        if self.given is not None:
            return np.full(n_rows.size, self.given)
        total = float(deviance.sum()) + self.degrees * self.reference
        best = total / (float(n_rows.sum()) + self.degrees + 2)
        return np.full(n_rows.size, max(best, self.floor))


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


@dataclass(frozen=True)
class Background:
    """Directions in which all columns together say a little: constant, and never quite zero.

    eta has the term sum_r z_r gamma_r, the gamma_r independent normal with one variance, which is
    chosen by its evidence. Paths pick single columns; what is spread over hundreds of them, none
    of which could be told from zero, is in their leading directions.

    Parameters
    ----------
    scores
        Every row along the directions, rows in the design's order.
    basis
        (n_features, R): the coefficients that gamma = 1 gives every column.
    """

    scores: Scores
    basis: FloatArray


@dataclass
class BackgroundState:
    """Posterior of the background: a normal law with its full covariance.

    `h` (R, R) and `b` (R,) are curvature and linear term of the likelihood that gave it, `variance`
    is that of the prior, 0 where the background is off.
    """

    mean: FloatArray
    covariance: FloatArray
    h: FloatArray
    b: FloatArray
    variance: float = 0.0
    divergence: float = 0.0

    @classmethod
    def off(cls, count: int) -> BackgroundState:
        """Where every fit starts."""
        square = np.zeros((count, count))
        return cls(np.zeros(count), square, square.copy(), np.zeros(count))


@dataclass
class State:
    """What a solver changes: paths, levels with their posterior, noise, and eta to match.

    `level_law` (n_levels, 2) is the variance and autocorrelation of a level's deviations in a
    MAP fit, and the probability that the level moves and its mean autocorrelation in a fit
    with the learned prior. `level_h` and `level_b` (n_levels, T) are the curvature and linear
    term of the likelihood that gave a level its posterior. `eta_variance` is the uncertainty of
    every row's eta; of length one, and zero, for quadratic families, which need its sum only.
    `noise` (T,) is the noise variance or dispersion of every step.
    `log_likelihood` is that of the rows where it is known; who changes eta forgets it.
    """

    beta: FloatArray
    level_mean: FloatArray
    level_variance: FloatArray
    level_law: FloatArray
    level_divergence: FloatArray
    level_h: FloatArray
    level_b: FloatArray
    noise: FloatArray
    eta: FloatArray
    eta_variance: FloatArray
    background: BackgroundState
    log_likelihood: float | None = field(default=None, kw_only=True)

    def copy(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)


@dataclass(frozen=True)
class Problem:
    """Data and likelihood: everything about a fit but the law of the paths.

    Parameters
    ----------
    offset
        (n_rows,) what is in eta beside levels and paths.
    static
        Features whose path is one number.
    reference
        The variance of eta that features could explain; sizes are measured against it.
    effective_rows
        The smallest variance that can be told from zero is the reference over this number.
    """

    design: Design
    family: Family
    levels: Levels
    noise: Noise
    y: FloatArray
    weights: FloatArray
    offset: FloatArray
    static: BoolArray
    reference: float
    background: Background | None = field(default=None, kw_only=True)
    effective_rows: float = field(kw_only=True)

    def parts(self) -> dict[str, Any]:
        """What the problem is made of, for one that has a prior as well."""
        return {each.name: getattr(self, each.name) for each in fields(Problem)}

    @property
    def n_directions(self) -> int:
        """Directions of the background, 0 without one."""
        return 0 if self.background is None else int(self.background.basis.shape[1])

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
            level_h=zeros.copy(),
            level_b=zeros.copy(),
            noise=np.full(n_steps, self.noise.start),
            eta=self.design.eta(beta) + self.offset,
            eta_variance=np.zeros(1 if self.family.quadratic else self.design.n_rows),
            background=BackgroundState.off(self.n_directions),
        )

    def tamed(self, beta: FloatArray) -> FloatArray:
        """Starting paths, halved until they fit no worse than none at all.

        One scoring step from zero may lead anywhere if counts are large.
        """
        if self.family.quadratic or not beta.any():
            return beta
        certain, noise = np.zeros(1), np.full(1, self.noise.start)

        def fit(paths: FloatArray) -> float:
            eta = self.design.eta(paths) + self.offset
            return self.family.log_likelihood(self.y, eta, certain, self.weights, noise)

        least = fit(np.zeros_like(beta))
        for _ in range(N_HALVINGS):
            if fit(beta) >= least:
                return beta
            beta = 0.5 * beta
        return np.zeros_like(beta)

    def eta(self, beta: FloatArray, level_mean: FloatArray) -> FloatArray:
        """The linear predictor of every row."""
        eta = self.design.eta(beta) + self.offset
        for column, path in zip(self.levels.columns, level_mean, strict=True):
            eta += column * self.design.spread(path)
        return eta

    def score(self, state: State) -> FloatArray:
        """The family's score at a state."""
        return self.family.score(self.y, state.eta, state.eta_variance, self.weights)

    def curvature(self, state: State) -> FloatArray:
        """The family's curvature at a state."""
        return self.family.curvature(self.y, state.eta, state.eta_variance, self.weights)

    def level_row_variance(self, state: State) -> FloatArray:
        """What the uncertainty of levels and background adds to the variance of every row's eta."""
        out = np.zeros(self.design.n_rows)
        if self.background is not None and state.background.variance > 0:
            out += self.background.scores.variances(state.background.covariance)
        for column, path in zip(self.levels.columns, state.level_variance, strict=True):
            if path.any():
                out += column * column * self.design.spread(path)
        return out

    def precision(self, state: State) -> FloatArray:
        """(T,) 1 / noise where the family has noise, else 1."""
        return 1.0 / state.noise if self.family.has_noise else np.ones(state.noise.size)

    def by_row(self, steps: FloatArray) -> FloatArray:
        """A number a step for every row; of length one where all steps have the same."""
        return steps[:1] if (steps == steps[0]).all() else self.design.spread(steps)

    @cached_property
    def rows_by_step(self) -> FloatArray:
        """(T,) sum of the weights of every step."""
        return self.design.by_step(self.weights)

    def level_squares(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * z^2 per level and step."""
        columns = self.levels.columns
        if not columns.size:
            return np.zeros((self.levels.count, self.design.n_timesteps))
        return np.array([self.design.by_step(curvature * z * z) for z in columns])

    def spread(self, state: State) -> FloatArray:
        """(T,) what uncertainty adds to the sums of squares of a quadratic family, else 0.

        Other families take the variance row by row.
        """
        if not self.family.quadratic:
            return np.zeros(self.design.n_timesteps)
        levels = (self.level_squares(self.weights) * state.level_variance).sum(axis=0)
        if state.background.variance == 0:
            return np.asarray(levels)
        return np.asarray(
            levels + np.einsum("trq,rq->t", self._step_grams, state.background.covariance)
        )

    @cached_property
    def _step_grams(self) -> FloatArray:
        """(T, R, R) of a quadratic family, whose curvature is the weights throughout."""
        if self.background is None:
            return np.zeros((self.design.n_timesteps, 0, 0))
        return self.background.scores.step_grams(self.weights)

    def background_gram(self, curvature: FloatArray, precision: FloatArray) -> FloatArray:
        """(R, R) sum of precision * curvature * z z'."""
        if self.background is None:
            return np.zeros((0, 0))
        if self.family.quadratic:
            return np.asarray(np.einsum("t,trq->rq", precision, self._step_grams))
        return self.background.scores.gram(self.by_row(precision) * curvature)

    def common_value(self, state: State) -> float:
        """Expected log-likelihood, divergence of the levels, log prior of the noise."""
        known = state.log_likelihood
        if known is None:
            rows = self.y, state.eta, state.eta_variance, self.weights
            known = self.family.log_likelihood(*rows, self.by_row(state.noise))
        return float(
            known
            - 0.5 * float(np.sum(self.precision(state) * self.spread(state)))
            - state.level_divergence.sum()
            - state.background.divergence
            + self.noise.log_prior(state.noise)
        )

    def best_noise(self, state: State) -> FloatArray:
        """(T,) the noise that maximises the objective given all the rest."""
        if not self.family.has_noise:
            return state.noise
        rows = self.family.expected_deviance(self.y, state.eta, state.eta_variance, self.weights)
        return self.noise.update(self.design.by_step(rows) + self.spread(state), self.rows_by_step)

    def update_noise(self, state: State) -> float:
        """Set the noise to its best value; returns its move in posterior standard deviations."""
        old, state.noise = state.noise, self.best_noise(state)
        if np.array_equal(state.noise, old):
            return 0.0
        state.log_likelihood = None
        return float(np.abs(np.log(state.noise / old)).max() * np.sqrt(0.5 * self.n_rows))
