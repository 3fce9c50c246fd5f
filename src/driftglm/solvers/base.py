"""What every solver takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

import numpy as np

from driftglm._typing import FloatArray
from driftglm.objective import Objective, State
from driftglm.solvers.coupling import Coupling
from driftglm.solvers.journal import Journal

Item = TypeVar("Item")
AnyState = TypeVar("AnyState")


class StopReason(Enum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STALLED = "stalled"


@dataclass(frozen=True)
class SolverResult(Generic[AnyState]):
    """Where a solver ended.

    Parameters
    ----------
    states
        The final paths, intercepts and noise of every response; what stands for them in text.
    history
        The objective after every iteration; it never falls.
    optimality
        Largest derivative of the objective with respect to a coefficient that is free to move,
        in units of one over that coefficient's (conditional) posterior standard deviation. Of a
        bound, the rise of its last pass or round, in the units of the tolerance.
    reason
        Why the solver stopped.
    """

    states: tuple[AnyState, ...]
    history: FloatArray
    optimality: float
    reason: StopReason

    def then(self, later: SolverResult[AnyState]) -> SolverResult[AnyState]:
        """One result for two runs, the second having gone on from the first one's state."""
        history = np.concatenate([self.history, later.history])
        return SolverResult(later.states, history, later.optimality, later.reason)

    @property
    def state(self) -> AnyState:
        """The state of the first (most often the only) response."""
        return self.states[0]

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return int(self.history.size)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.reason is StopReason.CONVERGED


Progress = Callable[[int, float, int], None]
"""Called after every iteration with its number, the objective and the number of live paths."""


class Solver(Protocol):
    """Maximises an Objective from a starting State. Adding a solver means implementing this.

    There is one objective and one state per response; `coupling` is what ties them together. What
    is in the `journal` is gone on with.
    """

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
        """Raise the objective until the optimality measure is at most `tol`."""
        ...


def as_tuple(one_or_more: Item | Sequence[Item]) -> tuple[Item, ...]:
    """A single item as a tuple of one."""
    return tuple(one_or_more) if isinstance(one_or_more, Sequence) else (one_or_more,)
