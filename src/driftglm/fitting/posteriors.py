"""The posterior under the learned prior: views of the intercepts, starts, and the race between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from driftglm._typing import FloatArray
from driftglm.design.directions import direction_count
from driftglm.exceptions import DataError
from driftglm.fitting.fits import PosteriorFit
from driftglm.fitting.outcome import Forecaster, Outcome, noise_ahead
from driftglm.fitting.problem import Posed, pose
from driftglm.fitting.rows import Rows
from driftglm.fitting.solver_runs import Runs
from driftglm.fitting.starts import Init
from driftglm.fitting.views import View, views_of
from driftglm.objective import Bound, Posterior, SharedDirections
from driftglm.priors import Learned
from driftglm.solvers import CAVISolver, SolverResult, StopReason

STARTS: tuple[Init, ...] = ("zero", "lasso-all", "ridge-all", "lasso-one")
RACE = 10
"""Passes after which views of the intercepts are compared: two rounds."""


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
        viewed = [
            dataclasses.replace(each, per_step_share=view.per_step_share) for each in responses
        ]
        sample = viewed[0].sample()
        design = viewed[0].centered(raw, order)
        unit = design.units(viewed[0].weights[order])
        if basis is None:
            weight = float(viewed[0].weights.sum())
            count = direction_count(prior.n_directions, design.n_features, weight)
            basis = sample.directions(design.mean, unit, count)
        shared = SharedDirections(design.scores(basis), basis) if basis.size else None
        posed = pose(viewed, design, order, settings)
        race = _Race(view, viewed, posed, runs, most)
        if earlier is None:
            attempts.append(race.from_starts(prior, unit, shared))
        else:
            attempts.append(race.from_earlier(prior, unit, shared, earlier.forecasters[0]))
    best = max(attempts, key=lambda each: float(each.result.history[-1]))
    return _outcome(best, _finished(best, runs))


@dataclass(frozen=True)
class _Race:
    """One view of the intercepts, and how far it is followed before views are compared."""

    view: View
    responses: list[Rows]
    posed: Posed
    runs: Runs
    max_iter: int

    def from_starts(
        self, prior: Learned, unit: FloatArray, shared: SharedDirections | None
    ) -> _Attempt:
        """The start of highest ELBO among `n_starts`."""
        settings = self.runs.settings
        first: Init = "zero" if settings.init == "auto" else settings.init
        kinds = list(dict.fromkeys([first, *STARTS]))[: settings.n_starts]
        paths = [[rows.start_paths(kind) for rows in self.responses] for kind in kinds]
        bounds = self._bounds(prior, unit, shared)
        solver = CAVISolver(flat_first=self.view.flat_first)
        results = [
            self._run(
                solver,
                bounds,
                [
                    bound.start_posterior(bound.tamed(beta))
                    for bound, beta in zip(bounds, start, strict=True)
                ],
            )
            for start in paths
        ]
        best = max(results, key=lambda result: float(result.history[-1]))
        return _Attempt(self.view, bounds, self.posed, best)

    def from_earlier(
        self,
        prior: Learned,
        unit: FloatArray,
        shared: SharedDirections | None,
        earlier: Forecaster,
    ) -> _Attempt:
        """A fit of fewer steps gone on with."""
        bounds = self._bounds(prior, unit, shared)
        start = _continued(bounds, earlier)
        result = self._run(CAVISolver(warm=True), bounds, start)
        return _Attempt(self.view, bounds, self.posed, result)

    def _bounds(
        self, prior: Learned, unit: FloatArray, shared: SharedDirections | None
    ) -> list[Bound]:
        return [Bound.of(problem, prior, unit, shared) for problem in self.posed.problems]

    def _run(
        self, solver: CAVISolver, bounds: list[Bound], start: list[Posterior]
    ) -> SolverResult[Posterior]:
        return self.runs(solver, bounds, start, self.posed.coupling, max_iter=self.max_iter)


def _continued(bounds: Sequence[Bound], earlier: Forecaster) -> list[Posterior]:
    """Where a fit of more steps starts."""
    n_more = bounds[0].design.n_timesteps - earlier.n_timesteps
    noise = noise_ahead(earlier.noise, n_more)
    return [
        bound.warm_posterior(cast("PosteriorFit", fit).continued(n_more), noise)
        for bound, fit in zip(bounds, earlier.fits, strict=True)
    ]


def _finished(attempt: _Attempt, runs: Runs) -> SolverResult[Posterior]:
    """The attempt that won, followed to its end."""
    result = attempt.result
    left = runs.settings.max_iter - result.n_iter
    if result.reason is not StopReason.MAX_ITER or left <= 0:
        return result
    more = runs(CAVISolver(), attempt.bounds, result.states, attempt.posed.coupling, max_iter=left)
    return result.then(more)


def _outcome(attempt: _Attempt, result: SolverResult[Posterior]) -> Outcome:
    parts = zip(attempt.bounds, result.states, attempt.posed.columns, strict=True)
    fits = tuple(PosteriorFit.of(bound, state, columns) for bound, state, columns in parts)
    return Outcome(
        (Forecaster("drifting", fits, result.state.noise),),
        result.history,
        result.optimality,
        result.reason,
        view=attempt.view.name,
    )
