"""The rows' side of a pass: score, curvature and what the kernels need of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.design import Design, UpdateBlock
from driftglm.design.base import NO_EFFECTS, Effects
from driftglm.objective import Problem, State
from driftglm.solvers.intercepts import update_intercepts
from driftglm.solvers.journal import Snapshot

LEAST_DAMPING, FEW_HALVINGS = 1e-6, 0.1
"""Shortest step; and how much shorter it gets where a step that fails has next to nothing to gain:
what unknown effects of groups cost is known roughly, and so is the top of the bound."""
N_INTERCEPT_STEPS = 5
ROUNDING = 1e-11
"""A value that falls by less than this times its size has not fallen."""
NEAR = 1e-3
"""Intercepts whose gradient is below this need no further step without the paths."""


def update_order(design: Design, score: FloatArray, squares: FloatArray) -> IntArray:
    """Features by falling correlation with the score; `squares` (n_features, T) are theirs."""
    total = squares.sum(axis=1)
    gradient = np.abs(design.gradient(score).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(total > 0, gradient / np.sqrt(total), -1.0)
    return np.argsort(-correlation, kind="stable").astype(np.int64)


@dataclass
class RowWork:
    """Score and curvature at a state's eta, in the layout the kernels want.

    A pass is `begin`, kernels, `settle`. Kernels change the score; `settle` brings eta in step.
    `damping` is the share of a full step a pass takes where the family's model is not a bound,
    `shortfall` by how much the last such pass would have lowered the objective.
    """

    problem: Problem
    state: State
    damping: float = 1.0
    shortfall: float = field(init=False, default=0.0)
    order: IntArray = field(init=False)
    score: FloatArray = field(init=False)
    curvature: FloatArray = field(init=False)
    squares: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)
    _start: FloatArray = field(init=False)
    _moments: FloatArray = field(init=False)
    _before: tuple[FloatArray, FloatArray] = field(init=False)
    _rows: tuple[FloatArray, FloatArray] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        design = self.problem.design
        shape = (design.n_features, design.n_timesteps)
        self.squares, self.sums = np.zeros(shape), np.zeros(shape)
        self.restart(self.state)

    @property
    def _quadratic(self) -> bool:
        return self.problem.family.quadratic

    def restart(self, state: State) -> None:
        """Go on from another state."""
        self.state = state
        if not self._quadratic:
            self._moments = np.zeros((2, self.problem.design.n_rows))
            beta, variance = state.beta, self._variance()
            self.problem.design.add_moments_inplace(self._every, beta, variance, self._moments)
            self._set_eta()
        self._refresh()
        if self._quadratic:  # else curvatures change from pass to pass
            self._weigh(self._every)

    def snapshot(self) -> Snapshot:
        """What it takes to go on from here."""
        found: Snapshot = {"state": self.state, "damping": self.damping, "order": self.order}
        return found if self._quadratic else {**found, "moments": self._moments}

    def resume(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot, to the last digit as without a break."""
        self.state, self.damping, self.order = (
            snapshot[name] for name in ("state", "damping", "order")
        )
        self._rows = None
        if not self._quadratic:
            self._moments = snapshot["moments"]

    @property
    def _every(self) -> IntArray:
        return np.arange(self.problem.design.n_features)

    def _variance(self) -> FloatArray:
        """Variances of the paths; a mode has none."""
        return np.zeros_like(self.state.beta)

    def _refresh(self) -> None:
        """Score and curvature at the present eta."""
        if self._quadratic:
            self.score = self.problem.score(self.state)
            self.curvature = self.problem.curvature(self.state)
            self._start = self.score.copy()
            return
        if self.state.log_likelihood is None or self._rows is None:
            self._evaluate()
        assert self._rows is not None  # noqa: S101 (evaluated just now)
        self.score, self.curvature = self._rows
        self._rows = None  # kernels change the score

    def _evaluate(self) -> None:
        """Value, score and curvature have much in common: one pass over the rows for all three."""
        found = self.problem.evaluate(self.state)
        self.state.log_likelihood, self._rows = found[0], found[1:]

    def _weigh(self, order: IntArray) -> None:
        self.problem.design.weigh_inplace(self.curvature, order, self.squares, self.sums)

    def _set_eta(self) -> None:
        """eta and its variance from what paths and intercepts contribute."""
        state, problem = self.state, self.problem
        state.eta = self._moments[0] + problem.offset
        problem.add_intercepts_inplace(state.intercept_mean, state.eta)
        if problem.shared is not None and state.shared.variance > 0:
            state.eta += problem.shared.scores.times(state.shared.mean)
        problem.add_groups_inplace(state, state.eta)
        intercepts = problem.intercept_row_variance(state)
        state.eta_variance = np.maximum(self._moments[1], 0.0) + intercepts
        self._evaluate()

    def begin(self, order: IntArray) -> None:
        """Make ready to update the features in `order`."""
        self._refresh()
        if not self._quadratic:
            if not self.problem.design.brings_squares:
                self._weigh(order)
            self._before = self.state.beta.copy(), self._variance().copy()

    def survey(self) -> None:
        """Make ready and know the squares of every feature."""
        self.begin(self._every)
        if self.problem.design.brings_squares and not self._quadratic:
            self._weigh(self._every)

    def update_order(self) -> IntArray:
        """Features by falling correlation with what is not explained yet; `survey` comes first."""
        precision = self.problem.precision(self.state)
        score = self.problem.by_row(precision) * self.score
        return update_order(self.problem.design, score, precision * self.squares)

    def update_intercepts(self) -> float:
        """Intercepts given the rest; returns the largest scaled gradient met."""
        rows = self.score, self.curvature
        return update_intercepts(self.problem, self.state, *rows, damping=self.damping)

    def set_intercepts(self) -> float:
        """A step for the intercepts alone, or several until they are close to their best."""
        nothing = np.empty(0, dtype=np.int64)

        def step() -> float:
            self.begin(nothing)
            worst = self.update_intercepts()
            self.settle(nothing)
            return worst

        def value(state: State) -> float:
            if not first:
                return self.problem.common_value(state)
            # Before their first update intercepts have no posterior, so its variance and divergence
            # do not count yet: the fit of the means alone must not get worse.
            certain = dataclasses.replace(state, eta_variance=np.zeros(1), log_likelihood=None)
            return self.problem.common_value(certain) + float(state.intercept_divergence.sum())

        worst = np.inf
        for _ in range(1 if self._quadratic else N_INTERCEPT_STEPS):
            first = not self.state.intercept_h.any()
            worst = self.guarded(step, value)
            if worst < NEAR:
                break
        return worst

    def update_blocks(
        self, order: IntArray, effects: Effects = NO_EFFECTS
    ) -> Iterator[UpdateBlock]:
        """What a kernel takes to update the features in `order`; the score is kept in step."""
        design = self.problem.design
        steps = np.zeros((3, design.n_timesteps))
        steps[1] = design.by_step(self.score)
        steps[2] = design.by_step(self.curvature)
        ones = bool((self.curvature == 1.0).all())
        rows = self.score, np.empty(0) if ones else self.curvature, steps
        weighed, paths = (self.squares, self.sums), (self.state.beta, self._variance())
        yield from design.update_blocks(
            order, rows, weighed, paths, fixed=self._quadratic, effects=effects
        )
        if self._quadratic:  # else the score starts afresh from eta
            self.score -= self.curvature * design.to_rows(steps[0])

    def settle(self, order: IntArray) -> None:
        """Bring eta in step with the intercepts and with the paths in `order`."""
        if self._quadratic:
            self.state.eta += (self._start - self.score) / self.curvature
            return
        beta, variance = self.state.beta - self._before[0], self._variance() - self._before[1]
        self.problem.design.add_moments_inplace(order, beta, variance, self._moments)
        self._set_eta()

    def guarded(
        self,
        step: Callable[[], float],
        value: Callable[[State], float],
        way_back: Callable[[], State] | None = None,
    ) -> float:
        """Take a step; where it lowers `value`, take it back and take a smaller one.

        A family whose model is a bound cannot fall and is not asked, unless rows belong together:
        what their unknown effects cost is known roughly. `way_back` gives the state of before,
        where that is known without a copy of all of it. Returns what the step returned, or infinity
        if no step, however small, helps.
        """
        if self.problem.family.bounded and self.problem.row_groups is None:
            return step()
        before, way_back = value(self.state), way_back or self.state.copy().copy
        first = self.damping
        least = LEAST_DAMPING if self.problem.row_groups is None else FEW_HALVINGS * first
        while self.damping > least:
            result = step()
            reached = value(self.state)
            if self.damping == first:
                self.shortfall = before - reached
            if reached >= before - ROUNDING * abs(before):
                if self.damping == first:
                    self.damping = min(1.0, 2.0 * first)
                return result
            self.damping *= 0.5
            self.restart(way_back())
        self.damping = 1.0
        return np.inf
