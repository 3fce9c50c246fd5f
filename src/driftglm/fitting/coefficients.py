"""Coefficients of a step, and how a fit's paths and intercepts make up the user's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray, Matrix
from driftglm.data.matrices import FAR, nearer, squares
from driftglm.objective import Problem, State

ONE_VALUE = 1e-10
"""Share of a column's squares that is rounding: a step with less has one value."""


@dataclass(frozen=True)
class Step:
    """Coefficients of one step: means and variances.

    `intercept_variance` is that of the intercept at the columns' `center`, where it is uncorrelated
    with the coefficients. A coefficient is the sum of a part of its own, of variance
    `coef_variance`, and of what goes together with others, along the `SharedDirections` or because
    they were judged jointly: `joint` (p, R) is a square root of the covariance of that. A row is
    measured along it from `joint_offset` (R,), which is `joint` at the center unless it is given.
    `at_center` is the intercept there: of columns far from zero the one at zero has few digits.
    """

    coef: FloatArray
    intercept: float
    coef_variance: FloatArray
    intercept_variance: float
    center: FloatArray
    joint: FloatArray
    joint_offset: FloatArray | None = None
    at_center: float | None = None

    @property
    def intercept_at_center(self) -> float:
        """The intercept where the columns have their center."""
        return self._at(self.center)

    def _at(self, point: FloatArray) -> float:
        """Expected eta of a row at some point; close to the center no digits are lost."""
        if self.at_center is None:
            return self.intercept + float(self.coef @ point)
        return self.at_center + float(self.coef @ (point - self.center))

    @property
    def _is_far(self) -> bool:
        """Whether columns lie so far from zero that the intercept there costs digits."""
        if self.at_center is None:
            return False
        moved = float(np.abs(self.coef) @ np.abs(self.center))
        return moved > FAR * (1.0 + abs(self.at_center))

    @property
    def offset(self) -> FloatArray:
        """(R,) from where rows are measured along `joint`."""
        return self.center @ self.joint if self.joint_offset is None else self.joint_offset

    def mean_of(self, X: Matrix) -> FloatArray:
        """(n_rows,) expected eta."""
        if not self._is_far:
            return np.asarray(X @ self.coef).ravel() + self.intercept
        if isinstance(X, np.ndarray):
            return np.asarray((X - self.center) @ self.coef) + self.intercept_at_center
        near, shift = nearer(X)
        start = self.intercept if shift is None else self._at(shift)
        return np.asarray(near @ self.coef).ravel() + start

    def variance_of(
        self, X: Matrix, squared: Matrix | None = None, *, near: bool = False
    ) -> FloatArray:
        """(n_rows,) variance of eta; `squared` are the squares of a sparse X, if they are known.

        So may be that no column of it lies far from zero: then it is `near`.
        """
        if near or isinstance(X, np.ndarray):
            moved, shift = X, None
        else:
            moved, shift = nearer(X)
        if shift is not None:
            offset = self.offset - shift @ self.joint
            there = replace(self, center=self.center - shift, joint_offset=offset)
            return there.variance_of(moved, near=True)
        center, v = self.center, self.coef_variance
        if isinstance(X, np.ndarray):
            # Far from zero a difference of squares would lose all digits.
            X, center = X - center, np.zeros_like(center)
            offset = self.offset - self.center @ self.joint
            independent = X**2 @ v
        else:
            # sum_i (x_i - c_i)^2 var_i without forming x - c
            squared, offset = squares(X) if squared is None else squared, self.offset
            independent = np.asarray(squared @ v - 2 * (X @ (center * v)) + center**2 @ v)
        variance = np.maximum(independent.ravel(), 0) + self.intercept_variance
        if self.joint.shape[1]:
            shared = np.asarray(X @ self.joint) - offset
            variance += np.einsum("nr,nr->n", shared, shared)
        return np.asarray(variance)

    @property
    def total_variance(self) -> FloatArray:
        """(p,) variance of every coefficient."""
        return np.asarray(self.coef_variance + (self.joint**2).sum(axis=1))


