"""What every solver takes and returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from driftglm._typing import FloatArray
from driftglm.objective import Objective, State


class StopReason(Enum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STALLED = "stalled"


@dataclass(frozen=True)
class SolverResult:
    """Where a solver ended.

    Parameters
    ----------
    state
        The final paths, levels and noise.
    history
        The objective after every iteration; it never falls.
    optimality
        Largest derivative of the objective with respect to a coefficient that is free to move,
        in units of one over that coefficient's (conditional) posterior standard deviation.
    reason
        Why the solver stopped.
    """

    state: State
    history: FloatArray
    optimality: float
    reason: StopReason

    def then(self, later: SolverResult) -> SolverResult:
        """One result for two runs, the second having gone on from the first one's state."""
        history = np.concatenate([self.history, later.history])
        return SolverResult(later.state, history, later.optimality, later.reason)

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return int(self.history.size)


Progress = Callable[[int, float, int], None]
"""Called after every iteration with its number, the objective and the number of live paths."""


class Solver(Protocol):
    """Maximises an Objective from a starting State. Adding a solver means implementing this."""

    def solve(
        self,
        objective: Objective,
        state: State,
        *,
        max_iter: int,
        tol: float,
        progress: Progress | None = None,
    ) -> SolverResult:
        """Raise the objective until the optimality measure is at most `tol`."""
        ...
