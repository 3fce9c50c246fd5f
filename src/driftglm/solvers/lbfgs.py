"""L-BFGS on the joint objective: the paper's algorithm, for comparison.

The variables are the live paths (in units of 1 / rms(x)) and, for every intercept, its flat part
and the whitened deviations from it. The noise variance is maximised out inside every evaluation,
which leaves the gradient as it is. The penalty and the variance of the intercepts are refreshed
between rounds.

No gradient step leaves the spike at zero: a path that starts at exactly zero stays there.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from driftglm._typing import BoolArray, FloatArray
from driftglm.objective import Objective, State
from driftglm.priors import Penalty
from driftglm.solvers.base import Run, Solver, SolverResult, StopReason
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
        if not self.n_shocks:
            return np.full(self.n_timesteps, flat)
        moves = self._scales * shocks
        return flat + np.array(list(accumulate(moves, lambda now, move: self.rho * now + move)))

    def transpose(self, slope: FloatArray) -> tuple[float, FloatArray]:
        """The gradient in path values turned into one in (flat, shocks)."""
        if not self.n_shocks:
            return float(slope.sum()), np.empty(0)
        carried = accumulate(slope[::-1], lambda later, here: here + self.rho * later)
        return float(slope.sum()), self._scales * np.array(list(carried))[::-1]

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
        self.alive: BoolArray = objective.alive(state.beta)
        self.moving = self.alive & ~objective.static
        self.constant = self.alive & objective.static
        self.squares = objective.design.squares(objective.weights)
        total = self.squares.sum(axis=1)
        total[total == 0] = objective.n_rows
        self.unit = np.sqrt(objective.reference * objective.n_rows / total)
        self.intercept_unit = np.sqrt(objective.intercepts.scale)
        n_steps = objective.design.n_timesteps
        self.intercepts = [_Whitening(v, rho, n_steps) for v, rho in state.intercept_dynamics]
        self.optimality = np.inf

    def pack(self) -> FloatArray:
        """The state as a vector: where the run starts."""
        scaled = self.state.beta / self.unit[:, None]
        parts = [scaled[self.moving].ravel(), scaled[self.constant, 0]]
        pairs = zip(self.intercepts, self.state.intercept_mean, strict=True)
        found = [whitening.invert(path) for whitening, path in pairs]
        for (flat, shocks), unit in zip(found, self.intercept_unit, strict=True):
            parts += [np.array([flat / unit]), shocks]
        self.first_squares = _squares([shocks for _, shocks in found])
        return np.concatenate(parts)

    def state_at(self, x: FloatArray) -> State:
        """The state at a vector: the intercepts keep their variance, the noise follows."""
        n_steps = self.objective.design.n_timesteps
        beta = np.zeros_like(self.state.beta)
        intercept_mean = np.zeros_like(self.state.intercept_mean)
        sizes = [self.moving.sum() * n_steps, self.constant.sum()]
        for whitening in self.intercepts:
            sizes += [1, whitening.n_shocks]
        moving, constant, *rest = np.split(x, np.cumsum(sizes)[:-1])
        beta[self.moving] = moving.reshape(-1, n_steps) * self.unit[self.moving, None]
        beta[self.constant] = (constant * self.unit[self.constant])[:, None]
        self.shocks = rest[1::2]
        for j, (whitening, flat) in enumerate(zip(self.intercepts, rest[::2], strict=True)):
            start = float(flat[0] * self.intercept_unit[j])
            intercept_mean[j] = whitening.path(start, self.shocks[j])
        # The means' part of an intercept's divergence from its penalty is half its shocks' squares.
        gain = 0.5 * (_squares(self.shocks) - self.first_squares)
        self.trial = dataclasses.replace(
            self.state,
            beta=beta,
            intercept_mean=intercept_mean,
            intercept_divergence=self.state.intercept_divergence + gain,
            eta=self.objective.eta(beta, intercept_mean),
            log_likelihood=None,
        )
        self.objective.update_noise(self.trial)
        return self.trial

    def evaluate(self) -> tuple[float, FloatArray]:
        """The objective and its gradient, at the state placed last."""
        objective, design, state = self.objective, self.objective.design, self.trial
        precision, penalty = objective.precision(state), objective.penalty(state.beta)
        score = objective.by_row(precision) * objective.score(state)
        slope = design.gradient(score) - _prior_gradient(state.beta, penalty, objective.static)
        scaled = slope * self.unit[:, None]
        parts = [scaled[self.moving].ravel(), scaled[self.constant].sum(axis=1)]
        columns = objective.intercepts.columns
        for j, (whitening, column) in enumerate(zip(self.intercepts, columns, strict=True)):
            flat, shocks = whitening.transpose(design.by_step(score * column))
            parts += [np.array([flat * self.intercept_unit[j]]), shocks - self.shocks[j]]
        squares = self.squares
        if not objective.family.quadratic:
            squares = design.squares(objective.curvature(state))
        self._certify(slope, precision * squares, penalty.omega)
        return objective.value(state, penalty), np.concatenate(parts)

    def _certify(self, slope: FloatArray, h: FloatArray, omega: FloatArray) -> None:
        scaled = np.abs(slope[self.moving]) / np.sqrt(h + omega[:, None])[self.moving]
        pooled = np.abs(slope[self.constant].sum(axis=1))
        pooled /= np.sqrt(h.sum(axis=1) + omega)[self.constant]
        self.optimality = float(max(scaled.max(initial=0.0), pooled.max(initial=0.0)))


def _squares(vectors: list[FloatArray]) -> FloatArray:
    """The squared length of every vector."""
    return np.array([float(vector @ vector) for vector in vectors])


def _prior_gradient(beta: FloatArray, penalty: Penalty, static: BoolArray) -> FloatArray:
    """P beta for every path, P its tridiagonal prior precision. A static path counts once."""
    omega, omega_alpha, omega_end = (
        part[:, None] for part in (penalty.omega, penalty.omega_alpha, penalty.omega_end)
    )
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

    def __init__(self, run: Run[Objective, State]) -> None:
        pairs = zip(run.problems, run.states, strict=True)
        self.parts = [_Variables(objective, state) for objective, state in pairs]
        self.coupling = run.coupling
        self.start = np.concatenate(packed := [part.pack() for part in self.parts])
        self.ends = np.cumsum([part.size for part in packed])[:-1]

    @property
    def optimality(self) -> float:
        return max(part.optimality for part in self.parts)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Minus the objective and its gradient.

        What couples the responses is at its best at every point, so that its derivative is
        zero and the gradient is that at a fixed coupling.
        """
        pieces = zip(self.parts, np.split(x, self.ends), strict=True)
        self.coupling.settle([part.state_at(piece) for part, piece in pieces])
        values, gradients = zip(*(part.evaluate() for part in self.parts), strict=True)
        return -sum(values) - self.coupling.constant, -np.concatenate(gradients)


