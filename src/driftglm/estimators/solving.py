"""From validated rows to fits: starts, views, solvers and what goes from one run to the next."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.bound import Bound, Posterior
from driftglm.design import Design
from driftglm.estimators.checkpoint import Checkpoint
from driftglm.estimators.fitted import Columns, Fit, ModeFit, PosteriorFit
from driftglm.estimators.rows import Rows
from driftglm.estimators.starts import Init
from driftglm.estimators.views import ViewName, views_of
from driftglm.exceptions import DataError, DataWarning
from driftglm.objective import Background, Noise, Objective
from driftglm.priors import Learned, PathPrior, PathStats
from driftglm.priors.adaptive import RATE_LIMIT, AdaptivePrior
from driftglm.solvers import (
    BlockSolver,
    CAVISolver,
    LBFGSSolver,
    Solver,
    SolverResult,
    StopReason,
)
from driftglm.solvers.coupling import Alone, Coupling

SOLVERS: dict[str, Callable[[], Solver]] = {
    "auto": BlockSolver,
    "block": BlockSolver,
    "lbfgs": LBFGSSolver,
}
LEARNED_STARTS: tuple[Init, ...] = ("zero", "lasso-all", "ridge-all", "lasso-one")
N_RATE_ROUNDS = 5
RACE = 10
"""Passes after which views of the levels are compared: two rounds."""


@dataclass(frozen=True)
class _Attempt:
    """A fit of one view, and what it takes to go on with it."""

    name: ViewName
    bounds: list[Bound]
    columns: list[Columns]
    coupling: Coupling
    result: SolverResult


class Solving:
    """Fits to validated rows, mixed into the estimators; parameters are those of the estimator."""

    solver: Literal["auto", "block", "lbfgs"]
    init: Init
    n_starts: int
    max_iter: int
    tol: float
    verbose: bool
    _view: ViewName
    _fits: list[Fit]

    def _noise(self, rows: Rows) -> Noise:
        del rows
        return Noise(given=1.0, reference=1.0)

    def _coupling(self, problems: list[dict[str, Any]]) -> Coupling:
        """What ties the responses together."""
        del problems
        return Alone()

    @property
    def _checkpoint(self) -> Checkpoint | None:
        """The file a fit under way writes to."""
        return self.__dict__.get("_checkpoint_")

    def _find_mode(self, prior: PathPrior, responses: list[Rows]) -> SolverResult:
        """Fit one of the paper's priors."""
        raw, order = responses[0].design()
        design = responses[0].centered(raw, order)
        problems = [self._data(each, design, order) for each in responses]
        coupling = self._coupling(problems)
        objectives = [Objective(**data, prior=prior) for data in problems]
        objectives, result = self._maximise(objectives, responses, coupling)
        self._fits = [
            ModeFit.of(objective, state, _columns(each, design))
            for objective, state, each in zip(objectives, result.states, responses, strict=True)
        ]
        if isinstance(objectives[0].prior, AdaptivePrior):
            self.rate_ = objectives[0].prior.tau
        return result

    def _learn(self, prior: Learned, responses: list[Rows], earlier: Sequence[Fit]) -> SolverResult:
        """Fit the learned prior; of several views of the levels the one of highest ELBO.

        A few rounds tell which; the others are not followed to their end.
        """
        raw, order = responses[0].design()
        kept: ViewName | None = getattr(self, "_view", "own") if earlier else None
        views = views_of(responses, raw, order, kept)
        most = self.max_iter if len(views) == 1 else min(self.max_iter, RACE)
        attempts: list[_Attempt] = []
        basis: FloatArray | None = None
        for view in views:
            rows = [dataclasses.replace(each, own=view.own) for each in responses]
            design = rows[0].centered(raw, order)
            problems = [self._data(each, design, order) for each in rows]
            coupling = self._coupling(problems)  # before bounds: it may replace the families
            unit = design.units(problems[0]["weights"])
            if basis is None:
                basis = rows[0].directions(design, unit, prior.n_directions)
            background = Background(design.scores(basis), basis) if basis.size else None
            bounds = [
                Bound(**data, prior=prior, unit=unit, background=background) for data in problems
            ]
            solver = CAVISolver(flat_first=view.flat_first)
            result = self._infer(bounds, rows, earlier, coupling, solver, most)
            columns = [_columns(each, design) for each in rows]
            attempts.append(_Attempt(view.name, bounds, columns, coupling, result))
        best = max(attempts, key=lambda each: float(each.result.history[-1]))
        result, self._view = best.result, best.name
        left = self.max_iter - result.n_iter
        if result.reason is StopReason.MAX_ITER and left > 0:
            again = (best.bounds, result.states, best.coupling)
            result = result.then(self._run(CAVISolver(), *again, max_iter=left))
        self._fits = [
            PosteriorFit.of(bound, cast("Posterior", state), each)
            for bound, state, each in zip(best.bounds, result.states, best.columns, strict=True)
        ]
        return result

    def _data(self, rows: Rows, design: Design, order: IntArray) -> dict[str, Any]:
        """What a Problem is made of."""
        return {
            "design": design,
            "family": rows.family,
            "levels": rows.levels(order),
            "noise": self._noise(rows),
            "y": rows.target[order],
            "weights": rows.weights[order],
            "offset": rows.offset[order],
            "static": rows.static[~rows.always_in],
            "reference": rows.reference,
        }

    def _infer(
        self,
        bounds: Sequence[Bound],
        responses: Sequence[Rows],
        earlier: Sequence[Fit],
        coupling: Coupling,
        solver: CAVISolver,
        max_iter: int,
    ) -> SolverResult:
        """The learned prior: the start of highest ELBO among `n_starts`, or the earlier fit."""
        if self.solver == "lbfgs":
            raise DataError(
                "solver='lbfgs' finds a mode and the learned prior has none to find; "
                "use solver='block' or 'auto'."
            )
        n_steps = responses[0].n_timesteps
        if earlier and isinstance(earlier[0], PosteriorFit):
            noise = getattr(self, "_noise_seen", 1.0)
            start = [
                bound.warm_posterior(
                    cast("PosteriorFit", fit).continued(n_steps - fit.n_timesteps), noise
                )
                for bound, fit in zip(bounds, earlier, strict=True)
            ]
            return self._run(CAVISolver(warm=True), bounds, start, coupling, max_iter=max_iter)
        first: Init = "zero" if self.init == "auto" else self.init
        kinds = list(dict.fromkeys([first, *LEARNED_STARTS]))[: self.n_starts]
        best: SolverResult | None = None
        for kind in kinds:
            start = [
                bound.start_posterior(bound.tamed(rows.start_paths(kind)))
                for bound, rows in zip(bounds, responses, strict=True)
            ]
            result = self._run(solver, bounds, start, coupling, max_iter=max_iter)
            if best is None or result.history[-1] > best.history[-1]:
                best = result
        assert best is not None  # noqa: S101 (n_starts >= 1)
        return best

    def _run(
        self,
        solver: Any,
        problems: Any,
        states: Any,
        coupling: Coupling,
        *,
        max_iter: int | None = None,
    ) -> SolverResult:
        stage = None if self._checkpoint is None else self._checkpoint.next_stage(coupling)
        if stage is not None and (done := stage.result()) is not None:
            return done
        progress = _progress_line if self.verbose else None
        result: SolverResult = solver.solve(
            problems,
            states,
            max_iter=max_iter or self.max_iter,
            tol=self.tol,
            progress=progress,
            coupling=coupling,
            journal=stage,
        )
        if stage is not None:
            stage.finish(result)
        if self.verbose:
            sys.stderr.write("\n")
        return result

    def _maximise(
        self, objectives: list[Objective], responses: Sequence[Rows], coupling: Coupling
    ) -> tuple[list[Objective], SolverResult]:
        """A mode; with rate="estimate", alternate with empirical Bayes on the nonzero paths."""
        prior = objectives[0].prior
        if self.n_starts > 1:
            raise DataError(
                f"n_starts={self.n_starts} needs a prior whose starts can be ranked; the "
                "objective of the paper's priors always prefers the emptier model. "
                "Choose one start with init=."
            )
        first = responses[0].default_start
        kind: Init = first if self.init == "auto" and prior.sparse else self.init
        n_steps = responses[0].n_timesteps
        states = [
            objective.start(objective.tamed(rows.start_paths(kind)))
            for objective, rows in zip(objectives, responses, strict=True)
        ]
        solver = SOLVERS[self.solver]()
        result = self._run(solver, objectives, states, coupling)
        if self.solver == "auto" and not prior.sparse and result.reason is not StopReason.CONVERGED:
            # A stiff ridge over time: what one path at a time leaves, all together can finish.
            result = result.then(self._run(LBFGSSolver(), objectives, result.states, coupling))
        if not (isinstance(prior, AdaptivePrior) and prior.rate == "estimate"):
            return objectives, result
        for _ in range(N_RATE_ROUNDS):
            old = prior.tau
            moving = [
                state.beta[~objective.static]
                for objective, state in zip(objectives, result.states, strict=True)
            ]
            stats = PathStats.of(np.concatenate(moving))
            prior = prior.with_estimated_rate((stats, n_steps, 1))
            objectives = [dataclasses.replace(each, prior=prior) for each in objectives]
            result = self._run(solver, objectives, result.states, coupling)
            if abs(prior.tau - old) <= 1e-3 * max(1.0, abs(old)):
                break
        if abs(prior.tau) >= RATE_LIMIT:
            warnings.warn(
                f"rate='estimate' ended at its limit {prior.tau:g}: the nonzero paths favour "
                f"{'the strongest' if prior.tau > 0 else 'no'} autocorrelation. This is common "
                "and harmless; pass a number for rate to silence it.",
                DataWarning,
                stacklevel=9,
            )
        return objectives, result


def _columns(rows: Rows, design: Design) -> Columns:
    center = np.zeros((rows.n_timesteps, rows.always_in.size))
    center[:, ~rows.always_in], center[:, rows.always_in] = design.mean.T, rows.always_in_means
    return Columns(rows.always_in, center, rows.intercept, rows.center)


def _progress_line(iteration: int, objective: float, n_alive: int) -> None:
    """One rewritten line on stderr."""
    sys.stderr.write(f"\rdriftglm: pass {iteration}, objective {objective:.6g}, {n_alive} paths ")
    sys.stderr.flush()
