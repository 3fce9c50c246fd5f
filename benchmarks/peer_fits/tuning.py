"""Strengths chosen on the last training step, the same way for every peer that has one."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from driftglm._typing import BoolArray, FloatArray
from peer_fits.data import SMALL, Linear, PeerData, mean_loss, time_expanded

N_STRENGTHS = 10
RATIOS = np.geomspace(0.5, 1e-3, N_STRENGTHS)
"""Strengths as shares of the one at which all coefficients are zero."""
Which = Literal["all steps", "newest step", "expanded"]


@dataclass(frozen=True)
class Design:
    """Rows as a peer sees them.

    Parameters
    ----------
    X
        (n, columns) dense in Fortran order, or CSC.
    n_steps
        Columns a feature: 1, or T where every step has its own.
    free
        Columns that do not say how strong a penalty must be: those always in, and the intercept's.
    """

    X: Any
    y: FloatArray
    family: str
    n_steps: int
    free: BoolArray

    @property
    def n_groups(self) -> int:
        """Number of features, the expanded column of ones included."""
        return int(self.X.shape[1]) // self.n_steps

    @property
    def groups(self) -> list[list[int]]:
        """Columns of every feature."""
        return np.arange(self.X.shape[1]).reshape(-1, self.n_steps).tolist()

    def largest(self) -> float:
        """The least strength with nothing but an intercept: mean loss + strength * norms."""
        score = np.asarray(self.X.T @ (self.y - self.y.mean())).ravel() / self.y.size
        norms = np.linalg.norm(score.reshape(-1, self.n_steps), axis=1)
        return float(norms[~self.free].max())

    def linear(self, solution: Solution) -> Linear:
        """The coefficients of the newest step; the expanded column of ones is an intercept."""
        paths = solution.coef.reshape(-1, self.n_steps)
        intercept = 0.0
        if self.n_steps > 1:
            intercept, paths = paths[-1, -1], paths[:-1]
        n_included = int((np.abs(paths).max(axis=1) > SMALL).sum())
        intercept += solution.intercept
        return Linear(self.family, paths[:, -1], intercept, n_included, solution.converged)


@dataclass(frozen=True)
class Solution:
    """Coefficients of a design's columns."""

    coef: FloatArray
    intercept: float
    converged: bool = True

    def widened(self, old: int, new: int) -> Solution:
        """A start for a design of more steps, which go on as the last one."""
        paths = self.coef.reshape(-1, old)
        more = np.repeat(paths[:, -1:], new - old, axis=1)
        return replace(self, coef=np.hstack([paths, more]).ravel())


@dataclass(frozen=True)
class Task:
    """The designs of the earlier steps and of all, and the rows of the last step."""

    earlier: Design
    X_last: Any
    y_last: FloatArray
    whole: Design


class Tuned(ABC):
    """A peer with a strength: ten of them on the earlier steps, the best on all steps.

    `path` goes from strong to weak with warm starts where the package has them. The error that
    decides is that on the last training step. A peer that sees the newest step only is tuned with
    the step before it.
    """

    which: Which = "all steps"
    whole_path = False
    """Whether the last fit comes down from the strongest strength again: no other warm start."""

    @abstractmethod
    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """Solutions from the strongest to the weakest strength."""

    def strengths(self, design: Design) -> FloatArray:
        """From strong to weak, in the units of the peer's own objective."""
        return design.largest() * RATIOS

    def prepare(self, data: PeerData) -> Task:
        """Matrices in the form the peer takes; not counted as time of the fit."""
        last = data.n_steps - 1
        rows = np.flatnonzero(data.step == last)
        if self.which == "newest step":
            before = np.flatnonzero(data.step == last - 1)
            whole = _design(data, rows, expanded=False)
        else:
            before = np.flatnonzero(data.step < last)
            whole = _design(data, np.arange(data.y.size), expanded=self.which == "expanded")
        earlier = _design(data, before, expanded=self.which == "expanded")
        return Task(earlier, data.X[rows], data.y[rows], whole)

    def fit(self, task: Task) -> Linear:
        """Tune, then fit once more to all steps."""
        best, least, found = 0, np.inf, None
        for k, solution in enumerate(self.path(task.earlier, self.strengths(task.earlier), None)):
            loss = self.last_step_error(task, solution)
            if loss < least:
                best, least, found = k, loss, solution
        if found is None:
            raise ValueError("no strength gave a finite error on the last training step")
        every = self.strengths(task.whole)
        used = every[: best + 1] if self.whole_path else every[best : best + 1]
        start = found.widened(task.earlier.n_steps, task.whole.n_steps)
        *_, last = self.path(task.whole, used, start)
        return replace(task.whole.linear(last), chosen=f"strength {every[best]:.3g}")

    @staticmethod
    def last_step_error(task: Task, solution: Solution) -> float:
        """Mean loss on the last training step of coefficients of the earlier ones."""
        linear = task.earlier.linear(solution)
        return mean_loss(linear.family, task.y_last, linear.predict(task.X_last))


@contextmanager
def settled() -> Iterator[list[bool]]:
    """A list that is [False] at the end if anything inside warned of not having converged."""
    said = [True]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said[0] = not any("Convergence" in one.category.__name__ for one in caught)


def warm_started(
    model: Any, design: Design, strengths: FloatArray, set_strength: Callable[[float], object]
) -> Iterator[Solution]:
    """Fit one object to every strength in turn, from wherever the one before has left it."""
    for strength in strengths:
        set_strength(float(strength))
        with settled() as said:
            model.fit(design.X, design.y)
        coef, intercept = np.array(model.coef_).ravel(), np.ravel(model.intercept_)
        yield Solution(coef, float(intercept[0]), said[0])


def start_at(model: Any, start: Solution | None, *, classes: bool = False) -> Any:
    """The same object, to be warm-started where `start` is; `classes`: in a classifier's shapes."""
    if start is not None:
        model.coef_, model.intercept_ = start.coef.copy(), start.intercept
        if classes:
            model.coef_, model.intercept_ = model.coef_[None, :], np.array([start.intercept])
    return model


def _design(data: PeerData, rows: Any, *, expanded: bool) -> Design:
    X, step = data.X[rows], data.step[rows]
    free = np.zeros(X.shape[1], dtype=np.bool_)
    free[list(data.always_in)] = True
    if not expanded:
        wide = sp.csc_matrix(X) if data.sparse else np.asfortranarray(X)
        return Design(wide, data.y[rows], data.family, 1, free)
    n_steps = int(step.max()) + 1
    ones: Any = np.ones((X.shape[0], 1))
    joined = sp.hstack([X, ones]) if data.sparse else np.hstack([X, ones])
    wide = time_expanded(joined, step, n_steps)
    return Design(wide, data.y[rows], data.family, n_steps, np.append(free, True))
