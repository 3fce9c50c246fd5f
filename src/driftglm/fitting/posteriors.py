"""The posterior under the learned prior: the best of several starts and views of the intercepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from driftglm._typing import FloatArray
from driftglm.design import Design
from driftglm.design.directions import direction_count
from driftglm.exceptions import DataError
from driftglm.fitting.fits import PosteriorFit
from driftglm.fitting.joint import joint_posterior
from driftglm.fitting.outcome import Forecaster, Outcome
from driftglm.fitting.problem import Posed, pose
from driftglm.fitting.residuals import RowChecks, row_checks
from driftglm.fitting.rows import Rows
from driftglm.fitting.solver_runs import Runs
from driftglm.fitting.starts import Init
from driftglm.fitting.views import View, views_of
from driftglm.objective import Bound, Posterior, SharedDirections
from driftglm.priors import Learned
from driftglm.solvers import CAVISolver, SolverResult, StopReason

STARTS: tuple[Init, ...] = ("zero", "lasso-all", "ridge-all", "lasso-one")
RACE = 10
"""Passes after which views of the intercepts are compared."""


@dataclass(frozen=True)
class _Attempt:
    """A fit of one view, and what it takes to go on with it."""

    view: View
    bounds: list[Bound]
    posed: Posed
    result: SolverResult[Posterior]


def infer_posterior(rows: Rows, prior: Learned, runs: Runs, earlier: Outcome | None) -> Outcome:
    """Fit rows under the learned prior; of several views of the intercepts the one of highest ELBO.

    A few rounds tell which; the others are not followed to their end. `earlier` is a fit of fewer
    steps to go on from.
    """
    settings = runs.settings
    if settings.solver == "lbfgs":
        raise DataError(
            "solver='lbfgs' finds a mode and the learned prior has none to find; "
            "use solver='block' or 'auto'."
        )
    responses = rows.responses()
    views, raw, order = views_of(responses, None if earlier is None else earlier.view)
    most = settings.max_iter if len(views) == 1 else min(settings.max_iter, RACE)
    attempts: list[_Attempt] = []
    basis: FloatArray | None = None
    for view in views:
        viewed = [replace(each, per_step_share=view.per_step_share) for each in responses]
        design = viewed[0].centered(raw, order)
        unit = design.units(viewed[0].weights[order])
        if basis is None:
            basis = _basis(viewed[0], design, unit, prior)
        shared = SharedDirections(design.scores(basis), basis) if basis.size else None
        posed = pose(viewed, design, order, settings)
        bounds = [Bound.of(problem, prior, unit, shared) for problem in posed.problems]
        if earlier is None:
            solver, starts = CAVISolver(flat_first=view.flat_first), _starts(viewed, bounds, runs)
        else:
            solver = CAVISolver(warm=True)
            starts = iter([_continued(bounds, earlier.forecasters[0])])
        run = partial(runs, solver.solve, bounds, coupling=posed.coupling, max_iter=most)
        results = [run(states=start) for start in starts]
        best_start = max(results, key=lambda result: float(result.history[-1]))
        attempts.append(_Attempt(view, bounds, posed, best_start))
    best = max(attempts, key=lambda each: float(each.result.history[-1]))
    result = _finished(best, runs)
    ends = zip(best.bounds, result.states, best.posed.columns, strict=True)
    found = [joint_posterior(*end) for end in ends]
    parts = zip(best.bounds, found, best.posed.columns, strict=True)
    fits = tuple(PosteriorFit.of(bound, *pair, columns) for bound, pair, columns in parts)
    checks = row_checks(rows, best.bounds, [state for state, _ in found], order)
    return _outcome(best, result, fits, checks)


def _basis(rows: Rows, design: Design, unit: FloatArray, prior: Learned) -> FloatArray:
    """The shared directions: those in which the columns vary most."""
    weight = float(rows.weights.sum())
    count = direction_count(prior.n_directions, design.n_features, weight)
    return rows.sample().directions(design.mean, unit, count)


def _starts(responses: list[Rows], bounds: list[Bound], runs: Runs) -> Iterator[list[Posterior]]:
    """The first `n_starts` starts, made one by one: a run changes what couples the responses."""
    settings = runs.settings
    first: Init = "zero" if settings.init == "auto" else settings.init
    for kind in list(dict.fromkeys([first, *STARTS]))[: settings.n_starts]:
        yield [
            bound.start_posterior(bound.tamed(rows.start_paths(kind)))
            for bound, rows in zip(bounds, responses, strict=True)
        ]


def _continued(bounds: Sequence[Bound], earlier: Forecaster) -> list[Posterior]:
    """Where a fit of more steps starts."""
    n_steps = bounds[0].design.n_timesteps
    n_more, noise = n_steps - earlier.n_timesteps, earlier.noise_at(np.arange(n_steps))
    return [
        bound.warm_posterior(cast("PosteriorFit", fit).continued(n_more), noise)
        for bound, fit in zip(bounds, earlier.fits, strict=True)
    ]


def _finished(attempt: _Attempt, runs: Runs) -> SolverResult[Posterior]:
    """The attempt that won, followed to its end."""
    result = attempt.result
    remaining = runs.settings.max_iter - result.n_iter
    if result.reason is not StopReason.MAX_ITER or remaining <= 0:
        return result
    coupling = attempt.posed.coupling
    more = runs(CAVISolver().solve, attempt.bounds, result.states, coupling, max_iter=remaining)
    return result.then(more)


def _outcome(
    attempt: _Attempt,
    result: SolverResult[Posterior],
    fits: tuple[PosteriorFit, ...],
    checks: RowChecks,
) -> Outcome:
    end = result.state
    forecaster = Forecaster("drifting", fits, end.noise, end.shape, end.noise_path)
    ended = result.history, result.optimality, result.reason
    return Outcome((forecaster,), *ended, view=attempt.view.name, checks=checks)
