"""Runs of solvers: with a bar if it is wanted, gone on with from a checkpoint if there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from driftglm.fitting.checkpoint import Checkpoint
from driftglm.fitting.progress import Passes
from driftglm.fitting.settings import Settings
from driftglm.objective import Problem
from driftglm.solvers import SolverResult
from driftglm.solvers.base import AnyState
from driftglm.solvers.cavi import RISE
from driftglm.solvers.coupling import Coupling


@dataclass(frozen=True)
class Runs:
    """How the solvers of one fit are run, one after the other."""

    settings: Settings
    checkpoint: Checkpoint | None = None

    def __call__(
        self,
        solve: Callable[..., SolverResult[AnyState]],
        problems: Sequence[Problem],
        states: Sequence[AnyState],
        coupling: Coupling,
        *,
        max_iter: int | None = None,
    ) -> SolverResult[AnyState]:
        """Run a solver by its method `solve`, or read its result where the checkpoint has it."""
        stage = None if self.checkpoint is None else self.checkpoint.next_stage(coupling)
        if stage is not None and (done := stage.result()) is not None:
            return done
        shown = self._shown(problems) if self.settings.verbose else None
        result = solve(
            problems,
            states,
            max_iter=max_iter or self.settings.max_iter,
            tol=self.settings.tol,
            progress=shown,
            coupling=coupling,
            journal=stage,
        )
        if stage is not None:
            stage.finish(result)
        if shown is not None:
            shown.end()
        return result

    def _shown(self, problems: Sequence[Problem]) -> Passes:
        """What is said of every pass."""
        tol, n_rows = self.settings.tol, max(problems[0].n_rows, 1.0)
        # A mode is followed until slopes are that small, rises being their squares.
        enough = RISE * tol * n_rows if self.settings.prior.posterior else tol**2
        return Passes(enough, follows=self.settings.follows)
