"""Data and likelihood: everything about a fit but the prior of the paths.

The log-likelihood is a SUM over rows; nothing is divided by their number anywhere else. Intercepts
(the intercept and features that are always in) have a Gaussian posterior each: they contribute the
expectation of the likelihood minus the divergence from their prior. So do the shared directions
(see `SharedDirections`), in fits that have them.
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
from driftglm.objective.groups import Groups, GroupState
from driftglm.objective.noise import Noise, NoisePath
from driftglm.objective.shape import Shape

N_HALVINGS = 40


@dataclass(frozen=True)
class Intercepts:
    """Columns that are never shrunk to zero: the intercept, and features that are always in.

    Parameters
    ----------
    columns
        (n_intercepts, n_rows), rows in the design's order.
    static
        (n_intercepts,): constant over time.
    scale
        (n_intercepts,): the size of a plausible variance, var(y) / mean(x^2).
    cycle
        Steps a cycle where they may have a season; 0: they have none.
    """

    columns: FloatArray
    static: BoolArray
    scale: FloatArray
    cycle: int = 0

    @property
    def count(self) -> int:
        """Number of intercepts."""
        return int(self.columns.shape[0])


@dataclass(frozen=True)
class SharedDirections:
    """Directions in which all columns together say a little: constant, and never quite zero.

    eta has the term sum_r z_r gamma_r, the gamma_r independent normal with one variance, which is
    chosen by its evidence. Paths pick single columns; a sum of hundreds of small effects, none of
    which could be told from zero, is in their leading directions.

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
class SharedState:
    """Posterior of the shared directions: a normal distribution with its full covariance.

    `h` (R, R) and `b` (R,) are curvature and linear term of the likelihood that gave it, `variance`
    is that of the prior, 0 where they are off.
    """

    mean: FloatArray
    covariance: FloatArray
    h: FloatArray
    b: FloatArray
    variance: float = 0.0
    divergence: float = 0.0

    @classmethod
    def off(cls, count: int) -> SharedState:
        """Where every fit starts."""
        square = np.zeros((count, count))
        return cls(np.zeros(count), square, square.copy(), np.zeros(count))


@dataclass
class State:
    """What a solver changes: paths, intercepts with their posterior, noise, and eta to match.

    `intercept_dynamics` (n_intercepts, 2) is the variance and autocorrelation of an intercept's
    deviations in a MAP fit, and the probability that the intercept moves and its mean
    autocorrelation in a fit with the learned prior. `intercept_h` and `intercept_b` (n_intercepts,
    T) are the curvature and linear term of the likelihood that gave an intercept its posterior,
    `intercept_kept`, `intercept_offset` and `intercept_credit` what unknown effects of groups do to
    that (see `Posterior`).
    `eta_variance` is the variance of every row's eta; of length one, and zero, for quadratic
    families, which need its sum only.
    `noise` (T,) is the noise variance or dispersion of every step, with its posterior `noise_path`
    where it moves; `shape` is the family's own parameter where it has one. `row_groups` are the
    effects of groups, where rows belong together.
    `log_likelihood` is that of the rows where it is known; who changes eta forgets it.
    """

    beta: FloatArray
    intercept_mean: FloatArray
    intercept_variance: FloatArray
    intercept_dynamics: FloatArray
    intercept_divergence: FloatArray
    intercept_h: FloatArray
    intercept_b: FloatArray
    intercept_kept: FloatArray
    intercept_offset: FloatArray
    intercept_credit: FloatArray
    noise: FloatArray
    eta: FloatArray
    eta_variance: FloatArray
    shared: SharedState
    shape: float = field(default=1.0, kw_only=True)
    noise_path: NoisePath | None = field(default=None, kw_only=True)
    row_groups: GroupState | None = field(default=None, kw_only=True)
    log_likelihood: float | None = field(default=None, kw_only=True)

    def copy(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)


