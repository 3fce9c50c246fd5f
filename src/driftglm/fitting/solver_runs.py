"""Runs of solvers: with a bar if it is wanted, gone on with from a checkpoint if there is one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from driftglm.fitting.checkpoint import Checkpoint
from driftglm.fitting.settings import Settings
from driftglm.objective import Problem
from driftglm.solvers import SolverResult
from driftglm.solvers.base import AnyState
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
        result = solve(
            problems,
            states,
            max_iter=max_iter or self.settings.max_iter,
            tol=self.settings.tol,
            progress=progress_line if self.settings.verbose else None,
            coupling=coupling,
            journal=stage,
        )
        if stage is not None:
            stage.finish(result)
        if self.settings.verbose:
            sys.stderr.write("\n")
        return result


def progress_line(iteration: int, objective: float, n_alive: int) -> None:
    """One rewritten line on stderr."""
    sys.stderr.write(f"\rdriftglm: pass {iteration}, objective {objective:.8g}, {n_alive} paths ")
    sys.stderr.flush()
