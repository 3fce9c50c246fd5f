"""What every solver takes and returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

import numpy as np

from driftglm._typing import FloatArray
from driftglm.objective import Problem, State
from driftglm.solvers.coupling import Coupling, Uncoupled
from driftglm.solvers.journal import Journal, NoJournal

Item = TypeVar("Item")
AnyState = TypeVar("AnyState")
AnyProblem = TypeVar("AnyProblem", bound=Problem)
AnyRows = TypeVar("AnyRows", bound=State)


class StopReason(Enum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STALLED = "stalled"
    MOVING = "moving"  # the objective stands still, fitted values do not yet


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


@dataclass
class Run(Generic[AnyProblem, AnyRows]):
    """What a solver works on: one problem and one state per response, and how far it has come."""

    problems: tuple[AnyProblem, ...]
    states: list[AnyRows]
    max_iter: int
    tol: float
    progress: Progress | None
    coupling: Coupling
    journal: Journal
    history: list[float] = field(default_factory=list)

    @property
    def exhausted(self) -> bool:
        """Whether no more iterations are allowed."""
        return len(self.history) >= self.max_iter

    def record(self, value: float, n_alive: int) -> None:
        """Note the objective after an iteration."""
        self.history.append(value)
        if self.progress is not None:
            self.progress(len(self.history), value, n_alive)

    def result(
        self, states: Iterable[AnyRows], optimality: float, reason: StopReason
    ) -> SolverResult[AnyRows]:
        """Where it ended."""
        return SolverResult(tuple(states), np.array(self.history), float(optimality), reason)


class Solver(ABC, Generic[AnyProblem, AnyRows]):
    """Maximises an objective from a starting state. Adding a solver means implementing `run`."""

    def solve(
        self,
        problems: AnyProblem | Sequence[AnyProblem],
        states: AnyRows | Sequence[AnyRows],
        *,
        max_iter: int,
        tol: float,
        progress: Progress | None = None,
        coupling: Coupling | None = None,
        journal: Journal | None = None,
    ) -> SolverResult[AnyRows]:
        """Raise the objective until the optimality measure is at most `tol`.

        There is one problem and one state per response; `coupling` is what ties them together. A
        `journal` that holds a snapshot is where the run continues from.
        """
        copies = [state.copy() for state in as_tuple(states)]
        between = coupling or Uncoupled(), journal or NoJournal()
        return self.run(Run(as_tuple(problems), copies, max_iter, tol, progress, *between))

    @abstractmethod
    def run(self, run: Run[AnyProblem, AnyRows]) -> SolverResult[AnyRows]:
        """Raise the objective from the run's states, which may be changed."""


def as_tuple(one_or_more: Item | Sequence[Item]) -> tuple[Item, ...]:
    """A single item as a tuple of one."""
    return tuple(one_or_more) if isinstance(one_or_more, Sequence) else (one_or_more,)
