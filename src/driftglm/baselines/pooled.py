"""Baselines with one set of coefficients for all the rows they use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from driftglm._typing import FloatArray, Matrix
from driftglm.baselines.base import Baseline, Linear
from driftglm.baselines.columns import SplitColumns, column_scale, divided
from driftglm.baselines.irls import solve_path
from driftglm.baselines.parameters import Parameters
from driftglm.baselines.problem import Problem, Solution
from driftglm.baselines.quadratic import Quadratic
from driftglm.baselines.rows import Rows
from driftglm.baselines.tuning import Chain, Params

TUNING_TOL = 1e-4
"""Good enough to rank candidates; the chosen one is fitted again to the full tolerance."""


@dataclass(frozen=True)
class ScaledProblem:
    """The arrays of a fit, their columns in X, and what the penalised ones were divided by."""

    problem: Problem
    columns: SplitColumns
    scale: FloatArray


class PooledBaseline(Baseline):
    """One penalised regression on the last step; subclasses say with which penalty."""

    window: int | None = 1
    _quadratic: ClassVar[type[Quadratic]]

    @abstractmethod
    def _strengths(self, problem: Problem) -> FloatArray:
        """Default candidates, strong to weak."""

    def _approach(self, problem: Problem, strength: float) -> FloatArray:
        """Strengths on the way to the one wanted, itself last."""
        del problem
        return np.asarray([strength])

    def _path(self, problem: Problem, strengths: FloatArray, tol: float) -> Iterator[Solution]:
        return solve_path(problem, self._quadratic, strengths, tol, self.max_iter)

    def _problem(self, rows: Rows) -> ScaledProblem:
        """One set of coefficients for all of the rows."""
        columns = SplitColumns.of(rows.X, self._always_in(), intercept=self.fit_intercept)
        scale = np.ones(columns.X.shape[1])
        if self.standardize:
            scale = column_scale(columns.X, rows.weights)
        arrays = divided(columns.X, scale), columns.free, rows.y, rows.weights, rows.offset
        return ScaledProblem(Problem(*arrays, self._loss, self.fit_intercept), columns, scale)

    def _linear(self, solution: Solution, fit: ScaledProblem) -> Linear:
        """In the user's column order and units."""
        coef = fit.columns.joined(solution.beta / fit.scale, solution.gamma)
        return Linear(coef, float(solution.gamma[0]) if self.fit_intercept else 0.0)

    def _chains(self, rows: Rows, X_new: Matrix) -> Iterator[Chain]:
        fit = self._problem(rows.window(self.window))
        given = self.strength
        strengths = self._strengths(fit.problem) if given is None else np.asarray([given])
        path = self._path(fit.problem, strengths, max(self.tol, TUNING_TOL))
        yield (
            ({"strength": float(strength)}, self._linear(solution, fit).eta(X_new))
            for strength, solution in zip(strengths, path, strict=True)
        )

    def _fit_chosen(self, rows: Rows, params: Params) -> None:
        self.strength_ = float(params["strength"])
        fit = self._problem(rows.window(self.window))
        strengths = self._approach(fit.problem, self.strength_)
        *_, solution = self._path(fit.problem, strengths, self.tol)
        self.converged_, self.n_iter_ = solution.converged, solution.n_iter
        self._report(self._linear(solution, fit))


@dataclass(repr=False, eq=False)
class AllSteps(PooledBaseline):
    """The same on all steps, or on the last few."""

    window: int | None = field(default=None, kw_only=True)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Parameters._parameter_constraints,  # noqa: SLF001
        "window": [Interval(Integral, 1, None, closed="left"), None],
    }
