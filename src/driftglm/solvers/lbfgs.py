"""L-BFGS on the joint objective: the paper's algorithm, kept for comparison.

The variables are the live paths (in units of 1 / rms(x)) and, for every intercept, its flat part and
the whitened deviations from it. The noise variance is maximised out inside every evaluation,
which leaves the gradient as it is. The intercepts' penalty and spread are refreshed between rounds.

No gradient step leaves the spike at zero: a path that starts at exactly zero stays there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from driftglm._typing import BoolArray, FloatArray
from driftglm.objective import Objective, State
from driftglm.solvers.base import Progress, SolverResult, StopReason, as_tuple
from driftglm.solvers.coupling import Coupling, Uncoupled
from driftglm.solvers.journal import Journal, NoJournal
from driftglm.solvers.rowstate import RowWork

N_MEMORY = 10
ROUND = 100


@dataclass(frozen=True)
class _Whitening:
    """An intercept's path as flat part + autoregressive deviations of independent unit shocks."""

    variance: float
    rho: float
    n_timesteps: int

    @property
    def n_shocks(self) -> int:
        return self.n_timesteps if self.variance > 0 else 0

    @property
    def _scales(self) -> FloatArray:
        scales = np.full(self.n_timesteps, np.sqrt(self.variance * (1 - self.rho**2)))
        scales[0] = np.sqrt(self.variance)
        return scales

    def path(self, flat: float, shocks: FloatArray) -> FloatArray:
        out = np.full(self.n_timesteps, flat)
        if self.n_shocks:
            deviation = 0.0
            for t, step in enumerate(self._scales * shocks):
                deviation = self.rho * deviation + step
                out[t] += deviation
        return out

    def transpose(self, slope: FloatArray) -> tuple[float, FloatArray]:
        """The gradient in path values turned into one in (flat, shocks)."""
        if not self.n_shocks:
            return float(slope.sum()), np.empty(0)
        carried = slope.copy()
        for t in range(self.n_timesteps - 2, -1, -1):
            carried[t] += self.rho * carried[t + 1]
        return float(slope.sum()), self._scales * carried

    def invert(self, path: FloatArray) -> tuple[float, FloatArray]:
        """Flat part and shocks of least size that give the path."""
        if not self.n_shocks:
            return float(path.mean()), np.empty(0)
        rho, ends = self.rho, np.ones(self.n_timesteps)
        ends[1:-1] = 1.0 - rho  # proportional to D^-1 1
        flat = float(ends @ path / ends.sum())
        deviation = path - flat
        deviation[1:] -= rho * deviation[:-1].copy()
        return flat, deviation / self._scales


