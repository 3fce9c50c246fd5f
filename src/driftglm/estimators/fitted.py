"""What a finished fit can say about coefficients, inside the training steps and after them.

Two kinds: a mode under one of the paper's priors, and a posterior under the learned prior. Both
answer the same questions, in the user's units and column order.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray
from driftglm.bound import Bound, Posterior
from driftglm.objective import Objective, Problem, State
from driftglm.priors.gaussian_path import posterior_inplace
from driftglm.priors.mixture import Tables, average_inplace, log_evidences_inplace
from driftglm.solvers.levels import level_information, level_posterior


@dataclass(frozen=True)
class Step:
    """Coefficients of one step: means and variances.

    The intercept's variance is that of the level at the columns' centers, where it is
    uncorrelated with the coefficients.
    """

    coef: FloatArray
    intercept: float
    coef_variance: FloatArray
    level_variance: float


@dataclass
class Fit:
    """Common part: levels, centers and the order of columns.

    Parameters
    ----------
    problem, state
        The data side of the fit and where the solver ended.
    always_in
        Mask over all columns: these are levels, the others paths.
    center
        (n_features,) what was taken off every column, 0 without an intercept.
    has_intercept
        Whether the first level is the intercept.
    target_center
        What was taken off y; the intercept takes it up again.
    """

    problem: Problem
    state: State
    always_in: BoolArray
    center: FloatArray
    has_intercept: bool
    target_center: float
    _ahead: dict[int, Step] = field(default_factory=dict, repr=False)

    @property
    def n_timesteps(self) -> int:
        """Number of training steps."""
        return int(self.state.beta.shape[1])

    def coef_path(self) -> FloatArray:
        """(T, p)."""
        return self._in_columns(self.state.beta, self.state.level_mean)

    def intercept_path(self) -> FloatArray:
        """(T,) at x = 0."""
        level = self.state.level_mean[0] if self.has_intercept else np.zeros(self.n_timesteps)
        return np.asarray(self.target_center + level - self.coef_path() @ self.center)

    def at(self, code: int) -> Step:
        """A step inside the training data or after it (code >= T: forecast)."""
        if code >= self.n_timesteps:
            return self.ahead(code - self.n_timesteps + 1)
        variance = self._in_columns(self._path_variance(), self.state.level_variance)
        level = self.state.level_variance[0, code] if self.has_intercept else 0.0
        return Step(
            self.coef_path()[code], float(self.intercept_path()[code]), variance[code], float(level)
        )

    def ahead(self, n_steps: int) -> Step:
        """Forecast `n_steps` after the last training step."""
        if n_steps not in self._ahead:
            paths, path_variance = self._forecast_paths(n_steps)
            levels, level_variance = self._forecast_levels(n_steps)
            coef = self._in_columns(paths[:, None], levels[:, None])[0]
            variance = self._in_columns(path_variance[:, None], level_variance[:, None])[0]
            level = float(levels[0]) if self.has_intercept else 0.0
            spread = float(level_variance[0]) if self.has_intercept else 0.0
            intercept = self.target_center + level - float(coef @ self.center)
            step = Step(coef, intercept, variance, spread)
            self._ahead[n_steps] = step
        return self._ahead[n_steps]

    def importance(self) -> FloatArray:
        """(p,) root mean square of x * beta over the training rows."""
        problem = self.problem
        weights = problem.weights
        design = problem.design
        mean, squares = design.mean[:, None], design.squares(weights)
        counts = design.by_step(weights)
        # x^2 = d^2 + 2 m d + m^2 with d = x - m, summed over the rows of a step
        deviations = design.sums(weights) - design.center[:, None] * counts
        squares = squares + (2 * mean * deviations + mean**2 * counts)
        columns = problem.levels.columns[int(self.has_intercept) :]
        raw = columns + self.center[self.always_in][:, None]
        level_squares = np.array([problem.design.by_step(weights * z * z) for z in raw])
        level_squares = level_squares.reshape(raw.shape[0], self.n_timesteps)
        total = (self._in_columns(squares, level_squares) * self.coef_path() ** 2).sum(axis=0)
        return np.asarray(np.sqrt(np.maximum(total, 0.0) / problem.n_rows))

    def _in_columns(self, paths: FloatArray, levels: FloatArray) -> FloatArray:
        """Rows of paths and of levels (intercept first, if any) put into the user's columns."""
        out = np.zeros((paths.shape[1], self.always_in.size))
        out[:, ~self.always_in] = paths.T
        out[:, self.always_in] = levels[int(self.has_intercept) :].T
        return out

    def _per_feature(self, paths: FloatArray, levels: FloatArray) -> FloatArray:
        return np.asarray(self._in_columns(paths[:, None], levels[:, None])[0])

    def _forecast_levels(self, n_steps: int) -> tuple[FloatArray, FloatArray]:
        """Append empty steps to every level's posterior."""
        problem, state = self.problem, self.state
        score = problem.family.score(problem.y, state.eta, problem.weights)
        curvature = problem.family.curvature(problem.y, state.eta, problem.weights)
        means, variances = np.zeros(problem.levels.count), np.zeros(problem.levels.count)
        empty = np.zeros(n_steps)
        for j in range(problem.levels.count):
            h, b = level_information(problem, state, j, score, curvature)
            path = self._level_path(j, np.concatenate([h, empty]), np.concatenate([b, empty]))
            means[j], variances[j] = path[0, -1], path[1, -1]
        return means, variances

    @abstractmethod
    def _level_path(self, j: int, h: FloatArray, b: FloatArray) -> FloatArray:
        """Posterior mean and variance of a level over the steps of h and b."""

    @abstractmethod
    def inclusion(self) -> FloatArray:
        """(p,) probability of not being zero."""

    @abstractmethod
    def autocorrelation(self) -> FloatArray:
        """(p,) posterior mean lag-1 correlation, NaN for paths that are never included."""

    @abstractmethod
    def static_probability(self) -> FloatArray:
        """(p,) probability of being constant over time, given that a path is not zero."""

    @abstractmethod
    def _path_variance(self) -> FloatArray: ...

    @abstractmethod
    def _forecast_paths(self, n_steps: int) -> tuple[FloatArray, FloatArray]: ...


