"""The mode under one of the paper's priors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from driftglm._warnings import warn
from driftglm.exceptions import DataError, DataWarning
from driftglm.fitting.fits import ModeFit
from driftglm.fitting.outcome import Forecaster, Outcome
from driftglm.fitting.problem import Posed, pose
from driftglm.fitting.residuals import row_checks
from driftglm.fitting.rows import Rows
from driftglm.fitting.settings import Settings
from driftglm.fitting.solver_runs import Runs
from driftglm.fitting.starts import Init
from driftglm.objective import Objective, State
from driftglm.priors import PathPrior, PathStats
from driftglm.priors.adaptive import RATE_LIMIT
from driftglm.solvers import BlockSolver, LBFGSSolver, Solver, SolverResult, StopReason
from driftglm.solvers.rate_rounds import RateRounds

SOLVERS: dict[str, Callable[[], Solver]] = {
    "auto": BlockSolver,
    "block": BlockSolver,
    "lbfgs": LBFGSSolver,
}


def find_mode(rows: Rows, prior: PathPrior, runs: Runs) -> Outcome:
    """Fit rows under a prior whose mode is wanted."""
    settings, responses = runs.settings, rows.responses()
    raw, order = responses[0].design()
    posed = pose(responses, responses[0].centered(raw, order), order, settings)
    objectives = [Objective.of(problem, prior) for problem in posed.problems]
    objectives, result = _maximise(objectives, responses, posed, runs)
    parts = zip(objectives, result.states, posed.columns, strict=True)
    fits = tuple(ModeFit.of(*part) for part in parts)
    forecaster = Forecaster("mode", fits, result.state.noise, result.state.shape)
    ended = result.history, result.optimality, result.reason
    checks = row_checks(rows, objectives, result.states, order)
    return Outcome((forecaster,), *ended, rate=objectives[0].prior.rate_used, checks=checks)


def _maximise(
    objectives: list[Objective], responses: Sequence[Rows], posed: Posed, runs: Runs
) -> tuple[list[Objective], SolverResult[State]]:
    """A mode; where a rate is to be estimated, alternate with empirical Bayes."""
    prior, settings, coupling = objectives[0].prior, runs.settings, posed.coupling
    states = [
        objective.start(objective.tamed(rows.start_paths(_start(prior, rows, settings))))
        for objective, rows in zip(objectives, responses, strict=True)
    ]
    solve = SOLVERS[settings.solver]().solve
    result = runs(solve, objectives, states, coupling)
    unfinished = result.reason is not StopReason.CONVERGED
    if settings.solver == "auto" and not prior.sparse and unfinished:
        # A stiff ridge over time: what one path at a time leaves, all together can finish.
        result = result.then(runs(LBFGSSolver().solve, objectives, result.states, coupling))
    rounds = RateRounds(prior.estimates_rate)
    while rounds.go_on:
        # The rate is estimated from the paths that may move.
        pairs = zip(objectives, result.states, strict=True)
        moving = np.concatenate([state.beta[~each.static] for each, state in pairs])
        found = PathStats.of(moving), objectives[0].design.n_timesteps, 1
        prior, rounds = rounds.following(prior, found)
        objectives = [dataclasses.replace(each, prior=prior) for each in objectives]
        result = runs(solve, objectives, result.states, coupling)
    _warn_at_limit(rounds.rate)
    return objectives, result


def _start(prior: PathPrior, rows: Rows, settings: Settings) -> Init:
    """Which start the search begins from."""
    if settings.n_starts > 1:
        raise DataError(
            f"n_starts={settings.n_starts} needs a prior whose starts can be ranked; the "
            "objective of the paper's priors always prefers the emptier model. "
            "Choose one start with init=."
        )
    return rows.default_start if settings.init == "auto" and prior.sparse else settings.init


def _warn_at_limit(rate: float | None) -> None:
    if rate is not None and abs(rate) >= RATE_LIMIT:
        warn(
            f"rate='estimate' ended at its limit {rate:g}: the nonzero paths favour "
            f"{'the strongest' if rate > 0 else 'no'} autocorrelation. This is common "
            "and harmless; pass a number for rate to silence it.",
            DataWarning,
        )
