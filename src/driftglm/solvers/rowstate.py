"""The rows' side of a pass: score, curvature and what the kernels need of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from driftglm._typing import FloatArray
from driftglm.objective import Problem, State
from driftglm.solvers.kernels import Columns, RowState
from driftglm.solvers.levels import update_levels


@dataclass
class RowWork:
    """Score and curvature at a state's eta, in the layout the kernels want.

    Kernels change the score; `settle` carries that over to eta and starts afresh.
    """

    problem: Problem
    state: State
    score: FloatArray = field(init=False)
    curvature: FloatArray = field(init=False)
    squares: FloatArray = field(init=False)
    columns: Columns = field(init=False)
    _start: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self._refresh(first=True)

    def _refresh(self, *, first: bool = False) -> None:
        """Score at the present eta; the curvature of a quadratic family is constant."""
        problem, eta = self.problem, self.state.eta
        self.score = problem.family.score(problem.y, eta, problem.weights)
        self._start = self.score.copy()
        if first or not problem.family.quadratic:
            design = problem.design
            self.curvature = problem.family.curvature(problem.y, eta, problem.weights)
            self.squares = design.squares(self.curvature)
            sums = design.sums(self.curvature)
            self.columns = (design.values, design.rows, design.segments, design.center, sums)

    def update_levels(self) -> float:
        """Levels given the rest; returns the largest scaled gradient met."""
        return update_levels(self.problem, self.state, self.score, self.curvature)

    def for_kernels(self) -> RowState:
        """The arrays a kernel changes; pass what it leaves to `absorb`."""
        design = self.problem.design
        steps = np.zeros((3, design.n_timesteps))
        steps[1] = design.by_step(self.score)
        steps[2] = design.by_step(self.curvature)
        ones = bool((self.curvature == 1.0).all())
        return self.score, np.empty(0) if ones else self.curvature, steps

    def absorb(self, rows: RowState) -> None:
        """Put the offsets a kernel kept aside into the score."""
        self.score -= self.curvature * self.problem.design.spread(rows[2][0])

    def settle(self) -> None:
        """Bring eta in step with the score."""
        self.state.eta += (self._start - self.score) / self.curvature
        self._refresh()
