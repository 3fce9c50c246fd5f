"""The floored log posterior of a mode: what its solvers must raise.

    sum_n w_n log p(y_n | eta_n)  +  sum_i log m(beta_i)  +  intercepts  +  log p(noise)

Paths enter through the floored density (S + floor), because the density itself is infinite at zero
and would reward deleting features without limit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from driftglm._typing import BoolArray, FloatArray
from driftglm.objective.problem import Problem, State
from driftglm.priors import PathPrior, PathStats, Penalty

FLOOR = 1e-12
"""eps^2 in units of var(y) / mean(x^2): a path this small counts as zero."""

ZERO = 1e-10
"""A path is set to exactly zero when S * max_t sum_n x_nt^2 falls below ZERO * var(y)."""


@dataclass(frozen=True)
class Objective(Problem):
    """The floored log posterior of a MAP fit: the number a solver must raise.

    A static path has length one for the prior.
    """

    prior: PathPrior
    floor: FloatArray = field(init=False)
    zero_below: FloatArray = field(init=False)
    zero_log_density: FloatArray = field(init=False)

    @classmethod
    def of(cls, problem: Problem, prior: PathPrior) -> Objective:
        """A problem with a prior."""
        return cls(**problem.parts(), prior=prior)

    def __post_init__(self) -> None:
        squares = self.design.squares(self.weights)
        total = squares.sum(axis=1)
        total[total == 0] = self.n_rows  # a column of zeros: any unit will do
        largest = np.where(self.static, total, np.maximum(squares.max(axis=1), total * 1e-12))
        reference = self.reference
        if self.prior.sparse:
            floor = FLOOR * reference * self.n_rows / total
            zero_below = ZERO * reference / largest
        else:
            floor, zero_below = np.zeros_like(total), np.full_like(total, -1.0)
        object.__setattr__(self, "floor", floor)
        object.__setattr__(self, "zero_below", zero_below)
        zero = PathStats(np.zeros_like(total), np.zeros_like(total), np.zeros_like(total))
        object.__setattr__(self, "zero_log_density", np.zeros_like(total))
        self.zero_log_density[:] = self._evaluate(zero, np.ones(total.size, bool)).log_density

    def alive(self, beta: FloatArray) -> BoolArray:
        """Paths that are not exactly zero; all of them if the prior has no spike at zero."""
        return np.asarray(beta.any(axis=1) | (not self.prior.sparse))

    def penalty(self, beta: FloatArray) -> Penalty:
        """Floored log density and quadratic bound of every path; a zero path keeps a constant."""
        return self._evaluate(PathStats.of(beta), self.alive(beta))

    def _evaluate(self, stats: PathStats, alive: BoolArray) -> Penalty:
        n_steps = self.design.n_timesteps
        out = np.zeros((6, stats.S.size))
        out[0] = self.zero_log_density
        for members, length in (
            (np.flatnonzero(alive & ~self.static), n_steps),
            (np.flatnonzero(alive & self.static), 1),
        ):
            if members.size:
                part = stats.take(members)
                if length < n_steps:
                    part = PathStats(part.S / n_steps, np.zeros_like(part.S), 2 * part.S / n_steps)
                penalty = self.prior.evaluate(part.floored(self.floor[members]), length)
                for row, values in zip(out, vars(penalty).values(), strict=True):
                    row[members] = values
        return Penalty(*out)

    def value(self, state: State, penalty: Penalty | None = None) -> float:
        """The floored log posterior. Every solver must raise it and never lower it."""
        penalty = penalty or self.penalty(state.beta)
        return self.common_value(state) + float(penalty.log_density.sum())