def mixed(steps: Sequence[Step], weights: FloatArray) -> Step:
    """One of several steps, each with its probability: of any row the same mean and variance.

    The distance of the steps from each other is uncertainty too, and one that all rows share.
    """
    coef = np.einsum("k,ki->i", weights, [step.coef for step in steps])
    intercept = float(sum(w * step.intercept for w, step in zip(weights, steps, strict=True)))
    shares = np.array([w * step.coef_variance for w, step in zip(weights, steps, strict=True)])
    centers = np.array([step.center for step in steps])
    variance = shares.sum(axis=0)
    typical = np.einsum("k,ki->i", weights, centers)
    center = np.where(
        variance > 0,
        np.einsum("ki,ki->i", shares, centers) / np.where(variance > 0, variance, 1.0),
        typical,
    )
    at_center = sum(w * step.intercept_variance for w, step in zip(weights, steps, strict=True))
    apart = float(np.einsum("ki,ki->", shares, (centers - center) ** 2))
    joint, offset = [], []
    for root, step in zip(np.sqrt(weights), steps, strict=True):
        joint += [root * step.joint, root * (step.coef - coef)[:, None]]
        offset += [root * step.offset, np.array([root * (intercept - step.intercept)])]
    known = [w * step._at(center) for w, step in zip(weights, steps, strict=True)]  # noqa: SLF001
    return Step(
        coef,
        intercept,
        variance,
        float(at_center) + apart,
        center,
        np.hstack(joint),
        np.concatenate(offset),
        float(sum(known)),
    )


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


@dataclass(frozen=True)
class ColumnSizes:
    """How large columns and what they do are, (p,) each.

    Parameters
    ----------
    importance
        Root mean square of (x - mean) * beta over the training rows.
    spread
        Standard deviation of x. Both are about the mean of all rows, so that neither depends on
        where a column has its zero; without an intercept they are about zero.
    within
        Share of the variance of x that lies within steps.
    still
        Share of the steps with two rows or more in which x has one value.
    reference
        Standard deviation of eta there is to explain.
    """

    importance: FloatArray
    spread: FloatArray
    within: FloatArray
    still: FloatArray
    reference: float

    @classmethod
    def of(cls, problem: Problem, state: State, columns: Columns) -> ColumnSizes:
        """Taken from where a solver ended."""
        weights, design, mean = problem.weights, problem.design, problem.design.mean
        counts = design.by_step(weights)
        # x - c = d + m - c with d = x - m; squares of that are summed over the rows of a step.
        deviations = design.sums(weights) - design.center * counts
        center = np.zeros(len(mean))
        if columns.has_intercept:
            center = (deviations + mean * counts).sum(axis=1) / problem.n_rows
        moved = mean - center[:, None]
        squares = design.squares(weights)
        total = squares + (2 * moved * deviations + moved**2 * counts)
        # Always-in columns are centred at the mean of all rows.
        own = problem.intercepts.columns
        shape = state.intercept_mean.shape
        own_total = np.reshape([design.by_step(weights * z * z) for z in own], shape)
        own_sums = np.reshape([design.by_step(weights * z) for z in own], shape)
        some = np.where(counts > 0, counts, 1.0)
        inner = squares - deviations**2 / some, own_total - own_sums**2 / some
        total, within = columns.arrange(total, own_total), columns.arrange(*inner)
        total, within = np.maximum(total, 0.0), np.maximum(within, 0.0)
        shared = SharedFit.of(problem, state).mean
        path = columns.arrange(state.beta + shared[:, None], state.intercept_mean)
        found = (total * path**2).sum(axis=0), total.sum(axis=0)
        importance, spread = (np.sqrt(each / problem.n_rows) for each in found)
        several = np.diff(design.step_offsets) > 1
        whole = np.where(found[1] > 0, found[1], 1.0)
        still = (
            (within[several] <= ONE_VALUE * whole).mean(axis=0) if several.any() else 0.0 * whole
        )
        share = np.minimum(within.sum(axis=0) / whole, 1.0)
        return cls(importance, spread, share, still, float(np.sqrt(problem.reference)))
