"""What a finished fit can say about coefficients, inside the training steps and after them.

Two kinds: a mode under one of the paper's priors, and a posterior under the learned prior. Both
answer the same questions, in the user's units and column order.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.special import erf

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.fitting.coefficients import Columns, ColumnSizes, SharedFit, Step
from driftglm.fitting.influence import influence_of
from driftglm.fitting.joint_fit import JointFit
from driftglm.fitting.kinds import KindsFit
from driftglm.objective import Bound, Objective, Posterior, Problem, State
from driftglm.priors.mixture import Components
from driftglm.priors.offset import last_step_inplace, measured
from driftglm.priors.seasons import SeasonalComponents, steps_inplace
from driftglm.solvers.intercepts import (
    forecast_of_dynamics,
    intercept_forecast,
    intercept_information,
)

__all__ = ["Columns", "Fit", "InterceptFit", "ModeFit", "PosteriorFit", "SharedFit", "Step"]
Moments: TypeAlias = tuple[FloatArray, FloatArray]
"""Mean and variance."""


@dataclass(frozen=True)
class InterceptFit:
    """Posterior of the intercept and the always-in features, L of them, and what it comes from.

    Parameters
    ----------
    mean, variance
        (L, T).
    dynamics
        (L, 2) variance and autocorrelation of the deviations from a constant.
    h, b
        (L, T) curvature and linear term of the likelihood.
    scale, static
        (L,) the prior's scale, and whether there are no deviations.
    offset
        (L,) variance of an error all steps share (see `priors.offset`).
    cycle
        Steps a cycle where they may have a season; 0: they have none.
    """

    mean: FloatArray
    variance: FloatArray
    dynamics: FloatArray
    h: FloatArray
    b: FloatArray
    scale: FloatArray
    static: BoolArray
    offset: FloatArray
    cycle: int = 0

    @classmethod
    def of(cls, problem: Problem, state: State) -> InterceptFit:
        """Taken from where a solver ended."""
        rates = problem.score(state), problem.curvature(state)
        h, b = np.zeros((2, *state.intercept_mean.shape))
        for j in range(len(h)):
            h[j], b[j], _ = intercept_information(problem, state, j, *rates)
        posterior = state.intercept_mean, state.intercept_variance, state.intercept_dynamics
        some = problem.intercepts
        offset = state.intercept_offset
        return cls(*posterior, h, b, some.scale, some.static, offset, some.cycle)

    def ahead(self, n_steps: int) -> Moments:
        """Mean and variance `n_steps` after the last, with the dynamics found for each."""
        parts = zip(self.dynamics, self.h, self.b, strict=True)
        found = [forecast_of_dynamics(tuple(how), h, b, n_steps) for how, h, b in parts]
        means, variances = np.array(found).reshape(-1, 2).T
        return means, variances

    def averaged_ahead(self, n_steps: int, moved: Moments | None) -> Moments:
        """The same, averaged over the dynamics they may have.

        `moved` is what must be added to the intercept to have it at the last step's center
        throughout: mean and variance, (T,) each. Either the intercept at each step's center or that
        at one fixed point goes on as before. Both are forecast and count the same: a few dozen
        steps do not tell which it is.
        """
        means, variances = np.zeros(self.scale.size), np.zeros(self.scale.size)
        for j in range(self.scale.size):
            h, b, error = self.h[j], self.b[j], float(self.offset[j])
            series = [(h, b)]
            if j == 0 and moved is not None and moved[0].any():
                less = 1.0 / (1.0 + h * moved[1])
                # What moves is measured with the error that all steps share, and b is without it.
                linear = (measured(h, b, error) + h * moved[0]) * less
                share = error * linear.sum() / (1.0 + error * float((h * less).sum()))
                series.append((h * less, linear - share * h * less))
            kind = float(self.scale[j]), bool(self.static[j]), self.cycle
            ahead = [intercept_forecast(kind, *each, error, n_steps) for each in series]
            found = np.array(ahead)
            means[j] = found[:, 0].mean()
            variances[j] = (found[:, 1] + (found[:, 0] - means[j]) ** 2).mean()
        return means, variances


@dataclass(frozen=True)
class Fit:
    """Common part of both kinds of fit; arrays only, no training data.

    `sizes` says how large columns are, and `beta` (n_paths, T) holds the paths.
    """

    posterior: ClassVar[bool] = False
    """Whether there is uncertainty to speak of."""
    columns: Columns
    intercepts: InterceptFit
    sizes: ColumnSizes
    beta: FloatArray
    shared: SharedFit

    @property
    def n_timesteps(self) -> int:
        """Number of training steps."""
        return int(self.beta.shape[1])

    @property
    def importance(self) -> FloatArray:
        """(p,) root mean square of what a feature adds to eta, about its mean."""
        return self.sizes.importance

    def coef_path(self) -> FloatArray:
        """(T, p)."""
        return self.columns.arrange(self.beta + self.shared.mean[:, None], self.intercepts.mean)

    def intercept_path(self) -> FloatArray:
        """(T,) at x = 0."""
        columns = self.columns
        at_center = self.intercepts.mean[0] if columns.has_intercept else np.zeros(self.n_timesteps)
        moved = np.einsum("ti,ti->t", self.coef_path(), columns.center)
        return np.asarray(columns.target_center + at_center - moved)

    def at(self, code: int) -> Step:
        """A step inside the training data or after it (code >= T: forecast)."""
        if code >= self.n_timesteps:
            return self.ahead(code - self.n_timesteps + 1)
        paths = self.beta[:, code], self._path_variance()[:, code]
        intercepts = self.intercepts.mean[:, code], self.intercepts.variance[:, code]
        return self._step(paths, intercepts, self.columns.center[code])

    def ahead(self, n_steps: int) -> Step:
        """Forecast `n_steps` after the last training step."""
        paths, intercepts = self._forecast_paths(n_steps), self._forecast_intercepts(n_steps)
        return self._step(paths, intercepts, self._center_ahead(n_steps))

    def _center_ahead(self, n_steps: int) -> FloatArray:
        """What columns are centred by after the last step: that of the last one.

        Where there are seasons, of the last step that has the same phase.
        """
        cycle = self.intercepts.cycle
        back = 1 if not cycle else cycle - (n_steps - 1) % cycle
        return np.asarray(self.columns.center[-back])

    def held(self, n_steps: int, ahead: Step | None = None) -> Step:
        """The last step's coefficients held for `n_steps`, with the forecast's uncertainty.

        What may happen until then is as uncertain when coefficients are held as when they are
        forecast, and holding adds the distance between the two. `ahead` is that forecast, if it is
        known.
        """
        last = self.at(self.n_timesteps - 1)
        ahead = self.ahead(n_steps) if ahead is None else ahead
        if not self.posterior:
            return last
        # Intercepts are compared at the center: at x = 0 they move with the coefficients.
        now, then = (step.intercept + float(step.coef @ last.center) for step in (last, ahead))
        return dataclasses.replace(
            last,
            coef_variance=ahead.coef_variance + (ahead.coef - last.coef) ** 2,
            intercept_variance=ahead.intercept_variance + (now - then) ** 2,
            joint=ahead.joint,
        )

    def _step(self, paths: Moments, intercepts: Moments, center: FloatArray) -> Step:
        shared = self.shared
        coef = self.columns.per_feature(paths[0] + shared.mean, intercepts[0])
        variance = self.columns.per_feature(paths[1], intercepts[1])
        joint = np.zeros((coef.size, shared.root.shape[1]))
        joint[~self.columns.always_in] = shared.root
        has_one = self.columns.has_intercept
        at_center, uncertainty = (each[0] if has_one else 0.0 for each in intercepts)
        at_center = float(self.columns.target_center + at_center)
        intercept = float(at_center - coef @ center)
        known = coef, intercept, variance, float(uncertainty), center, joint
        return Step(*known, at_center=at_center)

    @abstractmethod
    def inclusion(self) -> FloatArray:
        """(p,) probability of not being zero."""

    @abstractmethod
    def autocorrelation(self) -> FloatArray:
        """(p,) posterior mean lag-1 correlation, NaN for paths that are never included."""

    @abstractmethod
    def drift_probability(self) -> FloatArray:
        """(p,) probability of not being constant over time."""

    def effect_probability(self) -> FloatArray:
        """(p,) probability that a feature has an effect, of its own or by the shared directions.

        A normal distribution never is exactly zero. What a feature has from the shared directions
        counts with the probability of the largest central interval that leaves zero out.
        """
        own, shared = self.inclusion(), self.shared
        deviation = np.sqrt(np.where(shared.variance > 0, shared.variance, 1.0))
        sure = np.where(shared.variance > 0, erf(np.abs(shared.mean) / deviation / np.sqrt(2)), 0)
        credible = self.columns.per_feature(sure, np.ones(self.intercepts.scale.size))
        return np.asarray(own + (1.0 - own) * credible)

    def std_path(self) -> FloatArray:
        """(T, p) posterior standard deviations; zero for a mode."""
        paths = self._path_variance() + self.shared.variance[:, None]
        intercepts = np.where(self.posterior, self.intercepts.variance, 0.0)
        return np.asarray(np.sqrt(self.columns.arrange(paths, intercepts)))

    def _path_variance(self) -> FloatArray:
        """(n_paths, T): none, unless the kind of fit knows it."""
        return np.zeros_like(self.beta)

    @abstractmethod
    def _forecast_paths(self, n_steps: int) -> Moments: ...

    def _forecast_intercepts(self, n_steps: int) -> Moments:
        return self.intercepts.ahead(n_steps)


def common_parts(
    problem: Problem, state: State, columns: Columns
) -> tuple[Columns, InterceptFit, ColumnSizes, FloatArray, SharedFit]:
    """The fields of a `Fit`, from where a solver ended."""
    known = columns, InterceptFit.of(problem, state), ColumnSizes.of(problem, state, columns)
    return *known, state.beta, SharedFit.of(problem, state)


@dataclass(frozen=True)
class ModeFit(Fit):
    """A mode under one of the paper's priors: no uncertainty.

    `alive`, `static` and `rho` (n_paths,): not zero, constant by the user's wish, and
    E[autocorrelation | path].
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
        return cls(*common_parts(objective, state, columns), alive, objective.static, rho)

    def inclusion(self) -> FloatArray:
        """0 or 1."""
        alive = self.alive.astype(np.float64)
        return self.columns.per_feature(alive, np.ones(self.intercepts.scale.size))

    def autocorrelation(self) -> FloatArray:
        """E[rho | path]; 1 for static paths, NaN for zero ones."""
        variance, rho = self.intercepts.dynamics.T
        return self.columns.per_feature(self.rho, np.where(variance > 0, rho, 1.0))

    def drift_probability(self) -> FloatArray:
        """0 or 1: whether a path is not constant."""
        return np.asarray(np.ptp(self.coef_path(), axis=0) > 0).astype(np.float64)

    def _forecast_paths(self, n_steps: int) -> Moments:
        """The chain's mean reversion, E[rho]^n. An empty step would change the mode itself."""
        last = self.beta[:, -1]
        return last * np.nan_to_num(self.rho) ** n_steps, np.zeros_like(last)


