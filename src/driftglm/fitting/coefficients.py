"""Coefficients of a step, and how a fit's paths and intercepts make up the user's columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray
from driftglm.objective import Problem, State


@dataclass(frozen=True)
class Step:
    """Coefficients of one step: means and variances.

    `intercept_variance` is that of the intercept at the columns' `center`, where it is uncorrelated
    with the coefficients. A coefficient is the sum of a part of its own, of variance
    `coef_variance`, and of what goes together with others, along the `SharedDirections` or because
    they were judged jointly: `joint` (p, R) is a square root of the covariance of that.
    """

    coef: FloatArray
    intercept: float
    coef_variance: FloatArray
    intercept_variance: float
    center: FloatArray
    joint: FloatArray

    @property
    def total_variance(self) -> FloatArray:
        """(p,) variance of every coefficient."""
        return np.asarray(self.coef_variance + (self.joint**2).sum(axis=1))


@dataclass(frozen=True)
class Columns:
    """How paths and intercepts map to the user's columns.

    Parameters
    ----------
    always_in
        Mask over all columns: these are intercepts, the others paths.
    center
        (T, n_features) what was taken off every column, 0 without an intercept. A step after
        the last has the center of the last.
    has_intercept
        Whether an intercept is fitted; it then comes before the features that are always in.
    target_center
        What was taken off y; the intercept takes it up again.
    """

    always_in: BoolArray
    center: FloatArray
    has_intercept: bool
    target_center: float

    def arrange(self, paths: FloatArray, intercepts: FloatArray) -> FloatArray:
        """(T, p) from rows of paths and of intercepts (intercept first, if any)."""
        out = np.zeros((paths.shape[1], self.always_in.size))
        out[:, ~self.always_in] = paths.T
        out[:, self.always_in] = intercepts[int(self.has_intercept) :].T
        return out

    def per_feature(self, paths: FloatArray, intercepts: FloatArray) -> FloatArray:
        """(p,) from one number per path and per intercept."""
        return np.asarray(self.arrange(paths[:, None], intercepts[:, None])[0])


@dataclass(frozen=True)
class SharedFit:
    """What shared directions add to the paths' coefficients: mean (n_paths,), root (n_paths, R)."""

    mean: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, problem: Problem, state: State) -> SharedFit:
        """Taken from where a solver ended; one that is off has no directions."""
        part, n_paths = state.shared, state.beta.shape[0]
        if problem.shared is None or part.variance == 0:
            return cls(np.zeros(n_paths), np.zeros((n_paths, 0)))
        basis = problem.shared.basis
        with one_thread():  # the same digits on any number of threads
            values, vectors = np.linalg.eigh(part.covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            return cls(basis @ part.mean, basis @ root)

    @property
    def variance(self) -> FloatArray:
        """(n_paths,) of the coefficients."""
        return np.asarray((self.root**2).sum(axis=1))


def importance(problem: Problem, state: State, columns: Columns) -> FloatArray:
    """(p,) root mean square of x * beta over the training rows, x as the user gave it."""
    weights, design, mean = problem.weights, problem.design, problem.design.mean
    counts = design.by_step(weights)
    # x^2 = d^2 + 2 m d + m^2 with d = x - m, summed over the rows of a step
    deviations = design.sums(weights) - design.center * counts
    squares = design.squares(weights) + (2 * mean * deviations + mean**2 * counts)
    raw = problem.intercepts.columns.copy()
    for j, center in enumerate(columns.center.T[columns.always_in], int(columns.has_intercept)):
        raw[j] += design.to_rows(center)
    sums = [design.by_step(weights * column * column) for column in raw]
    intercept_squares = np.array(sums).reshape(state.intercept_mean.shape)
    shared = SharedFit.of(problem, state).mean
    path = columns.arrange(state.beta + shared[:, None], state.intercept_mean)
    total = (columns.arrange(squares, intercept_squares) * path**2).sum(axis=0)
    return np.asarray(np.sqrt(np.maximum(total, 0.0) / problem.n_rows))
