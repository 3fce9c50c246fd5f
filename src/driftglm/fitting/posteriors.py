"""The posterior under the learned prior: views of the levels, starts, and the race between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.fitting.fitted import PosteriorFit
from driftglm.fitting.outcome import Forecaster, Outcome, noise_ahead
from driftglm.fitting.problem import Posed, pose
from driftglm.fitting.rows import Rows
from driftglm.fitting.runs import Runs
from driftglm.fitting.starts import Init
from driftglm.fitting.views import View, views_of
from driftglm.objective import Background, Bound, Posterior
from driftglm.priors import Learned
from driftglm.solvers import CAVISolver, SolverResult, StopReason

STARTS: tuple[Init, ...] = ("zero", "lasso-all", "ridge-all", "lasso-one")
RACE = 10
"""Passes after which views of the levels are compared: two rounds."""


@dataclass(frozen=True)
class _Attempt:
    """A fit of one view, and what it takes to go on with it."""

    view: View
    bounds: list[Bound]
    posed: Posed
    result: SolverResult


def infer_posterior(rows: Rows, prior: Learned, runs: Runs, earlier: Outcome | None) -> Outcome:
    """Fit rows under the learned prior; of several views of the levels the one of highest ELBO.

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
    raw, order = responses[0].design()
    views = views_of(responses, raw, order, None if earlier is None else earlier.view)
    most = settings.max_iter if len(views) == 1 else min(settings.max_iter, RACE)
    attempts: list[_Attempt] = []
    basis: FloatArray | None = None
    for view in views:
        viewed = [dataclasses.replace(each, own=view.own) for each in responses]
        posed = pose(viewed, viewed[0].centered(raw, order), order, settings)
        unit = posed.design.units(posed.weights)
        if basis is None:
            basis = viewed[0].directions(posed.design, unit, prior.n_directions)
        background = Background(posed.design.scores(basis), basis) if basis.size else None
        bounds = [Bound.of(problem, prior, unit, background) for problem in posed.problems]
        result = _ascend(view, bounds, viewed, posed, runs, earlier, most)
        attempts.append(_Attempt(view, bounds, posed, result))
    best = max(attempts, key=lambda each: float(each.result.history[-1]))
    return _outcome(best, _finished(best, runs))


def _ascend(
    view: View,
    bounds: Sequence[Bound],
    responses: Sequence[Rows],
    posed: Posed,
    runs: Runs,
    earlier: Outcome | None,
    max_iter: int,
) -> SolverResult:
    """The start of highest ELBO among `n_starts`, or the earlier fit gone on with."""
    if earlier is not None and earlier.forecasters[0].posterior:
        warm = CAVISolver(warm=True)
        start = _continued(bounds, earlier.forecasters[0])
        return runs(warm, bounds, start, posed.coupling, max_iter=max_iter)
    settings = runs.settings
    first: Init = "zero" if settings.init == "auto" else settings.init
    results = []
    for kind in list(dict.fromkeys([first, *STARTS]))[: settings.n_starts]:
        start = [
            bound.start_posterior(bound.tamed(rows.start_paths(kind)))
            for bound, rows in zip(bounds, responses, strict=True)
        ]
        solver = CAVISolver(flat_first=view.flat_first)
        results.append(runs(solver, bounds, start, posed.coupling, max_iter=max_iter))
    return max(results, key=lambda result: float(result.history[-1]))


def _continued(bounds: Sequence[Bound], earlier: Forecaster) -> list[Posterior]:
    """Where a fit of more steps starts."""
    n_more = bounds[0].design.n_timesteps - earlier.n_timesteps
    noise = noise_ahead(earlier.noise, n_more)
    return [
        bound.warm_posterior(cast("PosteriorFit", fit).continued(n_more), noise)
        for bound, fit in zip(bounds, earlier.fits, strict=True)
    ]


def _finished(attempt: _Attempt, runs: Runs) -> SolverResult:
    """The attempt that won, followed to its end."""
    result = attempt.result
    left = runs.settings.max_iter - result.n_iter
    if result.reason is not StopReason.MAX_ITER or left <= 0:
        return result
    more = runs(CAVISolver(), attempt.bounds, result.states, attempt.posed.coupling, max_iter=left)
    return result.then(more)


def _outcome(attempt: _Attempt, result: SolverResult) -> Outcome:
    parts = zip(attempt.bounds, result.states, attempt.posed.columns, strict=True)
    fits = tuple(
        PosteriorFit.of(bound, cast("Posterior", state), columns) for bound, state, columns in parts
    )
    return Outcome(
        (Forecaster("drifting", fits, result.state.noise),),
        result.history,
        result.optimality,
        result.reason,
        view=attempt.view.name,
    )