@dataclass(frozen=True)
class PosteriorFit(Fit):
    """A posterior under the learned prior, a product over paths, in natural form.

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
    offset
        (n_paths,) variance of an error all steps of a path share, where rows belong together (see
        `priors.offset`); empty elsewhere.
    joint
        How the errors of several coefficients go together, where paths were judged jointly.
    moved_by_step
        (T,) `influence`, where it was found before that.
    kinds
        What every kind of feature adds to eta, where users tell kinds apart.
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
    offset: FloatArray
    joint: JointFit | None = None
    moved_by_step: FloatArray | None = None
    kinds: KindsFit | None = None

    @classmethod
    def of(
        cls, bound: Bound, state: Posterior, joint: JointFit | None, columns: Columns
    ) -> PosteriorFit:
        """Taken from where a solver ended, or from what was made of that jointly."""
        mixture = state.phi, state.log_pi, state.components, state.grid_positions
        offset = state.offset * bound.unit**2 if state.offset.size else state.offset
        path = bound.unit, state.curvature, state.linear, offset
        fit = cls(*common_parts(bound, state, columns), state.variance, *mixture, *path)
        if joint is None:
            return fit
        found = dataclasses.replace(fit.intercepts, h=state.intercept_h, b=state.intercept_b)
        return dataclasses.replace(fit, intercepts=found, joint=joint)

    def at(self, code: int) -> Step:
        """A step inside the training data or after it (code >= T: forecast)."""
        step = super().at(code)
        if self.joint is None or code >= self.n_timesteps:
            return step
        return self.joint.applied(step, self.joint.correlation[code])

    def ahead(self, n_steps: int) -> Step:
        """Forecast `n_steps` after the last training step."""
        step = super().ahead(n_steps)
        return step if self.joint is None else self.joint.applied(step, self.joint.ahead(n_steps))

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
        static, dynamic = self.components.static, self.components.dynamic
        with np.errstate(invalid="ignore"):
            ratio = (static + self.components.rho * dynamic) / (static + dynamic)
        lag = np.where(static + dynamic > 0, ratio, 0.0)
        moving, rho = self.intercepts.dynamics.T
        return self.columns.per_feature(self._given_inclusion(lag), 1.0 - moving * (1.0 - rho))

    def drift_probability(self) -> FloatArray:
        """Weight of the components that move; 0 for a column that says nothing."""
        moving = np.minimum(self.phi[:, ~self.components.is_static].sum(axis=1), 1.0)
        found = np.where(self.h.any(axis=1), moving, 0.0)
        return self.columns.per_feature(found, self.intercepts.dynamics[:, 0])

    def influence(self) -> FloatArray:
        """(T,) how far the forecast of a coefficient moves, at most, if a step is left out.

        In posterior standard deviations, over the features that are included, at the component
        probabilities of the whole fit. What paths that were judged jointly say of single steps is
        what they said before.
        """
        if self.moved_by_step is not None:
            return self.moved_by_step
        return influence_of(self.components, self.phi, self.h, self.b, self.offset)

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

    def season_moments(self, components: SeasonalComponents) -> FloatArray:
        """(n_paths, 4, T') mean and variance of paths and of their seasons, in internal units."""
        out = np.empty((len(self.h), 4, components.n_timesteps))
        steps_inplace(self.h, self.b, self.phi, components.season_tables(), out)
        return out

    def _path_variance(self) -> FloatArray:
        return self.variance

    def _forecast_paths(self, n_steps: int) -> Moments:
        """Append empty steps to every path's posterior."""
        last = np.empty((self.h.shape[0], 2))
        if isinstance(self.components, SeasonalComponents):
            longer = replace(self.components, n_timesteps=self.components.n_timesteps + n_steps)
            every = self.season_moments(longer)
            last[:] = every[:, :2, -1]
        else:
            tables = self.components.tables_ahead(n_steps)
            last_step_inplace(self.h, self.b, self.offset, self.phi, tables, last)
        return last[:, 0] / self.unit, last[:, 1] / self.unit**2

    def _forecast_intercepts(self, n_steps: int) -> Moments:
        if not self.columns.has_intercept:
            return self.intercepts.averaged_ahead(n_steps, None)
        gap = self._center_ahead(n_steps) - self.columns.center
        mean = np.einsum("ti,ti->t", gap, self.coef_path())
        variance = self.columns.arrange(self.variance, self.intercepts.variance)
        # What coefficients share does not average out over them.
        shared = np.einsum("ti,ir->tr", gap[:, ~self.columns.always_in], self.shared.root)
        moved = mean, np.einsum("ti,ti->t", gap**2, variance) + (shared**2).sum(axis=1)
        return self.intercepts.averaged_ahead(n_steps, moved)