class _Variables:
    """Packs a State into one vector and evaluates the objective there."""

    def __init__(self, objective: Objective, state: State) -> None:
        self.objective, self.state = objective, state
        design = objective.design
        self.alive: BoolArray = objective.alive(state.beta)
        self.moving = self.alive & ~objective.static
        self.constant = self.alive & objective.static
        squares = design.squares(objective.weights)
        total = squares.sum(axis=1)
        total[total == 0] = objective.n_rows
        self.unit = np.sqrt(objective.reference * objective.n_rows / total)
        self.intercept_unit = np.sqrt(objective.intercepts.scale)
        self.squares = squares
        self.intercepts = [
            _Whitening(v, rho, design.n_timesteps) for v, rho in state.intercept_dynamics
        ]
        self.uncertainty = objective.uncertainty(state)
        self.optimality = np.inf

    def pack(self) -> FloatArray:
        state = self.state
        self.first_shocks = np.zeros(len(self.intercepts))
        scaled = state.beta / self.unit[:, None]
        parts = [scaled[self.moving].ravel(), scaled[self.constant, 0]]
        for j, whitening in enumerate(self.intercepts):
            flat, shocks = whitening.invert(state.intercept_mean[j])
            self.first_shocks[j] = float(shocks @ shocks)
            parts += [np.array([flat / self.intercept_unit[j]]), shocks]
        return np.concatenate(parts)

    def unpack(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Paths, intercept paths and the sum of squares of every intercept's shocks."""
        n_steps = self.objective.design.n_timesteps
        beta = np.zeros_like(self.state.beta)
        end = int(self.moving.sum()) * n_steps
        beta[self.moving] = x[:end].reshape(-1, n_steps) * self.unit[self.moving, None]
        start, end = end, end + int(self.constant.sum())
        beta[self.constant] = (x[start:end] * self.unit[self.constant])[:, None]
        intercept_mean = np.zeros_like(self.state.intercept_mean)
        shocks_squared = np.zeros(len(self.intercepts))
        for j, whitening in enumerate(self.intercepts):
            shocks = x[end + 1 : end + 1 + whitening.n_shocks]
            intercept_mean[j] = whitening.path(float(x[end] * self.intercept_unit[j]), shocks)
            shocks_squared[j] = float(shocks @ shocks)
            end += 1 + whitening.n_shocks
        return beta, intercept_mean, shocks_squared

    def moved(self, beta: FloatArray, intercept_mean: FloatArray) -> State:
        """The state at other means; the intercepts keep their variance, the noise follows."""
        state = dataclasses.replace(
            self.state,
            beta=beta,
            intercept_mean=intercept_mean,
            eta=self.objective.eta(beta, intercept_mean),
            log_likelihood=None,
        )
        state.noise = self.objective.best_noise(state)
        return state

    def place(self, x: FloatArray) -> State:
        """The state at a vector; `evaluate` tells its value."""
        beta, intercept_mean, self.shocks_squared = self.unpack(x)
        self.trial = self.moved(beta, intercept_mean)
        # The means' part of an intercept's divergence from its penalty is half its shocks' squares.
        gain = 0.5 * (self.shocks_squared - self.first_shocks)
        self.trial.intercept_divergence = self.state.intercept_divergence + gain
        return self.trial

    def evaluate(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Minus the objective (up to a constant) and its gradient, at the state placed last."""
        objective, design, state = self.objective, self.objective.design, self.trial
        precision = objective.precision(state)
        penalty = objective.penalty(state.beta)
        value = objective.family.log_likelihood(
            objective.y,
            state.eta,
            state.eta_variance,
            objective.weights,
            objective.by_row(state.noise),
        )
        value += penalty.log_density.sum() - 0.5 * self.shocks_squared.sum()
        value += objective.noise.log_prior(state.noise)
        value -= 0.5 * float(np.sum(precision * self.uncertainty))
        score = objective.by_row(precision) * objective.score(state)
        slope = design.gradient(score) - _prior_gradient(
            state.beta, (penalty.omega, penalty.omega_alpha, penalty.omega_end), objective.static
        )
        scaled = slope * self.unit[:, None]
        constant_slope = scaled[self.constant].sum(axis=1)
        parts = [scaled[self.moving].ravel(), constant_slope]
        for whitening, column, unit, x_part in zip(
            self.intercepts,
            objective.intercepts.columns,
            self.intercept_unit,
            self._intercept_parts(x),
            strict=True,
        ):
            flat, shocks = whitening.transpose(design.by_step(score * column))
            parts += [np.array([flat * unit]), shocks - x_part[1:]]
        squares = self.squares
        if not objective.family.quadratic:
            squares = design.squares(objective.curvature(state))
        self._certify(slope, precision * squares, penalty.omega)
        return -float(value), -np.concatenate(parts)

    def _intercept_parts(self, x: FloatArray) -> list[FloatArray]:
        sizes = [1 + whitening.n_shocks for whitening in self.intercepts]
        tail = x[x.size - sum(sizes) :]
        return np.split(tail, np.cumsum(sizes)[:-1]) if sizes else []

    def _certify(self, slope: FloatArray, h: FloatArray, omega: FloatArray) -> None:
        scaled = np.abs(slope[self.moving]) / np.sqrt(h + omega[:, None])[self.moving]
        pooled = np.abs(slope[self.constant].sum(axis=1))
        pooled /= np.sqrt(h.sum(axis=1) + omega)[self.constant]
        self.optimality = float(max(scaled.max(initial=0.0), pooled.max(initial=0.0)))


def _prior_gradient(
    beta: FloatArray, penalty: tuple[FloatArray, FloatArray, FloatArray], static: BoolArray
) -> FloatArray:
    """P beta for every path, P its tridiagonal prior precision. A static path counts once."""
    omega, omega_alpha, omega_end = (part[:, None] for part in penalty)
    out = omega * beta
    out[:, :-1] += omega_alpha * beta[:, 1:]
    out[:, 1:] += omega_alpha * beta[:, :-1]
    out[:, [0]] += omega_end * beta[:, [0]]
    out[:, [-1]] += omega_end * beta[:, [-1]]
    # Share the single gradient out over the steps: their sum is what the one coefficient feels.
    out[static] = (omega * beta)[static] / beta.shape[1]
    return out


class _Joint:
    """The variables of all responses side by side, and what couples them."""

    def __init__(
        self, objectives: Sequence[Objective], states: Sequence[State], coupling: Coupling
    ) -> None:
        self.parts = [
            _Variables(objective, state)
            for objective, state in zip(objectives, states, strict=True)
        ]
        self.coupling = coupling
        self.start = np.concatenate(packed := [part.pack() for part in self.parts])
        self.ends = np.cumsum([part.size for part in packed])[:-1]

    @property
    def optimality(self) -> float:
        return max(part.optimality for part in self.parts)

    @property
    def n_alive(self) -> int:
        return sum(int(part.alive.sum()) for part in self.parts)

    def place(self, x: FloatArray) -> list[State]:
        pieces = zip(self.parts, np.split(x, self.ends), strict=True)
        states = [part.place(piece) for part, piece in pieces]
        self.coupling.settle(states)
        return states

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        # What couples the responses is at its best at every point, so that its own derivative
        # is zero and the gradient is that at a fixed coupling.
        self.place(x)
        pieces = zip(self.parts, np.split(x, self.ends), strict=True)
        values, gradients = zip(*(part.evaluate(piece) for part, piece in pieces), strict=True)
        return sum(values), np.concatenate(gradients)


def _joint_value(
    objectives: Sequence[Objective], states: Sequence[State], coupling: Coupling
) -> float:
    pairs = zip(objectives, states, strict=True)
    return coupling.constant + sum(objective.value(state) for objective, state in pairs)


def _ascend(variables: _Joint, first: float, n_most: int, tol: float) -> list[float]:
    """One run of L-BFGS; moves the variables' states and returns the objective's values."""
    start = -variables(variables.start)[0]
    values: list[float] = []

    def record(intermediate_result: OptimizeResult) -> None:
        # Shocks of least size make start and `first` the same point of the same function.
        values.append(first - float(intermediate_result.fun) - start)
        if variables.optimality <= tol:
            raise StopIteration

    found = minimize(
        variables,
        variables.start,
        jac=True,
        method="L-BFGS-B",
        callback=record,
        options={"maxiter": n_most, "maxcor": N_MEMORY, "ftol": 0.0, "gtol": 0.0, "maxfun": 10**9},
    )
    variables(found.x)  # the last point tried need not be the one returned
    for part in variables.parts:
        part.state.__dict__.update(vars(part.trial))
    return values


def _zero_small_paths(objective: Objective, state: State) -> None:
    """Set paths below the floor to exactly zero, as the block solver does."""
    n_counted = np.where(objective.static, state.beta.shape[1], 1)
    small = (state.beta**2).sum(axis=1) / n_counted < objective.zero_below
    state.eta -= objective.design.eta(np.where(small[:, None], state.beta, 0.0))
    state.beta[small] = 0.0
    state.log_likelihood = None


@dataclass(frozen=True)
class LBFGSSolver:
    """scipy's L-BFGS on all live coefficients at once."""

    def solve(
        self,
        objectives: Objective | Sequence[Objective],
        states: State | Sequence[State],
        *,
        max_iter: int,
        tol: float,
        progress: Progress | None = None,
        coupling: Coupling | None = None,
        journal: Journal | None = None,
    ) -> SolverResult[State]:
        """Ascend in rounds until no coefficient is pulled by more than `tol`."""
        problems, coupling = as_tuple(objectives), coupling or Uncoupled()
        journal = journal or NoJournal()
        found = [state.copy() for state in as_tuple(states)]
        history: list[float] = []
        if (saved := journal.read()) is not None:
            found, history = saved["states"], saved["history"]
        else:
            self._refresh_intercepts(problems, found, coupling)
        optimality, reason = np.inf, StopReason.MAX_ITER
        while len(history) < max_iter:
            variables = _Joint(problems, found, coupling)
            before = _joint_value(problems, found, coupling)
            n_most = min(ROUND, max_iter - len(history))
            values = _ascend(variables, before, n_most, tol)
            optimality = variables.optimality
            self._zero_small_paths(problems, found, coupling)
            self._refresh_intercepts(problems, found, coupling)
            history += values or [before]
            history[-1] = _joint_value(problems, found, coupling)
            if progress is not None:
                progress(len(history), history[-1], variables.n_alive)
            settled = len(values) <= 1 and optimality <= tol
            if settled or history[-1] - before <= 1e-12 * abs(before):
                reason = StopReason.CONVERGED if optimality <= tol else StopReason.STALLED
                break
            journal.write({"states": found, "history": history})
        if optimality <= tol:
            reason = StopReason.CONVERGED  # the last round may have ended at max_iter as well
        self._zero_small_paths(problems, found, coupling)
        if history:
            history[-1] = _joint_value(problems, found, coupling)
        return SolverResult(tuple(found), np.array(history), float(optimality), reason)

    def _zero_small_paths(
        self, problems: Sequence[Objective], states: Sequence[State], coupling: Coupling
    ) -> None:
        for problem, state in zip(problems, states, strict=True):
            _zero_small_paths(problem, state)
        coupling.settle(states)

    def _refresh_intercepts(
        self, problems: Sequence[Objective], states: list[State], coupling: Coupling
    ) -> None:
        """The intercepts' posterior and penalty at the present paths."""
        coupling.settle(states)
        for k, (problem, state) in enumerate(zip(problems, states, strict=True)):
            work = RowWork(problem, state)
            work.set_intercepts()
            states[k] = work.state
        coupling.settle(states)