def _value(run: Run[Objective, State]) -> float:
    pairs = zip(run.problems, run.states, strict=True)
    return run.coupling.constant + sum(objective.value(state) for objective, state in pairs)


def _ascend(variables: _Joint, first: float, n_most: int, tol: float) -> list[float]:
    """One run of L-BFGS from where the objective is `first`; moves the variables' states.

    Returns the objective's values. Those within a run have the noise maximised out, `first` has it
    as it was: values are counted from there, so that the history has no jump between runs.
    """
    start, values = variables(variables.start)[0], list[float]()

    def record(intermediate_result: OptimizeResult) -> None:
        values.append(first + start - float(intermediate_result.fun))
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


def _zero_small_paths(run: Run[Objective, State]) -> None:
    """Set paths below the floor to exactly zero, as the block solver does."""
    for objective, state in zip(run.problems, run.states, strict=True):
        n_counted = np.where(objective.static, state.beta.shape[1], 1)
        small = (state.beta**2).sum(axis=1) / n_counted < objective.zero_below
        state.eta -= objective.design.eta(np.where(small[:, None], state.beta, 0.0))
        state.beta[small] = 0.0
        state.log_likelihood = None
    run.coupling.settle(run.states)


def _refresh_intercepts(run: Run[Objective, State]) -> float:
    """The intercepts' posterior and penalty at the present paths; how far they were from it."""
    run.coupling.settle(run.states)
    works = [RowWork(*pair) for pair in zip(run.problems, run.states, strict=True)]
    worst = max(work.set_intercepts() for work in works)
    run.states = [work.state for work in works]
    run.coupling.settle(run.states)
    return worst


@dataclass(frozen=True)
class LBFGSSolver(Solver[Objective, State]):
    """scipy's L-BFGS on all live coefficients at once."""

    def run(self, run: Run[Objective, State]) -> SolverResult[State]:
        """Ascend in rounds until no coefficient has a gradient above `tol`."""
        if (saved := run.journal.read()) is not None:
            run.states, run.history = saved["states"], saved["history"]
        else:
            _refresh_intercepts(run)
        optimality, reason = np.inf, StopReason.MAX_ITER
        while not run.exhausted:
            variables, before = _Joint(run), _value(run)
            n_most = min(ROUND, run.max_iter - len(run.history))
            values = _ascend(variables, before, n_most, run.tol)
            _zero_small_paths(run)
            # Where no path is alive, intercepts are all there is to find.
            optimality = max(variables.optimality, _refresh_intercepts(run))
            run.history += values[:-1]
            run.record(_value(run), sum(int(part.alive.sum()) for part in variables.parts))
            settled = len(values) <= 1 and optimality <= run.tol
            if settled or run.history[-1] - before <= 1e-12 * abs(before):
                reason = StopReason.STALLED
                break
            run.journal.write({"states": run.states, "history": run.history})
        if optimality <= run.tol:
            reason = StopReason.CONVERGED  # also where the last round ended at max_iter
        _zero_small_paths(run)
        if run.history:
            run.history[-1] = _value(run)
        return run.result(run.states, optimality, reason)