@dataclass(frozen=True)
class Problem:
    """Data and likelihood: everything about a fit but the prior of the paths.

    Parameters
    ----------
    offset
        (n_rows,) what is in eta beside intercepts and paths.
    static
        Features whose path is one number.
    reference
        The variance of eta that features could explain; sizes are measured against it.
    effective_rows
        The smallest variance that can be told from zero is the reference over this number.
    row_groups
        Which rows belong together; None: none.
    """

    design: Design
    family: Family
    intercepts: Intercepts
    noise: Noise
    y: FloatArray
    weights: FloatArray
    offset: FloatArray
    static: BoolArray
    reference: float
    shared: SharedDirections | None = field(default=None, kw_only=True)
    effective_rows: float = field(kw_only=True)
    shape: Shape = field(default_factory=Shape, kw_only=True)
    row_groups: Groups | None = field(default=None, kw_only=True)

    def parts(self) -> dict[str, Any]:
        """The fields of the problem, for one that has a prior as well."""
        return {each.name: getattr(self, each.name) for each in fields(Problem)}

    @property
    def n_directions(self) -> int:
        """Number of shared directions."""
        return 0 if self.shared is None else int(self.shared.basis.shape[1])

    @property
    def n_rows(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def start(self, beta: FloatArray | None = None) -> State:
        """A state at given paths (zero if not given), intercepts at zero, noise at its start."""
        n_steps, n_intercepts = self.design.n_timesteps, self.intercepts.count
        if beta is None:
            beta = np.zeros((self.design.n_features, n_steps))
        dynamics = np.zeros((n_intercepts, 2))
        if n_steps > 1:
            dynamics[:, 0] = np.where(self.intercepts.static, 0.0, 1e-2 * self.intercepts.scale)
            dynamics[:, 1] = 0.5
        beta = np.ascontiguousarray(beta, dtype=np.float64)
        mean, variance, h, b = (np.zeros((n_intercepts, n_steps)) for _ in range(4))
        path = self.noise.start_path(self.rows_by_step)
        return State(
            beta=beta,
            intercept_mean=mean,
            intercept_variance=variance,
            intercept_dynamics=dynamics,
            intercept_divergence=np.zeros(n_intercepts),
            intercept_h=h,
            intercept_b=b,
            intercept_kept=np.ones((n_intercepts, n_steps)),
            intercept_offset=np.zeros(n_intercepts),
            intercept_credit=np.zeros((n_intercepts, n_steps)),
            noise=np.full(n_steps, self.noise.start) if path is None else path.effective,
            eta=self.design.eta(beta) + self.offset,
            eta_variance=np.zeros(1 if self.family.quadratic else self.design.n_rows),
            shared=SharedState.off(self.n_directions),
            shape=self.shape.start,
            noise_path=path,
            row_groups=None if self.row_groups is None else GroupState.off(self.row_groups),
        )

    def tamed(self, beta: FloatArray) -> FloatArray:
        """Starting paths, halved until they fit no worse than none at all.

        One scoring step from zero may lead anywhere if counts are large.
        """
        if self.family.quadratic or not beta.any():
            return beta

        def fit(paths: FloatArray) -> float:
            eta = self.design.eta(paths) + self.offset
            return self.certain_likelihood(eta, np.full(1, self.noise.start), self.shape.start)

        least = fit(np.zeros_like(beta))
        for _ in range(N_HALVINGS):
            if fit(beta) >= least:
                return beta
            beta = 0.5 * beta
        return np.zeros_like(beta)

    def eta(self, beta: FloatArray, intercept_mean: FloatArray) -> FloatArray:
        """The linear predictor of every row."""
        eta = self.design.eta(beta) + self.offset
        self.add_intercepts_inplace(intercept_mean, eta)
        return eta

    def add_intercepts_inplace(self, intercept_mean: FloatArray, eta: FloatArray) -> None:
        """Add what the intercepts contribute to the linear predictor."""
        for column, path in zip(self.intercepts.columns, intercept_mean, strict=True):
            eta += column * self.design.to_rows(path)

    def add_groups_inplace(self, state: State, eta: FloatArray) -> None:
        """Add what the effects of groups contribute to the linear predictor."""
        if self.row_groups is not None and state.row_groups is not None:
            eta += state.row_groups.effect(self.row_groups)[self.row_groups.cell]

    def group_row_variance(self, state: State) -> FloatArray | float:
        """(n_rows,) variance of eta due to the effects of groups; 0 where there are none."""
        if self.row_groups is None or state.row_groups is None:
            return 0.0
        return state.row_groups.cell_variance(self.row_groups)[self.row_groups.cell]

    def certain_likelihood(self, eta: FloatArray, noise: FloatArray, shape: float) -> float:
        """The log-likelihood if eta were known for certain."""
        family = self.family.at(noise, shape)
        return family.log_likelihood(self.y, eta, np.zeros(1), self.weights, noise)

    def family_at(self, state: State) -> Family:
        """The family with the parameter of its own, and the noise, of a state."""
        return self.family.at(self.by_row(state.noise), state.shape)

    def _at(self, state: State) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """What the functions of a family take."""
        return self.y, state.eta, state.eta_variance, self.weights

    def score(self, state: State) -> FloatArray:
        """The family's score at a state."""
        return self.family_at(state).score(*self._at(state))

    def curvature(self, state: State) -> FloatArray:
        """The family's curvature at a state."""
        return self.family_at(state).curvature(*self._at(state))

    def evaluate(self, state: State) -> tuple[float, FloatArray, FloatArray]:
        """The family's log-likelihood, score and curvature at a state."""
        return self.family_at(state).evaluate(*self._at(state), self.by_row(state.noise))

    def log_likelihood(self, state: State) -> float:
        """The family's log-likelihood at a state."""
        return self.family_at(state).log_likelihood(*self._at(state), self.by_row(state.noise))

    def intercept_row_variance(self, state: State) -> FloatArray:
        """(n_rows,) variance of eta due to intercepts, shared directions and groups."""
        out = np.zeros(self.design.n_rows) + self.group_row_variance(state)
        if self.shared is not None and state.shared.variance > 0:
            out += self.shared.scores.variances(state.shared.covariance)
        for column, path in zip(self.intercepts.columns, state.intercept_variance, strict=True):
            if path.any():
                out += column * column * self.design.to_rows(path)
        return out

    def precision(self, state: State) -> FloatArray:
        """(T,) 1 / noise where the family has noise, else 1."""
        return 1.0 / state.noise if self.family.has_noise else np.ones(state.noise.size)

    def by_row(self, steps: FloatArray) -> FloatArray:
        """A number a step for every row; of length one where all steps have the same."""
        return steps[:1] if (steps == steps[0]).all() else self.design.to_rows(steps)

    @cached_property
    def rows_by_step(self) -> FloatArray:
        """(T,) sum of the weights of every step."""
        return self.design.by_step(self.weights)

    def intercept_squares(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * z^2 per intercept and step."""
        squares = [self.design.by_step(curvature * z * z) for z in self.intercepts.columns]
        return np.array(squares).reshape(self.intercepts.count, self.design.n_timesteps)

    def uncertainty(self, state: State) -> FloatArray:
        """(T,) what uncertainty adds to the sums of squares of a quadratic family, else 0.

        Other families take the variance row by row.
        """
        if not self.family.quadratic:
            return np.zeros(self.design.n_timesteps)
        intercepts = (self.intercept_squares(self.weights) * state.intercept_variance).sum(axis=0)
        if state.shared.variance > 0:
            intercepts += np.einsum("trq,rq->t", self._step_grams, state.shared.covariance)
        if self.row_groups is not None:
            intercepts += self.design.by_step(self.weights * self.group_row_variance(state))
            intercepts -= self.group_credit(state)
        return np.asarray(intercepts)

    def group_credit(self, state: State) -> FloatArray:
        """(T,) by how much less intercepts add, since effects of groups make up for it."""
        return np.asarray(state.intercept_credit.sum(axis=0))

    @cached_property
    def _step_grams(self) -> FloatArray:
        """(T, R, R) of a quadratic family, whose curvature is the weights throughout."""
        if self.shared is None:
            return np.zeros((self.design.n_timesteps, 0, 0))
        return self.shared.scores.step_grams(self.weights)

    def shared_gram(self, curvature: FloatArray, precision: FloatArray) -> FloatArray:
        """(R, R) sum of precision * curvature * z z'."""
        if self.shared is None:
            return np.zeros((0, 0))
        if self.family.quadratic:
            return np.asarray(np.einsum("t,trq->rq", precision, self._step_grams))
        return self.shared.scores.gram(self.by_row(precision) * curvature)

    def common_value(self, state: State) -> float:
        """Expected log-likelihood, divergence of the intercepts, log prior of the noise."""
        known = state.log_likelihood
        if known is None:
            known = self.log_likelihood(state)
        if self.row_groups is not None and not self.family.quadratic:
            known += 0.5 * float(np.sum(self.precision(state) * self.group_credit(state)))
        return float(
            known
            - 0.5 * float(np.sum(self.precision(state) * self.uncertainty(state)))
            - state.intercept_divergence.sum()
            - state.shared.divergence
            - (0.0 if state.row_groups is None else state.row_groups.divergence)
            + self.noise.log_prior(state.noise)
            + self.noise.path_value(state.noise_path, self.rows_by_step)
            + self.shape.log_prior(state.shape)
        )

    def _update_noise(self, state: State) -> None:
        """Set the noise to what raises the objective most given all the rest."""
        if not self.family.has_noise:
            return
        rows = self.family_at(state).expected_deviance(*self._at(state))
        given = self.design.by_step(rows) + self.uncertainty(state), self.rows_by_step
        if state.noise_path is None:
            state.noise = self.noise.update(*given)
        else:
            state.noise_path = self.noise.moved(state.noise_path, *given)
            state.noise = state.noise_path.effective

    def update_noise(self, state: State) -> float:
        """Set noise and shape to their best values; returns their move, in posterior deviations."""
        old = state.noise
        self._update_noise(state)
        moved = self._update_shape(state)
        if np.array_equal(state.noise, old) and moved == 0.0:
            return 0.0
        state.log_likelihood = None
        moved = max(moved, float(np.abs(np.log(state.noise / old)).max()))
        return moved * float(np.sqrt(0.5 * self.n_rows))

    def _update_shape(self, state: State) -> float:
        """Set the family's own parameter to its best value; returns the move of its logarithm."""
        if not self.shape.learned:
            return 0.0
        noise = self.by_row(state.noise)

        def value(shape: float) -> float:
            return self.family.at(noise, shape).log_likelihood(*self._at(state), noise)

        old, state.shape = state.shape, self.shape.improved(value, state.shape)
        return float(abs(np.log(state.shape / old)))
