"""What a finished fit can say about coefficients, inside the training steps and after them.

Two kinds: a mode under one of the paper's priors, and a posterior under the learned prior. Both
answer the same questions, in the user's units and column order.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.objective import Bound, Objective, Posterior, Problem, State
from driftglm.priors.mixture import Components, last_step_inplace
from driftglm.solvers.intercepts import (
    forecast_of_dynamics,
    intercept_forecast,
    intercept_information,
)


@dataclass(frozen=True)
class Step:
    """Coefficients of one step: means and variances.

    The intercept's variance is that of the intercept at the columns' `center`, where it is
    uncorrelated with the coefficients. `coef_variance` is that of the coefficients' own parts;
    `joint` (p, R) is a root of the covariance of what they share (see `SharedDirections`).
    """

    coef: FloatArray
    intercept: float
    coef_variance: FloatArray
    intercept_variance: float
    center: FloatArray
    joint: FloatArray

    @property
    def total_variance(self) -> FloatArray:
        """(p,) variance of every coefficient."""
        return np.asarray(self.coef_variance + (self.joint**2).sum(axis=1))


@dataclass(frozen=True)
class Columns:
    """How paths and intercepts map to the user's columns.

    Parameters
    ----------
    always_in
        Mask over all columns: these are intercepts, the others paths.
    center
        (T, n_features) what was taken off every column, 0 without an intercept. A step after
        the last has the center of the last.
    has_intercept
        Whether the first intercept is the intercept.
    target_center
        What was taken off y; the intercept takes it up again.
    """

    always_in: BoolArray
    center: FloatArray
    has_intercept: bool
    target_center: float

    def arrange(self, paths: FloatArray, intercepts: FloatArray) -> FloatArray:
        """(T, p) from rows of paths and of intercepts (intercept first, if any)."""
        out = np.zeros((paths.shape[1], self.always_in.size))
        out[:, ~self.always_in] = paths.T
        out[:, self.always_in] = intercepts[int(self.has_intercept) :].T
        return out

    def per_feature(self, paths: FloatArray, intercepts: FloatArray) -> FloatArray:
        """(p,) from one number per path and per intercept."""
        return np.asarray(self.arrange(paths[:, None], intercepts[:, None])[0])

    def intercept(self, intercept: FloatArray, coef: FloatArray) -> FloatArray:
        """Intercept at x = 0 from the intercept at the centers; shapes (T,) and (T, p)."""
        return np.asarray(self.target_center + intercept - np.einsum("ti,ti->t", coef, self.center))


@dataclass(frozen=True)
class InterceptFit:
    """Posterior of the intercepts: mean and variance (L, T), and the h and b behind them."""

    mean: FloatArray
    variance: FloatArray
    dynamics: FloatArray
    h: FloatArray
    b: FloatArray
    scale: FloatArray
    static: BoolArray

    @classmethod
    def of(cls, problem: Problem, state: State) -> InterceptFit:
        """Taken from where a solver ended."""
        score, curvature = problem.score(state), problem.curvature(state)
        shape = state.intercept_mean.shape
        h, b = np.zeros(shape), np.zeros(shape)
        for j in range(shape[0]):
            h[j], b[j] = intercept_information(problem, state, j, score, curvature)
        intercepts = problem.intercepts
        return cls(
            state.intercept_mean,
            state.intercept_variance,
            state.intercept_dynamics,
            h,
            b,
            intercepts.scale,
            intercepts.static,
        )

    def ahead(self, n_steps: int) -> tuple[FloatArray, FloatArray]:
        """Mean and variance `n_steps` after the last, under the component found for each intercept."""
        means, variances = np.zeros(self.scale.size), np.zeros(self.scale.size)
        for j, component in enumerate(self.dynamics):
            means[j], variances[j] = forecast_of_dynamics(
                tuple(component), self.h[j], self.b[j], n_steps
            )
        return means, variances

    def averaged_ahead(
        self, n_steps: int, moved: tuple[FloatArray, FloatArray] | None
    ) -> tuple[FloatArray, FloatArray]:
        """The same, averaged over the components an intercept may have.

        `moved` is what must be added to the first intercept, the intercept, to have it at the last
        step's center throughout: mean and variance, (T,) each. What goes on as it was may be the
        intercept at each step's own center or the intercept at one fixed point; both are forecast, and
        count the same: a few dozen steps do not tell which it is.
        """
        means, variances = np.zeros(self.scale.size), np.zeros(self.scale.size)
        for j in range(self.scale.size):
            h, b = self.h[j], self.b[j]
            series = [(h, b)]
            if j == 0 and moved is not None and moved[0].any():
                less = 1.0 / (1.0 + h * moved[1])
                series.append((h * less, (b + h * moved[0]) * less))
            component = float(self.scale[j]), bool(self.static[j])
            found = np.array([intercept_forecast(*component, *each, n_steps) for each in series])
            means[j] = found[:, 0].mean()
            variances[j] = (found[:, 1] + (found[:, 0] - means[j]) ** 2).mean()
        return means, variances


@dataclass(frozen=True)
class SharedFit:
    """What shared directions add to the paths' coefficients: mean (n_paths,), root (n_paths, R)."""

    mean: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, problem: Problem, state: State) -> SharedFit:
        """Taken from where a solver ended; one that is off has no directions."""
        part = state.shared
        n_paths = state.beta.shape[0]
        if problem.shared is None or part.variance == 0:
            return cls(np.zeros(n_paths), np.zeros((n_paths, 0)))
        basis = problem.shared.basis
        with one_thread():  # the same digits on any number of threads
            values, vectors = np.linalg.eigh(part.covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            return cls(basis @ part.mean, basis @ root)

    @property
    def variance(self) -> FloatArray:
        """(n_paths,) of the coefficients."""
        return np.asarray((self.root**2).sum(axis=1))


@dataclass(frozen=True)
class Fit:
    """Common part of both kinds of fit; arrays only, no training data.

    `beta` (n_paths, T) holds the paths, `importance` (p,) the root mean square of x * beta.
    """

    posterior: ClassVar[bool] = False
    """Whether there is uncertainty to speak of."""
    columns: Columns
    intercepts: InterceptFit
    importance: FloatArray
    beta: FloatArray
    shared: SharedFit

    @property
    def n_timesteps(self) -> int:
        """Number of training steps."""
        return int(self.beta.shape[1])

    def coef_path(self) -> FloatArray:
        """(T, p)."""
        return self.columns.arrange(self.beta + self.shared.mean[:, None], self.intercepts.mean)

    def intercept_path(self) -> FloatArray:
        """(T,) at x = 0."""
        intercept = (
            self.intercepts.mean[0] if self.columns.has_intercept else np.zeros(self.n_timesteps)
        )
        return self.columns.intercept(intercept, self.coef_path())

    def at(self, code: int) -> Step:
        """A step inside the training data or after it (code >= T: forecast)."""
        if code >= self.n_timesteps:
            return self.ahead(code - self.n_timesteps + 1)
        intercepts = self.intercepts
        return self._step(
            (self.beta[:, code], self._path_variance()[:, code]),
            (intercepts.mean[:, code], intercepts.variance[:, code]),
            self.columns.center[code],
        )

    def ahead(self, n_steps: int) -> Step:
        """Forecast `n_steps` after the last training step."""
        return self._step(
            self._forecast_paths(n_steps),
            self._forecast_intercepts(n_steps),
            self.columns.center[-1],
        )

    def held(self, n_steps: int) -> Step:
        """The last step's coefficients held for `n_steps`, with the forecast's uncertainty.

        What may happen until then is as uncertain when coefficients are held as when they are
        forecast, and holding adds the distance between the two.
        """
        last, ahead = self.at(self.n_timesteps - 1), self.ahead(n_steps)
        if not self.posterior:
            return last
        intercepts = (step.intercept + float(step.coef @ last.center) for step in (last, ahead))
        gap = next(intercepts) - next(intercepts)
        return Step(
            last.coef,
            last.intercept,
            ahead.coef_variance + (ahead.coef - last.coef) ** 2,
            ahead.intercept_variance + gap**2,
            last.center,
            ahead.joint,
        )

    def _step(
        self,
        paths: tuple[FloatArray, FloatArray],
        intercepts: tuple[FloatArray, FloatArray],
        center: FloatArray,
    ) -> Step:
        shared = self.shared
        coef = self.columns.per_feature(paths[0] + shared.mean, intercepts[0])
        variance = self.columns.per_feature(paths[1], intercepts[1])
        joint = np.zeros((coef.size, shared.root.shape[1]))
        joint[~self.columns.always_in] = shared.root
        intercept, spread = (
            (intercepts[0][0], intercepts[1][0]) if self.columns.has_intercept else (0.0, 0.0)
        )
        intercept = float(self.columns.target_center + intercept - coef @ center)
        return Step(coef, intercept, variance, float(spread), center, joint)

    @abstractmethod
    def inclusion(self) -> FloatArray:
        """(p,) probability of not being zero."""

    @abstractmethod
    def autocorrelation(self) -> FloatArray:
        """(p,) posterior mean lag-1 correlation, NaN for paths that are never included."""

    @abstractmethod
    def static_probability(self) -> FloatArray:
        """(p,) probability of being constant over time, given that a path is not zero."""

    def std_path(self) -> FloatArray:
        """(T, p) posterior standard deviations; zero for a mode."""
        paths = self._path_variance() + self.shared.variance[:, None]
        intercepts = (
            self.intercepts.variance if self.posterior else np.zeros_like(self.intercepts.variance)
        )
        return np.asarray(np.sqrt(self.columns.arrange(paths, intercepts)))

    @abstractmethod
    def _path_variance(self) -> FloatArray: ...

    @abstractmethod
    def _forecast_paths(self, n_steps: int) -> tuple[FloatArray, FloatArray]: ...

    @abstractmethod
    def _forecast_intercepts(self, n_steps: int) -> tuple[FloatArray, FloatArray]: ...


def importance(problem: Problem, state: State, columns: Columns) -> FloatArray:
    """(p,) root mean square of x * beta over the training rows, x as the user gave it."""
    weights, design = problem.weights, problem.design
    mean, squares = design.mean, design.squares(weights)
    counts = design.by_step(weights)
    # x^2 = d^2 + 2 m d + m^2 with d = x - m, summed over the rows of a step
    deviations = design.sums(weights) - design.center * counts
    squares = squares + (2 * mean * deviations + mean**2 * counts)
    first = int(columns.has_intercept)
    raw = problem.intercepts.columns.copy()
    for j, center in enumerate(columns.center.T[columns.always_in]):
        raw[first + j] += design.to_rows(center)
    intercept_squares = np.zeros_like(state.intercept_mean)
    for j, column in enumerate(raw):
        intercept_squares[j] = design.by_step(weights * column * column)
    shared = SharedFit.of(problem, state).mean
    path = columns.arrange(state.beta + shared[:, None], state.intercept_mean)
    total = (columns.arrange(squares, intercept_squares) * path**2).sum(axis=0)
    return np.asarray(np.sqrt(np.maximum(total, 0.0) / problem.n_rows))


@dataclass(frozen=True)
class ModeFit(Fit):
    """A mode under one of the paper's priors: no uncertainty.

    `alive`, `static` and `rho` (n_paths,): not zero, kept constant, E[autocorrelation | path].
    """

    alive: BoolArray
    static: BoolArray
    rho: FloatArray

    @classmethod
    def of(cls, objective: Objective, state: State, columns: Columns) -> ModeFit:
        """Taken from where a solver ended."""
        alive = objective.alive(state.beta)
        rho = np.where(alive, objective.penalty(state.beta).mean_rho, np.nan)
        rho = np.where(alive & objective.static, 1.0, rho)
        weight = importance(objective, state, columns)
        intercepts, shared = InterceptFit.of(objective, state), SharedFit.of(objective, state)
        return cls(columns, intercepts, weight, state.beta, shared, alive, objective.static, rho)

    def inclusion(self) -> FloatArray:
        """0 or 1."""
        return self.columns.per_feature(
            self.alive.astype(np.float64), np.ones(self.intercepts.scale.size)
        )

    def autocorrelation(self) -> FloatArray:
        """E[rho | path]; 1 for static paths, NaN for zero ones."""
        variance, rho = self.intercepts.dynamics.T
        return self.columns.per_feature(self.rho, np.where(variance > 0, rho, 1.0))

    def static_probability(self) -> FloatArray:
        """1 for features kept static."""
        intercepts = (self.intercepts.dynamics[:, 0] == 0).astype(np.float64)
        return self.columns.per_feature(self.static.astype(np.float64), intercepts)

    def _path_variance(self) -> FloatArray:
        return np.zeros_like(self.beta)

    def _forecast_paths(self, n_steps: int) -> tuple[FloatArray, FloatArray]:
        """The chain's mean reversion, E[rho]^n. An empty step would change the mode itself."""
        last = self.beta[:, -1]
        return last * np.nan_to_num(self.rho) ** n_steps, np.zeros_like(last)

    def _forecast_intercepts(self, n_steps: int) -> tuple[FloatArray, FloatArray]:
        return self.intercepts.ahead(n_steps)


@dataclass(frozen=True)
class PosteriorFit(Fit):
    """A factorised posterior under the learned prior, in natural form.

    Parameters
    ----------
    variance
        (n_paths, T).
    phi, log_pi
        Probabilities of the components per path, and their log weights per group.
    components, grid_positions
        The components `phi` refers to, in units of `unit` (n_paths,), and their positions in the
        prior's full grid.
    h, b
        (n_paths, T) curvature and linear term of each path's likelihood.
    """

    posterior: ClassVar[bool] = True
    variance: FloatArray
    phi: FloatArray
    log_pi: FloatArray
    components: Components
    grid_positions: IntArray
    unit: FloatArray
    h: FloatArray
    b: FloatArray

    @classmethod
    def of(cls, bound: Bound, state: Posterior, columns: Columns) -> PosteriorFit:
        """Taken from where a solver ended."""
        return cls(
            columns=columns,
            intercepts=InterceptFit.of(bound, state),
            importance=importance(bound, state, columns),
            beta=state.beta,
            shared=SharedFit.of(bound, state),
            variance=state.variance,
            phi=state.phi,
            log_pi=state.log_pi,
            components=state.components,
            grid_positions=state.grid_positions,
            unit=bound.unit,
            h=state.curvature,
            b=state.linear,
        )

    def inclusion(self) -> FloatArray:
        """1 - probability of zero; 1 for what is always in, 0 for a column that says nothing.

        The posterior of such a column is its prior, which may well be in favour of inclusion; but
        its coefficients are exactly zero.
        """
        zero = self.phi[:, self.components.is_zero].sum(axis=1)
        found = np.where(self.h.any(axis=1), 1.0 - zero, 0.0)
        return self.columns.per_feature(found, np.ones(self.intercepts.scale.size))

    def autocorrelation(self) -> FloatArray:
        """Lag-1 correlation of the whole path, constant part included, given that it is in."""
        components = self.components
        total = components.static + components.dynamic
        with np.errstate(invalid="ignore"):
            lag = np.where(
                total > 0, (components.static + components.rho * components.dynamic) / total, 0.0
            )
        moving, rho = self.intercepts.dynamics.T
        return self.columns.per_feature(self._given_inclusion(lag), 1.0 - moving * (1.0 - rho))

    def static_probability(self) -> FloatArray:
        """Weight of the constant components."""
        constant = self.components.is_static.astype(np.float64)
        intercepts = 1.0 - self.intercepts.dynamics[:, 0]
        return self.columns.per_feature(self._given_inclusion(constant), intercepts)

    def continued(self, n_more: int) -> FloatArray:
        """Paths (n_paths, T + n_more): the means, then their forecasts."""
        ahead = [self._forecast_paths(n + 1)[0] for n in range(n_more)]
        return np.column_stack([self.beta, *ahead])

    def _given_inclusion(self, value: FloatArray) -> FloatArray:
        """Mean of a number between 0 and 1 over the components that are not zero."""
        nonzero = ~self.components.is_zero
        phi = self.phi[:, nonzero]
        mass = phi.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            # Rounding alone could carry the mean of ones above 1.
            return np.where(mass > 0, np.clip(phi @ value[nonzero] / mass, 0.0, 1.0), np.nan)

    def _path_variance(self) -> FloatArray:
        return self.variance

    def _forecast_paths(self, n_steps: int) -> tuple[FloatArray, FloatArray]:
        """Append empty steps to every path's posterior."""
        tables = self.components.extended(n_steps).tables()
        last = np.empty((self.h.shape[0], 2))
        last_step_inplace(self.h, self.b, self.phi, tables, last)
        return last[:, 0] / self.unit, last[:, 1] / self.unit**2

    def _forecast_intercepts(self, n_steps: int) -> tuple[FloatArray, FloatArray]:
        moved = None
        if self.columns.has_intercept:
            gap = self.columns.center[-1] - self.columns.center
            mean = np.einsum("ti,ti->t", gap, self.coef_path())
            own = self.columns.arrange(self.variance, self.intercepts.variance)
            # What coefficients share does not average out over them.
            shared = np.einsum("ti,ir->tr", gap[:, ~self.columns.always_in], self.shared.root)
            moved = mean, np.einsum("ti,ti->t", gap**2, own) + (shared**2).sum(axis=1)
        return self.intercepts.averaged_ahead(n_steps, moved)