@dataclass
class ModeFit(Fit):
    """A mode under one of the paper's priors: no uncertainty."""

    problem: Objective

    def inclusion(self) -> FloatArray:
        """0 or 1."""
        alive = self.problem.alive(self.state.beta).astype(np.float64)
        return self._per_feature(alive, np.ones(self.problem.levels.count))

    def autocorrelation(self) -> FloatArray:
        """E[rho | path]; 1 for static paths, NaN for zero ones."""
        moving = self.state.level_law[:, 0] > 0
        return self._per_feature(self._rho(), np.where(moving, self.state.level_law[:, 1], 1.0))

    def _rho(self) -> FloatArray:
        alive = self.problem.alive(self.state.beta)
        rho = np.where(alive, self.problem.penalty(self.state.beta).mean_rho, np.nan)
        return np.where(alive & self.problem.static, 1.0, rho)

    def static_probability(self) -> FloatArray:
        """1 for features kept static."""
        levels = (self.state.level_law[:, 0] == 0).astype(np.float64)
        return self._per_feature(self.problem.static.astype(np.float64), levels)

    def _path_variance(self) -> FloatArray:
        return np.zeros_like(self.state.beta)

    def _level_path(self, j: int, h: FloatArray, b: FloatArray) -> FloatArray:
        out = np.empty((3, h.size))
        posterior_inplace(h, b, (np.inf, *self.state.level_law[j]), out)
        return out

    def _forecast_paths(self, n_steps: int) -> tuple[FloatArray, FloatArray]:
        """The chain's mean reversion, E[rho]^n. An empty step would change the mode itself."""
        rho = np.nan_to_num(self._rho())
        last = self.state.beta[:, -1]
        return last * rho**n_steps, np.zeros_like(last)


@kernel
def _last_step(h: FloatArray, b: FloatArray, tables: Tables, phi: FloatArray) -> FloatArray:
    """Mean and variance of the last step of every path (n_paths, 2)."""
    n_paths, n_steps = h.shape
    evidence, parts = np.empty(phi.shape[1]), np.empty((3, phi.shape[1]))
    out, work = np.empty((2, n_steps)), np.empty((4, n_steps))
    last = np.empty((n_paths, 2))
    for i in range(n_paths):
        log_evidences_inplace(h[i], b[i], tables, evidence, parts)
        average_inplace(h[i], b[i], tables, phi[i], parts, out, work)
        last[i, 0], last[i, 1] = out[0, n_steps - 1], out[1, n_steps - 1]
    return last


@dataclass
class PosteriorFit(Fit):
    """A factorised posterior under the learned prior."""

    problem: Bound
    state: Posterior

    def inclusion(self) -> FloatArray:
        """1 - probability of zero; 1 for what is always in."""
        return self._per_feature(self.state.inclusion, np.ones(self.problem.levels.count))

    def autocorrelation(self) -> FloatArray:
        """Lag-1 correlation of the whole path, constant part included, given that it is in."""
        laws = self.state.components
        total = laws.static + laws.dynamic
        with np.errstate(invalid="ignore"):
            lag = np.where(total > 0, (laws.static + laws.rho * laws.dynamic) / total, 0.0)
        moving, rho = self.state.level_law.T
        return self._per_feature(self._given_inclusion(lag), 1.0 - moving * (1.0 - rho))

    def static_probability(self) -> FloatArray:
        """Weight of the constant components."""
        levels = 1.0 - self.state.level_law[:, 0]
        constant = self.state.components.is_static.astype(np.float64)
        return self._per_feature(self._given_inclusion(constant), levels)

    def std_path(self) -> FloatArray:
        """(T, p) posterior standard deviations."""
        return np.sqrt(self._in_columns(self.state.variance, self.state.level_variance))

    def _given_inclusion(self, value: FloatArray) -> FloatArray:
        nonzero = ~self.state.components.is_zero
        phi = self.state.phi[:, nonzero]
        mass = phi.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(mass > 0, phi @ value[nonzero] / mass, np.nan)

    def _path_variance(self) -> FloatArray:
        return self.state.variance

    def _level_path(self, j: int, h: FloatArray, b: FloatArray) -> FloatArray:
        return level_posterior(self.problem, j, h, b)[0]

    def _forecast_paths(self, n_steps: int) -> tuple[FloatArray, FloatArray]:
        """Append empty steps to every path's posterior."""
        problem, state = self.problem, self.state
        unit = problem.unit
        h = problem.squares * (state.precision_seen / unit**2)[:, None]
        empty = np.zeros((h.shape[0], n_steps))
        tables = state.components.extended(n_steps).tables()
        h, b = np.hstack([h, empty]), np.hstack([state.pull, empty])
        last = _last_step(h, b, tables, state.phi)
        return last[:, 0] / unit, last[:, 1] / unit**2
