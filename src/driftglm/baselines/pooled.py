"""Baselines with one set of coefficients for all the rows they use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from driftglm._typing import FloatArray
from driftglm.baselines.base import TUNING_TOL, Baseline, Chain, Linear
from driftglm.baselines.problem import Problem, Solution, column_scale
from driftglm.baselines.rows import Rows


class PooledBaseline(Baseline):
    """One penalised regression on the last step; subclasses say with which penalty."""

    window: int | None = 1

    def __init__(
        self,
        strength: float | None = None,
        *,
        family: str = "gaussian",
        fit_intercept: bool = True,
        always_in: Any = None,
        standardize: bool = False,
        freq: str | int | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.strength = strength
        self.family = family
        self.fit_intercept = fit_intercept
        self.always_in = always_in
        self.standardize = standardize
        self.freq = freq
        self.max_iter = max_iter
        self.tol = tol

    @abstractmethod
    def _strengths(self, problem: Problem) -> FloatArray:
        """Default candidates, strong to weak."""

    @abstractmethod
    def _path(self, problem: Problem, strengths: Iterable[float], tol: float) -> Iterator[Solution]:
        """Solutions along the strengths."""

    @abstractmethod
    def _approach(self, problem: Problem, strength: float) -> FloatArray:
        """Strengths on the way to the one wanted, itself last."""

    def _problem(self, rows: Rows) -> tuple[Problem, FloatArray]:
        """The arrays of the fit, and what the penalised columns were divided by."""
        always_in = self._always_in()
        always, X = rows.X[:, np.flatnonzero(always_in)], rows.X
        if always_in.any():
            X = rows.X[:, np.flatnonzero(~always_in)]
        scale = np.ones(X.shape[1])
        if self.standardize:
            scale = column_scale(X, rows.weights)
            X = X.multiply(1.0 / scale).tocsr() if hasattr(X, "multiply") else X / scale
        columns = [np.ones((rows.y.size, 1))] if self.fit_intercept else []
        dense = always.toarray() if hasattr(always, "toarray") else np.asarray(always)
        free = np.hstack([*columns, dense])
        data = (rows.y, rows.weights, rows.offset)
        return Problem(X, free, *data, self._loss, self.fit_intercept), scale

    def _linear(self, solution: Solution, scale: FloatArray) -> Linear:
        """In the user's column order and units."""
        free = self._always_in()
        coef = np.empty(free.size)
        coef[~free] = solution.beta / scale
        coef[free] = solution.gamma[int(self.fit_intercept) :]
        return Linear(coef, float(solution.gamma[0]) if self.fit_intercept else 0.0)

    def _chains(self, rows: Rows, X_new: Any) -> Iterator[Chain]:
        problem, scale = self._problem(rows.window(self.window))
        if self.strength is None:
            strengths = self._strengths(problem)
        else:
            strengths = np.asarray([self.strength])

        def chain() -> Chain:
            path = self._path(problem, strengths, max(self.tol, TUNING_TOL))
            for strength, solution in zip(strengths, path, strict=True):
                eta = self._linear(solution, scale).eta(X_new)
                yield {"strength": float(strength)}, eta

        yield chain()

    def _fit_chosen(self, rows: Rows, params: dict[str, Any]) -> None:
        strength = float(params["strength"])
        problem, scale = self._problem(rows.window(self.window))
        *_, solution = self._path(problem, self._approach(problem, strength), self.tol)
        if not solution.converged:
            self._warn_unconverged()
        self.converged_, self.n_iter_ = solution.converged, solution.n_iter
        self.strength_ = strength
        self._report(self._linear(solution, scale))


class AllSteps(PooledBaseline):
    """The same on all steps, or on the last few: scikit-learn reads parameters off `__init__`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,  # noqa: SLF001
        "window": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(  # noqa: PLR0913
        self,
        strength: float | None = None,
        *,
        family: str = "gaussian",
        window: int | None = None,
        fit_intercept: bool = True,
        always_in: Any = None,
        standardize: bool = False,
        freq: str | int | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(
            strength,
            family=family,
            fit_intercept=fit_intercept,
            always_in=always_in,
            standardize=standardize,
            freq=freq,
            max_iter=max_iter,
            tol=tol,
        )
        self.window = window
